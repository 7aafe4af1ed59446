"""Forecasts of one shard of a study."""

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from meterdp.core.errors import InputError
from meterdp.core.parquet import as_arrow
from meterdp.forecasting.arma import ArmaSettings
from meterdp.forecasting.bulk import fit_households
from meterdp.forecasting.study import shard_forecasts
from meterdp.forecasting.tables import FORECAST_LAWS, FORECASTS
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.grid import Calendar

CALENDAR = Calendar(datetime(2025, 10, 19, 22, tzinfo=UTC), 24 * 21, 60, "Europe/Zurich")


@pytest.fixture
def load():
    generator = np.random.default_rng(8)
    values = generator.standard_normal((3, CALENDAR.slot_count)).cumsum(axis=1) * 0.1
    values[1, 300:310] = np.nan
    season = np.sin(CALENDAR.minute_of_day / 1440 * 2 * np.pi) * np.ones((3, 1))
    return LogLoad(np.array([2, 5, 9], np.int32), values + season, season, CALENDAR)


def fits(load, days=14):
    return fit_households(load.training_residual(days), ArmaSettings(order=(2, 1), iteration_limit=5))


def test_every_household_is_forecast_from_every_origin_after_training(load):
    forecasts, laws = shard_forecasts(load, fits(load), train_days=14, horizon=4, origins=20)
    table = as_arrow(FORECASTS, forecasts).to_pandas()
    assert table.groupby("household").size().to_dict() == {2: 80, 5: 80, 9: 80}
    training_ends = CALENDAR.start_utc[CALENDAR.window(14).stop]
    assert table["interval_start_utc"].min().to_datetime64() == training_ends
    assert table["interval_start_utc"].max().to_datetime64() == CALENDAR.start_utc[-1]
    truth = table.merge(
        table[["household", "interval_start_utc", "actual_log_kwh"]], on=["household", "interval_start_utc"]
    )
    assert (truth["actual_log_kwh_x"].fillna(0) == truth["actual_log_kwh_y"].fillna(0)).all()
    law = as_arrow(FORECAST_LAWS, laws).to_pandas()
    last = table[(table["household"] == 5) & (table["origin"] == 19)].sort_values("step")
    assert np.allclose(law.loc[1, "mean_log_kwh"], last["forecast_log_kwh"])
    assert law["origin_utc"][0].to_datetime64() == CALENDAR.start_utc[-4]


def test_held_out_readings_after_an_origin_do_not_change_its_forecast(load):
    change = CALENDAR.window(14).stop + 60
    changed = load.log_kwh.copy()
    changed[:, change:] += 3.0
    other = LogLoad(load.household, changed, load.seasonal_log_kwh, CALENDAR)
    a, b = (
        as_arrow(FORECASTS, shard_forecasts(x, fits(x), train_days=14, horizon=4, origins=20)[0]).to_pandas()
        for x in (load, other)
    )
    begin = a.groupby("origin")["interval_start_utc"].transform("min").to_numpy()
    early = begin <= pd.Timestamp(CALENDAR.start_utc[change], tz="UTC")
    assert 50 < early.sum() < len(a) - 50
    assert np.array_equal(a.loc[early, "forecast_log_kwh"], b.loc[early, "forecast_log_kwh"])
    assert not np.array_equal(a.loc[~early, "forecast_log_kwh"], b.loc[~early, "forecast_log_kwh"])


def test_too_short_an_export_is_refused_in_one_sentence(load):
    with pytest.raises(InputError, match=r"field 'forecast.train_days': asks for 21 days .*; lower"):
        shard_forecasts(load, fits(load, 14), train_days=21, horizon=4, origins=20)


def test_a_shard_without_households_gives_empty_tables():
    nobody = LogLoad(np.empty(0, np.int32), np.empty((0, 0)), np.empty((0, 0)), None)
    forecasts, laws = shard_forecasts(nobody, [], 14, 4, 20)
    assert as_arrow(FORECASTS, forecasts).num_rows == as_arrow(FORECAST_LAWS, laws).num_rows == 0
