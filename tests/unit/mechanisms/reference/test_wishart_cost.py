"""The divergence Wishart noise costs: closed forms where there are any, else Monte Carlo with control variates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import digamma, exp1

from meterdp.mechanisms.reference.label_flip import covariance_costs

GAMMAS = np.geomspace(1e-3, 1e3, 7)


def curve(covariance, gammas=GAMMAS):
    costs = covariance_costs(np.asarray(covariance, dtype=float)[None])
    return np.array([costs.cost(np.array([g]))[0] for g in gammas])


def spectra(d):
    """Eigenvalues of Sigma^-1, the largest one: equal, made up, one large among small ones, over a wide range."""
    rng = np.random.default_rng(d)
    g = rng.normal(size=(d, d + 1))
    own = 1 / np.linalg.eigvalsh(g @ g.T)
    return [np.ones(d), own / own.max(), np.r_[1.0, np.full(d - 1, 1e-5)], np.geomspace(1, 1e-6, d)]


def moments(s):
    """Expectations of tr V, tr V^2, (tr V)^2 and ln|V|, V ~ Wishart_d(diag s, d + 1)."""
    d = len(s)
    n, trace, square = d + 1, s.sum(), (s**2).sum()
    log_determinant = np.log(s).sum() + d * np.log(2) + digamma((n - np.arange(d)) / 2).sum()
    return np.array(
        [n * trace, n * (n + 1) * square + n * trace**2, (n * trace) ** 2 + 2 * n * square, log_determinant]
    )


def monte_carlo(s, draws):
    """Return the cost at each gamma and its standard error, from independent draws with four control variates."""
    rng = np.random.default_rng(99)
    g = rng.standard_normal((draws, len(s), len(s) + 1)) * np.sqrt(s)[:, None]
    values = np.linalg.eigvalsh(g @ np.swapaxes(g, 1, 2))
    values = np.maximum(values, np.finfo(float).tiny)
    known = moments(s)
    trace, square, log_determinant = values.sum(axis=1), (values**2).sum(axis=1), np.log(values).sum(axis=1)
    controls = (np.stack([trace, square, trace**2, log_determinant], axis=1) - known) / (1 + np.abs(known))
    design = np.column_stack([np.ones(draws), controls])
    out = []
    for gamma in GAMMAS:
        u = values / gamma
        y = 0.5 * (u - np.log1p(u)).sum(axis=1)
        beta = np.linalg.lstsq(design, y, rcond=None)[0]
        out.append((beta[0], (y - design @ beta).std() / np.sqrt(draws)))
    return np.array(out).T


@pytest.mark.parametrize("d", [2, 3, 5, 8, 12])
def test_cost_agrees_with_monte_carlo_to_one_in_a_thousand(d):
    """Oracle: independent draws, whose own error is far smaller; six standard errors allowed, false alarm 1e-9."""
    for s in spectra(d):
        expected, error = monte_carlo(s, 200_000 if d < 5 else 30_000)
        assert (error < 3e-4 * expected).all()
        assert (np.abs(curve(np.diag(1 / s)) - expected) < 1e-3 * expected + 6 * error).all()


def test_cost_in_one_dimension_is_an_exponential_integral():
    """W is exponential of mean 2/gamma: E ln(1 + s W) = e^(gamma/2s) E_1(gamma/2s)."""
    gammas, variance = np.geomspace(1e-2, 1e2, 9), 0.3
    t = gammas * variance / 2
    expected = 0.5 * (1 / t - np.exp(t) * exp1(t))
    assert curve([[variance]], gammas) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("d", [1, 3, 7, 24])
def test_cost_of_little_and_of_much_noise_has_a_closed_form(d):
    """Little: 1/4 E tr (Sigma^-1 W)^2. Much: the logarithm of the determinant no longer sees I."""
    s = np.geomspace(1, 1e-2, d)
    trace, second, _, log_determinant = moments(s)
    little, much = curve(np.diag(1 / s), [1e8, 1e-8])
    assert little == pytest.approx(second / 4e16, rel=1e-6)
    assert much == pytest.approx(0.5 * (trace * 1e8 - log_determinant - d * np.log(1e8)), rel=1e-6)


def test_cost_depends_on_eigenvalues_only_and_scales_with_the_noise():
    rng = np.random.default_rng(3)
    g = rng.normal(size=(4, 5))
    covariance = g @ g.T
    own = curve(covariance)
    assert curve(np.diag(np.linalg.eigvalsh(covariance))) == pytest.approx(own, rel=1e-9)
    assert curve(covariance * 1e6, GAMMAS / 1e6) == pytest.approx(own, rel=1e-9)


def test_cost_is_convex_and_falls_with_the_stated_slope():
    """Oracle: central differences of the logarithm."""
    costs = covariance_costs(np.stack([np.diag([1.0, 2.0, 9.0]), 1e-4 * np.eye(3), np.diag([1e-3, 1.0, 1e3])]))
    step = 1e-4
    for gamma in np.geomspace(1e-4, 1e6, 21):
        g = np.full(3, gamma)
        logs, derivative = costs.log_slope(g)
        up, down = costs.cost(g * np.exp(step)), costs.cost(g * np.exp(-step))
        assert np.exp(logs) == pytest.approx((down - up) / (2 * step * gamma), rel=1e-4)
        higher, lower = (costs.log_slope(g * np.exp(e))[0] for e in (step, -step))
        assert derivative == pytest.approx((higher - lower) / (2 * step), rel=1e-5)
        assert ((derivative > -3 - 1e-9) & (derivative < -2 + 1e-9)).all()
        assert (costs.mass >= 0).all()


def test_nodes_are_no_source_of_randomness():
    covariances = np.stack([np.eye(5), np.diag(np.arange(1.0, 6))])
    first, again = covariance_costs(covariances), covariance_costs(covariances)
    assert (first.x == again.x).all() and (first.mass == again.mass).all()
