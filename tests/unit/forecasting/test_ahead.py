"""Forecasts past the end of the readings."""

from datetime import UTC, datetime

import numpy as np
import pytest

from meterdp.forecasting.ahead import forecast_ahead, season_ahead
from meterdp.forecasting.arma import ArmaSettings
from meterdp.forecasting.bulk import fit_households
from meterdp.forecasting.rolling import roll
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.grid import Calendar
from meterdp.profiles.seasonal import seasonal_mean

SETTINGS = {
    "ar_order": 2,
    "ma_order": 1,
    "arma": "kernel",
    "fit": "forecast",
    "starts": 2,
    "max_iterations": 200,
    "train_days": 14,
    "horizon_steps": 6,
}
DAYS = 17


def load(slots, log_kwh, method="time_of_week", zone="Europe/Berlin"):
    """The first ``slots`` of hourly log load; the season is that of the training window."""
    calendar = Calendar(datetime(2025, 3, 16, 23, tzinfo=UTC), slots, 60, zone)
    known = log_kwh[:, :slots]
    season = seasonal_mean(known, calendar, calendar.window(SETTINGS["train_days"]), method)
    return LogLoad(np.arange(len(known), dtype=np.int32), known, season, calendar)


@pytest.fixture
def log_kwh():
    generator = np.random.default_rng(8)
    hours = np.arange(24 * DAYS)
    wave = np.sin(2 * np.pi * hours / 24) + 0.5 * (hours // 24 % 7 > 4)
    noise = generator.standard_normal((4, hours.size))
    noise[:, 1:] += 0.6 * noise[:, :-1]
    noise[1, 30:40] = np.nan
    return wave + 0.3 * noise


@pytest.mark.parametrize("method", ["time_of_week", "time_of_day", "smoothed"])
def test_it_is_the_rolling_forecast_of_that_origin(log_kwh, method):
    """Oracle: the study's rolling forecasts, which know every season; clocks change in the training window."""
    slots, horizon = 24 * (DAYS - 1) + 5, SETTINGS["horizon_steps"]
    whole = load(24 * DAYS, log_kwh, method)
    fits = fit_households(whole.training_residual(14), ArmaSettings.from_config(SETTINGS))
    wanted = roll(
        whole.household, fits, whole.log_kwh, whole.seasonal_log_kwh, np.array([slots]), horizon, np.arange(24 * DAYS)
    ).forecast_log_kwh[:, 0]
    assert np.allclose(forecast_ahead(load(slots, log_kwh, method), SETTINGS), wanted, rtol=0, atol=1e-12)


def test_a_forecast_follows_from_ones_own_readings_alone(log_kwh):
    before = forecast_ahead(load(24 * DAYS, log_kwh), SETTINGS)
    log_kwh[2] = np.random.default_rng(1).normal(size=log_kwh.shape[1]) * 7
    after = forecast_ahead(load(24 * DAYS, log_kwh), SETTINGS, threads=2)
    changed = (before != after).any(axis=1)
    assert changed.tolist() == [False, False, True, False]


def test_a_time_that_never_was_falls_back_to_the_time_of_day_and_then_to_nothing():
    calendar = Calendar(datetime(2025, 1, 6, tzinfo=UTC), 24 + 6, 60, "UTC")
    season = np.arange(30.0)[None]
    ahead = season_ahead(calendar, season, 24)
    assert ahead[0].tolist() == [*range(6, 24), *range(24, 30)]
    short = Calendar(datetime(2025, 1, 6, tzinfo=UTC), 3, 60, "UTC")
    assert np.isnan(season_ahead(short, season[:, :3], 2)).all()


def test_no_household_is_no_error():
    none = LogLoad(np.empty(0, np.int32), np.empty((0, 0)), np.empty((0, 0)), None)
    assert forecast_ahead(none, SETTINGS).shape == (0, 6)
