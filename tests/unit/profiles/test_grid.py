"""The local calendar of a UTC grid, through clock changes."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from meterdp.profiles.grid import Calendar


def calendar(start="2025-10-31T07:00", slots=96 * 5, zone="America/Los_Angeles", minutes=15):
    return Calendar(datetime.fromisoformat(start).replace(tzinfo=UTC), slots, minutes, zone)


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Europe/Zurich", "Australia/Lord_Howe", "UTC"])
@pytest.mark.parametrize("start", ["2025-10-24T00:00", "2025-03-07T00:00", "2025-04-04T00:00"])
def test_local_fields_agree_with_zoneinfo(zone, start):
    grid = calendar(start, 96 * 9, zone)
    for t in range(0, grid.slot_count, 7):
        local = grid.start_utc[t].astype(datetime).replace(tzinfo=UTC).astimezone(ZoneInfo(zone))
        assert grid.minute_of_day[t] == local.hour * 60 + local.minute
        assert grid.slot_of_week[t] == local.weekday() * 96 + (local.hour * 60 + local.minute) // 15
        assert date(1970, 1, 1).toordinal() + grid.local_day[t] == local.date().toordinal()


def test_a_day_with_a_clock_change_has_one_hundred_slots():
    grid = calendar()
    days, count = np.unique(grid.local_day, return_counts=True)
    assert dict(zip(days - days[0], count, strict=True)) == {0: 96, 1: 96, 2: 100, 3: 96, 4: 92}


def test_same_time_last_week_is_the_same_local_time_across_the_change():
    grid = calendar(slots=96 * 14)
    last = grid.same_time_before(7)
    has = last >= 0
    assert np.array_equal(grid.slot_of_week[has], grid.slot_of_week[last[has]])
    assert np.array_equal(grid.local_day[has] - 7, grid.local_day[last[has]])
    assert not has[: 96 * 7].any() and has[96 * 7 + 4 :].all()


def test_training_window_starts_at_local_midnight():
    grid = calendar("2025-10-30T03:00")
    window = grid.window(2)
    assert grid.minute_of_day[window.start] == 0 and window.stop - window.start == 192


def test_slot_at_counts_elapsed_hours_after_a_clock_change():
    grid = calendar()
    assert grid.slot_at(date(2025, 10, 31), 0) == 0
    assert grid.slot_at(date(2025, 11, 2), 12) == 96 * 2 + 13 * 4
