"""The compiled likelihood against statsmodels and dense Gaussian algebra, its gradient against differences."""

import numpy as np
import pytest
from statsmodels.tsa.arima_process import arma_acovf
from statsmodels.tsa.statespace.sarimax import SARIMAX

from meterdp.forecasting.kernel.complete import complete_likelihood
from meterdp.forecasting.kernel.gaps import gappy_likelihood
from meterdp.forecasting.kernel.likelihood import coefficients, compiled, objective, padded, presample, workspace
from meterdp.forecasting.kernel.search import descents
from meterdp.forecasting.state_space import arma_system, largest_pole
from tests.unit.forecasting.processes import PROCESSES, process, simulate

BOUND, SHRINK = 0.9999, 0.999
ORDERS = [(6, 5), (1, 0), (0, 1), (2, 1), (5, 6), (0, 4), (8, 0), (7, 8), (24, 24), (3, 24)]


def series(n, seed, gaps=False):
    generator = np.random.default_rng(seed)
    x = generator.standard_normal(n).cumsum() * 0.2 + generator.standard_normal(n)
    x -= x.mean()
    if gaps:
        x[generator.random(n) < 0.15] = np.nan
        x[40:60] = np.nan
    return x


def evaluate(z, x, order, precision=0.0, likelihood=None):
    """Value and gradient by the functions the compiled pointers are made from."""
    likelihood = likelihood or (gappy_likelihood if np.isnan(x).any() else complete_likelihood)
    gradient = np.empty(z.size)
    value = objective(
        z,
        padded(x),
        *order,
        likelihood,
        BOUND,
        SHRINK,
        np.full(z.size, precision),
        workspace(x.size, *order),
        gradient,
    )
    return value, gradient


def polynomials(z, order):
    partial = BOUND * np.tanh(z)
    return coefficients(partial[: order[0]], SHRINK), -coefficients(partial[order[0] :], SHRINK)


def log_likelihood(value, x):
    n = np.isfinite(x).sum()
    return -value - n / 2 * (np.log(2 * np.pi / n) + 1)


def statsmodels_likelihood(ar, ma, x):
    model = SARIMAX(x, order=(ar.size, 0, ma.size), concentrate_scale=True)
    return model.loglike(np.concatenate([ar, ma]))


def dense_likelihood(ar, ma, x):
    """By the Cholesky factor of the Toeplitz matrix (60) without the missing rows."""
    seen = np.flatnonzero(np.isfinite(x))
    cov = arma_acovf(np.r_[1, -ar], np.r_[1, ma], nobs=x.size)[np.abs(np.subtract.outer(seen, seen))]
    factor = np.linalg.cholesky(cov)
    square = np.sum(np.linalg.solve(factor, x[seen]) ** 2)
    n = seen.size
    return -n / 2 * (np.log(2 * np.pi * square / n) + 1) - np.log(np.diag(factor)).sum()


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_value_is_exact(order, gaps):
    """Oracles: statsmodels' SARIMAX to 1e-6, and dense linear algebra to 1e-6."""
    for seed in range(4):
        z = np.random.default_rng(seed).normal(0, 0.5, sum(order))
        x = series(180, seed, gaps)
        value, (ar, ma) = log_likelihood(evaluate(z, x, order)[0], x), polynomials(z, order)
        assert value == pytest.approx(dense_likelihood(ar, ma, x), abs=1e-6)
        if sum(order) < 20:  # statsmodels' filter is slow beyond
            assert value == pytest.approx(statsmodels_likelihood(ar, ma, x), abs=1e-6)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_gradient_is_that_of_the_value(order, gaps):
    """Oracle: central differences, relative to the largest entry."""
    for seed in range(3):
        # Many large partial autocorrelations make a likelihood too steep for differences.
        z = np.random.default_rng(100 + seed).normal(0, 0.6 if sum(order) < 20 else 0.3, sum(order))
        x, step = series(150, seed, gaps), 1e-5
        gradient = evaluate(z, x, order, precision=0.7)[1]
        shifts = step * np.eye(z.size)
        oracle = [
            (evaluate(z + s, x, order, 0.7)[0] - evaluate(z - s, x, order, 0.7)[0]) / (2 * step) for s in shifts
        ]
        assert np.abs(gradient - oracle).max() <= 1e-5 * (1 + np.abs(oracle).max())


def test_the_prior_adds_its_half_square():
    z, x = np.array([0.3, -1.2]), series(60, 1)
    (plain, flat), (value, gradient) = evaluate(z, x, (1, 1)), evaluate(z, x, (1, 1), precision=4.0)
    assert value - plain == pytest.approx(2.0 * (z @ z))
    assert np.allclose(gradient - flat, 4.0 * z)


@pytest.mark.parametrize("order", ORDERS)
def test_the_two_forms_agree(order):
    """Oracle of each: the other one, on a series without gaps, values and gradients."""
    for seed in range(4):
        z = np.random.default_rng(seed).normal(0, 0.5, sum(order))
        x = series(200, seed)
        one, other = evaluate(z, x, order), evaluate(z, x, order, likelihood=gappy_likelihood)
        assert one[0] == pytest.approx(other[0], abs=1e-8)
        assert np.allclose(one[1], other[1], rtol=1e-6, atol=1e-6 * (1 + np.abs(one[1]).max()))


NEAR = {
    "AR root": ([3.2], [0.2]),
    "MA root": ([0.2], [3.5]),
    "both, nearly cancelling": ([3.0], [2.98]),
    "complex AR pair": ([0.4, -3.3], [0.1]),
    "complex MA pair": ([0.3], [1.0, -3.0]),
    "integrated twice": ([2.6, -2.6], [0.3]),
}


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", NEAR)
def test_value_near_unit_roots(name, gaps):
    """Oracle: statsmodels, to the tightest sensible 1e-3 nat; the roots are screened first."""
    (ar_z, ma_z), x = NEAR[name], series(400, 3, gaps)
    order, z = (len(ar_z), len(ma_z)), np.array(ar_z + ma_z)
    ar, ma = polynomials(z, order)
    assert 0.97 < max(largest_pole(ar), largest_pole(-ma)) < 1 - 1e-4
    assert log_likelihood(evaluate(z, x, order)[0], x) == pytest.approx(statsmodels_likelihood(ar, ma, x), abs=1e-3)


@pytest.mark.parametrize("gaps", [False, True])
def test_common_factors_change_nothing(gaps):
    """(1 - cB) on both sides cancels: ARMA(3, 2) with the likelihood of AR(1), by the same function."""
    x = series(150, 8, gaps)
    ar1 = np.array([0.4 / BOUND])
    extra = np.array([0.5, -0.3])
    both = np.polymul(np.r_[1, -0.4 * SHRINK], np.r_[1, -extra])
    value = evaluate(np.arctanh(ar1), x, (1, 0))[0]
    phi, theta = np.zeros(28), np.zeros(28)
    phi[:3], theta[:2] = -both[1:], -extra
    omega = np.zeros((4, 4))
    assert presample(phi, theta, omega)
    work = workspace(x.size, 3, 2)
    likelihood = gappy_likelihood if gaps else complete_likelihood
    full = likelihood(padded(x), phi, theta, 3, 2, omega, work, np.zeros(28), np.zeros(28), np.empty((3, 3)))
    assert full == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("name", [n for n in PROCESSES if n != "white"])
def test_presample_covariance_is_that_of_the_state(name):
    """Oracle: the stationary state covariance P of state_space, Omega = F P F'."""
    fit = process(name)
    r, system = max(fit.ar.size, fit.ma.size), arma_system(fit.ar, fit.ma)
    phi, theta = np.zeros(r), np.zeros(r)
    phi[: fit.ar.size], theta[: fit.ma.size] = fit.ar, fit.ma
    omega = np.zeros((r + 1, r + 1))
    assert presample(phi, theta, omega)
    oracle = (system.transition @ system.stationary @ system.transition.T)[:r, :r]
    assert np.allclose(omega[:r, :r], oracle, rtol=1e-8, atol=1e-8)
    assert not omega[r].any()


def test_a_unit_root_has_no_presample():
    assert not presample(np.array([1.0]), np.array([0.0]), np.zeros((2, 2)))


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0, 100.0])
def test_every_z_is_stationary_by_the_margin(scale):
    generator = np.random.default_rng(2)
    for size in (1, 2, 6):  # beyond, eigenvalues near the circle are lost to rounding
        for _ in range(20):
            partial = BOUND * np.tanh(scale * generator.standard_normal(size))
            assert largest_pole(coefficients(partial, SHRINK)) < SHRINK + 1e-6


def test_coefficients_of_a_partial_autocorrelation():
    """Oracle: Yule-Walker on the autocovariances of the process they give, no shrinking."""
    partial = np.array([0.6, -0.4, 0.25])
    ar = coefficients(partial, 1.0)
    cov = arma_acovf(np.r_[1, -ar], [1.0], nobs=4)
    for k in (1, 2, 3):
        toeplitz = cov[np.abs(np.subtract.outer(np.arange(k), np.arange(k)))]
        assert np.linalg.solve(toeplitz, cov[1 : k + 1])[-1] == pytest.approx(partial[k - 1])


@pytest.mark.parametrize("gaps", [False, True])
def test_the_compiled_pointers_are_the_same_function(gaps):
    """A descent of no iterations returns the compiled objective at its start."""
    order, x = (6, 5), series(150, 4, gaps)
    z = np.random.default_rng(9).normal(0, 0.5, (1, 11))
    args = (padded(x), *order, int(np.isfinite(x).sum()), BOUND, SHRINK, np.full(11, 0.3), 1e-3, 0)
    (value,), *_ = descents(*compiled(gaps), z.copy(), np.zeros((1, 11, 11)), *args, workspace(x.size, *order))
    assert value == pytest.approx(evaluate(z[0], x, order, precision=0.3)[0], abs=1e-8)


@pytest.mark.parametrize("gaps", [False, True])
def test_long_responses_leave_at_the_end_of_the_series(gaps):
    """MA root at 0.9998, series shorter than its response; oracle: dense linear algebra."""
    for n in (12, 50):
        x = series(max(n, 12), 5)[:n]
        if gaps:
            x[3] = np.nan
        z = np.array([0.3, 0.2, 3.9])
        ar, ma = polynomials(z, (2, 1))
        assert log_likelihood(evaluate(z, x, (2, 1))[0], x) == pytest.approx(dense_likelihood(ar, ma, x), abs=1e-7)


def test_simulated_series_have_the_likelihood_of_statsmodels():
    """Oracle: SARIMAX on every named process, whatever its margin."""
    for name in (n for n in PROCESSES if n != "white"):
        fit = process(name, mean=0.0)
        x = simulate(fit, 300, np.random.default_rng(6))
        p, q = fit.ar.size, fit.ma.size
        phi, theta, r = np.zeros(28), np.zeros(28), max(p, q)
        phi[:p], theta[:q] = fit.ar, fit.ma
        omega = np.zeros((r + 1, r + 1))
        assert presample(phi, theta, omega)
        value = complete_likelihood(
            padded(x), phi, theta, p, q, omega, workspace(300, p, q), np.zeros(28), np.zeros(28), np.empty((r, r))
        )
        assert log_likelihood(value, x) == pytest.approx(statsmodels_likelihood(fit.ar, fit.ma, x), abs=1e-3)
