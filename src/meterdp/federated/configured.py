"""How circuits share the noise of a sound release, from configuration and the public list of meters."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pyarrow as pa

from meterdp.federated.circuits import GRAPHS, MASK_STD, Circuits
from meterdp.federated.graph import Graph
from meterdp.federated.shared_noise import SharedSums
from meterdp.mechanisms.proven.plan import ALONE, SharedNoise, Shares


def shared_noise(federation: Mapping | None, meters: pa.Table) -> SharedNoise | None:
    """Return how the circuits share the noise, None where there are none.

    Parameters
    ----------
    federation : mapping, optional
        Section of the configuration.
    meters : pyarrow.Table
        Table ``meters``; of a release, that of the public list.

    Raises
    ------
    InputError
        As :meth:`~meterdp.federated.circuits.Circuits.of`, or if the graph does not allow the scheme.
    """
    if federation is None or federation["by"] is None:
        return None
    graph = Circuits.of(meters, federation).graph
    sums = sums_of(federation, graph, federation["colluding"])
    words = {"by": federation["by"], "scheme": sums.scheme, "graph": _in_words(federation["graph"], graph)}
    return SharedNoise(sums.shares, words)


def sums_of(federation: Mapping, graph: Graph, colluding: int) -> SharedSums:
    """Return how circuits add up what they have put noise on, if so many of them collude."""
    return SharedSums(federation["scheme"], graph, colluding, MASK_STD)


def shares_of(federation: Mapping | None, meters: pa.Table) -> Shares:
    """Return the shares of :func:`shared_noise`, those of one holder where there are no circuits."""
    shared = shared_noise(federation, meters)
    return ALONE if shared is None else shared.shares


def _in_words(graph: str, of_circuits: Graph) -> str:
    """Return the name of a graph, or a digest of an edge file's edges between circuits by number."""
    if graph in GRAPHS:
        return graph
    return "sha256 of edges " + hashlib.sha256(of_circuits.edges.astype("<i8").tobytes()).hexdigest()
