"""Sums of values that neighbours have masked for each other (Ács and Castelluccia 2011, there for smart meters).

The two ends of every edge agree on a random whole number modulo 2^64; one adds it to its value, the other takes it
away. Masked values may then be seen by all, and their sum is that of the values. It is subspace perturbation in whole
numbers: the same sums are told, those of honest nodes that are joined, and the rest is hidden perfectly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meterdp.federated.graph import Graph, require_connected
from meterdp.federated.ring_sum import STEP, decoded, encoded
from meterdp.federated.summation import Totals


@dataclass(frozen=True)
class EdgeMasks:
    """The scheme, all nodes in one process. Masked values are summed up a tree of the graph, the result comes down.

    Parameters
    ----------
    graph : Graph
        Connected.
    generator : numpy.random.Generator
        Of the masks, for simulation.
    step : float
        Public resolution.
    wraps : bool
        As in :func:`~meterdp.federated.ring_sum.encoded`.
    """

    graph: Graph
    generator: np.random.Generator
    step: float = STEP
    wraps: bool = False
    name: ClassVar[str] = "edge_masks"

    def __post_init__(self):
        require_connected(self.graph)

    def masked(self, values: np.ndarray) -> np.ndarray:
        """Return what every node shows, (n, q) uint64.

        Parameters
        ----------
        values : (n, q) float64
        """
        own = encoded(values, self.step, len(values), self.wraps)
        masks = self.generator.integers(2**64, size=(len(self.graph.edges), values.shape[1]), dtype=np.uint64)
        np.subtract.at(own, self.graph.edges[:, 0], masks)
        np.add.at(own, self.graph.edges[:, 1], masks)
        return own

    def total(self, values: np.ndarray) -> Totals:
        """Mask and sum; see :class:`~meterdp.federated.summation.Summation`."""
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
    parent, depth = tree_of(graph), 0
    for node in range(graph.nodes):
        steps = 0
        while parent[node] >= 0:
            node, steps = parent[node], steps + 1
        depth = max(depth, steps)
    return depth
