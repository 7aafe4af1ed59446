"""The compiled search: at least as high as statsmodels, and its start points.

Fits are the same for any number of threads, and do not depend on what was compiled when: not on a full, an empty or a
partial cache of Numba.
"""

import importlib
import os
import pkgutil
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from statsmodels.tsa.arima.model import ARIMA

import meterdp
from meterdp.forecasting import arma
from meterdp.forecasting.arma import ArmaSettings, fit_arma, fit_households
from meterdp.forecasting.kernel.search import ROOT_MARGIN, TOLERANCE_NATS, innovations, start_points
from meterdp.forecasting.state_space import arma_system, kalman_pass, largest_pole
from tests.conftest import ROOT
from tests.unit.forecasting.processes import PROCESSES, process, simulate, with_gaps

SETTINGS = ArmaSettings(order=(3, 2))


def households(count=6, length=400, gaps=True):
    generator = np.random.default_rng(21)
    rows = [simulate(process("arma65"), length, generator) for _ in range(count)]
    return np.stack([with_gaps(x, 0.03, generator) if gaps and i % 2 else x for i, x in enumerate(rows)])


def same(one, other):
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(values(one), values(other), strict=True))


def values(fit):
    return [value for name, value in vars(fit).items() if name != "status"]


def test_at_least_as_high_as_statsmodels():
    """Oracle: ARIMA's default fit, with and without gaps. A local search: one of six may be lower, by up to 1 nat."""
    lead = []
    for x in households():
        fit = fit_arma(x, SETTINGS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lead.append(fit.log_likelihood - ARIMA(x - fit.mean, order=(3, 0, 2), trend="n").fit().llf)
    assert np.sum(np.array(lead) < -0.1) <= 1
    assert min(lead) > -1


def test_the_end_is_a_maximum():
    """No step of 0.01 in any coefficient that stays admissible gains a hundredth of a nat."""
    x = households(1)[0]
    fit = fit_arma(x, SETTINGS)
    assert fit.status == "arma"
    for i in range(5):
        for step in (-0.01, 0.01):
            moved = np.concatenate([fit.ar, fit.ma])
            moved[i] += step
            ar, ma = moved[:3], moved[3:]
            if max(largest_pole(ar), largest_pole(-ma)) < 1:
                innovation, scale = innovations(ar, ma, x - fit.mean)
                n, square = x.size, np.sum(innovation**2 / scale)
                height = -0.5 * (n * (np.log(2 * np.pi * square / n) + 1) + np.log(scale).sum())
                assert height <= fit.log_likelihood + 0.01


def test_fits_depend_neither_on_threads_nor_on_neighbours():
    rows = households()
    alone = [fit_arma(x, SETTINGS) for x in rows]
    for threads in (1, 2, 5):
        assert all(same(a, b) for a, b in zip(alone, fit_households(rows, SETTINGS, threads), strict=True))
    back = fit_households(rows[::-1], SETTINGS, 2)[::-1]
    assert all(same(a, b) for a, b in zip(alone, back, strict=True))


def test_threads_keep_the_order_and_every_household():
    rows = np.full((5, 300), np.nan)
    rows[3] = households(1, 300)[0]
    fits = fit_households(rows, SETTINGS, threads=3)
    assert [fit.status == "white" for fit in fits] == [True, True, True, False, True]
    assert fit_households(np.empty((0, 300)), SETTINGS, threads=3) == []


def test_what_is_missing_at_the_ends_says_nothing():
    x = households(1)[0]
    fit = fit_arma(x, SETTINGS)
    ends = fit_arma(np.r_[np.full(30, np.nan), x, np.full(70, np.nan)], SETTINGS)
    assert np.allclose(fit.ar, ends.ar, atol=1e-12)
    assert ends.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-9)


def test_more_starts_are_never_worse():
    """Steps of the first starts are those of the shorter list, and the best end is kept."""
    for x in households(3, gaps=False):
        few, more = (fit_arma(x, replace(SETTINGS, starts=k)).log_likelihood for k in (1, 9))
        assert more >= few - TOLERANCE_NATS


@pytest.mark.parametrize("order", [(24, 24), (0, 24), (24, 0), (1, 8)])
def test_any_order(order):
    generator = np.random.default_rng(5)
    x = simulate(process("arma65"), 600, generator)
    for row in (x, with_gaps(x, 0.01, generator)):
        fit = fit_arma(row, ArmaSettings(order=order, starts=2, iteration_limit=40))
        assert (fit.ar.size, fit.ma.size) == order
        seen = np.isfinite(row).sum()
        white = -0.5 * seen * (np.log(2 * np.pi * np.nanvar(row)) + 1)
        assert fit.log_likelihood > white + 10


def test_white_noise_gains_no_more_than_its_parameters():
    """Twice the gain over the mean alone is near chi-square with at most 5 degrees; 60 is far beyond (p < 1e-10)."""
    x = np.random.default_rng(4).standard_normal(800)
    fit = fit_arma(x, SETTINGS)
    white = -0.5 * 800 * (np.log(2 * np.pi * x.var()) + 1)
    assert 0 <= fit.log_likelihood - white < 30


def test_a_random_walk_ends_within_the_margin():
    fit = fit_arma(np.random.default_rng(4).standard_normal(800).cumsum(), SETTINGS)
    assert 0.95 < largest_pole(fit.ar) <= 1 - ROOT_MARGIN + 1e-6


class TestForecastFit:
    """The prior, which is a hook for another choice of its numbers."""

    def test_it_keeps_roots_off_the_circle(self):
        """Sums of neighbours have an MA root at minus one."""
        e = np.random.default_rng(1).standard_normal(500)
        x = e[1:] + e[:-1]
        likelihood, forecast = (fit_arma(x, replace(SETTINGS, fit=fit)) for fit in ("likelihood", "forecast"))
        assert largest_pole(-likelihood.ma) > 0.99
        assert largest_pole(-forecast.ma) < 0.99
        assert forecast.log_likelihood < likelihood.log_likelihood

    def test_without_prior_and_with_equal_margins_it_is_the_likelihood_fit(self, monkeypatch):
        monkeypatch.setattr(arma, "AR_PRIOR_SD", np.inf)
        monkeypatch.setattr(arma, "MA_PRIOR_SD", np.inf)
        monkeypatch.setitem(arma.PACF_MARGINS, "forecast", arma.PACF_MARGINS["likelihood"])
        for x in households(2):
            assert same(fit_arma(x, replace(SETTINGS, fit="forecast")), fit_arma(x, SETTINGS))

    def test_a_narrow_prior_leaves_white_noise(self, monkeypatch):
        monkeypatch.setattr(arma, "AR_PRIOR_SD", 1e-4)
        monkeypatch.setattr(arma, "MA_PRIOR_SD", 1e-4)
        x = households(1)[0]
        fit = fit_arma(x, replace(SETTINGS, fit="forecast"))
        assert np.abs(np.concatenate([fit.ar, fit.ma])).max() < 1e-3
        assert fit.innovation_variance == pytest.approx(x.var(), rel=0.01)


class TestInnovations:
    @pytest.mark.parametrize("gaps", [False, True])
    @pytest.mark.parametrize("name", PROCESSES)
    def test_oracle_is_the_pass_of_the_state_space_room(self, name, gaps):
        fit, generator = process(name, mean=0.0), np.random.default_rng(2)
        x = simulate(fit, 300, generator)
        x = with_gaps(x, 0.1, generator) if gaps else x
        passed = kalman_pass(arma_system(fit.ar, fit.ma), x)
        innovation, scale = innovations(fit.ar, fit.ma, x)
        seen = np.isfinite(x)
        assert np.array_equal(np.isfinite(innovation), seen)
        assert np.allclose(innovation[seen], passed.innovation[seen], rtol=1e-6, atol=1e-8)
        assert np.allclose(scale[seen], passed.innovation_scale[seen], rtol=1e-8)


class TestStarts:
    def test_hannan_rissanen_and_yule_walker_are_near_the_truth(self):
        """4,000 readings, standard errors below 0.03; oracle: the partial autocorrelations simulated from."""
        truth = process("arma21", mean=0.0)
        x = simulate(truth, 4000, np.random.default_rng(7))
        partial = np.tanh(start_points(x, 2, 1, 2, 1.0))
        assert np.allclose(partial[0], [1.2 / 1.5, -0.5, -0.4], atol=0.12)
        only_ar = simulate(process("ar1", mean=0.0), 4000, np.random.default_rng(7))
        assert np.allclose(np.tanh(start_points(only_ar, 2, 1, 2, 1.0))[1], [0.9, 0.0, 0.0], atol=0.06)

    @pytest.mark.parametrize("order", [(6, 5), (0, 3), (3, 0), (24, 24)])
    def test_every_start_is_finite_and_lists_extend(self, order):
        generator = np.random.default_rng(0)
        walk = generator.standard_normal(300).cumsum()
        nasty = [walk, np.tile([1.0, -1.0], 150), np.r_[1.0, np.zeros(299)], np.where(walk > 0, walk, 0.0)]
        for x in nasty:
            many = start_points(x, *order, 9, 0.9999)
            assert many.shape == (9, sum(order))
            assert np.isfinite(many).all()
            for count in (1, 2, 5):
                assert np.array_equal(start_points(x, *order, count, 0.9999), many[:count])


# The starts of a fit, which are made of many functions. The likelihood would take a quarter of a minute to compile;
# the test below holds its parts to what makes these alike.
_SCRIPT = """
import numpy as np
from meterdp.forecasting.kernel.search import start_points
walks = (np.random.default_rng(n).standard_normal((2, n)) for n in range(700, 1500, 40))
z = np.array([start_points(level.cumsum() * 0.2 + noise, 2, 1, 3, 0.9999) for level, noise in walks])
print(z.tobytes().hex())
"""


def run(cache):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.check_output([sys.executable, "-c", _SCRIPT], env=environment, cwd=ROOT)


def test_an_empty_a_full_and_a_partial_cache_count_alike(tmp_path):
    """To the last bit, or the shard whose process compiles would have other fits than the rest."""
    compiled_here, cached = run(tmp_path), run(tmp_path)
    assert compiled_here == cached
    # As after a job that was killed while it compiled, or two that compiled at once.
    lost = [
        path
        for name in ("_estimates", "_autocovariances", "_levinson")
        for path in tmp_path.rglob(f"search.{name}-*")
    ]
    assert len(lost) >= 6, "an index and a copy of each"
    for path in lost:
        path.unlink()
    assert run(tmp_path) == compiled_here


def test_what_may_be_summed_in_any_order_has_one_compiled_copy():
    """Numba keeps copies of a function in its callers, optimised anew there, and takes the one it meets first."""
    names = [m.name for m in pkgutil.walk_packages(meterdp.__path__, "meterdp.") if not m.name.endswith("__main__")]
    compiled = {
        value
        for name in names
        for value in vars(importlib.import_module(name)).values()
        if isinstance(value, Dispatcher) and value.py_func.__module__.startswith("meterdp.")
    }
    fast = {f for f in compiled if f.targetoptions.get("fastmath")}
    assert "kalman" in {f.__name__ for f in fast}
    assert [f.__name__ for f in fast if f.targetoptions.get("inline") != "always"] == []
