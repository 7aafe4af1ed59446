"""White noise and no noise meet the budget exactly and are read off closed forms.

Formulas of Ramakrishna et al. that are right, from means and covariances by hand: (23), (33), (34), (37)-(38).
"""

import numpy as np
import pytest
from scipy.special import erfc

from meterdp.accounting.exact_curve import chernoff, exact_tails
from meterdp.class_noise.curves import losses_of
from meterdp.class_noise.designs.algorithm1 import published_noise
from meterdp.class_noise.designs.registry import DESIGNS, noise_design
from meterdp.class_noise.designs.simple import white_noise
from meterdp.class_noise.query_models import QUERY_MODELS, Budget, ClassQueries, class_queries
from meterdp.errors import InputError
from tests.unit.class_noise.examples import random_queries, synthetic, two_distributions


@pytest.mark.parametrize("design", DESIGNS)
def test_a_design_returns_one_covariance_per_label_and_keeps_its_input(design):
    queries = random_queries(0)
    before = queries.covariance.copy()
    noise = noise_design(design)(queries, Budget(0.7))
    assert noise.covariance.shape == queries.covariance.shape
    assert np.linalg.eigvalsh(noise.covariance).min() >= -1e-12
    assert np.array_equal(before, queries.covariance)


@pytest.mark.parametrize("design", ["white", "published"])
@pytest.mark.parametrize(("convention", "trace"), [("total", 0.7), ("per_entry", 4 * 0.7)])
def test_noise_spends_the_budget_exactly(design, convention, trace):
    """Defect R1: the paper counts rho per entry and as a total."""
    noise = noise_design(design)(random_queries(1), Budget(0.7, convention))
    assert np.allclose(np.trace(noise.covariance, axis1=1, axis2=2), trace)


@pytest.mark.parametrize("design", DESIGNS)
def test_no_budget_is_no_noise(design):
    assert not noise_design(design)(random_queries(3), Budget(0.0)).covariance.any()


def test_without_noise_deterministic_queries_are_told_apart_for_certain():
    """Claim ram-2: delta is 1, not nearly 1."""
    queries = random_queries(6, deterministic=True)
    losses = losses_of(noise_design("none")(queries, Budget(1.0)).released(queries))
    assert losses.singular.all()
    one, two = chernoff(losses, np.array([0.1, 100.0]))
    assert np.all(one == 1.0)
    assert np.all(two == 1.0)
    tails = exact_tails(losses, [0.1])
    assert np.all(tails.upper == 1.0)
    assert np.all(tails.hockey_stick == 1.0)


def test_without_noise_equal_deterministic_queries_are_not_told_apart():
    queries = two_distributions([1.0, 2.0], np.zeros((2, 2)), [1.0, 2.0], np.zeros((2, 2)))
    losses = losses_of(queries)
    assert not losses.singular.any()
    assert not exact_tails(losses, [0.1]).two_sided.any()


def test_each_query_model_counts_its_own_covariance():
    mean, covariance, pairs = np.zeros((2, 3)), np.stack([np.eye(3)] * 2), [(0, 1), (1, 0)]
    own_mean, own = np.ones((2, 3)), np.stack([2 * np.eye(3)] * 2)
    distribution = {"query_mean_log_kwh": own_mean, "query_covariance": own}
    queries = {model: class_queries(mean, covariance, pairs, model, **distribution) for model in QUERY_MODELS}
    assert not queries["deterministic"].covariance.any()
    assert np.array_equal(queries["published"].covariance, covariance)
    assert np.array_equal(queries["stochastic"].covariance, own)
    assert [q.mean_log_kwh[0, 0] for q in queries.values()] == [0.0, 1.0, 0.0]
    with pytest.raises(ValueError, match="distribution of the forecast itself"):
        class_queries(mean, covariance, pairs, "stochastic")


def test_a_study_without_neighbours_has_no_pairs():
    queries = class_queries(np.zeros((1, 3)), np.zeros((1, 3, 3)), [])
    assert isinstance(queries, ClassQueries)
    assert queries.pairs.shape == (0, 2)
    assert np.allclose(noise_design("published")(queries, Budget(3.0)).covariance, np.eye(3))


@pytest.mark.parametrize("rho", [-1.0, np.nan, np.inf])
def test_a_budget_is_a_non_negative_number(rho):
    with pytest.raises(InputError, match="rho"):
        Budget(rho)


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(InputError, match="none, white, published"):
        noise_design("pink")
    with pytest.raises(InputError, match="per_entry"):
        Budget(1.0, "per entry")
    with pytest.raises(InputError, match="stochastic"):
        class_queries(np.zeros((1, 1)), np.zeros((1, 1, 1)), [], "random")


EPSILON = np.array([0.0, 0.1, 1.0, 3.0])
RELATIVE = 1e-3  # what the exact curves are certified to


def q(v):
    """Q of (22)."""
    return 0.5 * erfc(np.asarray(v) / np.sqrt(2))


@pytest.mark.parametrize("seed", range(3))
def test_example_1_is_23(seed):
    """White noise on deterministic queries: delta from the largest distance between neighbours, (16) with p = 2."""
    queries, rho = random_queries(seed, deterministic=True), 20.0
    tails = exact_tails(losses_of(white_noise(queries, Budget(rho)).released(queries)), EPSILON)
    label, other = queries.pairs.T
    sensitivity = np.linalg.norm(queries.mean_log_kwh[label] - queries.mean_log_kwh[other], axis=1).max()
    sigma = np.sqrt(rho / queries.entries)
    expected = q((EPSILON - sensitivity**2 / (2 * sigma**2)) / (sensitivity / sigma))
    assert tails.upper.max(axis=0) == pytest.approx(expected, rel=RELATIVE)


@pytest.mark.parametrize("seed", range(3))
def test_corollary_1_is_33(seed):
    """One covariance for all labels, far from white: the loss is normal with the Mahalanobis distance as its mu."""
    queries = random_queries(seed)
    shared = np.broadcast_to(queries.covariance[0], queries.covariance.shape)
    tails = exact_tails(losses_of(ClassQueries(queries.mean_log_kwh, shared, queries.pairs)), EPSILON)
    label, other = queries.pairs.T
    d = queries.mean_log_kwh[other] - queries.mean_log_kwh[label]
    mu = np.sqrt(np.einsum("pi,ij,pj->p", d, np.linalg.inv(shared[0]), d))[:, None]
    assert tails.upper == pytest.approx(q((EPSILON - mu**2 / 2) / mu), rel=RELATIVE, abs=1e-300)
    assert tails.lower == pytest.approx(q((EPSILON + mu**2 / 2) / mu), rel=RELATIVE, abs=1e-300)
    by_mu = np.argsort(mu[:, 0])
    assert np.all(np.diff(tails.upper[by_mu], axis=0) >= -1e-9), "monotone in |mu|, as (33) says"


def bound_34(covariance, other_covariance, difference, epsilon, s):
    """(34) as printed, from (30) and (31) by an eigendecomposition."""
    values, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(values)) @ vectors.T
    gamma, u = np.linalg.eigh(root @ np.linalg.inv(other_covariance) @ root)
    mu = u.T @ np.linalg.solve(root, difference)
    if s <= max(1.0, gamma.max()):
        return np.inf
    k = gamma.size
    front = (s - 1) ** (k / 2) / (np.prod(gamma) ** (1 / (2 * (s - 1))) * np.prod(s - gamma) ** 0.5)
    exponent = -epsilon / (s - 1) + s / (2 * (s - 1)) * np.sum(mu**2 * gamma / (s - gamma))
    return front * np.exp(min(exponent, 700.0))


@pytest.mark.parametrize("seed", range(4))
def test_lemma_1_is_a_bound_at_every_s_and_34_at_its_best(seed):
    queries = random_queries(seed)
    losses = losses_of(queries)
    tails, best = exact_tails(losses, EPSILON), chernoff(losses, EPSILON)[0]
    grid = 1 + np.geomspace(1e-3, 1e4, 400)
    for pair, (x, y) in enumerate(queries.pairs[:10]):
        d = queries.mean_log_kwh[y] - queries.mean_log_kwh[x]
        for column, epsilon in enumerate(EPSILON):
            bounds = np.array([bound_34(queries.covariance[x], queries.covariance[y], d, epsilon, s) for s in grid])
            assert bounds.min() >= tails.upper[pair, column] * (1 - RELATIVE)
            least = min(bounds.min(), 1.0)
            assert least * (1 - 2e-2) <= best[pair, column] <= least * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_gaussian_sensitivity_37_is_the_constant_of_29_and_half_of_j(seed):
    """By hand from (41); the design's report gives J of (47), which is 2 Delta_G."""
    queries, budget = synthetic(seed), Budget(2.0)
    noise = white_noise(queries, budget)
    distributions = noise.released(queries)
    values = []
    for x, y in queries.pairs:
        d = queries.mean_log_kwh[y] - queries.mean_log_kwh[x]
        ratio = np.linalg.det(distributions.covariance[x]) / np.linalg.det(distributions.covariance[y])
        values.append(0.5 * d @ np.linalg.solve(distributions.covariance[y], d) - 0.5 * np.log(ratio))
    assert losses_of(distributions).constant == pytest.approx(np.array(values))
    report = published_noise(queries, budget).report
    assert report.surrogate_white == pytest.approx(2 * max(values))


@pytest.mark.parametrize("seed", range(4))
def test_36_leaves_out_a_trace_and_34_tends_to_the_divergence(seed):
    """s ln (34) tends to KL(X || X') - eps; s ln (36) is that without (tr Gamma - k)/2 (defect R11)."""
    queries, epsilon = random_queries(seed), 1.0
    constants = losses_of(queries).constant
    for pair, (x, y) in enumerate(queries.pairs[:10]):
        d = queries.mean_log_kwh[y] - queries.mean_log_kwh[x]
        trace = np.trace(np.linalg.solve(queries.covariance[y], queries.covariance[x])) - queries.entries
        literal = 1e7 * np.log(bound_34(queries.covariance[x], queries.covariance[y], d, epsilon, 1e7))
        assert literal == pytest.approx(constants[pair] - epsilon + trace / 2, rel=1e-3, abs=1e-3)


def test_38_at_the_printed_example_and_the_truth():
    """Gamma = I, |mu| = 2, eps = 4, s = 1.05: 0.149 by (38), 0.159 in truth (defect R11)."""
    distributions = ClassQueries(np.array([[0.0], [2.0]]), np.ones((2, 1, 1)), np.array([[0, 1], [1, 0]]))
    losses = losses_of(distributions)
    assert np.exp((losses.constant.max() - 4) / 1.05) == pytest.approx(0.149, abs=5e-4)
    assert exact_tails(losses, np.array([4.0])).upper.max() == pytest.approx(q(1.0), rel=RELATIVE)
    assert q(1.0) == pytest.approx(0.159, abs=5e-4)
