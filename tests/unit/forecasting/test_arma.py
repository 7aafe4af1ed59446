"""The fit: it finds what was simulated, and no input makes it crash, warn or print."""

import warnings

import numpy as np
import pytest

import meterdp.forecasting.arma as arma
from meterdp.errors import InputError
from meterdp.forecasting.arma import STATUS_MEANING, ArmaSettings, fit_arma
from meterdp.forecasting.diagnostics import residual_tests
from meterdp.forecasting.kernel.search import ROOT_MARGIN
from meterdp.forecasting.state_space import arma_system, concentrated_likelihood, kalman_pass, largest_pole
from tests.unit.forecasting.processes import process, simulate, with_gaps

SMALL = ArmaSettings(order=(2, 1))


def admissible(fit):
    """By the margin; eigenvalues of nearly equal roots are good to 1e-6."""
    return max(largest_pole(fit.ar), largest_pole(-fit.ma)) <= 1 - ROOT_MARGIN + 1e-6


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_a_simulated_process_is_found(gaps):
    """4,000 readings: standard errors are below 0.03; seeded."""
    truth = process("arma21")
    generator = np.random.default_rng(7)
    x = simulate(truth, 4000, generator)
    fit = fit_arma(with_gaps(x, gaps, generator) if gaps else x, SMALL)
    assert fit.status == "arma"
    assert np.allclose(fit.ar, truth.ar, atol=0.12)
    assert np.allclose(fit.ma, truth.ma, atol=0.12)
    assert fit.innovation_variance == pytest.approx(truth.innovation_variance, rel=0.1)
    assert fit.mean == pytest.approx(truth.mean, abs=0.3)


def test_the_fit_has_at_least_the_likelihood_of_the_truth():
    truth = process("arma21", mean=0.0)
    x = simulate(truth, 1440, np.random.default_rng(5))
    at_truth = arma._at("arma", truth.ar, truth.ma, x.mean(), x)
    assert fit_arma(x, SMALL).log_likelihood >= at_truth.log_likelihood


def test_a_change_of_unit_only_shifts_and_scales():
    """log kWh times 1000: the same coefficients, the variance times 10^6."""
    x = simulate(process("arma21"), 600, np.random.default_rng(2))
    one, other = fit_arma(x, SMALL), fit_arma(1000 * x + 5, SMALL)
    assert np.allclose(one.ar, other.ar, atol=1e-5)
    assert other.innovation_variance == pytest.approx(1e6 * one.innovation_variance, rel=1e-6)
    assert other.log_likelihood == pytest.approx(one.log_likelihood - 600 * np.log(1000), abs=1e-4)


def nasty_series():
    generator = np.random.default_rng(0)
    noise = generator.standard_normal(600)
    gappy = noise.copy()
    gappy[40:560] = np.nan
    return {
        "empty": np.empty(0),
        "all missing": np.full(600, np.nan),
        "one outlier": np.r_[noise[:300], 1e12, noise[300:]],
        "beyond any load": np.where(np.abs(noise) > 2, 1e300, noise),
        "a day missing": np.r_[noise[:200], np.full(96, np.nan), noise[200:]],
        "gaps at both ends": np.r_[np.full(50, np.nan), noise, np.full(50, np.nan)],
        "denormal": 1e-310 * noise,
        "one reading": np.r_[np.nan, 0.3, np.full(500, np.nan)],
        "constant": np.full(600, -6.907755278982137),
        "constant but rounding": -6.9 + 1e-15 * noise,
        "constant but one": np.r_[np.zeros(599), 1.0],
        "two values": np.where(noise > 0, 1.0, -1.0),
        "strictly periodic": np.tile([1.0, -1.0], 300),
        "sine": np.sin(np.arange(600) / 5),
        "line": np.arange(600.0),
        "random walk": np.cumsum(noise),
        "explosion": np.exp(np.arange(600) / 20),
        "huge": 1e150 * noise,
        "tiny": 1e-150 * noise,
        "infinite readings": np.where(np.abs(noise) > 2, np.inf, noise),
        "mostly missing": gappy,
        "over-differenced": np.diff(noise, n=2),
        "heavy tails": generator.standard_cauchy(600),
    }


@pytest.mark.parametrize("name", nasty_series())
@pytest.mark.parametrize("kind", ["likelihood", "forecast"])
def test_nasty_series_end_in_a_named_status(name, kind, capfd):
    settings = ArmaSettings(order=(3, 2), fit=kind, iteration_limit=30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = fit_arma(nasty_series()[name], settings)
    assert fit.status in STATUS_MEANING
    assert admissible(fit)
    assert np.isfinite([fit.mean, fit.innovation_variance]).all()
    assert fit.innovation_variance >= 0
    if name in ("empty", "all missing", "one reading", "constant", "constant but rounding", "tiny", "denormal"):
        assert (fit.status, fit.ar.size, fit.ma.size) == ("white", 0, 0)  # without variation there is but a mean
    assert capfd.readouterr() == ("", "")


def test_every_step_of_the_chain_serves(monkeypatch):
    """Forces the steps before it to fail, one after the other."""
    x = simulate(process("arma21"), 500, np.random.default_rng(1))
    assert fit_arma(x, SMALL).status == "arma"
    assert fit_arma(x, ArmaSettings(order=(2, 1), iteration_limit=2)).status == "arma_limit"
    assert fit_arma(np.tile([1.0, -1.0], 300), SMALL).status == "arma_bound"
    monkeypatch.setattr(arma, "maximise", lambda *_: None)
    fit = fit_arma(x, SMALL)
    assert (fit.status, fit.ma.size) == ("ar", 0)
    monkeypatch.setattr(arma, "_yule_walker", lambda *_: np.array([1.0, 0.0]))
    assert fit_arma(x, SMALL).status == "white"


def test_yule_walker_is_stationary_whatever_the_gaps():
    generator = np.random.default_rng(8)
    for _ in range(100):
        x = np.cumsum(generator.standard_normal(60))
        x[generator.random(60) < generator.random()] = np.nan
        assert largest_pole(arma._yule_walker(x, 6)) < 1


IMPOSSIBLE = [
    {"order": (0, 0)},
    {"order": (-1, 2)},
    {"order": (25, 0)},
    {"fit": "best"},
    {"starts": 0},
    {"iteration_limit": 0},
    {"forecast_root_margin": 0.0},
]


@pytest.mark.parametrize("setting", IMPOSSIBLE)
def test_an_impossible_setting_is_refused_in_a_sentence(setting):
    with pytest.raises(InputError, match=next(iter(setting)).split("_")[-1]):
        ArmaSettings(**setting)


@pytest.mark.parametrize("order", [(0, 2), (3, 0)])
def test_one_part_may_be_missing(order):
    fit = fit_arma(simulate(process("arma21"), 500, np.random.default_rng(1)), ArmaSettings(order=order))
    assert (fit.ar.size, fit.ma.size) == order
    assert fit.status == "arma"


def test_the_tests_of_the_innovations_are_those_of_the_fit():
    """Oracle: the innovations of the Kalman pass of state_space over their standard deviations."""
    x = with_gaps(simulate(process("arma21"), 500, np.random.default_rng(1)), 0.05, np.random.default_rng(2))
    fit = fit_arma(x, SMALL)
    passed = kalman_pass(arma_system(fit.ar, fit.ma), x - fit.mean)
    standard = passed.innovation / np.sqrt(passed.innovation_scale * fit.innovation_variance)
    oracle = residual_tests(standard, 3)
    for name, value in oracle._asdict().items():
        assert getattr(fit, name) == pytest.approx(value, rel=1e-6), name
    variance, log_likelihood, count = concentrated_likelihood(passed.innovation, passed.innovation_scale)
    assert fit.innovation_variance == pytest.approx(variance, rel=1e-9)
    assert fit.log_likelihood == pytest.approx(log_likelihood, abs=1e-7)
    assert fit.observation_count == count


@pytest.mark.parametrize("margin", [0.01, 0.05])
def test_roots_of_a_forecast_keep_their_distance_from_one(margin):
    walk = np.cumsum(np.random.default_rng(1).normal(size=1440))
    for process_name, settings in (("arma", {"order": (3, 1)}), ("ar", {"long_ar_order": 12})):
        close = fit_arma(walk, ArmaSettings(process_name, fit="likelihood", **settings))
        far = fit_arma(walk, ArmaSettings(process_name, fit="forecast", forecast_root_margin=margin, **settings))
        assert largest_pole(close.ar) > 1 - margin
        assert largest_pole(far.ar) <= 1 - margin + 1e-9 and far.innovation_variance > 0


def test_the_simpler_processes():
    """Oracle: statsmodels' Yule-Walker on a series without gaps."""
    from statsmodels.regression.linear_model import yule_walker

    x = simulate(process("arma21"), 1500, np.random.default_rng(3))
    settings = ArmaSettings("ar", long_ar_order=20, mean="zero", forecast_root_margin=1e-9)
    fit = fit_arma(x, settings)
    oracle, _ = yule_walker(x, order=20, method="mle", demean=False)
    assert fit.status == "ar" and fit.mean == 0.0 and np.allclose(fit.ar, oracle)
    none = fit_arma(x, ArmaSettings("season", mean="zero"))
    assert (none.status, none.ar.size, none.ma.size, none.mean) == ("white", 0, 0, 0.0)
    assert none.innovation_variance == pytest.approx(np.mean(x**2))
    assert fit_arma(x + 5, ArmaSettings("season")).mean == pytest.approx(x.mean() + 5)
