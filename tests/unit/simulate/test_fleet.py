"""Households keep proportions, circuits and ids whatever the size of the run; intervals are regular in UTC.

Local days have 92, 96 and 100 quarter hours.
"""

from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from meterdp.simulate.fleet import Fleet, Period, type_sequence

PACIFIC = "America/Los_Angeles"
TABLE_I = [687, 428, 102, 147, 14, 31]


def test_a_full_run_has_exactly_the_numbers_of_table_i():
    assert np.bincount(type_sequence(TABLE_I, sum(TABLE_I))).tolist() == TABLE_I


def test_every_shorter_run_keeps_the_proportions_to_within_one_household():
    sequence = type_sequence(TABLE_I, sum(TABLE_I))
    given = np.cumsum(np.eye(len(TABLE_I))[sequence], axis=0)
    wanted = np.arange(1, len(sequence) + 1)[:, None] * np.array(TABLE_I) / sum(TABLE_I)
    assert np.abs(given - wanted).max() < 1


@pytest.mark.parametrize("count", [1, 10, 57])
def test_a_longer_run_begins_with_the_shorter_one(count):
    assert np.array_equal(type_sequence(TABLE_I, count), type_sequence(TABLE_I, 300)[:count])


def test_a_household_keeps_circuit_and_id_in_a_longer_run(parameters):
    small, large = (Fleet(parameters.household_types, n, 12, 3) for n in (20, 500))
    for i in range(20):
        assert small.circuit(i) == large.circuit(i) and small.meter_id(i) == large.meter_id(i)


def test_ids_are_unique_ordered_and_say_that_they_are_synthetic(parameters):
    ids = [Fleet(parameters.household_types, 10_001, 12, 3).meter_id(i) for i in range(10_001)]
    assert ids == sorted(set(ids))
    assert all(meter_id.startswith("SYN-") for meter_id in ids)


def test_every_circuit_has_homes_and_rare_types_are_on_few_circuits(parameters):
    fleet = Fleet(parameters.household_types, parameters.households, 12, 3)
    circuit = np.array([fleet.circuit(i) for i in range(fleet.count)])
    gas, agricultural = (circuit[fleet.type_index == t] for t in (0, 4))
    assert set(gas) == set(range(12))
    assert len(set(agricultural)) <= 7


def test_one_circuit_takes_all(parameters):
    fleet = Fleet(parameters.household_types, 30, 1, 3)
    assert {fleet.circuit_name(i) for i in range(30)} == {"C01"}


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
