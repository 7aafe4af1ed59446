"""Who may speak with whom: undirected graphs of nodes, made, drawn at random or read from a file.

A Hamiltonian cycle: the round trip through all nodes that secure summation needs (Li et al., 4.2.2).
"""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from meterdp.errors import InputError

# Redraws of a random graph that is not connected; with the radius of Li et al. one in n^2 graphs is not.
MOST_DRAWS = 1000
# The corrupt nodes of the example of Li et al., their 2 and 4.
CORRUPT = (1, 3)
# The chord that we add to the example, their 1-3: what else its picture shows is lost, and without a chord node 3 has
# corrupt neighbours only.
CHORD = (0, 2)


@dataclass(frozen=True)
class Graph:
    """An undirected graph without loops.

    Nodes are 0..n-1; ``edges`` (m, 2) int holds each edge once and in order, the smaller end first; ``positions`` (n,
    2) is where nodes are drawn.
    """

    nodes: int
    edges: np.ndarray
    positions: np.ndarray | None = None

    @classmethod
    def of(cls, nodes: int, pairs, positions: np.ndarray | None = None) -> Graph:
        """Return the graph of any pairs of nodes, each once or more, in any order; refuse loops and nodes that are
        not there.
        """
        pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        if nodes < 1 or (pairs.size and (pairs.min() < 0 or pairs.max() >= nodes)):
            raise InputError("names a node that does not exist", field="edges", hint="number nodes from 0 to n - 1")
        if (pairs[:, 0] == pairs[:, 1]).any():
            raise InputError("joins a node with itself", field="edges", hint="leave that edge out")
        return cls(nodes, np.unique(np.sort(pairs, axis=1), axis=0), positions)

    @cached_property
    def arcs(self) -> Arcs:
        """Every edge in both directions."""
        both = np.concatenate([self.edges, self.edges[:, ::-1]])
        order = np.lexsort((both[:, 1], both[:, 0]))
        place = np.empty(len(both), dtype=np.int64)
        place[order] = np.arange(len(both))
        m = len(self.edges)
        reverse = place[(order + m) % max(len(both), 1)]
        tail, head = both[order].T
        starts = np.searchsorted(tail, np.arange(self.nodes + 1))
        return Arcs(tail, head, reverse, starts, np.where(tail > head, 1.0, -1.0))

    @property
    def degrees(self) -> np.ndarray:
        """Number of neighbours of every node, (n,) int."""
        return np.diff(self.arcs.starts)

    def neighbours(self, node: int) -> np.ndarray:
        """Return the neighbours of a node in order."""
        return self.arcs.head[self.arcs.starts[node] : self.arcs.starts[node + 1]]

    def components(self, without: Collection[int] = ()) -> list[tuple[int, ...]]:
        """Return the connected parts of what is left of the graph without some nodes, the one of the lowest first."""
        left = set(range(self.nodes)) - set(without)
        parts = []
        while left:
            part, border = set(), [min(left)]
            while border:
                node = border.pop()
                if node not in part:
                    part.add(node)
                    border += [int(j) for j in self.neighbours(node) if j in left and j not in part]
            left -= part
            parts.append(tuple(sorted(part)))
        return parts

    @cached_property
    def connected(self) -> bool:
        """Whether messages get from any node to any other."""
        return len(self.components()) == 1

    @cached_property
    def diameter(self) -> int:
        """Most edges on the shortest way between two nodes of a connected graph."""
        reached, steps = np.eye(self.nodes, dtype=bool), 0
        joined = reached.copy()
        joined[self.arcs.tail, self.arcs.head] = True
        while not reached.all():
            reached, steps = reached @ joined, steps + 1
        return steps

    def laplacian(self) -> np.ndarray:
        """Return degrees on the diagonal and -1 for every edge, (n, n) float64."""
        out = np.diag(self.degrees.astype(float))
        out[self.edges[:, 0], self.edges[:, 1]] = out[self.edges[:, 1], self.edges[:, 0]] = -1.0
        return out

    def part(self, nodes: Sequence[int]) -> Graph:
        """Return the graph of some nodes, renumbered in their order, and the edges between them."""
        place = {node: i for i, node in enumerate(nodes)}
        kept = [(place[i], place[j]) for i, j in self.edges.tolist() if i in place and j in place]
        return Graph.of(len(place), kept, None if self.positions is None else self.positions[list(nodes)])


@dataclass(frozen=True)
class Arcs:
    """The 2m directed edges of a graph, by tail and then by head.

    ``reverse`` is the place of the opposite arc, the arcs of node i are starts[i] to starts[i + 1], and ``signs`` is
    B_{i|j} of Li et al.: 1 where the tail has the higher number, otherwise -1.
    """

    tail: np.ndarray
    head: np.ndarray
    reverse: np.ndarray
    starts: np.ndarray
    signs: np.ndarray


def ring(nodes: int) -> Graph:
    """Return the cycle 0, 1, ..., n - 1; three nodes or more."""
    if nodes < 3:
        raise InputError("has too few nodes for a ring", field="nodes", hint="use three or more")
    angle = 2 * math.pi * np.arange(nodes) / nodes
    at = np.column_stack([np.sin(angle), np.cos(angle)])
    return Graph.of(nodes, [(i, (i + 1) % nodes) for i in range(nodes)], at)


def complete(nodes: int) -> Graph:
    """Return the graph in which every two nodes are joined."""
    angle = 2 * math.pi * np.arange(nodes) / nodes
    rows, columns = np.triu_indices(nodes, 1)
    return Graph.of(nodes, np.column_stack([rows, columns]), np.column_stack([np.sin(angle), np.cos(angle)]))


def five_node_example(chord: bool = True) -> Graph:
    """Return the example of Li et al. (Fig. 1): a ring of five, in which :data:`CORRUPT` are corrupt, with or without
    our :data:`CHORD`.
    """
    five = ring(5)
    return Graph.of(5, [*five.edges.tolist(), CHORD], five.positions) if chord else five


def random_geometric(nodes: int, generator: np.random.Generator, radius: float | None = None) -> Graph:
    """Return points uniform in the unit square, joined where they are near, redrawn until the graph is connected.

    The default radius sqrt(2 ln(n) / n) makes the graph connected with probability 1 - 1/n^2 (Li et al., 5.1).

    """
    radius = math.sqrt(2 * math.log(nodes) / nodes) if radius is None else radius
    for _ in range(MOST_DRAWS):
        at = generator.random((nodes, 2))
        near = ((at[:, None] - at[None]) ** 2).sum(axis=2) <= radius**2
        graph = Graph.of(nodes, np.argwhere(np.triu(near, 1)), at)
        if graph.connected:
            return graph
    raise InputError("is so small that no graph is connected", field="radius", hint="use a larger radius")


def read_graph(path, names: Sequence[str]) -> Graph:
    """Read a connected graph from a CSV file with the header ``node,neighbour`` and an edge a row.

    ``names`` are those of all nodes, the first of node 0. Raises :class:`InputError` for a file that cannot be read,
    names a node that does not exist, or does not join all nodes.
    """
    place = {name: i for i, name in enumerate(names)}
    pairs = []
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file)
            if [cell.strip() for cell in next(rows, [])] != ["node", "neighbour"]:
                raise InputError(
                    "has another header than node,neighbour", file=path, row=1, hint="write one edge a row below it"
                )
            for row in rows:
                cells = [cell.strip() for cell in row]
                if not any(cells):
                    continue
                if len(cells) != 2 or cells[0] == cells[1] or not set(cells) <= set(place):
                    raise InputError(
                        "does not name two different nodes",
                        file=path,
                        row=rows.line_num,
                        hint="write two names of nodes, separated by a comma",
                    )
                pairs.append((place[cells[0]], place[cells[1]]))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError("cannot be read", file=path, hint="give a CSV file in UTF-8") from error
    graph = Graph.of(len(names), pairs)
    require_connected(graph, path)
    return graph


def require_connected(graph: Graph, file=None) -> None:
    """Refuse a graph in which messages do not get from every node to every other."""
    if not graph.connected:
        raise InputError(
            f"falls into {len(graph.components())} parts, and a sum needs them joined",
            file=file,
            field="graph",
            hint="add edges between the parts",
        )


# Rotations a node, and steps of the complete search for small graphs, before giving up.
_ROTATIONS = 2000
_STEPS = 2_000_000
_SMALL = 20


def hamiltonian_cycle(graph: Graph) -> tuple[int, ...]:
    """Return all nodes in an order in which neighbours, and the last and the first, are joined; node 0 is first.

    Paths are extended at random and turned where they cannot be (Pósa's rotations), the same way for everybody; small
    graphs without success are searched completely. The :class:`InputError` tells whether there is no cycle or none
    was found.
    """
    require_connected(graph)
    joined = [set(graph.neighbours(i).tolist()) for i in range(graph.nodes)]
    obstacle = _obstacle(graph, joined)
    if obstacle is None:
        found = _by_rotations(joined)
        if found is None and graph.nodes <= _SMALL:
            found, exhausted = _by_search(joined)
            obstacle = "a complete search" if exhausted else None
        if found is not None:
            at = found.index(0)
            return tuple(found[at:] + found[:at])
    raise InputError(
        "has no Hamiltonian cycle, which secure summation needs, as is shown by " + obstacle
        if obstacle
        else "was searched for a Hamiltonian cycle, which secure summation needs, and none was found",
        field="graph",
        hint="add edges, or use the scheme 'edge_masks', which needs none",
    )


def _obstacle(graph: Graph, joined: list[set[int]]) -> str | None:
    """Return why there can be no cycle, if that is easy to see."""
    if graph.nodes < 3:
        return "its fewer than three nodes"
    if min(map(len, joined)) < 2:
        return "a node with a single neighbour"
    if any(len(graph.components([i])) > 1 for i in range(graph.nodes)):
        return "a node without which the others are not joined"
    return None


def _by_rotations(joined: list[set[int]]) -> list[int] | None:
    n = len(joined)
    pick = random.Random(0)  # the same path for everybody: no noise, and nothing private
    path, place = [0], np.full(n, -1)
    place[0] = 0
    for _ in range(_ROTATIONS * n):
        end = path[-1]
        free = [j for j in joined[end] if place[j] < 0]
        if free:
            # Nodes with few free neighbours first: later they would be cut off.
            fewest = min(sum(place[k] < 0 for k in joined[j]) for j in free)
            nearest = sorted(j for j in free if sum(place[k] < 0 for k in joined[j]) == fewest)
            chosen = pick.choice(nearest)
            place[chosen] = len(path)
            path.append(chosen)
            continue
        if len(path) == n and path[0] in joined[end]:
            return path
        turn = int(place[pick.choice(sorted(joined[end]))]) + 1
        path[turn:] = path[turn:][::-1]
        for i in range(turn, len(path)):
            place[path[i]] = i
    return None


def _by_search(joined: list[set[int]]) -> tuple[list[int] | None, bool]:
    """Return a cycle, if one was found, and whether the search for it was complete."""
    n, steps = len(joined), 0
    path, used = [0], {0}
    branches = [sorted(joined[0])]
    while branches:
        steps += 1
        if steps > _STEPS:
            return None, False
        if not branches[-1]:
            branches.pop()
            used.discard(path.pop())
            continue
        node = branches[-1].pop()
        if node in used:
            continue
        path.append(node)
        used.add(node)
        if len(path) == n and 0 in joined[node]:
            return path, True
        branches.append(sorted(joined[node] - used))
    return None, True
