"""`joint` and `transport`: convex problems against CVXPY and closed forms, the coupling by its definition.

Budgets hold, and exact curves are below those of published.
"""

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import sqrtm

from meterdp.accounting.exact_curve import worst_pairs
from meterdp.class_noise.curves import design_comparison_rows, losses_of
from meterdp.class_noise.designs.barycentre import (
    minimax_centre,
    squared_distances,
    towards,
    wasserstein_limit,
)
from meterdp.class_noise.designs.joint.common_noise import common_noise
from meterdp.class_noise.designs.joint.descent import saddles
from meterdp.class_noise.designs.registry import noise_design, runnable
from meterdp.class_noise.designs.simple import NOISE_FLOOR
from meterdp.class_noise.query_models import PREDICTABLE, Budget, ClassQueries
from meterdp.class_noise.tables import DESIGN_COMPARISON
from meterdp.core.parquet import as_arrow
from meterdp.errors import InputError
from meterdp.privacy import gaussian
from meterdp.solvers.smallest_ball import smallest_ball
from tests.unit.class_noise.examples import all_pairs, random_queries, synthetic, wishart

EPSILONS = np.array([0.1, 0.3, 1.0])


def deltas(design: str, queries: ClassQueries, budget: Budget, side: str = "hockey_stick") -> np.ndarray:
    losses = losses_of(noise_design(design)(queries, budget).released(queries))
    return np.array([worst_pairs(losses, eps, (side,))[side].delta for eps in EPSILONS])


def undirected(labels: int) -> np.ndarray:
    return np.array([(i, j) for i in range(labels) for j in range(i + 1, labels)])


def certain(means) -> ClassQueries:
    means = np.asarray(means, dtype=float)
    labels, k = means.shape
    return ClassQueries(means, np.zeros((labels, k, k)), all_pairs(labels))


def arma_like(seed: int, labels: int = 7, entries: int = 12) -> ClassQueries:
    """Forecast distributions (57) of AR(1) processes about means that differ by label."""
    generator = np.random.default_rng(seed)
    lag = np.subtract.outer(np.arange(entries), np.arange(entries))
    covariances = []
    for coefficient, size in zip(
        generator.uniform(0.3, 0.95, labels), generator.uniform(0.1, 0.6, labels), strict=True
    ):
        response = np.where(lag >= 0, coefficient ** np.abs(lag), 0.0)
        covariances.append(size * response @ response.T)
    means = generator.standard_normal((labels, 1)) + 0.3 * generator.standard_normal((labels, entries)).cumsum(axis=1)
    return ClassQueries(0.5 * means, np.array(covariances), all_pairs(labels))


def by_cvxpy(means, edges, budget: float, floor_share: float) -> float:
    """The problem as it stands, but noise in units of the budget and lengths in units of the radius."""
    labels, k = means.shape
    radius = np.sqrt(smallest_ball(means).squared_radius)
    reach = np.sqrt(budget) / radius
    covariance, moves, worst = cp.Variable((k, k), symmetric=True), cp.Variable((labels, k)), cp.Variable()
    constraints = [covariance - floor_share / k * np.eye(k) >> 0]
    for a, b in edges:
        apart = (means[b] - means[a]) / radius + reach * (moves[b] - moves[a])
        constraints.append(cp.matrix_frac(apart, covariance) <= worst)
    constraints += [cp.sum_squares(moves[x]) + cp.trace(covariance) <= 1 for x in range(labels)]
    problem = cp.Problem(cp.Minimize(worst), constraints)
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == "optimal"
    return float(problem.value) / reach**2


@pytest.mark.parametrize("share", [1e-3, 0.3, 0.8, 0.97])
@pytest.mark.parametrize(("labels", "entries", "seed"), [(2, 2, 0), (5, 2, 1), (6, 3, 2), (9, 3, 3)])
def test_the_convex_problem_is_solved_to_a_certified_gap(labels, entries, seed, share):
    """Oracle: CVXPY with Clarabel on all edges."""
    means = np.random.default_rng(seed).standard_normal((labels, entries)) * np.arange(1, entries + 1)
    budget, edges = share * smallest_ball(means).squared_radius, undirected(labels)
    found = common_noise(means, edges, budget, 1e-3, target=1e-6)
    optimum = by_cvxpy(means, edges, budget, 1e-3)
    assert found.relative_gap <= 1.001e-6
    assert found.lower_bound <= optimum * (1 + 1e-5)
    assert found.worst == pytest.approx(optimum, rel=1e-5)


def test_a_sparse_graph_is_solved_as_its_edges_say():
    """Oracle: CVXPY on a path, where far labels need not be alike."""
    means = np.cumsum(np.random.default_rng(4).standard_normal((8, 2)), axis=0)
    edges = np.stack([np.arange(7), np.arange(1, 8)], axis=1)
    found = common_noise(means, edges, 0.2, 1e-3, target=1e-6)
    assert found.worst == pytest.approx(by_cvxpy(means, edges, 0.2, 1e-3), rel=1e-5)


def test_the_working_set_reaches_the_gap_among_many_labels():
    """No oracle needed: the lower bound is a certificate, and the answer is checked on all pairs here."""
    means = np.random.default_rng(5).standard_normal((150, 3)) * [3.0, 1.0, 0.5]
    budget, edges = 0.5 * smallest_ball(means).squared_radius, undirected(150)
    found = common_noise(means, edges, budget, 1e-3, target=1e-4)
    placed = means + found.shift
    apart = placed[edges[:, 1]] - placed[edges[:, 0]]
    worst = np.max(np.sum(apart @ np.linalg.inv(found.covariance) * apart, axis=1))
    assert worst == pytest.approx(found.worst, rel=1e-9)
    assert found.worst <= found.lower_bound * (1 + 1e-4)
    spent = np.sum(found.shift**2, axis=1) + np.trace(found.covariance)
    assert spent.max() <= budget * (1 + 1e-12)


def test_labels_on_a_line_are_the_closed_form():
    """Four means one apart, 2-D, rho = 2: mu^2 = 4 (a^2 - R)/R with a = 1.5 where all noise lies along the line.

    With white noise beside the moves mu^2 is twice that and delta(1) 0.127; white noise alone has 0.788.
    """
    queries = certain(np.arange(4)[:, None] * [0.6, 0.8])
    squared = 4 * (2.25 - 2.0) / 2.0
    without_floor = gaussian.delta(np.sqrt(squared), 1.0)
    joint, white = (deltas(design, queries, Budget(2.0))[2] for design in ("joint", "white"))
    assert (round(gaussian.delta(np.sqrt(2 * squared), 1.0), 3), round(white, 3)) == (0.127, 0.788)
    assert without_floor < joint < without_floor + 0.01
    assert np.all(deltas("joint", queries, Budget(2.25 / (1 - NOISE_FLOOR) * (1 + 1e-9))) == 0.0)


@pytest.mark.parametrize("entries", [1, 3, 12])
def test_the_smallest_ball_holds_all_points_and_is_smallest(entries):
    """Oracle: the dual bound, and CVXPY once per dimension."""
    generator = np.random.default_rng(entries)
    for case in range(40):
        points = generator.standard_normal((int(generator.integers(1, 40)), entries)) * 10.0 ** generator.integers(
            -3, 3
        )
        points = np.round(points, 1) if case % 3 == 0 else np.repeat(points, 2, axis=0)
        ball = smallest_ball(points)
        assert np.all(np.sum((points - ball.centre) ** 2, axis=1) <= ball.squared_radius * (1 + 1e-12))
        assert ball.squared_radius <= ball.lower_bound * (1 + 1e-9) + 1e-24
    centre, radius = cp.Variable(entries), cp.Variable()
    cp.Problem(cp.Minimize(radius), [cp.norm(p - centre) <= radius for p in points]).solve(solver=cp.CLARABEL)
    assert ball.squared_radius == pytest.approx(float(radius.value) ** 2, rel=1e-6, abs=1e-9)


def test_gradients_of_the_stand_in_are_those_of_its_value():
    """Oracle: central differences of r in a random direction, epsilon from near the mean of the loss to its tail."""
    queries = random_queries(1, labels=4, entries=3)
    means, covariances, epsilon = 0.3 * queries.mean_log_kwh, queries.covariance, np.array([0.05, 0.5, 3.0])
    generator = np.random.default_rng(0)
    on_mean, on_distribution = generator.standard_normal(means.shape), generator.standard_normal(covariances.shape)
    on_distribution = on_distribution + np.swapaxes(on_distribution, 1, 2)
    up, down = (
        saddles(means + h * on_mean, covariances + h * on_distribution, queries.pairs, epsilon).r
        for h in (1e-5, -1e-5)
    )
    found, (x, y) = saddles(means, covariances, queries.pairs, epsilon), queries.pairs.T
    slope = np.einsum("pei,pi->pe", found.mean, on_mean[x]) + np.einsum("pei,pi->pe", found.other_mean, on_mean[y])
    slope += np.einsum("peij,pij->pe", found.covariance, on_distribution[x])
    slope += np.einsum("peij,pij->pe", found.other_covariance, on_distribution[y])
    assert np.allclose((up - down) / 2e-5, slope, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("convention", ["total", "per_entry"])
@pytest.mark.parametrize("deterministic", [True, False])
def test_no_label_exceeds_the_budget(convention, deterministic):
    queries = random_queries(7, labels=5, entries=3, deterministic=deterministic)
    for rho in (1e-6, 0.3, 2.0, 500.0):
        budget = Budget(rho, convention)
        noise = noise_design("joint")(queries, budget)
        assert np.all(noise.squared_error(queries) <= budget.squared_error(3))
        assert np.linalg.eigvalsh(noise.covariance).min() > 0


@pytest.mark.parametrize("seed", range(8))
def test_deterministic_joint_is_below_published_and_white(seed):
    queries = certain(np.random.default_rng(seed).standard_normal((5, 3)) * [2.0, 1.0, 0.3])
    for rho in (0.5, 3.0):
        joint = deltas("joint", queries, Budget(rho))
        for other in ("published", "white"):
            value = deltas(other, queries, Budget(rho))
            assert np.all((joint < value) | (value < 1e-12) | (value > 1 - 1e-6))


@pytest.mark.parametrize(("seed", "spacing", "rho"), [(0, 1.0, 0.5), (1, 2.0, 2.0), (2, 1.0, 2.0), (3, 1.5, 1.0)])
def test_stochastic_joint_is_below_published_on_the_papers_set(seed, spacing, rho):
    queries = synthetic(seed, spacing)
    assert np.all(deltas("joint", queries, Budget(rho)) < deltas("published", queries, Budget(rho)))
    one, other = (deltas(design, queries, Budget(rho), "one") for design in ("joint", "published"))
    assert np.all(one < other)


def test_stochastic_joint_is_below_published_on_forecast_distributions():
    queries = arma_like(0)
    assert np.all(deltas("joint", queries, Budget(1.0)) < deltas("published", queries, Budget(1.0)))


def test_labels_of_a_component_share_one_covariance_to_the_last_bit_and_no_thin_direction():
    """Whatever the budget does to single labels; the condition is at most that of all the budget over the floor."""
    generator, shrunk = np.random.default_rng(7), 0
    for seed in range(8):
        queries = certain(generator.standard_normal((6, 4)) * generator.uniform(0.1, 2.0))
        noise = noise_design("joint")(queries, Budget(generator.uniform(0.05, 1.0)))
        if "per label" in noise.report.stop_reason:
            continue
        assert (noise.covariance == noise.covariance[0]).all(), seed
        values = np.linalg.eigvalsh(noise.covariance[0])
        assert values[-1] <= values[0] * queries.entries / NOISE_FLOOR * (1 + 1e-9)
        shrunk += 1
    assert shrunk >= 4


def test_a_label_without_neighbours_gets_the_floor_only():
    queries = ClassQueries(np.eye(3), np.zeros((3, 3, 3)), np.array([[0, 1], [1, 0]]))
    noise = noise_design("joint")(queries, Budget(0.1))
    assert not noise.shift[2].any()
    assert np.allclose(noise.covariance[2], NOISE_FLOOR * 0.1 / 3 * np.eye(3))
    assert np.array_equal(noise.covariance[0], noise.covariance[1])


def test_components_are_designed_on_their_own():
    """A neighbourhood far from another must not change its design."""
    first = certain([[0.0, 0.0], [1.0, 0.5]])
    means = np.array([[0.0, 0.0], [1.0, 0.5], [1e6, 0.0], [1e6, 40.0]])
    both = ClassQueries(means, np.zeros((4, 2, 2)), np.array([[0, 1], [1, 0], [2, 3], [3, 2]]))
    alone, together = (noise_design("joint")(q, Budget(0.2)) for q in (first, both))
    assert np.allclose(together.covariance[:2], alone.covariance, rtol=1e-9)


def nasty(seed: int) -> ClassQueries:
    """Duplicates, singular distributions, thin directions, huge and tiny units, isolated labels, one pair."""
    generator = np.random.default_rng(seed)
    labels, entries = int(generator.integers(1, 6)), int(generator.integers(1, 5))
    means = generator.standard_normal((labels, entries)) * 10.0 ** generator.integers(-4, 4)
    means = means * 10.0 ** generator.integers(-6, 1, entries)
    if seed % 3 == 0:
        means[generator.integers(labels)] = means[0]
    rank = int(generator.integers(0, entries + 1))
    covariance = wishart(generator, labels, entries, max(rank, 1)) * (rank > 0) * 10.0 ** generator.integers(-4, 4)
    if seed % 4 == 1:
        covariance[0] = 0.0
    if seed % 5 == 0:
        covariance[:] = covariance[0]
    pairs = all_pairs(labels)
    if seed % 2 and labels > 2:
        pairs = pairs[(pairs != labels - 1).all(axis=1)]
    return ClassQueries(means, covariance, pairs.reshape(-1, 2))


@pytest.mark.parametrize(("design", "seeds"), [("joint", range(60)), ("transport", range(60, 120))])
def test_nasty_sets_are_designed_within_their_budget(design, seeds, monkeypatch):
    """What is nasty repeats every 60 seeds."""
    monkeypatch.setattr("meterdp.class_noise.designs.joint.descent.ITERATIONS", (5, 5))
    monkeypatch.setattr("meterdp.class_noise.designs.joint.descent.MOVES", (0.0, 0.5, 0.95))
    for seed in seeds:
        queries = nasty(seed)
        if design == "transport" and not queries.covariance.any():
            continue
        budget = Budget(10.0 ** np.random.default_rng(seed).integers(-5, 6), ("total", "per_entry")[seed % 2])
        noise = noise_design(design)(queries, budget)
        assert np.all(noise.squared_error(queries) <= budget.squared_error(queries.entries)), seed
        released = noise.released(queries)
        assert np.all(np.isfinite(released.mean_log_kwh)) and np.all(np.isfinite(released.covariance)), seed
        assert np.all(np.linalg.eigvalsh(noise.covariance)[:, 0] >= -1e-9 * np.abs(noise.covariance).max()), seed


def distributions(seed: int, labels: int, entries: int, rank: int | None = None):
    generator = np.random.default_rng(seed)
    return generator.standard_normal((labels, entries)), wishart(generator, labels, entries, rank or entries + 1)


def centre_by_cvxpy(means, covariances) -> float:
    """tr (A^1/2 S A^1/2)^1/2 is the largest tr K with [[A, K], [K', S]] >= 0."""
    labels, k = means.shape
    mean, worst = cp.Variable(k), cp.Variable()
    blocks = [cp.Variable((2 * k, 2 * k), PSD=True) for _ in range(labels)]
    constraints = []
    for x, block in enumerate(blocks):
        constraints += [block[:k, :k] == covariances[x], block[k:, k:] == blocks[0][k:, k:]]
        spread = np.trace(covariances[x]) + cp.trace(block[k:, k:]) - 2 * cp.trace(block[:k, k:])
        constraints.append(cp.sum_squares(means[x] - mean) + spread <= worst)
    problem = cp.Problem(cp.Minimize(worst), constraints)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


@pytest.mark.parametrize(("labels", "entries", "rank"), [(3, 2, None), (4, 3, None), (4, 3, 1), (2, 2, 1)])
def test_the_minimax_centre_is_certified(labels, entries, rank):
    """Oracle: CVXPY, one coupling per distribution."""
    means, covariances = distributions(labels, labels, entries, rank)
    found = minimax_centre(means, covariances)
    assert found.squared_distance == pytest.approx(centre_by_cvxpy(means, covariances), rel=1e-4)
    assert found.lower_bound <= found.squared_distance <= found.lower_bound * (1 + 1e-2 if rank else 1 + 1e-4)


def test_squared_distances_are_the_closed_form():
    """Oracle: the formula with scipy's matrix square root."""
    means, covariances = distributions(0, 3, 4)
    root = sqrtm(covariances[1]).real
    for x in range(3):
        cross = np.trace(sqrtm(root @ covariances[x] @ root)).real
        expected = np.sum((means[x] - means[1]) ** 2) + np.trace(covariances[x] + covariances[1]) - 2 * cross
        assert squared_distances(means, covariances, means[1], covariances[1])[x] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("rank", [None, 2, 1])
def test_a_query_moved_all_the_way_has_the_distribution_of_the_centre_at_the_price_w2(rank):
    means, covariances = distributions(5, 4, 4, rank)
    target = minimax_centre(*distributions(6, 3, 4))
    for mean, covariance in zip(means, covariances, strict=True):
        price = squared_distances(mean[None], covariance[None], target.mean, target.covariance)[0]
        moved = towards(mean, covariance, target, price * (1 + 1e-9))
        assert np.allclose(mean + moved.move, target.mean)
        released = moved.gain @ covariance @ moved.gain.T + moved.covariance
        assert np.allclose(released, target.covariance, atol=1e-7)
        change = moved.gain - np.eye(4)
        error = np.sum(moved.move**2) + np.trace(change @ covariance @ change.T) + np.trace(moved.covariance)
        assert error == pytest.approx(price, rel=1e-6)
        half = towards(mean, covariance, target, price / 4)
        assert np.allclose(half.move, moved.move / 2)


def test_the_limit_of_certain_queries_is_the_squared_radius():
    queries = certain(np.random.default_rng(1).standard_normal((6, 3)))
    radius = smallest_ball(queries.mean_log_kwh).squared_radius
    assert wasserstein_limit(queries) == pytest.approx(radius)
    assert wasserstein_limit(queries, "per_entry") == pytest.approx(radius / 3)
    assert wasserstein_limit(ClassQueries(np.zeros((2, 3)), np.zeros((2, 3, 3)), np.zeros((0, 2), int))) == 0.0


@pytest.mark.parametrize("queries", [synthetic(0), arma_like(1, labels=4), random_queries(2, labels=3)])
def test_at_the_limit_all_released_distributions_are_the_same(queries):
    limit = wasserstein_limit(queries) / (1 - NOISE_FLOOR) * (1 + 1e-6)
    noise = noise_design("transport")(queries, Budget(limit))
    released = noise.released(queries)
    assert np.allclose(released.mean_log_kwh, released.mean_log_kwh[0], atol=1e-6)
    assert np.allclose(released.covariance, released.covariance[0], atol=1e-6)
    assert np.all(deltas("transport", queries, Budget(limit)) <= 1e-12)
    assert noise.report.sentence == PREDICTABLE


@pytest.mark.parametrize("convention", ["total", "per_entry"])
def test_no_label_exceeds_the_budget_of_transport(convention):
    queries = random_queries(7, labels=4, entries=3)
    for rho in (1e-6, 0.3, 500.0):
        budget = Budget(rho, convention)
        assert np.all(noise_design("transport")(queries, budget).squared_error(queries) <= budget.squared_error(3))


@pytest.mark.parametrize(("seed", "spacing", "rho"), [(0, 1.0, 0.5), (1, 2.0, 2.0), (3, 2.0, 0.5)])
def test_transport_is_below_joint_is_below_published_on_the_papers_set(seed, spacing, rho):
    """Transport may do all that joint does; published is a start of both."""
    queries = synthetic(seed, spacing)
    none, published, joint, transport = (
        deltas(design, queries, Budget(rho)) for design in ("none", "published", "joint", "transport")
    )
    assert np.all(transport < joint)
    assert np.all(joint < published)
    assert np.all(published < none)


def test_transport_is_below_published_on_forecast_distributions():
    queries = arma_like(0)
    assert np.all(deltas("transport", queries, Budget(1.0)) < deltas("published", queries, Budget(1.0)))


def test_singular_distributions_are_transported():
    """The distribution of the query itself has rank 6 of 12 (defect R9)."""
    generator = np.random.default_rng(8)
    queries = ClassQueries(0.3 * generator.standard_normal((3, 12)), 0.1 * wishart(generator, 3, 12, 6), all_pairs(3))
    limit = wasserstein_limit(queries)
    noise = noise_design("transport")(queries, Budget(0.3 * limit))
    assert np.all(noise.squared_error(queries) <= 0.3 * limit)
    assert np.all(
        deltas("transport", queries, Budget(0.3 * limit)) <= deltas("published", queries, Budget(0.3 * limit))
    )


def test_certain_queries_cannot_be_transported_and_a_study_leaves_them_out():
    with pytest.raises(InputError, match="joint"):
        noise_design("transport")(random_queries(0, deterministic=True), Budget(1.0))
    settings = {"query_models": ["deterministic", "stochastic"]}
    settings |= {"designs": ["joint", "transport"], "stochastic_designs": ["white", "transport"]}
    assert runnable(settings) == [("joint", "deterministic"), ("white", "stochastic"), ("transport", "stochastic")]


def test_the_comparison_says_by_how_much():
    queries = {"stochastic": synthetic(4), "deterministic": certain(synthetic(4).mean_log_kwh)}
    designs = ["white", "published", "joint", "transport"]
    settings = {"designs": designs, "stochastic_designs": designs, "query_models": list(queries)}
    keys = [(d, m, 1.0) for d, m in runnable(settings)]
    noises = {key: noise_design(key[0])(queries[key[1]], Budget(1.0)) for key in keys}
    rows = design_comparison_rows(queries, noises, np.array([0.5, 1.0]), "total")
    table = as_arrow(DESIGN_COMPARISON, {name: [row[name] for row in rows] for name in rows[0]})
    assert table.num_rows == 2 * len(keys)
    for row in rows:
        assert row["ratio_to_published"] == pytest.approx(row["delta"] / row["delta_published"])
        assert row["share_of_limit"] == pytest.approx(1.0 / wasserstein_limit(queries[row["query_model"]]))
        assert row["largest_squared_error"] <= 1.0 + 1e-12
        assert (row["ratio_to_published"] < 1) == (row["design"] in ("joint", "transport")) or row[
            "design"
        ] == "white"
