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
from meterdp.federated.pdmm import Subspace
from meterdp.federated.summation import EdgeMasks, Federated, RingSum, Summation

SCHEMES: dict[str, Callable[[Graph, np.random.Generator], Summation]] = {
    "federated": lambda graph, generator: Federated(graph),
    "secure_sum": lambda graph, generator: RingSum(graph, hamiltonian_cycle(graph), generator),
    "subspace": lambda graph, generator: Subspace(graph, generator),
    "edge_masks": lambda graph, generator: EdgeMasks(graph, generator),
}


def scheme(name: str, graph: Graph, generator: np.random.Generator) -> Summation:
    """Return a scheme over a graph, with its own choice of constants, for simulation.

    Parameters
    ----------
    name : str
    graph : Graph
    generator : numpy.random.Generator
        Of masks, and of the order of activations.

    Raises
    ------
    InputError
        If there is no such scheme, or the graph does not allow it.
    """
    if name not in SCHEMES:
        raise InputError(f"there is no scheme '{name}'", field="scheme", hint=f"choose from {', '.join(SCHEMES)}")
    return SCHEMES[name](graph, generator)


# Standard deviation of the noise of ``subspace``, in units of the statistics or of a circuit's share of the noise.
# It is much larger than these, and so small that rounding, about 1e-15 of it, spoils no sum.
MASK_STD = 1e5

GRAPHS = {"complete": complete, "ring": ring}


@dataclass(frozen=True)
class Circuits:
    """The nodes of a federation of circuits.

    Parameters
    ----------
    names : tuple of n str
        In ascending order; the first is node 0.
    node : (N,) int array
        Of every household, by its dense index.
    graph : Graph
    """

    names: tuple[str, ...]
    node: np.ndarray
    graph: Graph

    @classmethod
    def of(cls, meters: pa.Table, federation: Mapping) -> Circuits:
        """Take the table ``meters`` and the section ``federation`` of the configuration.

        Raises
        ------
        InputError
            If a meter has no circuit, there are too few circuits, or the graph does not join them.
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
                f"is 'circuit', but the export has {n} of them, and of fewer than {FEWEST_CIRCUITS} each learns what "
                "the other has",
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
        return cls(tuple(names.tolist()), node, graph_of(federation["graph"], names.tolist()))


def graph_of(graph: str, names: list[str]) -> Graph:
    """Return a graph of :data:`GRAPHS`, or that of an edge file."""
    return GRAPHS[graph](len(names)) if graph in GRAPHS else read_graph(graph, names)


def graph_file(federation: Mapping) -> str | None:
    """Return the edge file that a federation needs, if any."""
    return federation["graph"] if federation["by"] is not None and federation["graph"] not in GRAPHS else None


def summation_of(federation: Mapping, graph: Graph, generator: np.random.Generator) -> Summation:
    """Return the scheme of the section ``federation``, all nodes in one process and masks from one generator.

    Raises
    ------
    InputError
        If the graph does not allow it, as secure summation needs a cycle through all nodes.
    """
    if federation["scheme"] == Subspace.name:
        return Subspace(graph, generator, mask_std=MASK_STD)
    return scheme(federation["scheme"], graph, generator)
