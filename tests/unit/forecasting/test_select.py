"""The choice of households: fixed, blind to readings, stable when the number grows."""

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from meterdp.core.parquet import write_table
from meterdp.errors import InputError
from meterdp.forecasting.select import check_room, choose_households, fixed_order, study_calendar
from meterdp.profiles.grid import Calendar, LocalTime
from meterdp.profiles.tables import LOG_LOAD


def test_choice_does_not_depend_on_the_order_of_the_input():
    kept = np.arange(0, 600, 3)
    shuffled = np.random.default_rng(0).permutation(kept)
    assert np.array_equal(choose_households(kept, 50), choose_households(shuffled, 50))


def test_a_larger_study_contains_the_smaller_one():
    kept = np.arange(500)
    assert set(choose_households(kept, 100)) <= set(choose_households(kept, 137))


@pytest.mark.parametrize(("available", "asked", "given"), [(0, 10, 0), (7, 10, 7), (7, 7, 7), (7, 0, 0)])
def test_count_may_exceed_what_is_there(available, asked, given):
    chosen = choose_households(np.arange(available), asked)
    assert chosen.dtype == np.int32
    assert chosen.size == given == np.unique(chosen).size


def test_a_negative_count_is_refused():
    with pytest.raises(ValueError, match="negative"):
        choose_households(np.arange(3), -1)


def test_the_order_spreads_over_the_indices():
    """Mean of 200 of 10,000 indices, uniform: standard error 204, so 6.5 of them is a false alarm below 1e-10."""
    assert abs(choose_households(np.arange(10_000), 200).mean() - 5000) < 6.5 * 204


def test_purposes_name_unrelated_orders():
    household = np.arange(100)
    orders = fixed_order(household, "a"), fixed_order(household, "b")
    assert all(np.array_equal(np.sort(order), household) for order in orders)
    assert not np.array_equal(*orders)


def test_room_for_the_origins_is_counted_to_the_slot():
    """Ten days from 22:00 local time on: the training window starts two hours later."""
    calendar = Calendar(datetime(2025, 1, 5, 22, tzinfo=UTC), 240, 60, "UTC")
    assert check_room(calendar, 7, 12, 240 - (2 + 168) - 11) == 2 + 168
    with pytest.raises(InputError, match=r"asks for 7 days of training and 60 origins, .*; lower"):
        check_room(calendar, 7, 12, 240 - (2 + 168) - 10)


def test_the_calendar_of_a_study_comes_from_the_first_household_there_is(tmp_path):
    stamps = pa.array([datetime(2025, 1, 5, 22, tzinfo=UTC)], pa.timestamp("us", tz="UTC"))
    one = {"household": [3], "interval_start_utc": stamps, "log_kwh": [0.0], "seasonal_log_kwh": [0.0]}
    write_table(tmp_path / "empty.parquet", LOG_LOAD, {name: [] for name in one})
    write_table(tmp_path / "one.parquet", LOG_LOAD, one)
    parts = [tmp_path / "empty.parquet", tmp_path / "one.parquet"]
    assert study_calendar(parts, 240, LocalTime(60, "UTC")) == Calendar(
        datetime(2025, 1, 5, 22, tzinfo=UTC), 240, 60, "UTC"
    )
    assert study_calendar(parts[:1], 240, LocalTime(60, "UTC")) is None


@pytest.mark.parametrize("count", [1, 20, 60, 1000])
def test_a_kept_household_among_the_first_of_all_meters_is_forecast(count):
    """What the list of the group forecast rests on: of its meters, all that the quality rules keep are forecast."""
    meters = np.arange(100)
    kept = np.random.default_rng(1).permutation(meters)[:55]
    listed = choose_households(meters, count)
    assert set(listed) & set(kept) <= set(choose_households(kept, count))
