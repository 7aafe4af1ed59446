"""A Hamiltonian cycle: the round trip through all nodes that secure summation needs (Li et al., 4.2.2)."""

from __future__ import annotations

import random

import numpy as np

from meterdp.errors import InputError
from meterdp.federated.graph import Graph, require_connected

# Rotations a node, and steps of the complete search for small graphs, before giving up.
_ROTATIONS = 2000
_STEPS = 2_000_000
_SMALL = 20


def hamiltonian_cycle(graph: Graph) -> tuple[int, ...]:
    """Return all nodes in an order in which neighbours, and the last and the first, are joined; node 0 is first.

    Paths are extended at random and turned where they cannot be (Pósa's rotations), the same way for everybody;
    small graphs without success are searched completely.

    Parameters
    ----------
    graph : Graph
        Three nodes or more.

    Raises
    ------
    InputError
        If there is none, or if none was found, which the message tells apart.
    """
    require_connected(graph)
    joined = [set(graph.neighbours(i).tolist()) for i in range(graph.nodes)]
    obstacle = _obstacle(graph, joined)
    if obstacle is None:
        found = _by_rotations(joined)
        if found is None and graph.nodes <= _SMALL:
            found = _by_search(joined)
            obstacle = None if found else "a complete search"
        if found is not None:
            at = found.index(0)
            return tuple(found[at:] + found[:at])
    raise InputError(
        "has no Hamiltonian cycle, which secure summation needs, as is shown by " + obstacle
        if obstacle
        else "was searched for a Hamiltonian cycle, which secure summation needs, and none was found",
        field="graph",
        hint="add edges, or use the scheme 'subspace', which needs none",
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


def _by_search(joined: list[set[int]]) -> list[int] | None:
    """Return a cycle from a complete search, None if there is none or the search is too long."""
    n, steps = len(joined), 0
    path, used = [0], {0}
    branches = [sorted(joined[0])]
    while branches:
        steps += 1
        if steps > _STEPS:
            raise InputError(
                "was searched for a Hamiltonian cycle, which secure summation needs, and none was found",
                field="graph",
                hint="add edges, or use the scheme 'subspace', which needs none",
            )
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
            return path
        branches.append(sorted(joined[node] - used))
    return None
