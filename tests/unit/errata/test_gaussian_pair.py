"""Exact delta between Gaussian laws: against the GDP curve, normal distribution functions and Monte Carlo."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from meterdp.accounting import gdp
from meterdp.errata.gaussian_pair import hockey_stick


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 1 / 3, 1.0, 4.0])
def test_equal_covariances_give_the_gdp_curve(mu, epsilon):
    lower = np.array([[1.0, 0, 0], [3.0, 0.1, 0], [-2.0, 5.0, 20.0]])
    value = hockey_stick(lower @ [0, mu, 0], lower @ lower.T, lower @ lower.T, epsilon)
    assert value == pytest.approx(gdp.delta(mu, epsilon), rel=1e-10, abs=1e-15)


def delta_in_one_dimension(shift, variance, other, epsilon):
    """Sum (P - e^eps Q)_+ over the intervals between the crossings of the two densities."""
    # ln p - ln q - epsilon is a parabola in x.
    constant = 0.5 * shift**2 / other + 0.5 * np.log(other / variance) - epsilon
    roots = np.roots([0.5 / other - 0.5 / variance, -shift / other, constant])
    edges = np.concatenate([[-np.inf], np.sort(roots[np.isreal(roots)].real), [np.inf]])
    p, q = np.diff(ndtr(edges / np.sqrt(variance))), np.diff(ndtr((edges - shift) / np.sqrt(other)))
    return np.maximum(p - np.exp(epsilon) * q, 0).sum()


@pytest.mark.parametrize("closeness", [1, 0.1, 1e-3, 1e-6])
def test_one_dimension_agrees_with_normal_distribution_functions(closeness):
    rng = np.random.default_rng(7)
    for _ in range(50):
        variance, shift = 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-3, 1)
        other = variance * 10 ** (closeness * rng.uniform(-1.5, 1.5))
        epsilon = rng.choice([0.0, rng.uniform(0, 6)])
        value = hockey_stick(np.array([shift]), np.array([[variance]]), np.array([[other]]), epsilon)
        assert value == pytest.approx(delta_in_one_dimension(shift, variance, other, epsilon), abs=1e-10)


def test_no_delta_where_the_loss_stays_below_epsilon():
    """Q is wider everywhere and the loss at its peak is 1.5 ln 2 < 1.1: p never exceeds e^eps q."""
    assert hockey_stick(np.zeros(3), np.eye(3), 2 * np.eye(3), 1.1) == pytest.approx(0, abs=1e-12)
    assert hockey_stick(np.zeros(3), np.eye(3), 2 * np.eye(3), 0.9) > 1e-4


def monte_carlo(shift, p, q, epsilon, rng):
    """Return the mean of (1 - e^(eps - L))_+ over 300,000 draws from P, and its standard error."""
    x = rng.multivariate_normal(np.zeros(len(p)), p, size=300_000)
    loss = multivariate_normal(np.zeros(len(p)), p).logpdf(x) - multivariate_normal(shift, q).logpdf(x)
    terms = np.maximum(0, -np.expm1(epsilon - loss))
    return terms.mean(), terms.std() / np.sqrt(len(terms))


@pytest.mark.parametrize("seed", range(6))
def test_random_pairs_agree_with_monte_carlo(seed):
    """Six and a half standard errors: false alarm below 1e-9."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    first = rng.normal(size=(d, d + 2))
    second = first + 0.4 * rng.normal(size=first.shape)
    p, q, shift, epsilon = first @ first.T, second @ second.T, rng.normal(size=d), rng.uniform(0, 1)
    mean, error = monte_carlo(shift, p, q, epsilon, rng)
    assert abs(hockey_stick(shift, p, q, epsilon) - mean) < 6.5 * error


def test_covariances_that_agree_in_one_direction_only():
    """A case in which the integrand rises on the way out unless the line is bent less; six and a half errors."""
    p, shift = np.diag([0.81141886, 1.00442689, 1.09769821]), np.array([3.73440466, 0.734378614, 0.00156654724])
    mean, error = monte_carlo(shift, p, np.eye(3), 0.53, np.random.default_rng(0))
    assert abs(hockey_stick(shift, p, np.eye(3), 0.53) - mean) < 6.5 * error
