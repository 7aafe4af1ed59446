"""Vectors from a configuration: the public period, days off, zeros, and readings of a household alone."""

from datetime import UTC, date, datetime

import numpy as np
import pytest

from meterdp.core.log_scale import LogScale
from meterdp.errors import InputError
from meterdp.households.configured import calendar_of, days_off, settings_of, vectors_of
from meterdp.households.vector import household_vectors
from meterdp.profiles.grid import Calendar, LocalTime
from tests.unit.households.homes import simulated
from tests.unit.release.charged import config

PERIOD = {"first_day": "2025-01-06", "last_day": "2025-03-30", "interval_minutes": 60, "time_zone": "UTC"}


def given(**profiles):
    return config(export=PERIOD, profiles=profiles)


def vectors(kwh, calendar, settings, of):
    return vectors_of(LogScale.of_interval(of["profiles"], 60).clipped_log(kwh), calendar, settings, of)


def test_a_period_is_from_local_midnight_to_local_midnight_with_its_clock_changes():
    calendar = calendar_of(date(2025, 3, 29), date(2025, 3, 30), LocalTime(30, "Europe/Zurich"))
    assert calendar.start == datetime(2025, 3, 28, 23, tzinfo=UTC) and calendar.slot_count == 2 * (24 + 23)
    assert calendar.days == [date(2025, 3, 29), date(2025, 3, 30)]


def test_days_off_are_the_holidays_of_the_country_within_the_period():
    assert days_off(None, date(2025, 1, 1), date(2025, 12, 31)) == ()
    found = days_off("CH", date(2024, 12, 31), date(2025, 8, 1))
    assert found[0] == date(2025, 1, 1) and found[-1] == date(2025, 8, 1)
    assert date(2025, 4, 25) in days_off("AU-NSW", date(2025, 4, 1), date(2025, 4, 30))
    with pytest.raises(InputError, match=r"household_holidays': is 'QQ', of which no holidays are known"):
        days_off("QQ", date(2025, 1, 1), date(2025, 1, 2))


def test_vectors_are_those_of_the_readings_within_the_public_period():
    """Oracle: the readings cut and put onto the period by hand; one home has none before it, one none after."""
    of = given()
    settings = settings_of(of)
    longer = Calendar(datetime(2024, 12, 30, tzinfo=UTC), 120 * 24, 60, "UTC")
    kwh = simulated(3, longer)
    found = vectors(kwh, longer, settings, of)[0]
    begin, count = 7 * 24, settings.calendar.slot_count
    assert found == pytest.approx(household_vectors(kwh[:, begin : begin + count], settings), abs=1e-6)
    shorter = Calendar(datetime(2025, 1, 20, tzinfo=UTC), 30 * 24, 60, "UTC")
    part = kwh[:, 21 * 24 : 51 * 24]
    padded = np.full((3, count), np.nan)
    padded[:, 14 * 24 : 44 * 24] = part
    found = vectors(part, shorter, settings, of)[0]
    assert found == pytest.approx(household_vectors(padded, settings), abs=1e-6)
    elsewhere = Calendar(datetime(2026, 1, 1, tzinfo=UTC), 24, 60, "UTC")
    assert vectors(kwh[:, :24], elsewhere, settings, of)[0] == pytest.approx(np.tile(settings.typical, (3, 1)))


def test_the_lower_bound_of_a_plain_log_is_zero_and_net_load_is_known_by_the_bounds():
    of = given()
    settings = settings_of(of)
    kwh = simulated(2, settings.calendar)
    kwh[0, ::3] = 0.0
    found, _ = vectors(kwh, settings.calendar, settings, of)
    at = settings.names.index("zero_share")
    assert found[:, at] == pytest.approx([1 / 3, 0.0], abs=1e-3)
    assert not settings.feed_in
    net = given(clip_kwh_per_hour=[-10, 20], log_scale={"kind": "signed", "scale_kwh_per_hour": 0.2})
    assert settings_of(net).feed_in and "net_share" in settings_of(net).names


def test_rewriting_one_household_leaves_the_vectors_of_others_as_they_are_to_the_bit():
    of = given()
    settings, rng = settings_of(of), np.random.default_rng(2)
    kwh = simulated(4, settings.calendar)
    kwh[2, rng.random(kwh.shape[1]) < 0.2] = np.nan
    before = np.hstack(vectors(kwh, settings.calendar, settings, of))
    for hostile in (np.nan, 0.0, 1e9, -1e9):
        changed = kwh.copy()
        changed[1] = hostile
        changed[1, rng.integers(kwh.shape[1], size=99)] = rng.normal(size=99) * 1e6
        after = np.hstack(vectors(changed, settings.calendar, settings, of))
        assert np.array_equal(np.delete(after, 1, axis=0), np.delete(before, 1, axis=0))
        alone = np.hstack(vectors(changed[2:3], settings.calendar, settings, of))
        assert np.array_equal(alone[0], before[2]), "whatever else is in the shard"
