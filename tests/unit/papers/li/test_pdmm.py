"""Consensus: the average under noise of any size, what a transcript spans."""

import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp.federated.graph import CORRUPT, Graph, complete, five_node_example, random_geometric, ring
from meterdp_papers.li.pdmm import Subspace, consensus, constant_for, rounds_for

GRAPHS = {
    "pair": Graph.of(2, [(0, 1)]),
    "ring": ring(7),
    "complete": complete(6),
    "example": five_node_example(),
    "tree": Graph.of(6, [(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)]),
    "geometric": random_geometric(40, np.random.default_rng(0)),
}


@pytest.mark.parametrize("schedule", ["synchronous", "asynchronous"])
@pytest.mark.parametrize("name", GRAPHS)
def test_the_average_is_reached_under_noise_of_any_size(name, schedule):
    graph, generator = GRAPHS[name], np.random.default_rng(1)
    values = generator.normal(size=(graph.nodes, 3)) * [1, 100, 0] + [0, 5, 0]
    c = constant_for(graph)
    for noise_std in (0.0, 1.0, 1e5, 1e10):
        dual_noise = noise_std * generator.standard_normal((len(graph.arcs.tail), 3))
        accuracy = 1e-14 * max(noise_std, 1)
        rounds = rounds_for(graph, c, 1e-15, schedule)
        out = consensus(graph, values, dual_noise, rounds, c=c, schedule=schedule, generator=generator)
        np.testing.assert_allclose(out.at_node, np.tile(values.mean(axis=0), (graph.nodes, 1)), atol=100 * accuracy)
        assert out.messages == 2 * len(graph.edges) * (rounds + 1)


def test_a_graph_in_parts_is_refused():
    with pytest.raises(InputError, match="2 parts"):
        consensus(Graph.of(4, [(0, 1), (2, 3)]), np.zeros((4, 1)), np.zeros((4, 1)), 3, c=1.0)


@pytest.mark.parametrize("schedule", ["synchronous", "asynchronous"])
@pytest.mark.parametrize("chord", [True, False])
def test_corrupt_nodes_learn_the_sums_of_joined_honest_nodes_and_nothing_else_exactly(schedule, chord):
    """The transcript is linear in (values, dual noise): its exact consequences are found by linear algebra."""
    graph = five_node_example(chord)
    arcs, n, rounds = graph.arcs, 5, 60
    honest = [i for i in range(n) if i not in CORRUPT]
    hidden = [a for a in range(len(arcs.tail)) if arcs.tail[a] in honest and arcs.head[a] in honest]
    # One column per unknown: values of honest nodes, then dual noise between honest nodes.
    unknowns = len(honest) + len(hidden)
    values, dual_noise = np.zeros((n, unknowns)), np.zeros((len(arcs.tail), unknowns))
    values[honest, range(len(honest))] = 1
    dual_noise[hidden, range(len(honest), unknowns)] = 1
    out = consensus(
        graph,
        values,
        dual_noise,
        rounds,
        c=0.5,
        schedule=schedule,
        generator=np.random.default_rng(5),
        traced=True,
    )
    transcript = out.trace.reshape(-1, unknowns)
    # Combinations of messages in which no dual noise is left: what is known exactly of the values.
    left, size, _ = np.linalg.svd(transcript[:, len(honest) :])
    rank = int((size > 1e-9 * size[0]).sum())
    known = left[:, rank:].T @ transcript[:, : len(honest)]
    _, size, directions = np.linalg.svd(known)
    exact = directions[: int((size > 1e-9 * max(size[0], 1)).sum())]
    groups = graph.components(CORRUPT)
    sums = np.array([[1.0 if i in group else 0.0 for i in honest] for group in groups])
    assert np.linalg.matrix_rank(exact, tol=1e-9) == len(groups)
    assert np.linalg.matrix_rank(np.vstack([exact, sums]), tol=1e-9) == len(groups)


def test_a_node_with_corrupt_printed_neighbours_is_read_off_one_message():
    """The example without our chord: the paper's node 3, between corrupt 2 and 4, is exposed by (8) itself."""
    graph, generator, c = five_node_example(chord=False), np.random.default_rng(8), 0.5
    values = generator.normal(size=(5, 2))
    arcs = graph.arcs
    dual_noise = 1e3 * generator.standard_normal((len(arcs.tail), 2))
    out = consensus(graph, values, dual_noise, 4, c=c, traced=True)
    around = slice(arcs.starts[2], arcs.starts[3])  # the dual variables its neighbours drew themselves
    dual_in, signs = dual_noise[arcs.reverse[around]], arcs.signs[around, None]
    # y starts at 0, so the first message of node 2 is (its value - what they know) / (1 + 2c).
    np.testing.assert_allclose((1 + 2 * c) * out.trace[0, 2] + (signs * dual_in).sum(axis=0), values[2], atol=1e-9)
    # With the chord one dual variable is missing, and what is left is off by as much as the noise is large.
    joined = five_node_example()
    arcs = joined.arcs
    dual_noise = 1e3 * generator.standard_normal((len(arcs.tail), 2))
    out = consensus(joined, values, dual_noise, 4, c=c, traced=True)
    around = slice(arcs.starts[2], arcs.starts[3])
    known = np.isin(arcs.head[around], CORRUPT)
    dual_in, signs = dual_noise[arcs.reverse[around]], arcs.signs[around, None]
    guess = (1 + 3 * c) * out.trace[0, 2] + (signs * dual_in)[known].sum(axis=0)
    assert np.abs(guess - values[2]).min() > 10


def test_what_is_not_exact_is_hidden_by_the_dual_noise_between_honest_nodes():
    """z_i = s_i + sum of +-m_e with variance of m_e half that of the dual noise: what the proof note counts with."""
    graph, generator, draws = complete(4), np.random.default_rng(6), 40_000
    arcs, std = graph.arcs, 3.0
    dual_noise = std * generator.standard_normal((len(arcs.tail), draws))
    difference = dual_noise - dual_noise[arcs.reverse]
    # Given every lambda_{i|j} - lambda_{j|i}, which an observer of an asynchronous run may learn, half is left.
    z = np.add.reduceat(-arcs.signs[:, None] * (dual_noise[arcs.reverse] + difference / 2), arcs.starts[:-1], axis=0)
    np.testing.assert_allclose(np.cov(z), std**2 / 2 * graph.laplacian(), atol=0.03 * std**2 * 3)


def test_subspace_chooses_public_rounds():
    graph = random_geometric(30, np.random.default_rng(7))
    one, two = (Subspace(graph, np.random.default_rng(s), mask_std=50.0) for s in (8, 9))
    assert one.round_count == two.round_count and one.constant == two.constant
    values = np.random.default_rng(10).normal(size=(30, 4))
    totals = one.total(values)
    np.testing.assert_allclose(totals.at_node, np.tile(values.sum(axis=0), (30, 1)), atol=1e-9)
    assert totals.messages == 2 * len(graph.edges) * (totals.rounds + 1) and totals.numbers == 4 * totals.messages
