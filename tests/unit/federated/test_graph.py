"""Graphs: parts, arcs, random ones, files, and cycles against a brute force over all orders."""

import itertools
import math

import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp.federated.graph import (
    CORRUPT,
    Graph,
    complete,
    five_node_example,
    hamiltonian_cycle,
    random_geometric,
    read_graph,
    ring,
)


def test_arcs_hold_every_edge_twice():
    graph = random_geometric(15, np.random.default_rng(1))
    arcs = graph.arcs
    assert sorted(zip(arcs.tail, arcs.head, strict=True)) == list(zip(arcs.tail, arcs.head, strict=True))
    assert (arcs.tail[arcs.reverse] == arcs.head).all() and (arcs.head[arcs.reverse] == arcs.tail).all()
    assert (arcs.signs + arcs.signs[arcs.reverse] == 0).all()
    assert ((arcs.tail > arcs.head) == (arcs.signs == 1)).all()
    assert graph.degrees.sum() == 2 * len(graph.edges)
    np.testing.assert_array_equal(graph.laplacian().sum(axis=1), 0)


def test_random_geometric_joins_the_near_and_is_connected():
    graph = random_geometric(80, np.random.default_rng(2))
    apart = np.linalg.norm(graph.positions[:, None] - graph.positions[None], axis=2)
    near = np.argwhere(np.triu(apart <= math.sqrt(2 * math.log(80) / 80), 1))
    np.testing.assert_array_equal(graph.edges, near)
    assert graph.connected
    sparse, first = random_geometric(8, np.random.default_rng(3), 0.3), np.random.default_rng(3).random((8, 2))
    assert sparse.connected and not np.array_equal(sparse.positions, first)  # which falls into parts
    with pytest.raises(InputError, match="no graph is connected"):
        random_geometric(50, np.random.default_rng(3), 0.01)


def test_parts_without_nodes():
    assert five_node_example().components(CORRUPT) == [(0, 2, 4)]
    assert five_node_example(chord=False).components(CORRUPT) == [(0, 4), (2,)]
    assert ring(6).components([0, 3]) == [(1, 2), (4, 5)]
    assert len(complete(7).components(range(6))) == 1
    part = five_node_example().part([0, 2, 4])
    np.testing.assert_array_equal(part.edges, [[0, 1], [0, 2]])


@pytest.mark.parametrize("pairs", [[(0, 0)], [(0, 5)], [(-1, 2)]])
def test_bad_pairs_are_refused(pairs):
    with pytest.raises(InputError):
        Graph.of(5, pairs)


def test_a_file(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("node,neighbour\nnorth,south\nsouth , east\n\nnorth,south\n")
    graph = read_graph(path, ["north", "south", "east"])
    np.testing.assert_array_equal(graph.edges, [[0, 1], [1, 2]])
    for text, row in (("a,b\n", 1), ("node,neighbour\nnorth,west\n", 2), ("node,neighbour\nnorth,north\n", 2)):
        path.write_text(text)
        with pytest.raises(InputError, match=f"row {row}"):
            read_graph(path, ["north", "south", "east"])
    path.write_text("node,neighbour\nnorth,south\n")
    with pytest.raises(InputError, match="2 parts"):
        read_graph(path, ["north", "south", "east"])
    with pytest.raises(InputError, match="cannot be read"):
        read_graph(tmp_path / "none.csv", ["north"])


def _has_cycle(graph: Graph) -> bool:
    joined = {tuple(e) for e in graph.edges.tolist()} | {tuple(e[::-1]) for e in graph.edges.tolist()}
    return any(
        all(pair in joined for pair in itertools.pairwise((0, *order, 0)))
        for order in itertools.permutations(range(1, graph.nodes))
    )


@pytest.mark.parametrize("seed", range(60))
def test_cycles_are_found_where_there_are_any(seed):
    generator = np.random.default_rng(seed)
    n = int(generator.integers(3, 8))
    pairs = [p for p in itertools.combinations(range(n), 2) if generator.random() < 0.55]
    graph = Graph.of(n, pairs)
    if not graph.connected:
        return
    if not _has_cycle(graph):
        with pytest.raises(InputError, match="has no Hamiltonian cycle"):
            hamiltonian_cycle(graph)
        return
    _check(graph, hamiltonian_cycle(graph))


def _check(graph: Graph, cycle: tuple[int, ...]) -> None:
    assert cycle[0] == 0 and sorted(cycle) == list(range(graph.nodes))
    for a, b in itertools.pairwise((*cycle, cycle[0])):
        assert b in graph.neighbours(a)


def test_petersens_graph_has_none_and_large_graphs_have_one():
    outer = [(i, (i + 1) % 5) for i in range(5)]
    petersen = Graph.of(10, outer + [(i, i + 5) for i in range(5)] + [(5 + i, 5 + (i + 2) % 5) for i in range(5)])
    with pytest.raises(InputError, match="by a complete search"):
        hamiltonian_cycle(petersen)
    with pytest.raises(InputError, match="single neighbour"):
        hamiltonian_cycle(Graph.of(4, [(0, 1), (1, 2), (2, 0), (2, 3)]))
    with pytest.raises(InputError, match="without which"):
        hamiltonian_cycle(Graph.of(5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)]))
    large = random_geometric(195, np.random.default_rng(4))
    _check(large, hamiltonian_cycle(large))
    _check(ring(300), hamiltonian_cycle(ring(300)))
