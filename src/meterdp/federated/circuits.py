"""The circuits of an export as nodes: who is one, who speaks with whom, and what of it is refused.

All of it is public: the list of meters with their circuits and the configuration, never a reading.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from meterdp.core.config import FEWEST_CIRCUITS
from meterdp.errors import InputError
from meterdp.federated.graph import Graph, complete, hamiltonian_cycle, read_graph, ring
from meterdp.federated.summation import EdgeMasks, Federated, RingSum, Summation

# The setting federation.scheme: all nodes in one process, and masks from one generator.
SCHEMES: dict[str, Callable[[Graph, np.random.Generator], Summation]] = {
    "federated": lambda graph, generator: Federated(graph),
    "secure_sum": lambda graph, generator: RingSum(graph, hamiltonian_cycle(graph), generator),
    "edge_masks": lambda graph, generator: EdgeMasks(graph, generator),
}

GRAPHS = {"complete": complete, "ring": ring}


@dataclass(frozen=True)
class Circuits:
    """The nodes of a federation of circuits: their names in ascending order, and the node (N,) of every household by
    its dense index.
    """

    names: tuple[str, ...]
    node: np.ndarray
    graph: Graph

    @classmethod
    def of(cls, meters: pa.Table, federation: Mapping) -> Circuits:
        """Take the table ``meters`` and the section ``federation`` of the configuration.

        Raises :class:`InputError` if a meter has no circuit, there are too few circuits, or the graph does not join
        them.
        """
        named = meters.sort_by("household")["circuit"].to_pylist()
        if any(name is None for name in named):
            raise InputError(
                "is 'circuit', but not every meter's circuit is known",
                file="config",
                field="federation.by",
                hint="name them all in export.meters or export.circuit_column, those without one under a name too",
            )
        names, node = np.unique(named, return_inverse=True)
        n, colluding = len(names), federation["colluding"]
        if n < FEWEST_CIRCUITS:
            raise InputError(
                f"is 'circuit', but the export has {n} of them: with fewer than {FEWEST_CIRCUITS}, each learns "
                "what the other has",
                file="config",
                field="federation.by",
                hint="set it to null",
            )
        if colluding >= n - 1:
            raise InputError(
                f"is {colluding} of {n} circuits, so that no sum of two circuits is left to hide behind",
                file="config",
                field="federation.colluding",
                hint=f"lower it to {n - 2} or less",
            )
        names, asked = tuple(names.tolist()), federation["graph"]
        return cls(names, node, GRAPHS[asked](n) if asked in GRAPHS else read_graph(asked, names))


def graph_file(federation: Mapping) -> str | None:
    """Return the edge file that a federation needs, if any."""
    return federation["graph"] if federation["by"] is not None and federation["graph"] not in GRAPHS else None
