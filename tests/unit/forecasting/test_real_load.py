"""On real homes the chain ends in admissible fits and the forecast beats both naive ones."""

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from meterdp.evaluation.forecast_errors import forecast_errors
from meterdp.forecasting.arma import ArmaSettings, fit_households
from meterdp.forecasting.rolling import Rolling, roll, rolling_origins, training_windows
from meterdp.forecasting.select import choose_households
from meterdp.forecasting.state_space import largest_pole
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.grid import Calendar

TRAIN, WEEK, HORIZON, HOMES = 1440, 672, 12, 12


@pytest.fixture(scope="module")
def homes(shared_data):
    """Twelve homes by the fixed order: log load of three weeks and the weekly mean of the training window."""
    readings = pd.read_parquet(shared_data / "ch_bamberg_15min" / "elcons_15min_long.parquet")
    wide = readings.pivot_table(index="vid", columns=["week", "slot"], values="kwh").to_numpy()[:, : 3 * WEEK + WEEK]
    wide = wide[(wide > 0).mean(axis=1) > 0.9]
    log_kwh = np.log(np.maximum(wide[choose_households(np.arange(len(wide)), HOMES)], 1e-3))
    slot = np.arange(log_kwh.shape[1]) % WEEK
    means = np.stack([log_kwh[:, :TRAIN][:, slot[:TRAIN] == s].mean(axis=1) for s in range(WEEK)], axis=1)
    return log_kwh, means[:, slot]


def test_forecasts_of_real_homes_beat_the_naive_ones(homes):
    log_kwh, season = homes
    fits = fit_households((log_kwh - season)[:, :TRAIN], ArmaSettings(iteration_limit=30))
    assert all(fit.status.startswith("arma") for fit in fits)
    assert all(max(largest_pole(fit.ar), largest_pole(-fit.ma)) < 1 for fit in fits)
    calendar = Calendar(datetime(2018, 10, 29, tzinfo=UTC), log_kwh.shape[1], 15, "UTC")
    origins = rolling_origins(TRAIN, log_kwh.shape[1], HORIZON, 40)
    rolling = Rolling(training_windows(calendar, 15, None, origins), origins, HORIZON, None, 0)
    rolled = roll(LogLoad(np.arange(HOMES), log_kwh, season, calendar), [fits], rolling).forecasts
    nmse = {row["method"]: row["nmse"] for row in forecast_errors(rolled) if row["scale"] == "log_kwh"}
    assert nmse["arma"] < min(nmse["last_value"], nmse["last_week"])
