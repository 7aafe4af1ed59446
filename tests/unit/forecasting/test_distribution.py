"""The Kalman pass, forecast mean and covariance (57) against dense conditioning on (60) and statsmodels."""

import numpy as np
import pytest
from statsmodels.tsa.arima_process import arma2ma, arma_acovf
from statsmodels.tsa.statespace.sarimax import SARIMAX

from meterdp.forecasting.arma import ArmaFit
from meterdp.forecasting.distribution import (
    autocovariance,
    forecast_covariance,
    forecast_means,
    forecast_std,
    query_covariance,
)
from meterdp.forecasting.state_space import arma_system, concentrated_likelihood, kalman_pass, largest_pole
from tests.unit.forecasting.processes import PROCESSES, process, simulate, with_gaps


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("name", [n for n in PROCESSES if n != "white"])
def test_likelihood_is_that_of_statsmodels(name, gaps):
    """Oracle: SARIMAX at the same coefficients, with and without missing readings."""
    fit = process(name, mean=0.0)
    generator = np.random.default_rng(4)
    x = simulate(fit, 400, generator)
    x = with_gaps(x, gaps, generator) if gaps else x
    passed = kalman_pass(arma_system(fit.ar, fit.ma), x)
    variance, log_likelihood, count = concentrated_likelihood(passed.innovation, passed.innovation_scale)
    model = SARIMAX(x, order=(fit.ar.size, 0, fit.ma.size), concentrate_scale=True)
    oracle = model.filter(np.r_[fit.ar, fit.ma])
    assert count == np.isfinite(x).sum()
    assert log_likelihood == pytest.approx(oracle.llf, abs=1e-3)  # the tightest sensible value near unit roots
    assert variance == pytest.approx(oracle.scale, rel=1e-5)


def test_states_are_conditional_means():
    """Oracle: dense Gaussian conditioning on the readings that are there, for every slot of a short series."""
    fit = process("arma21", mean=0.0, innovation_variance=1.0)
    generator = np.random.default_rng(1)
    x = simulate(fit, 25, generator)
    x[[0, 5, 6, 13, 24]] = np.nan
    acovf = arma_acovf(np.r_[1, -fit.ar], np.r_[1, fit.ma], nobs=26)
    cov = acovf[np.abs(np.subtract.outer(np.arange(26), np.arange(26)))]
    predicted = kalman_pass(arma_system(fit.ar, fit.ma), x).predicted
    for t in range(26):
        seen = np.flatnonzero(np.isfinite(x[:t]))
        oracle = cov[t, seen] @ np.linalg.solve(cov[np.ix_(seen, seen)], x[seen]) if seen.size else 0.0
        assert predicted[t, 0] == pytest.approx(oracle, abs=1e-9)


def test_nothing_seen_has_no_likelihood():
    variance, log_likelihood, count = concentrated_likelihood(np.full(9, np.nan), np.ones(9))
    assert (variance, count) == (0.0, 0)
    assert np.isnan(log_likelihood)


def test_largest_pole_of_random_roots():
    """Oracle: a polynomial built from its roots."""
    assert largest_pole(np.empty(0)) == 0.0
    generator = np.random.default_rng(3)
    for _ in range(50):
        poles = generator.uniform(-1.2, 1.2, 5)
        assert largest_pole(-np.poly(poles)[1:]) == pytest.approx(np.abs(poles).max(), rel=1e-6)


HORIZON = 12


def toeplitz_conditioning(fit, past):
    """Mean and covariance (57), and S^fo (S^o)^-1 S^of, by dense algebra on (60), missing readings left out."""
    size = past.size + HORIZON
    acovf = fit.innovation_variance * arma_acovf(np.r_[1, -fit.ar], np.r_[1, fit.ma], nobs=size)
    cov = acovf[np.abs(np.subtract.outer(np.arange(size), np.arange(size)))]
    seen, future = np.flatnonzero(np.isfinite(past)), np.arange(past.size, size)
    gain = np.linalg.solve(cov[np.ix_(seen, seen)], cov[np.ix_(seen, future)]).T
    mean = fit.mean + gain @ (past[seen] - fit.mean)
    query = gain @ cov[np.ix_(seen, future)]
    return mean, cov[np.ix_(future, future)] - query, query


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", PROCESSES)
def test_mean_and_covariance_are_57(name, gaps):
    """Oracle: dense conditioning, K = 120."""
    fit = process(name)
    generator = np.random.default_rng(11)
    past = simulate(fit, 120, generator)
    past = with_gaps(past, 0.2, generator) if gaps else past
    mean, covariance, query = toeplitz_conditioning(fit, past)
    assert np.allclose(forecast_means(fit, past, np.array([120]), HORIZON)[0], mean, atol=1e-7)
    assert np.allclose(forecast_covariance(fit, HORIZON, past), covariance, atol=1e-7)
    assert np.allclose(query_covariance(fit, HORIZON, past), query, atol=1e-7)


@pytest.mark.parametrize("name", PROCESSES)
def test_infinite_past_is_the_sum_over_psi_weights(name):
    """Oracle: statsmodels' psi weights."""
    fit = process(name)
    psi = arma2ma(np.r_[1, -fit.ar], np.r_[1, fit.ma], lags=HORIZON)
    for i in range(HORIZON):
        for j in range(i + 1):
            total = sum(psi[i - m] * psi[j - m] for m in range(j + 1))
            assert forecast_covariance(fit, HORIZON)[i, j] == pytest.approx(fit.innovation_variance * total)


@pytest.mark.parametrize("name", ["ar1", "arma21", "arma65"])
def test_a_long_past_is_an_infinite_past(name):
    fit = process(name)
    assert np.allclose(
        forecast_covariance(fit, HORIZON, np.zeros(2000)), forecast_covariance(fit, HORIZON), atol=1e-10
    )


def test_many_origins_from_one_pass_are_statsmodels_forecasts():
    """Oracle: SARIMAX.forecast after each prefix, a series with gaps."""
    fit = process("arma65")
    generator = np.random.default_rng(12)
    x = with_gaps(simulate(fit, 400, generator), 0.1, generator)
    origins = np.array([60, 140, 150, 271, 400])
    ours = forecast_means(fit, x, origins, HORIZON)
    for row, origin in zip(ours, origins, strict=True):
        model = SARIMAX(x[:origin] - fit.mean, order=(6, 0, 5))
        oracle = model.filter(np.r_[fit.ar, fit.ma, fit.innovation_variance]).forecast(HORIZON)
        assert np.allclose(row, fit.mean + oracle, atol=1e-6)


@pytest.mark.parametrize("name", PROCESSES)
def test_the_spread_about_every_forecast_is_the_diagonal_of_57(name):
    """Origins in any order, at the start, inside a gap and behind it."""
    fit = process(name)
    generator = np.random.default_rng(17)
    x = with_gaps(simulate(fit, 150, generator), 0.2, generator)
    origins = np.array([150, 0, 70, 95, 1])
    for row, origin in zip(forecast_std(fit, x, origins, HORIZON), origins, strict=True):
        variance = np.diag(forecast_covariance(fit, HORIZON, x[:origin]))
        assert np.allclose(row**2, variance, rtol=1e-9, atol=1e-12)


def test_the_future_does_not_enter():
    fit = process("arma21")
    x = simulate(fit, 200, np.random.default_rng(13))
    changed = np.r_[x[:150], 99 + x[150:]]
    assert np.array_equal(
        forecast_means(fit, x, np.array([150]), HORIZON), forecast_means(fit, changed, np.array([150]), HORIZON)
    )


@pytest.mark.parametrize("name", PROCESSES)
def test_autocovariance_is_that_of_statsmodels(name):
    fit = process(name)
    oracle = fit.innovation_variance * arma_acovf(np.r_[1, -fit.ar], np.r_[1, fit.ma], nobs=20)
    assert np.allclose(autocovariance(fit, 20), oracle, rtol=1e-6, atol=1e-9)


def test_defect_r9_57_is_not_the_distribution_of_the_query():
    """AR(0.9) with unit variance: the query has variances 0.81 .. 0.08, (57) says 0.19 .. 0.92."""
    fit = ArmaFit("arma", np.array([0.9]), np.empty(0), 0.0, 1 - 0.81, np.nan, 0)
    steps = np.arange(1, HORIZON + 1)
    assert np.allclose(np.diag(query_covariance(fit, HORIZON)), 0.81**steps)
    assert np.allclose(np.diag(forecast_covariance(fit, HORIZON)), 1 - 0.81**steps)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", PROCESSES)
def test_defect_r9_the_two_distributions_add_up_to_that_of_the_future(name, gaps):
    """Whatever the past: variance explained by it plus variance left. The explained part has rank max(p, q)."""
    fit = process(name)
    generator = np.random.default_rng(15)
    past = simulate(fit, 90, generator)
    past = with_gaps(past, 0.3, generator) if gaps else past
    future = autocovariance(fit, HORIZON)[np.abs(np.subtract.outer(np.arange(HORIZON), np.arange(HORIZON)))]
    query = query_covariance(fit, HORIZON, past)
    assert np.allclose(query + forecast_covariance(fit, HORIZON, past), future, rtol=1e-9, atol=1e-9)
    values = np.linalg.eigvalsh(query)
    assert np.sum(values > 1e-9 * max(values[-1], 1e-300)) <= max(fit.ar.size, fit.ma.size)
    assert values[0] > -1e-9 * max(values[-1], 1.0)


def test_defect_r9_simulated_pasts_have_the_distribution_of_the_query():
    """Monte Carlo: 8,000 pasts of 8 readings, two of them missing; mean and covariance within 7 standard errors.

    False alarm below 1e-9: 9 + 3 comparisons at 2.6e-12 each.
    """
    fit = process("arma21")
    lags = np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    root = np.linalg.cholesky(autocovariance(fit, 8)[lags])
    pasts = fit.mean + np.random.default_rng(16).standard_normal((8_000, 8)) @ root.T
    pasts[:, [2, 7]] = np.nan
    forecasts = np.array([forecast_means(fit, past, np.array([8]), 3)[0] for past in pasts])
    distribution = query_covariance(fit, 3, pasts[0])
    error = np.sqrt((np.outer(np.diag(distribution), np.diag(distribution)) + distribution**2) / len(pasts))
    assert np.all(np.abs(np.cov(forecasts.T) - distribution) <= 7 * error)
    assert np.all(np.abs(forecasts.mean(axis=0) - fit.mean) <= 7 * np.sqrt(np.diag(distribution) / len(pasts)))


def test_without_a_reading_the_forecast_is_the_mean_for_certain():
    fit, nothing = process("arma65"), np.full(50, np.nan)
    assert np.allclose(forecast_means(fit, nothing, np.array([50]), 3), fit.mean)
    assert not query_covariance(fit, 3, nothing).any()
    assert not query_covariance(fit, 3, np.empty(0)).any()


def test_a_constant_household_has_a_distribution_without_spread():
    fit = ArmaFit("white", np.empty(0), np.empty(0), -2.0, 0.0, np.nan, 5)
    assert np.array_equal(forecast_means(fit, np.full(5, -2.0), np.array([0, 5]), 3), np.full((2, 3), -2.0))
    assert not forecast_covariance(fit, 3, np.full(5, -2.0)).any()
