"""The Kalman pass against statsmodels, and against dense Gaussian linear algebra."""

import numpy as np
import pytest
from statsmodels.tsa.arima_process import arma_acovf
from statsmodels.tsa.statespace.sarimax import SARIMAX

from meterdp.forecasting.state_space import arma_system, concentrated_likelihood, kalman_pass, largest_pole
from tests.unit.forecasting.processes import PROCESSES, process, simulate, with_gaps


@pytest.mark.parametrize("name", PROCESSES)
def test_stationary_variance_is_that_of_statsmodels(name):
    """Oracle: statsmodels' autocovariance function."""
    fit = process(name)
    system = arma_system(fit.ar, fit.ma)
    oracle = arma_acovf(np.r_[1, -fit.ar], np.r_[1, fit.ma], nobs=1)[0]
    assert system.stationary[0, 0] == pytest.approx(oracle, rel=1e-8)


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


@pytest.mark.parametrize(("coefficients", "modulus"), [([], 0.0), ([0.5], 0.5), ([-2.0], 2.0), ([0.0, 0.81], 0.9)])
def test_largest_pole(coefficients, modulus):
    assert largest_pole(np.array(coefficients)) == pytest.approx(modulus)


def test_largest_pole_of_random_roots():
    """Oracle: a polynomial built from its roots."""
    generator = np.random.default_rng(3)
    for _ in range(50):
        poles = generator.uniform(-1.2, 1.2, 5)
        assert largest_pole(-np.poly(poles)[1:]) == pytest.approx(np.abs(poles).max(), rel=1e-6)
