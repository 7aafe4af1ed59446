"""What every scheme does: give each node the sum of one vector per node.

Secure summation on a Hamiltonian cycle (Lin, Clifton and Zhu 2005; Li et al., 4.2.2).

The first node adds a random number to its own and passes the sum on; every node adds its own; the first takes the
random number away and tells the result. Done in whole numbers modulo 2^64 the random number hides a partial sum
perfectly; done with real numbers, as Li et al. write it, as far as its spread goes.

Sums of values that neighbours have masked for each other (Ács and Castelluccia 2011, there for smart meters).

The two ends of every edge agree on a random whole number modulo 2^64; one adds it to its value, the other takes it
away. Masked values may then be seen by all, and their sum is that of the values. It is subspace perturbation in whole
numbers: the same sums are revealed, those of honest nodes that are joined, and the rest is hidden perfectly.

Federated sums (Li et al., 3.1): a server receives every node's vector. It hides nothing from the server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from meterdp.errors import InputError
from meterdp.federated.graph import Graph, require_connected


@dataclass(frozen=True)
class Totals:
    """The sum as every node knows it, (n, q), how often nodes waited for each other, messages over one edge each, and
    the numbers of eight bytes in them.
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
        """Sum the vectors of all nodes, (n, q) float64."""


# Sums of absolute values below 2^22 are exact to n 2^-41.
STEP = 2.0**-40


def encoded(values: np.ndarray, step: float, nodes: int, wraps: bool = False) -> np.ndarray:
    """Return numbers as multiples of ``step``, a power of two, in whole numbers modulo 2^64; as many such numbers as
    ``nodes`` must fit.

    A number that is not finite or does not fit is refused without being named. With ``wraps`` it is taken modulo 2^64
    instead: where a refusal would tell something of a node's value, and public numbers say that the sum fits.
    """
    most = np.inf if wraps else 2.0**62 / nodes * step
    if not (np.abs(values) < most).all():
        raise InputError(
            "holds a number that is too large to be summed at the public resolution, or none",
            field="values",
            hint="use a coarser resolution",
        )
    words = np.rint(values / step)
    if wraps:
        # fmod is exact, and so is taking 2^64 away from what is above 2^63.
        words = np.fmod(words, 2.0**64)
        words = np.where(words >= 2.0**63, words - 2.0**64, np.where(words < -(2.0**63), words + 2.0**64, words))
    return words.astype(np.int64).astype(np.uint64)


def decoded(words: np.ndarray, step: float) -> np.ndarray:
    """Invert :func:`encoded`."""
    return words.astype(np.int64) * step


@dataclass(frozen=True)
class RingSum:
    """Secure summation, all nodes in one process: ``generator`` hides nothing from who knows its seed.

    ``cycle`` holds all nodes once, the first begins. Sums have the public resolution ``step`` and wrap as in
    :func:`encoded`.
    """

    graph: Graph
    cycle: tuple[int, ...]
    generator: np.random.Generator
    step: float = STEP
    wraps: bool = False
    name: ClassVar[str] = "secure_sum"

    def partials(self, values: np.ndarray) -> np.ndarray:
        """Return the random numbers of the first node, which stay there, and the n messages along the cycle: (n + 1,
        q) uint64.
        """
        mask = self.generator.integers(2**64, size=values.shape[1], dtype=np.uint64)
        own = encoded(values, self.step, len(values), self.wraps)
        return np.cumsum(np.vstack([mask, own[list(self.cycle)]]), axis=0, dtype=np.uint64)

    def total(self, values: np.ndarray) -> Totals:
        n, q = values.shape
        partials = self.partials(values)
        total = decoded(partials[-1] - partials[0], self.step)
        return Totals(np.tile(total, (n, 1)), 2 * n - 1, 2 * n - 1, (2 * n - 1) * q)


@dataclass(frozen=True)
class EdgeMasks:
    """Masks on edges, all nodes in one process. Masked values are summed up a tree of the graph, the result comes
    down.

    ``wraps`` is as in :func:`encoded`.
    """

    graph: Graph
    generator: np.random.Generator
    step: float = STEP
    wraps: bool = False
    name: ClassVar[str] = "edge_masks"

    def __post_init__(self):
        require_connected(self.graph)

    def masked(self, values: np.ndarray) -> np.ndarray:
        """Return what every node shows, (n, q) uint64."""
        own = encoded(values, self.step, len(values), self.wraps)
        masks = self.generator.integers(2**64, size=(len(self.graph.edges), values.shape[1]), dtype=np.uint64)
        np.subtract.at(own, self.graph.edges[:, 0], masks)
        np.add.at(own, self.graph.edges[:, 1], masks)
        return own

    def total(self, values: np.ndarray) -> Totals:
        n, q = values.shape
        total = decoded(self.masked(values).sum(axis=0, dtype=np.uint64), self.step)
        depth = tree_depth(self.graph)
        messages = len(self.graph.edges) + 2 * (n - 1)
        return Totals(np.tile(total, (n, 1)), 1 + 2 * depth, messages, messages * q)


def tree_of(graph: Graph) -> np.ndarray:
    """Return the parent of every node in the tree of shortest ways from node 0, (n,) int; -1 for node 0."""
    parent, border = np.full(graph.nodes, -2), [0]
    parent[0] = -1
    for node in border:
        for neighbour in graph.neighbours(node):
            if parent[neighbour] == -2:
                parent[neighbour] = node
                border.append(int(neighbour))
    return parent


def tree_depth(graph: Graph) -> int:
    """Return how many edges the farthest node is from node 0."""
    parent, at, depth = tree_of(graph), np.arange(graph.nodes), -1
    while (at >= 0).any():
        at, depth = np.where(at >= 0, parent[at], -1), depth + 1
    return depth


@dataclass(frozen=True)
class Federated:
    """Sums at a server, which is none of the nodes and answers each; the edges of the graph are not used."""

    graph: Graph
    name: ClassVar[str] = "federated"

    def total(self, values: np.ndarray) -> Totals:
        n, q = values.shape
        return Totals(np.tile(values.sum(axis=0), (n, 1)), 2, 2 * n, 2 * n * q)
