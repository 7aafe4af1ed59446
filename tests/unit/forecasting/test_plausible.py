"""What a household's own late readings make plausible, and which households to be wary of."""

import numpy as np
import pytest

from meterdp.core.parquet import as_arrow
from meterdp.forecasting.arma import ArmaSettings, fit_arma
from meterdp.forecasting.plausible import (
    DRIFT_FACTOR,
    HELD_SHARE,
    MARKS,
    innovation_ratio,
    mark_rows,
    marks,
    plausible_bounds,
)
from meterdp.forecasting.state_space import largest_pole
from meterdp.forecasting.tables import FORECAST_MARKS_SUMMARY
from tests.unit.forecasting.processes import process, simulate


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 5, 8, 50])
def test_bounds_are_those_of_the_readings_before_the_origin(slots):
    """Oracle: a loop."""
    generator = np.random.default_rng(slots)
    x = generator.normal(size=(3, 20))
    x[generator.random(x.shape) < 0.3] = np.nan
    low, high = plausible_bounds(x, slots)
    assert low.shape == high.shape == (3, 21)
    for origin in range(21):
        for row in range(3):
            late = x[row, max(0, origin - slots) : origin]
            late = late[np.isfinite(late)]
            wanted = (late.min(), late.max()) if late.size else (-np.inf, np.inf)
            assert (low[row, origin], high[row, origin]) == wanted


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


def test_drift_of_the_innovations_is_a_mark():
    """Oracle: the factor the noise was multiplied with."""
    generator = np.random.default_rng(9)
    fit, size, end = process("ar1"), 2400, 1200
    rows = np.stack([simulate(fit, size, generator) for _ in range(4)])
    rows[1, end:] = simulate(fit, size - end, generator) * 3.0
    rows[2, end:] = simulate(fit, size - end, generator) * 0.3
    rows[3, end + 50 :] = np.nan
    ratio = innovation_ratio([fit] * 4, rows, end, size)
    assert ratio[0] == pytest.approx(1, abs=0.2) and ratio[1] == pytest.approx(9, rel=0.2)
    assert ratio[2] == pytest.approx(0.09, rel=0.5) and np.isnan(ratio[3])
    found = marks(np.array([0.0, 2 * HELD_SHARE, 0.0, 2 * HELD_SHARE]), ratio)
    assert found == ["as_trained", "drift_held", "drift", "held"]
    assert DRIFT_FACTOR < 9
    summary = as_arrow(FORECAST_MARKS_SUMMARY, {k: [r[k] for r in mark_rows(found)] for k in mark_rows(found)[0]})
    assert summary["household_count"].to_pylist() == [1, 1, 1, 1] and summary["mark"].to_pylist() == list(MARKS)
