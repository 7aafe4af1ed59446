"""The distribution of the privacy loss against densities, closed forms and (34) minimised literally."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import ndtr
from scipy.stats import multivariate_normal, norm

from meterdp.accounting.exact_curve import chernoff, exact_tails, hockey_stick
from meterdp.accounting.gaussian_loss import pair_losses
from tests.unit.accounting.loss_oracles import is_mean, sample, stick

EPSILON = np.array([0.0, 0.1, 0.5, 1.0, 4.0, 20.0])


def wishart(generator, count, size, freedom):
    root = generator.standard_normal((count, size, freedom))
    return root @ np.swapaxes(root, 1, 2)


def nasty_distributions():
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


def losses_of_distributions(mean, covariance, other_mean, other_covariance):
    """Pair 0 is (X, X'), pair 1 the reverse."""
    return pair_losses(np.array([mean, other_mean]), np.array([covariance, other_covariance]), [[0, 1], [1, 0]])


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
def test_tails_are_those_of_log_density_ratios(name):
    """Oracle: scipy's densities at 400,000 draws of q; 6.5 standard errors: false alarm below 1e-10."""
    mean, cov, other_mean, other_cov = nasty_distributions()[name]
    generator = np.random.default_rng(1)
    q = generator.multivariate_normal(mean, cov, 400_000)
    direct = multivariate_normal(mean, cov).logpdf(q) - multivariate_normal(other_mean, other_cov).logpdf(q)
    losses = losses_of_distributions(mean, cov, other_mean, other_cov)
    tails = exact_tails(losses, EPSILON)
    for value, event in ((tails.upper[0], direct[:, None] > EPSILON), (tails.lower[0], direct[:, None] < -EPSILON)):
        error = np.sqrt(np.maximum(value * (1 - value), 1e-5) / len(q))
        assert np.all(np.abs(event.mean(axis=0) - value) <= 6.5 * error)


@pytest.mark.parametrize("name", nasty_distributions())
def test_gamma_and_nu_against_an_eigendecomposition(name):
    """Oracle: eigenvalues of S_X'^-1 S_X by numpy; |nu|^2 and sum gamma nu^2 as Mahalanobis distances."""
    mean, cov, other_mean, other_cov = nasty_distributions()[name]
    losses = losses_of_distributions(mean, cov, other_mean, other_cov)
    d = other_mean - mean
    for pair, (s, t) in enumerate([(cov, other_cov), (other_cov, cov)]):
        eigenvalues = np.sort(np.linalg.eigvals(np.linalg.solve(t, s)).real)
        assert np.allclose(np.sort(losses.gamma[pair]), eigenvalues, rtol=1e-8)
        assert np.sum(losses.nu[pair] ** 2) == pytest.approx(d @ np.linalg.solve(t, d), rel=1e-8)
        inner = np.linalg.solve(t, d)
        assert np.sum(losses.gamma[pair] * losses.nu[pair] ** 2) == pytest.approx(inner @ s @ inner, rel=1e-8)


def test_small_gammas_are_accurate_beside_large_ones():
    """Oracle: diagonal distributions turned by one triangular matrix, gammas 1e-12 to 1e12 known."""
    gamma = np.array([1e-12, 1e-3, 1.0, 1e5, 1e12])
    lower = np.tril(np.random.default_rng(0).normal(size=(5, 5))) + 3 * np.eye(5)
    covariance = np.array([lower @ np.diag(np.sqrt(gamma)) @ lower.T, lower @ np.diag(1 / np.sqrt(gamma)) @ lower.T])
    losses = pair_losses(np.zeros((2, 5)), covariance, [[0, 1], [1, 0]])
    assert np.allclose(np.sort(losses.gamma[0]), gamma, rtol=1e-2)
    assert np.allclose(np.sort(losses.gamma[1]), np.sort(1 / gamma), rtol=1e-2)


def test_each_pair_beside_its_reverse_in_any_order():
    """Pairs given once, twice, or one way only: the same numbers."""
    generator = np.random.default_rng(3)
    mean, covariance = generator.normal(size=(5, 3)), wishart(generator, 5, 3, 4)
    pairs = np.array([[3, 1], [0, 4], [4, 0], [1, 3], [2, 0], [3, 1]])
    together = pair_losses(mean, covariance, pairs)
    for i, pair in enumerate(pairs):
        alone = pair_losses(mean, covariance, [pair])
        assert np.allclose(np.sort(alone.gamma[0]), np.sort(together.gamma[i]), rtol=1e-10)
        assert np.allclose(np.sort(alone.nu[0] ** 2), np.sort(together.nu[i] ** 2), rtol=1e-8)


def test_equal_covariances_are_corollary_1():
    """Oracle: (33), and for the bound the closed form exp(-(eps - m^2/2)^2 / (2 m^2)) of a normal loss."""
    mean, cov, other_mean, _ = nasty_distributions()["equal covariances"]
    losses = losses_of_distributions(mean, cov, other_mean, cov)
    distance = np.sqrt((other_mean - mean) @ np.linalg.solve(cov, other_mean - mean))
    epsilon = distance**2 / 2 + np.array([0.5, 1.0, 3.0])
    exact = norm.sf((epsilon - distance**2 / 2) / distance)
    one, two = chernoff(losses, epsilon)
    assert np.all(losses.gamma == 1.0)
    assert np.allclose(exact_tails(losses, epsilon).upper[0], exact, rtol=1e-4)
    assert np.allclose(one[0], np.exp(-((epsilon - distance**2 / 2) ** 2) / (2 * distance**2)), rtol=1e-8)
    lower = np.exp(-((epsilon + distance**2 / 2) ** 2) / (2 * distance**2))
    assert np.allclose(two[0], np.minimum(one[0] + lower, 1), rtol=1e-8)
    assert np.all(one[0] >= exact)


@pytest.mark.parametrize("name", nasty_distributions())
def test_the_bound_is_lemma_1_at_its_minimum(name):
    """Oracle: (34) as printed, minimised by scipy; at most 0.01 % above it, and never below by more than rounding."""
    losses = losses_of_distributions(*nasty_distributions()[name])
    one, _ = chernoff(losses, EPSILON)
    for pair in range(2):
        for column, eps in enumerate(EPSILON):
            oracle = lemma_1(losses.gamma[pair], losses.nu[pair], eps)
            assert one[pair, column] <= oracle * (1 + 1e-4) + 1e-12
            assert one[pair, column] >= oracle * (1 - 1e-3) - 1e-12


@pytest.mark.parametrize("name", nasty_distributions())
def test_delta_cannot_rise_with_epsilon(name):
    losses = losses_of_distributions(*nasty_distributions()[name])
    tails = exact_tails(losses, EPSILON)
    for value, error in (tails.side(side) for side in ("one", "two", "hockey_stick")):
        assert np.all(np.diff(value, axis=1) <= error[:, 1:] + error[:, :-1])
        assert np.all((value >= 0) & (value <= 1))
    assert np.all(np.diff(chernoff(losses, EPSILON)[0], axis=1) <= 1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_unit_of_the_readings_does_not_matter(scale):
    mean, cov, other_mean, other_cov = nasty_distributions()["random"]
    base = exact_tails(losses_of_distributions(mean, cov, other_mean, other_cov), EPSILON)
    scaled = exact_tails(
        losses_of_distributions(scale * mean, scale**2 * cov, scale * other_mean, scale**2 * other_cov), EPSILON
    )
    assert np.allclose(base.upper, scaled.upper, rtol=1e-6)
    assert np.allclose(base.hockey_stick, scaled.hockey_stick, rtol=1e-6)


def test_a_singular_distribution_beside_a_regular_one_is_told_apart():
    mean, covariance = np.zeros((3, 2)), np.array([np.diag([1.0, 0.0]), np.eye(2), np.diag([1.0, 0.0])])
    losses = pair_losses(mean, covariance, [[0, 1], [1, 0], [0, 2]])
    assert losses.singular.tolist() == [True, True, False]
    tails = exact_tails(losses, [1.0])
    assert tails.hockey_stick[:, 0].tolist() == [1, 1, 0]
    assert not pair_losses(mean, covariance + 0.1 * np.eye(2), [[0, 1]]).singular.any()


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 3.0])
def test_hockey_stick_of_two_distributions(mu):
    """Oracle: the curve of Gaussian DP in normal distribution functions, in coordinates that hide it."""
    lower = np.array([[1.0, 0, 0], [3.0, 0.1, 0], [-2.0, 5.0, 20.0]])
    for epsilon in (0.0, 1 / 3, 1.0, 4.0):
        value = hockey_stick(lower @ [0, mu, 0], lower @ lower.T, lower @ lower.T, epsilon)
        exact = ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)
        assert value == pytest.approx(exact, rel=1e-4, abs=1e-15)


def test_hockey_stick_where_covariances_agree_in_one_direction_only():
    """The line must be bent less here; oracle: draws."""
    p, shift = np.diag([0.81141886, 1.00442689, 1.09769821]), np.array([3.73440466, 0.734378614, 0.00156654724])
    losses = pair_losses(np.stack([np.zeros(3), shift]), np.stack([p, np.eye(3)]), [[0, 1]])
    drawn = sample(losses, 0, np.random.default_rng(0))
    assert is_mean(hockey_stick(shift, p, np.eye(3), 0.53), stick(drawn, 0.53))
