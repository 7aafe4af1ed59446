"""The compiled descent of Algorithm 1 against one that recomputes all pairs, on random and nasty queries."""

import numpy as np
import pytest

from meterdp.class_noise.designs.algorithm1 import (
    DESCENT_STOP_REASONS,
    _none_overtakes,
    _project,
    descend,
    descent_state,
    neighbour_graph,
    published_noise,
)
from meterdp.class_noise.query_models import Budget, ClassQueries
from meterdp.errors import InputError
from meterdp_papers.ramakrishna import errata_descent as plain
from meterdp_papers.ramakrishna.errata_descent import edges_of
from tests.unit.class_noise.examples import all_pairs, nasty_queries, nearest_pairs, wishart

LIMITS = {"first_step": 0.1, "smallest_step": 1e-12, "halvings": 30, "eigenvalue_floor": 1e-9}


def white_state(queries: ClassQueries, rho: float):
    """The start of Algorithm 1, means centred, and its labels with a neighbour."""
    labels, entries = queries.mean_log_kwh.shape
    means = queries.mean_log_kwh - queries.mean_log_kwh.mean(axis=0)
    graph = neighbour_graph(queries.pairs, labels)
    return descent_state(graph, means, queries.covariance + rho / entries * np.eye(entries)), np.unique(queries.pairs)


def by_pair(state) -> np.ndarray:
    """The values of the compiled state as a matrix, entry (X, X')."""
    labels = len(state.log_det)
    out = np.full((labels, labels), -np.inf)
    label = np.repeat(np.arange(labels), np.diff(state.graph.first))
    out[state.graph.neighbour, label] = state.surrogate()
    return out


@pytest.mark.parametrize("name", nasty_queries())
def test_every_iteration_is_that_of_recomputing_all_pairs(name):
    """Oracle: plain Algorithm 1 at each of the first 60 iterates. Pair, step, halvings, update; J never rises.

    A run that ends after m iterations is the start of a longer one, so what it kept of earlier ones is tested.
    """
    queries = nasty_queries()[name]
    edges = edges_of(queries)
    state, members = white_state(queries, 2.0)
    whole = descend(state, members, iteration_limit=60, **LIMITS)
    before, _ = white_state(queries, 2.0)
    means = before.means.T
    for m in range(whole.trace.step.size):
        after, _ = white_state(queries, 2.0)
        descend(after, members, iteration_limit=m + 1, **LIMITS)
        (a, b), step, halvings = whole.trace.pair[m], whole.trace.step[m], whole.trace.halvings[m]
        g = plain.surrogate(means, before.precision, edges)
        scale = max(1.0, abs(g.max()))
        assert np.allclose(by_pair(before)[edges], g[edges], rtol=1e-7, atol=1e-9 * scale)
        assert whole.trace.surrogate[m] == pytest.approx(g.max(), rel=1e-7)
        assert g[a, b] >= g.max() - 1e-9 * scale
        at = plain.step_at(means, before.precision, edges, (int(a), int(b)))
        bound = min(LIMITS["first_step"], at.derived())
        assert step * 2.0**halvings == pytest.approx(bound, rel=1e-4, abs=1e-9)
        expected = plain.moved(before.precision, at, step, 1e-9)
        assert np.allclose(after.precision, expected, rtol=1e-6, atol=1e-9 * np.abs(expected[b]).max())
        others = np.arange(len(means)) != b
        assert np.array_equal(after.precision[others], before.precision[others])
        new = plain.surrogate(means, after.precision, edges)
        assert new.max() <= g.max() + 1e-9 * scale
        if halvings:
            longer = plain.moved(before.precision, at, 2 * step, 1e-9)
            trial = plain.surrogate(means, longer, edges)
            assert trial.max() > g.max() - 1e-9 * scale or trial[a, b] >= g[a, b] - 1e-9 * scale
        before = after
    if whole.stop_reason == "no step":
        g = plain.surrogate(means, before.precision, edges)
        ties = np.argwhere(g >= g.max() - 1e-9 * max(1.0, abs(g.max())))
        assert any(plain.step_at(means, before.precision, edges, (a, b)).derived() <= 1e-9 for a, b in ties)
    assert whole.stop_reason in DESCENT_STOP_REASONS


@pytest.mark.parametrize(
    "name", ["stochastic", "k nearest", "circuits, two labels isolated", "one outlier", "one pair"]
)
def test_a_whole_run_is_that_of_recomputing_all_pairs(name):
    """Without ties: same pairs in the same order, same end, until rounding parts the two."""
    queries = nasty_queries()[name]
    state, members = white_state(queries, 2.0)
    expected = plain.run(state.means.T, state.precision.copy(), edges_of(queries), iteration_limit=40, **LIMITS)
    got = descend(state, members, iteration_limit=40, **LIMITS)
    assert got.stop_reason == expected.stop_reason
    assert got.trace.pair.tolist() == [list(pair) for pair in expected.pair]
    assert np.allclose(got.trace.surrogate, expected.surrogate, rtol=1e-9)
    assert np.allclose(state.precision, expected.precision, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", nasty_queries())
def test_the_descent_of_a_long_run_never_raises_the_worst_pair(name):
    """Claim ram-6 over up to 3,000 iterations, and what was kept is what (46) gives at the end."""
    queries = nasty_queries()[name]
    state, members = white_state(queries, 2.0)
    start = state.worst()
    trace = descend(state, members, iteration_limit=3000, **LIMITS).trace
    assert np.all(np.diff([start, *trace.surrogate, state.worst()]) <= 0)
    edges = edges_of(queries)
    g = plain.surrogate(state.means.T, state.precision, edges)
    assert np.allclose(by_pair(state)[edges], g[edges], rtol=1e-6, atol=1e-6 * max(1.0, abs(g[edges]).max()))
    identity = state.precision @ state.covariance
    assert np.allclose(identity, np.eye(queries.entries), atol=1e-5)


def test_the_projection_keeps_a_floor():
    projected, inverse = np.empty((3, 3)), np.empty((3, 3))
    log_det = _project(np.diag([4.0, -2.0, 1e-3]), 0.1, projected, inverse)
    assert np.allclose(projected, np.diag([4.0, 0.4, 0.4]))
    assert np.allclose(inverse, np.diag([0.25, 2.5, 2.5]))
    assert log_det == pytest.approx(np.log(4.0 * 0.4 * 0.4))


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([[0, 1], [1, 0], [0, 2]], "one direction"),
        ([[0, 1], [1, 2], [2, 0]], "one direction"),
        ([[0, 1], [1, 0], [2, 2]], "own neighbour"),
        ([[0, 3], [3, 0]], "does not exist"),
        ([[0, -1], [-1, 0]], "does not exist"),
    ],
)
def test_pairs_that_are_no_undirected_graph_are_refused(pairs, message):
    queries = ClassQueries(np.eye(3), np.zeros((3, 3, 3)), np.array(pairs))
    with pytest.raises(InputError, match=message):
        published_noise(queries, Budget(1.0))


def test_the_graph_lists_every_edge_once_with_its_reverse():
    pairs = nearest_pairs(np.random.default_rng(3).standard_normal((30, 2)), 3)
    graph = neighbour_graph(np.random.default_rng(4).permutation(np.concatenate([pairs, pairs[:7]])), 31)
    label = np.repeat(np.arange(31), np.diff(graph.first))
    assert sorted(map(tuple, pairs)) == list(zip(label, graph.neighbour, strict=True))
    assert np.array_equal(label[graph.reverse], graph.neighbour)
    assert np.array_equal(graph.neighbour[graph.reverse], label)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_queries_that_are_not_usable_are_refused(bad):
    queries = ClassQueries(np.array([[0.0, 1.0], [bad, 0.0]]), np.zeros((2, 2, 2)), all_pairs(2))
    with pytest.raises(InputError, match=r"not finite|too far apart"):
        published_noise(queries, Budget(1.0))


def test_a_step_without_progress_or_with_a_nan_is_not_accepted():
    """g_ab must fall; the others may stay where the worst pair was, and a NaN is never below it."""
    none, others = np.zeros(3), np.arange(3)
    assert _none_overtakes(np.array([1.0, 2.0, 1.5]), 0.0, none, others, 2, 2.0)
    assert not _none_overtakes(np.array([1.0, 2.0, 1.5]), 0.0, none, others, 1, 2.0)
    assert not _none_overtakes(np.array([1.0, 2.1, 1.5]), 0.0, none, others, 2, 2.0)
    assert not _none_overtakes(np.array([np.nan, 2.0, 1.5]), 0.0, none, others, 2, 2.0)


@pytest.mark.parametrize("seed", [504, 706, 871])
def test_a_step_whose_projection_lets_a_pair_out_of_b_overtake_is_not_taken(seed):
    """Lemma 2 knows nothing of (49): with a floor of one half the projected A_b has a larger ln|A_b|."""
    generator = np.random.default_rng(seed)
    means = generator.uniform(0.2, 20) * generator.standard_normal((4, 3))
    precision, edges = wishart(generator, 4, 3, 4) * generator.uniform(0.01, 5), ~np.eye(4, dtype=bool)
    g = plain.surrogate(means, precision, edges)
    at = plain.step_at(means, precision, edges)
    full = plain.surrogate(means, plain.moved(precision, at, min(0.1, at.derived()), 0.5), edges)
    assert full[at.b].max() > g.max() >= full[:, at.b].max()
    state = descent_state(neighbour_graph(all_pairs(4), 4), means, np.linalg.inv(precision))
    descent = descend(state, np.arange(4), iteration_limit=1, **{**LIMITS, "eigenvalue_floor": 0.5})
    assert descent.rejected_count + descent.trace.halvings.sum() > 0
    assert state.worst() <= g.max() * (1 + 1e-9)
