"""The fit: it finds what was simulated, and no input makes it crash, warn or print."""

import warnings

import numpy as np
import pytest

import meterdp.forecasting.arma as arma
from meterdp.errors import InputError
from meterdp.forecasting.arma import STATUS_MEANING, ArmaSettings, fit_arma
from meterdp.forecasting.diagnostics import residual_tests
from meterdp.forecasting.state_space import arma_system, concentrated_likelihood, kalman_pass, largest_pole
from tests.unit.forecasting.processes import process, simulate, with_gaps

METHODS = ("kernel", "statsmodels")
SMALL = ArmaSettings(order=(2, 1))
STATSMODELS = ArmaSettings(order=(2, 1), method="statsmodels")


def admissible(fit, settings):
    """By the margin; eigenvalues of nearly equal roots are good to 1e-6."""
    return max(largest_pole(fit.ar), largest_pole(-fit.ma)) <= 1 - settings.root_margin + 1e-6


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_a_simulated_process_is_found(gaps, method):
    """4,000 readings: standard errors are below 0.03; seeded."""
    truth = process("arma21")
    generator = np.random.default_rng(7)
    x = simulate(truth, 4000, generator)
    fit = fit_arma(with_gaps(x, gaps, generator) if gaps else x, ArmaSettings(order=(2, 1), method=method))
    assert fit.status == "arma"
    assert np.allclose(fit.ar, truth.ar, atol=0.12)
    assert np.allclose(fit.ma, truth.ma, atol=0.12)
    assert fit.innovation_variance == pytest.approx(truth.innovation_variance, rel=0.1)
    assert fit.mean == pytest.approx(truth.mean, abs=0.3)


def test_the_fit_has_at_least_the_likelihood_of_the_truth():
    truth = process("arma21", mean=0.0)
    x = simulate(truth, 1440, np.random.default_rng(5))
    at_truth = arma._at("arma", truth.ar, truth.ma, x.mean(), x)
    for settings in (SMALL, STATSMODELS):
        assert fit_arma(x, settings).log_likelihood >= at_truth.log_likelihood


def test_a_change_of_unit_only_shifts_and_scales():
    """log kWh times 1000: the same coefficients, the variance times 10^6."""
    x = simulate(process("arma21"), 600, np.random.default_rng(2))
    for settings in (SMALL, STATSMODELS):
        one, other = fit_arma(x, settings), fit_arma(1000 * x + 5, settings)
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
@pytest.mark.parametrize("chain", [("kernel", "likelihood"), ("kernel", "forecast"), ("statsmodels", "likelihood")])
def test_nasty_series_end_in_a_named_status(name, chain, capfd):
    settings = ArmaSettings(order=(3, 2), method=chain[0], fit=chain[1], iteration_limit=30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = fit_arma(nasty_series()[name], settings)
    assert fit.status in STATUS_MEANING
    assert admissible(fit, settings)
    assert np.isfinite([fit.mean, fit.innovation_variance]).all()
    assert fit.innovation_variance >= 0
    if name in ("empty", "all missing", "one reading", "constant", "constant but rounding", "tiny", "denormal"):
        assert (fit.status, fit.ar.size, fit.ma.size) == ("white", 0, 0)  # without variation there is but a mean
    assert capfd.readouterr() == ("", "")


def test_every_step_of_the_chain_serves(monkeypatch):
    """Forces the steps before it to fail, one after the other."""
    x = simulate(process("arma21"), 500, np.random.default_rng(1))
    original = arma._maximum_likelihood
    for method in METHODS:
        assert fit_arma(x, ArmaSettings(order=(2, 1), method=method)).status == "arma"
        assert fit_arma(x, ArmaSettings(order=(2, 1), method=method, iteration_limit=2)).status == "arma_limit"
    assert fit_arma(np.tile([1.0, -1.0], 300), SMALL).status == "arma_bound"

    def only_from_second_start(x, start, settings):
        return None if start is None else original(x, start, settings)

    monkeypatch.setattr(arma, "_maximum_likelihood", only_from_second_start)
    assert fit_arma(x, STATSMODELS).status == "arma_restart"
    outside = (np.array([1.0, 0.0]), np.array([0.0]), True)  # converged, with a unit root
    monkeypatch.setattr(arma, "_maximum_likelihood", lambda *_: outside)
    monkeypatch.setattr(arma, "maximise", lambda *_: None)
    for settings in (SMALL, STATSMODELS):
        fit = fit_arma(x, settings)
        assert (fit.status, fit.ma.size) == ("ar", 0)
    monkeypatch.setattr(arma, "_yule_walker", lambda *_: np.array([1.0, 0.0]))
    for settings in (SMALL, STATSMODELS):
        assert fit_arma(x, settings).status == "white"


def test_the_optimiser_raising_is_a_failed_start(monkeypatch):
    def broken(*_, **__):
        raise np.linalg.LinAlgError("Schur decomposition")

    monkeypatch.setattr("statsmodels.tsa.statespace.sarimax.SARIMAX", broken)
    assert fit_arma(simulate(process("ar1"), 300, np.random.default_rng(1)), STATSMODELS).status == "ar"


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
    {"method": "mle"},
    {"fit": "best"},
    {"starts": 0},
    {"iteration_limit": 0},
    {"root_margin": 0.0},
    {"pacf_margin": 1.5},
    {"ma_prior_sd": 0.0},
]


@pytest.mark.parametrize("setting", IMPOSSIBLE)
def test_an_impossible_setting_is_refused_in_a_sentence(setting):
    with pytest.raises(InputError, match=next(iter(setting)).split("_")[-1]):
        ArmaSettings(**setting)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("order", [(0, 2), (3, 0)])
def test_one_part_may_be_missing(order, method):
    settings = ArmaSettings(order=order, method=method)
    fit = fit_arma(simulate(process("arma21"), 500, np.random.default_rng(1)), settings)
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
