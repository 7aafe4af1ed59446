"""What every scheme does: give each node the sum of one vector per node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from meterdp.federated.graph import Graph


@dataclass(frozen=True)
class Totals:
    """The result of one summation.

    Parameters
    ----------
    at_node : (n, q) float64
        The sum, as every node knows it.
    rounds : int
        How often nodes waited for each other.
    messages : int
        Sent over one edge each.
    numbers : int
        Numbers of eight bytes in all messages.
    """

    at_node: np.ndarray
    rounds: int
    messages: int
    numbers: int


class Summation(Protocol):
    """A scheme over a graph."""

    name: ClassVar[str]
    graph: Graph

    def total(self, values: np.ndarray) -> Totals:
        """Sum the vectors of all nodes.

        Parameters
        ----------
        values : (n, q) float64
        """
