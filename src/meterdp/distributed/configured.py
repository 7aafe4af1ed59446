"""How circuits share the noise of a sound release, from configuration and the public list of meters."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from meterdp.distributed.circuits import GRAPHS, Circuits
from meterdp.distributed.graph import Graph
from meterdp.distributed.shared_noise import SharedSums
from meterdp.mechanisms.sound.shares import ALONE, Shares


@dataclass(frozen=True)
class SharedNoise:
    """What is public about a release that circuits make together.

    Parameters
    ----------
    shares : Shares
        By which the mechanism is calibrated.
    words : mapping
        How they add up: scheme and graph, as words of a request. No name of a circuit is among them.
    holders : {"circuits", "nodes"}
        Who they are.
    """

    shares: Shares
    words: Mapping
    holders: str = "circuits"

    @property
    def in_words(self) -> str:
        """What a manifest says of it."""
        n, t, who = self.shares.nodes, self.shares.colluding, self.holders
        return (
            f"the noise is that of {n} {who} that hold the readings, each adding its share before anything is "
            f"summed (scheme {self.words['scheme']}): what any {t} of them that collude would see while they make "
            f"this release, with the release, has the epsilon and delta above for a meter of another of the {who}; "
            f"the release alone has {1 / self.shares.seen_by_colluding:.3g} times the noise that they ask for"
        )


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
        As :meth:`~meterdp.distributed.circuits.Circuits.of`, or if the graph does not allow the scheme.
    """
    if federation is None or federation["by"] is None:
        return None
    graph = Circuits.of(meters, federation).graph
    sums = sums_of(federation, graph, federation["colluding"])
    words = {"by": federation["by"], "scheme": sums.scheme, "graph": _in_words(federation["graph"], graph)}
    return SharedNoise(sums.shares, words)


def sums_of(federation: Mapping, graph: Graph, colluding: int) -> SharedSums:
    """Return how circuits add up what they have put noise on, if so many of them collude."""
    return SharedSums(federation["scheme"], graph, colluding, federation["mask_std"])


def shares_of(federation: Mapping | None, meters: pa.Table) -> Shares:
    """Return the shares of :func:`shared_noise`, those of one holder where there are no circuits."""
    shared = shared_noise(federation, meters)
    return ALONE if shared is None else shared.shares


def _in_words(graph: str, of_circuits: Graph) -> str:
    """Return the name of a graph, or a digest of an edge file's edges between circuits by number."""
    if graph in GRAPHS:
        return graph
    return "sha256 of edges " + hashlib.sha256(of_circuits.edges.astype("<i8").tobytes()).hexdigest()
