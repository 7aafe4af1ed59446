"""The public list, the hours of a window, and records from them: meters and configuration decide, no reading does."""

from datetime import UTC, datetime

import numpy as np
import pytest

from meterdp.core.log_scale import LogScale
from meterdp.core.weekend import SATURDAY_SUNDAY
from meterdp.forecasting.select import choose_households
from meterdp.groupforecast.plan import HOURS, cells_of, window_of
from meterdp.groupforecast.records import hourly
from meterdp.groupforecast.study import group_public, public_list, split
from meterdp.profiles.grid import Calendar
from tests.unit.groupforecast.made_up import CONFIG, METER_COUNT, meters, public, town

SCALE = LogScale(0.001, 100.0)


def test_the_list_is_of_the_meters_and_not_of_the_readings():
    listed, circuit = public_list(meters(), None)
    assert listed.tolist() == list(range(METER_COUNT)) and circuit == tuple(i % 3 for i in range(METER_COUNT))
    some, circuit = public_list(meters(named=False), 20)
    assert some.tolist() == choose_households(np.arange(METER_COUNT), 20).tolist() and circuit is None


def test_cells_are_hours_of_working_days_and_weekends():
    """Oracle: the calendar of Python."""
    first = datetime(2025, 11, 6, tzinfo=UTC)
    days = (first.date() - datetime(1970, 1, 1, tzinfo=UTC).date()).days
    found = cells_of(days, 10, SATURDAY_SUNDAY).reshape(10, HOURS)
    for number in range(10):
        weekend = datetime.fromordinal(first.toordinal() + number).weekday() >= 5
        assert found[number].tolist() == [hour + 24 * weekend for hour in range(24)]


@pytest.mark.parametrize(("zone", "minutes"), [("Europe/Berlin", 15), ("UTC", 60), ("Asia/Kolkata", 30)])
def test_hours_are_local_and_of_what_was_read(zone, minutes):
    """Through the night in which Berlin's clocks go back; oracle: a loop over local times."""
    calendar = Calendar(datetime(2025, 10, 24, 20, tzinfo=UTC), 4 * 24 * 60 // minutes, minutes, zone)
    generator = np.random.default_rng(0)
    kwh = 0.01 + generator.random((3, calendar.slot_count))
    kwh[1, 10:30] = np.nan
    first = int(calendar.local_day[0]) + 1
    found = hourly(np.log(kwh), calendar, SCALE, first, first + 2)
    assert found.shape == (3, 72)
    for hour in range(72):
        at = (calendar.local_day == first + hour // 24) & (calendar.minute_of_day // 60 == hour % 24)
        values = kwh[:, at]
        expected = [np.nanmean(row) * 60 / minutes if np.isfinite(row).any() else np.nan for row in values]
        assert found[:, hour] == pytest.approx(expected, nan_ok=True)


def test_days_before_the_last_are_the_records():
    hours = town(days=50)
    records, last = split(hours, public().cell_shape)
    assert last.kwh.shape[1] == 7 * HOURS and last.first_day == hours.first_day + 43
    before = hours.kwh[:, (50 - 7 - 28) * HOURS : 43 * HOURS]
    working = hours.cell[(50 - 7 - 28) * HOURS : 43 * HOURS] < HOURS
    mean = (5 * before[:, working].mean(axis=1) + 2 * before[:, ~working].mean(axis=1)) / 7
    assert records.x[:, 0] == pytest.approx(mean, nan_ok=True)
    _, few = split(town(days=4), public().cell_shape)
    assert few.kwh.shape[1] == HOURS


def test_the_window_is_the_end_of_the_public_period():
    assert window_of({"first_day": "2025-01-01", "last_day": "2025-12-31"}) == (20_453 - 27, 20_453)
    assert window_of({"first_day": "2025-12-30", "last_day": "2025-12-31"}) == (20_452, 20_453)


def test_public_settings_come_from_the_configuration():
    made = group_public(CONFIG, 70, None, 0.0)
    assert (made.epsilon, made.delta, made.records, made.groups) == (1, 1e-5, 70, "one")
    assert made.level_kwh == CONFIG["profiles"]["default_kwh_per_hour"]
    assert made.high_kwh == CONFIG["profiles"]["clip_kwh_per_hour"][1]
    assert group_public(CONFIG, 4, (0, 1, 0, 1), 0.0, 2.0, 1e-6).circuits == 2
