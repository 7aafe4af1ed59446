"""Profile vectors of Liu et al."""

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from meterdp.errors import InputError
from meterdp.profiles.grid import Calendar
from meterdp.profiles.vector import VectorRules, hour_rows, hourly_energy, profile_vectors, scale_of

CALENDAR = Calendar(datetime(2025, 10, 20, 7, tzinfo=UTC), 96 * 14 + 4, 15, "America/Los_Angeles")
RULES = VectorRules("half_day", "2025-10-22", 12, 12, (0.01, 100.0), 0.5, 0.5)


@pytest.fixture
def energy():
    return np.random.default_rng(7).gamma(2.0, 0.1, size=(5, CALENDAR.slot_count)) + 0.01


@pytest.mark.parametrize(
    ("date", "hour", "begin"),
    [("2025-10-22", 12, 2 * 96 + 48), ("2025-11-02", 0, 13 * 96)],
    ids=["ordinary", "clock change: twelve elapsed hours"],
)
def test_half_day_is_the_log_of_twelve_hourly_sums(energy, date, hour, begin):
    rules = VectorRules("half_day", date, hour, 12, (0.01, 100.0), 0.5, 0.5)
    vectors, valid = profile_vectors(energy, np.ones(5, bool), CALENDAR, rules)
    oracle = np.log(energy[:, begin : begin + 48].reshape(5, 12, 4).sum(axis=2))
    assert valid.all() and np.allclose(vectors, oracle, atol=1e-12)


def test_mean_over_days_is_the_mean_of_the_daily_logs(energy):
    rules = VectorRules("mean", "auto", 12, 12, (0.01, 100.0), 0.5, 0.5)
    vectors, valid = profile_vectors(energy, np.ones(5, bool), CALENDAR, rules)
    daily = [CALENDAR.slot_at(day, 12) for day in CALENDAR.days]
    logs = [np.log(energy[:, b : b + 48].reshape(5, 12, 4).sum(axis=2)) for b in daily]
    assert valid.all() and np.allclose(vectors, np.mean(logs, axis=0), atol=1e-12)


TYPICAL = VectorRules("typical_day", "auto", 0, 24, (0.01, 100.0), 0.5, 0.5)


def test_a_typical_day_is_the_own_working_day_nearest_to_the_mean_energy(energy):
    """Oracle: whole days by the calendar of pandas, one household at a time; a day with a missing hour is none."""
    energy *= np.random.default_rng(8).uniform(0.5, 2.0, (5, 15))[:, np.arange(CALENDAR.slot_count) // 96]
    energy[2, 96:102] = np.nan
    vectors, valid = profile_vectors(energy, np.ones(5, bool), CALENDAR, TYPICAL)
    stamps = pd.to_datetime(CALENDAR.start_utc).tz_localize("UTC").tz_convert(CALENDAR.time_zone)
    for own, vector in zip(energy, vectors, strict=True):
        hourly = pd.Series(own, stamps).groupby([stamps.date, stamps.hour]).agg(lambda v: v.sum(skipna=False))
        days = pd.DataFrame({day: own.droplevel(0) for day, own in hourly.groupby(level=0)}).T.dropna()
        days = days[[pd.Timestamp(day).weekday() < 5 for day in days.index]]
        total = days.sum(axis=1)
        assert np.allclose(vector, np.log(days.loc[(total - total.mean()).abs().idxmin()]))
    assert valid.all()
    assert not np.isclose(vectors[:, 0], vectors[0, 0])[1:].any()


def test_a_household_without_a_whole_working_day_has_the_default_record(energy):
    local = [CALENDAR.slot_at(day, 0) for day in CALENDAR.days]
    for first in local:
        energy[1, max(first, 0) + 40 : max(first, 0) + 44] = np.nan
    vectors, valid = profile_vectors(energy, np.ones(5, bool), CALENDAR, TYPICAL)
    assert valid.tolist() == [True, False, True, True, True]
    assert np.allclose(vectors[1], np.log(0.5))
    weekend = Calendar(datetime(2025, 10, 25, 7, tzinfo=UTC), 96 * 2, 15, "America/Los_Angeles")
    with pytest.raises(InputError, match=r"no 24 hours of a working day are all in the export's period"):
        profile_vectors(energy[:, : 96 * 2], np.ones(5, bool), weekend, TYPICAL)


def test_invalid_households_keep_their_place_with_the_public_default_record(energy):
    begin = 2 * 96 + 48
    energy[1, begin : begin + 4] = np.nan
    energy[2, begin : begin + 28] = 0.0  # seven of twelve hours at the floor
    vectors, valid = profile_vectors(energy, np.array([True, True, True, False, True]), CALENDAR, RULES)
    assert valid.tolist() == [True, False, False, False, True]
    assert np.allclose(vectors[1:4], np.log(0.5))


def test_hour_with_half_its_intervals_is_scaled_up(energy):
    hours = hourly_energy(np.array([[1.0, np.nan, 3.0, np.nan, 1.0, np.nan, np.nan, np.nan]]), 0, 2, 4)
    assert hours[0, 0] == pytest.approx(8.0) and np.isnan(hours[0, 1])


def test_entries_stay_inside_the_public_bounds(energy):
    energy[0] *= 1e6
    energy[1] -= 1e6
    vectors, _ = profile_vectors(energy, np.ones(5, bool), CALENDAR, RULES)
    assert vectors.max() <= np.log(100.0) and vectors.min() >= np.log(0.01)


def test_a_day_outside_the_period_is_refused_in_one_sentence(energy):
    rules = VectorRules("half_day", "2024-01-01", 12, 12, (0.01, 100.0), 0.5, 0.5)
    with pytest.raises(InputError, match=r"field 'profiles.date'.*choose a day inside the period"):
        profile_vectors(energy, np.ones(5, bool), CALENDAR, rules)


def test_hours_are_named_around_midnight():
    rows = hour_rows(VectorRules("mean", "auto", 18, 12, (0.01, 100.0), 0.5, 0.5))
    assert rows["hour_of_day_local"][:8] == [18, 19, 20, 21, 22, 23, 0, 1]
    assert rows["label"][5] == "23:00-00:00"


def test_vectors_keep_zero_and_feed_in_on_a_signed_scale():
    """Oracle: arcsinh. Homes: feed-in, all zero, below the bound all day, and one without readings."""
    signed = {"kind": "signed", "scale_kwh_per_hour": 0.2}
    rules = VectorRules("half_day", "2025-01-06", 0, 5, (-3.0, 20.0), 0.5, -0.5, signed)
    hourly = np.array([[-1.5, 0.0, 0.1, 2.0, 25.0], [0.0] * 5, [-4.0] * 5, [np.nan] * 5])
    calendar = Calendar(datetime(2025, 1, 6, tzinfo=UTC), 5, 60, "UTC")
    log_kwh, valid = profile_vectors(hourly, np.ones(4, bool), calendar, rules)
    expected = np.log(0.2) + np.arcsinh(np.clip(hourly, -3, 20) / 0.4)
    assert valid.tolist() == [True, True, False, False], "at the lower bound there is no energy to tell"
    assert np.allclose(log_kwh[:2], expected[:2])
    assert np.allclose(log_kwh[2:], np.log(0.2) + np.arcsinh(-0.5 / 0.4))
    rows = pd.DataFrame(hour_rows(rules))
    assert np.allclose(rows[["low_log_kwh", "high_log_kwh"]], np.log(0.2) + np.arcsinh(np.array([-3, 20]) / 0.4))
    assert scale_of(rows).words == rules.scale.words
