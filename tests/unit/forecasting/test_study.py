"""Forecasts of one shard of a study, and past the end of the readings."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import as_arrow
from meterdp.errors import InputError
from meterdp.forecasting.arma import ArmaSettings, fit_households
from meterdp.forecasting.rolling import Rolling, TrainingWindow, roll
from meterdp.forecasting.study import forecast_ahead, rolling_of, shard_forecasts
from meterdp.forecasting.tables import (
    FORECAST_DISTRIBUTIONS,
    FORECAST_MARKS,
    FORECASTS,
    FORECASTS_KWH,
)
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.grid import Calendar
from meterdp.profiles.seasonal import Season, seasonal_part
from tests.unit.forecasting.processes import settings

SETTINGS = settings(refit_days=4, cap_days=None, calibration_days=7)
SCALE = LogScale(0.01, 100.0)
CALENDAR = Calendar(datetime(2025, 10, 19, 22, tzinfo=UTC), 24 * 21, 60, "Europe/Zurich")


@pytest.fixture
def load():
    generator = np.random.default_rng(8)
    values = generator.standard_normal((3, CALENDAR.slot_count)).cumsum(axis=1) * 0.1
    values[1, 300:310] = np.nan
    season = np.sin(CALENDAR.minute_of_day / 1440 * 2 * np.pi) * np.ones((3, 1))
    return LogLoad(np.array([2, 5, 9], np.int32), values + season, season, CALENDAR)


def fits(load, section=SETTINGS):
    made = ArmaSettings(order=(2, 1), iteration_limit=5)
    windows = rolling_of(load.calendar, section).windows
    return [fit_households(load.residual_log_kwh[:, window.slots], made) for window in windows]


def test_every_household_is_forecast_from_every_origin_after_training(load):
    found = shard_forecasts(load, fits(load), SETTINGS, SCALE)
    table = as_arrow(FORECASTS, found.forecasts).to_pandas()
    assert table.groupby("household").size().to_dict() == {2: 80, 5: 80, 9: 80}
    training_ends = CALENDAR.start_utc[CALENDAR.window(14).stop]
    assert table["interval_start_utc"].min().to_datetime64() == training_ends
    assert table["interval_start_utc"].max().to_datetime64() == CALENDAR.start_utc[-1]
    truth = table.merge(
        table[["household", "interval_start_utc", "actual_log_kwh"]], on=["household", "interval_start_utc"]
    )
    assert (truth["actual_log_kwh_x"].fillna(0) == truth["actual_log_kwh_y"].fillna(0)).all()
    distribution = as_arrow(FORECAST_DISTRIBUTIONS, found.distributions).to_pandas()
    last = table[(table["household"] == 5) & (table["origin"] == 19)].sort_values("step")
    assert np.allclose(distribution.loc[1, "mean_log_kwh"], last["forecast_log_kwh"])
    assert distribution["origin_utc"][0].to_datetime64() == CALENDAR.start_utc[-4]
    energy = as_arrow(FORECASTS_KWH, found.energy).to_pandas()
    assert len(energy) == 3 * 4 * 2
    own = energy[(energy["household"] == 5) & (energy["level"] == 0.9)].sort_values("step")
    assert np.allclose(own["median_kwh"], np.exp(last["forecast_log_kwh"]))
    narrow = energy[(energy["household"] == 5) & (energy["level"] == 0.5)].sort_values("step")
    assert (own["lower_kwh"].to_numpy() < narrow["lower_kwh"].to_numpy()).all()
    assert (own["upper_kwh"].to_numpy() > narrow["upper_kwh"].to_numpy()).all()
    reached = roll(load, fits(load), rolling_of(CALENDAR, SETTINGS, SETTINGS["interval_levels"])).interval_log_kwh
    level = SETTINGS["interval_levels"].index(0.9)
    assert np.allclose(np.log(own[["lower_kwh", "upper_kwh"]].to_numpy().T), reached[1, -1, level])
    assert as_arrow(FORECAST_MARKS, found.marks)["mark"].to_pylist() == ["as_trained"] * 3


def test_held_out_readings_after_an_origin_do_not_change_its_forecast(load):
    change = CALENDAR.window(14).stop + 60
    changed = load.log_kwh.copy()
    changed[:, change:] += 3.0
    other = LogLoad(load.household, changed, load.seasonal_log_kwh, CALENDAR)
    a, b = (
        as_arrow(FORECASTS, shard_forecasts(x, fits(x), SETTINGS, SCALE).forecasts).to_pandas() for x in (load, other)
    )
    begin = a.groupby("origin")["interval_start_utc"].transform("min").to_numpy()
    early = begin <= pd.Timestamp(CALENDAR.start_utc[change], tz="UTC")
    assert 50 < early.sum() < len(a) - 50
    assert np.array_equal(a.loc[early, "forecast_log_kwh"], b.loc[early, "forecast_log_kwh"])
    assert not np.array_equal(a.loc[~early, "forecast_log_kwh"], b.loc[~early, "forecast_log_kwh"])


def test_too_short_an_export_is_refused_in_one_sentence(load):
    with pytest.raises(InputError, match=r"field 'forecast.train_days': asks for 21 days .*; lower"):
        shard_forecasts(load, fits(load), {**SETTINGS, "train_days": 21}, SCALE)


@pytest.mark.parametrize("slots", [0, CALENDAR.slot_count])
def test_a_shard_without_households_gives_empty_tables(slots):
    """Nobody was kept in it, or nobody of it was chosen."""
    none = np.empty((0, slots))
    nobody = LogLoad(np.empty(0, np.int32), none, none, CALENDAR if slots else None)
    found = shard_forecasts(nobody, [], SETTINGS, SCALE)
    tables = (FORECASTS, FORECAST_DISTRIBUTIONS, FORECASTS_KWH, FORECAST_MARKS)
    assert [as_arrow(t, c).num_rows for t, c in zip(tables, vars(found).values(), strict=True)] == [0] * 4


def test_bad_households_are_forecast_without_a_crash(load):
    """A constant series, an all-missing day before an origin, three days of readings, and none at all."""
    values = np.stack([np.full(CALENDAR.slot_count, -2.0), *load.log_kwh])
    first = CALENDAR.window(14)
    values[1, first.stop - 24 : first.stop] = np.nan
    values[2, : first.stop - 72] = np.nan
    values[3] = np.nan
    season = np.concatenate([np.zeros((1, CALENDAR.slot_count)), load.seasonal_log_kwh])
    bad = LogLoad(np.arange(4, dtype=np.int32), values, season, CALENDAR)
    found = shard_forecasts(bad, fits(bad), SETTINGS, SCALE)
    table = as_arrow(FORECASTS, found.forecasts).to_pandas()
    assert np.isfinite(table["forecast_log_kwh"]).all() and np.isfinite(table["forecast_std_log_kwh"]).all()
    assert np.allclose(table.loc[table["household"] == 0, "forecast_log_kwh"], -2.0)
    distributions = as_arrow(FORECAST_DISTRIBUTIONS, found.distributions).to_pandas()
    assert not np.any(distributions["query_covariance"][0]) and not np.any(distributions["query_covariance"][3])
    assert np.isfinite(np.stack(distributions["covariance"])).all()


@pytest.mark.parametrize(
    ("change", "offsets"),
    [((2018, 10, 28), ("+02:00", "+01:00")), ((2019, 3, 31), ("+01:00", "+02:00"))],
)
def test_a_forecast_across_a_clock_change_follows_local_time(change, offsets):
    """Seasonal mean 1, 2, .. per local hour: in autumn hour 2 comes twice, in spring it is skipped."""
    end = datetime(*change, 7, tzinfo=UTC)
    calendar = Calendar(end - timedelta(hours=24 * 16), 24 * 16, 60, "Europe/Zurich")
    season = (calendar.minute_of_day / 60.0)[None, :]
    load = LogLoad(np.array([0], np.int32), season.copy(), season, calendar)
    one = SETTINGS | {"horizon_steps": 8, "origins": 1}
    found = shard_forecasts(load, fits(load, one), one, LogScale(1e-9, 1e9))
    table = as_arrow(FORECASTS, found.forecasts).to_pandas()
    assert (table["interval_start_utc"].diff().dropna() == pd.Timedelta(hours=1)).all()
    energy = as_arrow(FORECASTS_KWH, found.energy).to_pandas()
    energy = energy[energy["level"] == 0.5]
    local = energy["interval_start_local"]
    hours = [int(text[11:13]) for text in local]
    assert sorted(hours) == hours and (hours.count(2) == 2 if change[1] == 10 else 2 not in hours)
    assert {text[-6:] for text in local} == set(offsets) and local.is_unique
    assert np.allclose(table["forecast_log_kwh"], hours)
    assert np.allclose(np.log(energy["median_kwh"]), hours)
    assert [pd.Timestamp(t).tz_convert("UTC") for t in local] == energy["interval_start_utc"].tolist()


AHEAD = settings(cap_days=5, horizon_steps=6)
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


def hourly(slots, log_kwh, zone="Europe/Berlin"):
    """The first ``slots`` of hourly log hourly; a forecast past the end takes no season from it."""
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
    slots, horizon = 24 * (DAYS - 1) + 5, AHEAD["horizon_steps"]
    whole, train = hourly(24 * DAYS, log_kwh), slice(slots - 24 * 14, slots)
    season = seasonal_part(
        log_kwh, whole.calendar, Season.from_config(profiles(method), train, horizon, whole.calendar.interval_minutes)
    )
    study = replace(whole, seasonal_log_kwh=season)
    fits = fit_households(study.residual_log_kwh[:, train], ArmaSettings.from_config(AHEAD))
    rolling = Rolling([TrainingWindow(train, np.array([0]))], np.array([slots]), horizon, 24 * 5, 0)
    wanted = roll(study, [fits], rolling).forecasts.forecast_log_kwh[:, 0]
    found = forecast_ahead(hourly(slots, log_kwh), AHEAD, profiles(method))
    assert np.allclose(found, wanted, rtol=0, atol=1e-12)


def test_a_forecast_follows_from_ones_own_readings_alone(log_kwh):
    before = forecast_ahead(hourly(24 * DAYS, log_kwh), AHEAD, profiles("rolling"))
    log_kwh[2] = np.random.default_rng(1).normal(size=log_kwh.shape[1]) * 7
    after = forecast_ahead(hourly(24 * DAYS, log_kwh), AHEAD, profiles("rolling"), threads=2)
    changed = (before != after).any(axis=1)
    assert changed.tolist() == [False, False, True, False]


def test_a_household_without_a_late_reading_has_no_forecast_and_a_short_period_is_no_error(log_kwh):
    log_kwh[1, -24 * 14 :] = np.nan
    found = forecast_ahead(hourly(24 * DAYS, log_kwh), AHEAD, profiles("rolling"))
    assert np.isnan(found[1]).all() and np.isfinite(np.delete(found, 1, axis=0)).all()
    assert np.isfinite(forecast_ahead(hourly(30, log_kwh), AHEAD, profiles("rolling"))).all()


def test_no_household_is_no_error():
    none = LogLoad(np.empty(0, np.int32), np.empty((0, 0)), np.empty((0, 0)), None)
    assert forecast_ahead(none, AHEAD, profiles("rolling")).shape == (0, 6)
