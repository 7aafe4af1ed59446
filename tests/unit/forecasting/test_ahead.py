"""Forecasts past the end of the readings."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from meterdp.forecasting.arma import ArmaSettings, fit_households
from meterdp.forecasting.rolling import Rolling, TrainingWindow, roll
from meterdp.forecasting.study import forecast_ahead
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.grid import Calendar
from meterdp.profiles.seasonal import Season, seasonal_part

SETTINGS = {
    "method": "arma",
    "ar_order": 2,
    "ma_order": 1,
    "long_ar_order": 3,
    "mean": "zero",
    "largest_root": 0.99,
    "arma": "kernel",
    "fit": "forecast",
    "starts": 2,
    "max_iterations": 200,
    "train_days": 14,
    "cap_days": 5,
    "horizon_steps": 6,
}
DAYS = 17


def profiles(method):
    return {
        "seasonal": method,
        "seasonal_scale": "log",
        "smoothing_hours": 1.0,
        "rolling_days": 10,
        "rolling_day_decay": 0.8,
        "rolling_other_day_weight": 0.5,
    }


def load(slots, log_kwh, zone="Europe/Berlin"):
    """The first ``slots`` of hourly log load; a forecast past the end takes no season from it."""
    calendar = Calendar(datetime(2025, 3, 16, 23, tzinfo=UTC), slots, 60, zone)
    known = log_kwh[:, :slots]
    return LogLoad(np.arange(len(known), dtype=np.int32), known, np.full(known.shape, np.nan), calendar)


@pytest.fixture
def log_kwh():
    generator = np.random.default_rng(8)
    hours = np.arange(24 * DAYS)
    wave = np.sin(2 * np.pi * hours / 24) + 0.5 * (hours // 24 % 7 > 4)
    noise = generator.standard_normal((4, hours.size))
    noise[:, 1:] += 0.6 * noise[:, :-1]
    noise[1, 30:40] = np.nan
    return wave + 0.3 * noise


@pytest.mark.parametrize("method", ["rolling", "time_of_week", "time_of_day", "smoothed"])
def test_it_is_the_rolling_forecast_of_that_origin(log_kwh, method):
    """Oracle: a study's rolling forecast with its training window at the end; clocks change in that window."""
    slots, horizon = 24 * (DAYS - 1) + 5, SETTINGS["horizon_steps"]
    whole, train = load(24 * DAYS, log_kwh), slice(slots - 24 * 14, slots)
    season = seasonal_part(
        log_kwh, whole.calendar, Season.from_config(profiles(method), train, horizon, whole.calendar.interval_minutes)
    )
    study = replace(whole, seasonal_log_kwh=season)
    fits = fit_households(study.residual_log_kwh[:, train], ArmaSettings.from_config(SETTINGS))
    rolling = Rolling([TrainingWindow(train, np.array([0]))], np.array([slots]), horizon, 24 * 5, 0)
    wanted = roll(study, [fits], rolling).forecasts.forecast_log_kwh[:, 0]
    found = forecast_ahead(load(slots, log_kwh), SETTINGS, profiles(method))
    assert np.allclose(found, wanted, rtol=0, atol=1e-12)


def test_a_forecast_follows_from_ones_own_readings_alone(log_kwh):
    before = forecast_ahead(load(24 * DAYS, log_kwh), SETTINGS, profiles("rolling"))
    log_kwh[2] = np.random.default_rng(1).normal(size=log_kwh.shape[1]) * 7
    after = forecast_ahead(load(24 * DAYS, log_kwh), SETTINGS, profiles("rolling"), threads=2)
    changed = (before != after).any(axis=1)
    assert changed.tolist() == [False, False, True, False]


def test_a_household_without_a_late_reading_has_no_forecast_and_a_short_period_is_no_error(log_kwh):
    log_kwh[1, -24 * 14 :] = np.nan
    found = forecast_ahead(load(24 * DAYS, log_kwh), SETTINGS, profiles("rolling"))
    assert np.isnan(found[1]).all() and np.isfinite(np.delete(found, 1, axis=0)).all()
    assert np.isfinite(forecast_ahead(load(30, log_kwh), SETTINGS, profiles("rolling"))).all()


def test_no_household_is_no_error():
    none = LogLoad(np.empty(0, np.int32), np.empty((0, 0)), np.empty((0, 0)), None)
    assert forecast_ahead(none, SETTINGS, profiles("rolling")).shape == (0, 6)
