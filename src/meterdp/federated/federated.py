"""Federated sums (Li et al., 3.1): a server is told every node's vector. It hides nothing from the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meterdp.federated.graph import Graph
from meterdp.federated.summation import Totals


@dataclass(frozen=True)
class Federated:
    """The server is none of the nodes; the edges of the graph are not used.

    Parameters
    ----------
    graph : Graph
    """

    graph: Graph
    name: ClassVar[str] = "federated"

    def total(self, values: np.ndarray) -> Totals:
        """Sum at the server, which answers every node; see :class:`~meterdp.federated.summation.Summation`."""
        n, q = values.shape
        return Totals(np.tile(values.sum(axis=0), (n, 1)), 2, 2 * n, 2 * n * q)
