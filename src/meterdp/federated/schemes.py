"""The schemes by name: how nodes add up their vectors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meterdp.errors import InputError
from meterdp.federated.federated import Federated
from meterdp.federated.graph import Graph, hamiltonian_cycle
from meterdp.federated.pdmm import Subspace
from meterdp.federated.summation import EdgeMasks, RingSum, Summation

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
