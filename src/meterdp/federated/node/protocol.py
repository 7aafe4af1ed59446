"""One node's side of every scheme: give it a vector, it returns the sum over all nodes.

Every scheme is made of the public agreement alone, and says which links it needs and which constants it works with,
so that nodes can compare them. Whatever vector is summed, :meth:`total` is all there is to call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from meterdp.federated.graph import Graph, hamiltonian_cycle
from meterdp.federated.node.messages import Kind, uniform_words
from meterdp.federated.summation import decoded, encoded, tree_of

SERVER = 0


class NodeScheme(ABC):
    """One node's side of a scheme."""

    links: Graph

    @classmethod
    @abstractmethod
    def of(cls, settings: Mapping, graph: Graph) -> NodeScheme:
        """Make the scheme of an agreement, whose ``settings`` are all keys; ``graph`` says who may talk with whom and
        may not allow it.
        """

    @property
    def constants(self) -> dict:
        """Public numbers that follow from the agreement and must be the same everywhere."""
        return {}

    def on_grid(self, grid: float) -> NodeScheme:
        """Return the scheme for vectors with release noise: exact multiples of ``grid``, refused for no size.

        To refuse a value for its size would tell something of it.
        """
        return replace(self, step=grid, wraps=True)

    @abstractmethod
    def total(self, links, iteration: int, values: np.ndarray) -> np.ndarray:
        """Return the sum of everybody's ``values`` (q,) over all nodes; this run has not used ``iteration`` before.

        ``links`` are this node's :class:`~meterdp.federated.node.links.Links`. The sum is the same to the bit at
        every node. Raises :class:`~meterdp.federated.node.messages.Fault` if a neighbour does not do its part.
        """


@dataclass(frozen=True)
class FederatedNode(NodeScheme):
    """Every node tells the first one its values, and receives the sum."""

    links: Graph

    @classmethod
    def of(cls, settings: Mapping, graph: Graph) -> FederatedNode:
        return cls(Graph.of(graph.nodes, [(SERVER, i) for i in range(1, graph.nodes)]))

    def on_grid(self, grid: float) -> FederatedNode:
        """Return itself: what is sent is never encoded."""
        return self

    def total(self, links, iteration: int, values: np.ndarray) -> np.ndarray:
        q = len(values)
        if links.me != SERVER:
            links.send(SERVER, Kind.STATISTICS, iteration, 0, values)
            return links.receive(SERVER, Kind.SUMS, iteration, 0, q)
        total = sum((links.receive(i, Kind.STATISTICS, iteration, 0, q) for i in links.neighbours), start=values)
        for i in links.neighbours:
            links.send(i, Kind.SUMS, iteration, 0, total)
        return total


@dataclass(frozen=True)
class RingNode(NodeScheme):
    """Partial sums modulo 2^64 go around a cycle under a uniform mask, and then the sum does.

    ``wraps`` says that no vector is refused for its size (:func:`meterdp.federated.summation.encoded`).
    """

    links: Graph
    cycle: tuple[int, ...]
    step: float
    wraps: bool = False

    @classmethod
    def of(cls, settings: Mapping, graph: Graph) -> RingNode:
        """Link the nodes along a Hamiltonian cycle of the graph."""
        cycle = hamiltonian_cycle(graph)
        links = Graph.of(graph.nodes, list(zip(cycle, cycle[1:] + cycle[:1], strict=True)))
        return cls(links, cycle, 2.0 ** -settings["sum_bits"])

    @property
    def constants(self) -> dict:
        return {"cycle": self.cycle}

    def total(self, links, iteration: int, values: np.ndarray) -> np.ndarray:
        """Add to what comes from the node before, hand it to the next."""
        n, q = len(self.cycle), len(values)
        place = self.cycle.index(links.me)
        before, after = self.cycle[place - 1], self.cycle[(place + 1) % n]
        own = encoded(values, self.step, n, self.wraps)
        if place == 0:
            mask = uniform_words(q)
            links.send(after, Kind.PARTIAL, iteration, 0, own + mask)
            total = decoded(links.receive(before, Kind.PARTIAL, iteration, 0, q) - mask, self.step)
        else:
            partial = links.receive(before, Kind.PARTIAL, iteration, 0, q)
            links.send(after, Kind.PARTIAL, iteration, 0, partial + own)
            total = links.receive(before, Kind.TOTAL, iteration, 0, q)
        if place < n - 1:
            links.send(after, Kind.TOTAL, iteration, 0, total)
        return total


@dataclass(frozen=True)
class EdgeMasksNode(NodeScheme):
    """Neighbours mask their values for each other modulo 2^64; masked values are summed up a tree of the graph.

    ``wraps`` as for :class:`RingNode`.
    """

    links: Graph
    step: float
    wraps: bool = False

    @classmethod
    def of(cls, settings: Mapping, graph: Graph) -> EdgeMasksNode:
        return cls(graph, 2.0 ** -settings["sum_bits"])

    def total(self, links, iteration: int, values: np.ndarray) -> np.ndarray:
        """Mask, gather from below, pass up, and pass the sum down."""
        parents, q = tree_of(self.links), len(values)
        parent = int(parents[links.me])
        below = [j for j in links.neighbours if parents[j] == links.me]
        masked = encoded(values, self.step, self.links.nodes, self.wraps)
        for j in links.neighbours:
            if j > links.me:  # the first of two draws the mask and takes it away
                mask = uniform_words(q)
                links.send(j, Kind.MASK, iteration, 0, mask)
                masked -= mask
        for j in links.neighbours:
            if j < links.me:
                masked += links.receive(j, Kind.MASK, iteration, 0, q)
        for j in below:
            masked += links.receive(j, Kind.PARTIAL, iteration, 0, q)
        if parent < 0:
            total = decoded(masked, self.step)
        else:
            links.send(parent, Kind.PARTIAL, iteration, 0, masked)
            total = links.receive(parent, Kind.TOTAL, iteration, 0, q)
        for j in below:
            links.send(j, Kind.TOTAL, iteration, 0, total)
        return total


PROTOCOLS: dict[str, type[NodeScheme]] = {
    "federated": FederatedNode,
    "secure_sum": RingNode,
    "edge_masks": EdgeMasksNode,
}
