"""The privacy loss against densities, closed forms, (34) minimised literally, and simulation."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal, norm

import meterdp.classnoise.loss as loss
from meterdp.classnoise.interface import Noise
from meterdp.classnoise.loss import PairLosses, chernoff, monte_carlo, pair_losses, sample_losses
from tests.unit.classnoise.examples import random_queries, two_laws, wishart

EPSILON = np.array([0.0, 0.1, 0.5, 1.0, 4.0, 20.0])


def nasty_laws():
    """Pairs (m_X, S_X, m_X', S_X') at the edges."""
    generator = np.random.default_rng(0)
    a, b = wishart(generator, 2, 3, 5)
    thin = np.diag([1.0, 1e-4, 1e-10])
    shift = np.array([0.3, -0.2, 0.1])
    return {
        "random": (np.zeros(3), a, shift, b),
        "equal covariances": (np.zeros(3), a, 3 * shift, a),
        "equal means": (shift, a, shift, b),
        "all gamma below one": (np.zeros(3), 0.1 * np.eye(3), shift, np.eye(3)),
        "all gamma above one": (np.zeros(3), 9 * np.eye(3), shift, np.eye(3)),
        "gamma just above one": (np.zeros(3), (1 + 1e-9) * np.eye(3), shift, np.eye(3)),
        "nearly singular": (np.zeros(3), np.eye(3), 1e-5 * shift, thin),
        "nearly singular the other way": (np.zeros(3), thin, 1e-5 * shift, np.eye(3)),
        "tiny units": (np.zeros(3), 1e-12 * a, 1e-6 * shift, 1e-12 * b),
        "far apart": (np.zeros(3), a, 1e4 * shift, b),
    }


def lemma_1(gamma, nu, epsilon):
    """Oracle: (34) as printed, minimised over s > max(1, gamma_1) by scipy on a log scale."""
    least = max(1.0, gamma.max())

    def log_bound(log_excess):
        s = least * (1 + 1e-15) + np.exp(log_excess)
        quadratic = np.sum(nu**2 / (s - gamma))  # mu' (sI - G)^-1 G mu
        out = 0.5 * gamma.size * np.log(s - 1) - 0.5 * np.log(gamma).sum() / (s - 1) - 0.5 * np.log(s - gamma).sum()
        return out - epsilon / (s - 1) + s * quadratic / (2 * (s - 1))

    grid = np.linspace(-30, 30, 600)
    best = grid[np.argmin([log_bound(g) for g in grid])]
    found = minimize_scalar(log_bound, bounds=(best - 0.2, best + 0.2), method="bounded", options={"xatol": 1e-9})
    return np.exp(min(found.fun, 0.0))


@pytest.mark.parametrize("name", ["random", "equal covariances", "equal means", "all gamma above one"])
def test_losses_have_the_law_of_log_density_ratios(name):
    """Oracle: scipy's densities at 200,000 draws of q; two samples, 6.5 standard errors: false alarm below 1e-10."""
    mean, cov, other_mean, other_cov = nasty_laws()[name]
    generator = np.random.default_rng(1)
    q = generator.multivariate_normal(mean, cov, 200_000)
    direct = multivariate_normal(mean, cov).logpdf(q) - multivariate_normal(other_mean, other_cov).logpdf(q)
    losses = pair_losses(two_laws(mean, cov, other_mean, other_cov))
    sampled = sample_losses(losses, [0], generator.standard_normal((200_000, 3)))[0]
    for threshold in np.quantile(direct, [0.02, 0.2, 0.5, 0.8, 0.98]):
        p = np.mean(direct > threshold)
        assert abs(np.mean(sampled > threshold) - p) <= 6.5 * np.sqrt(2 * p * (1 - p) / 200_000)


def test_the_mean_loss_is_the_divergence():
    """Oracle: the closed form of KL(N_X || N_X'), which is K'(0)."""
    mean, cov, other_mean, other_cov = nasty_laws()["random"]
    losses = pair_losses(two_laws(mean, cov, other_mean, other_cov))
    slope = loss._cumulant(losses.gamma[:, None, :], losses.nu[:, None, :], np.zeros((2, 1)))[1][0, 0]
    d, inverse = other_mean - mean, np.linalg.inv(other_cov)
    log_ratio = np.linalg.slogdet(other_cov)[1] - np.linalg.slogdet(cov)[1]
    assert slope == pytest.approx(0.5 * (np.trace(inverse @ cov) + d @ inverse @ d - 3 + log_ratio))


def test_the_cumulant_vanishes_at_zero_and_at_minus_one():
    """E e^(-L) under X is one: the density of X' integrates to one."""
    queries = random_queries(3)
    losses = pair_losses(queries)
    u = np.tile([0.0, -1.0], (len(queries.pairs), 1))
    assert np.allclose(loss._cumulant(losses.gamma[:, None, :], losses.nu[:, None, :], u)[0], 0.0, atol=1e-10)


def test_the_lower_tail_is_the_upper_tail_of_the_reverse_pair():
    """E_X e^(-u L_XX') = E_X' e^((u-1) L_X'X): a change of measure ties the two signs of u together."""
    losses = pair_losses(two_laws(*nasty_laws()["random"]))
    u = np.array([[0.1, 0.5, 0.9, 1.0, 1.05]])
    forward = loss._cumulant(losses.gamma[:1, None, :], losses.nu[:1, None, :], -u)[0]
    reverse = loss._cumulant(losses.gamma[1:, None, :], losses.nu[1:, None, :], u - 1)[0]
    assert np.allclose(forward, reverse, atol=1e-10)


def test_one_entry_in_closed_form():
    """k = 1: the loss is a parabola, its tails are normal probabilities (oracle)."""
    queries = two_laws([0.0], [[1.5]], [0.7], [[0.9]])
    losses = pair_losses(queries)
    half, epsilon = 400_000, np.array([0.2, 1.0])
    estimate = monte_carlo(
        PairLosses(losses.gamma[:1], losses.nu[:1], losses.singular[:1]),
        epsilon,
        np.random.default_rng(2).standard_normal((2 * half, 1)),
    )
    for column, eps in enumerate(epsilon):
        # ln f - ln f' - eps as a polynomial in q, positive outside its roots since 1.5 > 0.9.
        square, linear = 0.5 * (1 / 0.9 - 1 / 1.5), -0.7 / 0.9
        constant = 0.5 * np.log(0.9 / 1.5) + 0.49 / 1.8
        low, high = np.sort(np.roots([square, linear, constant - eps]).real)
        above = norm.cdf(low / np.sqrt(1.5)) + norm.sf(high / np.sqrt(1.5))
        roots = np.roots([square, linear, constant + eps])
        inside = 0.0
        if np.isreal(roots).all():
            inside = np.diff(norm.cdf(np.sort(roots.real) / np.sqrt(1.5)))[0]
        assert estimate.one_sided[column] == pytest.approx(above, abs=6.5 * np.sqrt(0.25 / half))
        assert estimate.two_sided[column] == pytest.approx(above + inside, abs=6.5 * np.sqrt(0.25 / half))


def test_equal_covariances_are_corollary_1():
    """Oracle: (33), and for the bound the closed form exp(-(eps - m^2/2)^2 / (2 m^2)) of a normal loss."""
    mean, cov, other_mean, _ = nasty_laws()["equal covariances"]
    losses = pair_losses(two_laws(mean, cov, other_mean, cov))
    distance = np.sqrt((other_mean - mean) @ np.linalg.solve(cov, other_mean - mean))
    epsilon = distance**2 / 2 + np.array([0.5, 1.0, 3.0])
    exact = norm.sf((epsilon - distance**2 / 2) / distance)
    one, two = chernoff(losses, epsilon)
    assert np.allclose(losses.gamma, 1.0)
    assert np.allclose(one[0], np.exp(-((epsilon - distance**2 / 2) ** 2) / (2 * distance**2)), rtol=1e-8)
    lower = np.exp(-((epsilon + distance**2 / 2) ** 2) / (2 * distance**2))
    assert np.allclose(two[0], np.minimum(one[0] + lower, 1), rtol=1e-8)
    assert np.all(one[0] >= exact)


def test_defect_r10_one_sided_two_sided_and_true_dp():
    """mu = 1, eps = 0.5: one-sided 0.50, two-sided 0.659, true DP 0.238, as in the errata."""
    losses = pair_losses(two_laws([0.0], [[1.0]], [1.0], [[1.0]]))
    estimate = monte_carlo(losses, np.array([0.5]), np.random.default_rng(0).standard_normal((400_000, 1)))
    assert estimate.one_sided[0] == pytest.approx(0.5, abs=0.006)
    assert estimate.two_sided[0] == pytest.approx(0.5 + norm.cdf(-1.0), abs=0.006)
    draws = sample_losses(losses, [0], np.random.default_rng(1).standard_normal((400_000, 1)))[0]
    assert np.mean(np.maximum(1 - np.exp(0.5 - draws), 0)) == pytest.approx(
        norm.cdf(0) - np.exp(0.5) * norm.cdf(-1), abs=0.006
    )


@pytest.mark.parametrize("name", nasty_laws())
def test_the_bound_is_lemma_1_at_its_minimum(name):
    """Oracle: (34) as printed, minimised by scipy; at most 0.01 % above it, and never below by more than rounding."""
    losses = pair_losses(two_laws(*nasty_laws()[name]))
    one, _ = chernoff(losses, EPSILON)
    for pair in range(2):
        for column, eps in enumerate(EPSILON):
            oracle = lemma_1(losses.gamma[pair], losses.nu[pair], eps)
            assert one[pair, column] <= oracle * (1 + 1e-4) + 1e-12
            assert one[pair, column] >= oracle * (1 - 1e-3) - 1e-12


@pytest.mark.parametrize("name", nasty_laws())
def test_the_bound_is_above_the_probability(name):
    """Oracle: Monte Carlo, 40,000 draws, less 6.5 standard errors: false alarm below 1e-9 over all values."""
    losses = pair_losses(two_laws(*nasty_laws()[name]))
    one, two = chernoff(losses, EPSILON)
    sampled = sample_losses(losses, [0, 1], np.random.default_rng(4).standard_normal((40_000, 3)))
    for bound, event in ((one, sampled[..., None] > EPSILON), (two, np.abs(sampled)[..., None] > EPSILON)):
        p = event.mean(axis=1)
        assert np.all(bound >= p - 6.5 * np.sqrt(p * (1 - p) / 40_000) - 1e-15)
        assert np.all((bound >= 0) & (bound <= 1))
        assert np.all(np.diff(bound, axis=1) <= 1e-12)  # delta cannot rise with epsilon


def test_a_loss_bounded_above_has_no_tail_beyond_its_maximum():
    """All gamma < 1: the largest loss is finite, and so beyond it the probability and the bound are zero."""
    losses = pair_losses(two_laws(*nasty_laws()["all gamma below one"]))
    gamma, nu = losses.gamma[0], losses.nu[0]
    assert gamma.max() < 1
    largest = losses.constant[0] + 0.5 * np.sum(gamma * nu**2 / (1 - gamma))
    draws = np.random.default_rng(5).standard_normal((100_000, 3))
    assert sample_losses(losses, [0], draws).max() <= largest
    one, _ = chernoff(losses, np.array([largest - 0.5, largest + 1e-3]))
    assert one[0, 0] > 0
    assert one[0, 1] < 1e-100


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_unit_of_the_readings_does_not_matter(scale):
    mean, cov, other_mean, other_cov = nasty_laws()["random"]
    base = chernoff(pair_losses(two_laws(mean, cov, other_mean, other_cov)), EPSILON)
    laws = two_laws(scale * mean, scale**2 * cov, scale * other_mean, scale**2 * other_cov)
    scaled = chernoff(pair_losses(laws), EPSILON)
    assert np.allclose(base, scaled, rtol=1e-9)


def test_a_singular_law_beside_a_regular_one_is_told_apart():
    queries = two_laws([0.0, 0.0], np.diag([1.0, 0.0]), [0.0, 0.0], np.eye(2))
    assert pair_losses(queries).singular.all()
    assert not pair_losses(Noise(np.stack([0.1 * np.eye(2)] * 2)).released(queries)).singular.any()


def test_the_worst_pair_is_chosen_and_judged_on_different_draws():
    """A pair whose loss exceeds eps on the first half only must not count on the second."""
    losses = pair_losses(two_laws([0.0], [[1.0]], [1.0], [[1.0]]))
    signs = sample_losses(losses, [0], np.array([[-5.0], [5.0]]))[0] > 1
    draws = np.repeat(np.where(signs, -5.0, 5.0) if signs[0] else np.array([5.0, -5.0]), 10)[:, None]
    first = sample_losses(losses, [0, 1], draws[:10]) > 1
    estimate = monte_carlo(losses, np.array([1.0]), draws)
    worst = first.sum(axis=1).argmax()
    assert estimate.one_sided[0] == np.mean(sample_losses(losses, [worst], draws[10:]) > 1)
    assert first[worst].all()
    assert estimate.one_sided[0] == 0.0


def test_blocks_do_not_change_the_result(monkeypatch):
    queries = random_queries(8)
    draws = np.random.default_rng(9).standard_normal((2000, 4))
    results = []
    for entries in (10**9, 1):
        monkeypatch.setattr(loss, "BLOCK_ENTRIES", entries)
        losses = pair_losses(queries)
        results.append(
            np.stack(
                [*(b.max(axis=0) for b in chernoff(losses, EPSILON)), monte_carlo(losses, EPSILON, draws).two_sided]
            )
        )
    assert np.allclose(*results, rtol=1e-12)
