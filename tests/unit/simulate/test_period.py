"""Intervals of a period: regular in UTC, local stamps, days of 92, 96 and 100 quarter hours."""

from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from meterdp.simulate.fleet import Period

PACIFIC = "America/Los_Angeles"


@pytest.mark.parametrize(
    ("start", "counts"),
    [(date(2025, 11, 1), [96, 100, 96]), (date(2025, 3, 8), [96, 92, 96]), (date(2024, 2, 28), [96, 96, 96])],
)
def test_a_day_of_a_clock_change_is_an_hour_longer_or_shorter(start, counts):
    period = Period(start, 3, PACIFIC, 15)
    assert np.bincount(period.day_index).tolist() == counts
    assert period.first_slot_of_day.tolist() == [0, *np.cumsum(counts)]


def test_stamps_are_those_of_the_standard_library():
    """Oracle: zoneinfo, counting UTC seconds."""
    period = Period(date(2025, 11, 1), 2, PACIFIC, 15)
    zone = ZoneInfo(PACIFIC)
    first = datetime(2025, 11, 1, tzinfo=zone).timestamp()
    expected = [datetime.fromtimestamp(first + 900 * i, zone) for i in range(period.slot_count)]
    assert period.stamps == [t.strftime("%Y-%m-%d %H:%M") for t in expected]
    assert period.slot_of_day.tolist() == [t.hour * 4 + t.minute // 15 for t in expected]


def test_the_hour_that_occurs_twice_is_written_in_order_and_marked():
    period = Period(date(2025, 11, 2), 1, PACIFIC, 30)
    assert period.stamps[2:6] == ["2025-11-02 01:00", "2025-11-02 01:30"] * 2
    assert np.flatnonzero(period.repeated).tolist() == [2, 3, 4, 5]


def test_a_clock_change_at_midnight_is_no_obstacle():
    """In Havana the clocks go forward at midnight: the day begins at one o'clock."""
    period = Period(date(2025, 3, 9), 1, "America/Havana", 60)
    assert period.slot_count == 23 and period.stamps[0] == "2025-03-09 01:00"


def test_weekends_are_counted_from_the_eve():
    period = Period(date(2025, 10, 20), 7, PACIFIC, 15)  # a Monday
    assert period.weekend(8, first=-1).tolist() == [True] + [False] * 5 + [True] * 2
