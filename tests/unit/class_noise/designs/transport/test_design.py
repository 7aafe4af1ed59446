"""`transport`: the minimax barycentre against CVXPY, the coupling by its definition, the limit, and exact curves."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import sqrtm

from meterdp.class_noise.curves import design_comparison_rows
from meterdp.class_noise.designs.barycentre import (
    minimax_centre,
    squared_distances,
    towards,
    wasserstein_limit,
)
from meterdp.class_noise.designs.registry import noise_design, runnable
from meterdp.class_noise.designs.simple import NOISE_FLOOR
from meterdp.class_noise.query_models import PREDICTABLE, Budget, ClassQueries
from meterdp.class_noise.tables import DESIGN_COMPARISON
from meterdp.core.parquet import as_arrow
from meterdp.errors import InputError
from meterdp.solvers.smallest_ball import smallest_ball
from tests.unit.class_noise.designs.joint.test_design import arma_like, certain, deltas
from tests.unit.class_noise.examples import all_pairs, random_queries, synthetic, wishart


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
def test_no_label_exceeds_the_budget(convention):
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
