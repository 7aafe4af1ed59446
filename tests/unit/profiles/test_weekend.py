"""Weekends that are not on Saturday and Sunday: whatever tells working days apart goes by the setting.

Oracle: readings whose weekend is on Friday and Saturday are those of one day later with Saturday and Sunday.
"""

from datetime import UTC, date, datetime, timedelta
from itertools import combinations

import numpy as np
import pytest

from meterdp.consumption.study import Consumption, study_rows
from meterdp.core.weekend import DAYS, SATURDAY_SUNDAY, Weekend, weekend_of_zone
from meterdp.errors import InputError
from meterdp.groupforecast.plan import cells_of
from meterdp.households.vector import VectorSettings, household_vectors
from meterdp.profiles.grid import LocalTime
from meterdp.profiles.seasonal import Season, seasonal_part
from meterdp.profiles.vector import VectorRules, profile_vectors

FRIDAY_SATURDAY = Weekend((4, 5))
FIRST = datetime(2025, 1, 6, tzinfo=UTC)  # a Monday
DAYS_READ = 8 * 7 + 3
LATER = LocalTime(60, "UTC").calendar(FIRST + timedelta(days=1), DAYS_READ * 24)
EARLIER = LocalTime(60, "UTC", FRIDAY_SATURDAY).calendar(FIRST, DAYS_READ * 24)
TYPICAL = VectorRules("typical_day", "auto", 0, 24, (0.01, 100.0), 0.5, 0.5)


@pytest.fixture(scope="module")
def kwh():
    """Twice as much on two days of the week; with gaps."""
    generator = np.random.default_rng(3)
    kwh = generator.gamma(2.0, 0.2, (6, LATER.slot_count)) * np.where(LATER.is_weekend, 2.0, 1.0) + 0.02
    kwh[generator.random(kwh.shape) < 0.01] = np.nan
    return kwh


def weekend_ratios(kwh, calendar):
    found = Consumption(np.arange(6), np.arange(6) % 2, {}, {})
    found.add(np.arange(6), kwh, calendar)
    rows = study_rows(found)
    return np.array([*rows["class_load"]["weekend_ratio"], *rows["total_load"]["weekend"]], float)


FOLLOW = {
    "the rolling season": lambda kwh, of: seasonal_part(np.log(kwh), of, Season("rolling", of.window(15), 24)),
    "the typical day": lambda kwh, of: profile_vectors(kwh, np.ones(6, bool), of, TYPICAL)[0],
    "households over a period": lambda kwh, of: household_vectors(kwh, VectorSettings(of)),
    "the study of consumption": weekend_ratios,
    "the cells of forecasts": lambda kwh, of: cells_of(int(of.local_day[0]), DAYS_READ, of.weekend),
}


@pytest.mark.parametrize("what", FOLLOW)
def test_whatever_tells_working_days_apart_goes_by_the_weekend(kwh, what):
    found, expected = FOLLOW[what](kwh, EARLIER), FOLLOW[what](kwh, LATER)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    on_other_days = LocalTime(60, "UTC").calendar(EARLIER.start, EARLIER.slot_count)
    assert not np.allclose(FOLLOW[what](kwh, on_other_days), expected, equal_nan=True)


@pytest.mark.parametrize("days", [*combinations(range(7), 2)])
def test_a_weekend_is_two_days_of_python_s_calendar(days):
    weekend = Weekend(days)
    for number in range(20_000, 20_014):
        day = date(1970, 1, 1) + timedelta(days=number)
        assert weekend.holds(number) == (day.weekday() in days) == (not one_day(weekend).is_working_day(day))
    assert weekend.holds(np.arange(14)).sum() == 4
    assert Weekend.of({"weekend": weekend.setting[::-1]}) == weekend
    assert sorted(weekend.words.split(" and ")) == sorted(DAYS[day] for day in days)
    told = [part.split(" to ") if " to " in part else [part, part] for part in weekend.working_days.split(" and ")]
    spans = [(DAYS.index(first), DAYS.index(last)) for first, last in told]
    worked = [(first + n) % 7 for first, last in spans for n in range((last - first) % 7 + 1)]
    assert sorted(worked) == sorted(set(range(7)) - set(days))


def one_day(weekend):
    return LocalTime(60, "UTC", weekend).calendar(FIRST, 24)


def test_weekends_have_names():
    assert (SATURDAY_SUNDAY.working_days, SATURDAY_SUNDAY.plural) == ("Monday to Friday", "Saturdays and Sundays")
    assert (FRIDAY_SATURDAY.working_days, FRIDAY_SATURDAY.words) == ("Sunday to Thursday", "Friday and Saturday")
    assert Weekend((4, 6)).working_days == "Monday to Thursday and Saturday"
    assert Weekend((0, 6)).words == "Sunday and Monday"
    assert Weekend.of({"time_zone": "Europe/Oslo"}) == SATURDAY_SUNDAY, "no earlier version named it"


@pytest.mark.parametrize(
    ("zone", "days"),
    [
        *(("Asia/Muscat", (4, 5)), ("Africa/Cairo", (4, 5)), ("Asia/Jerusalem", (4, 5)), ("Indian/Maldives", (4, 5))),
        *(("Asia/Dubai", (5, 6)), ("Asia/Tokyo", (5, 6)), ("Africa/Casablanca", (5, 6)), ("Europe/Oslo", (5, 6))),
        # Of one day, or of no country.
        *(("Asia/Tehran", (5, 6)), ("Asia/Calcutta", (5, 6)), ("Etc/GMT-4", (5, 6)), ("UTC", (5, 6))),
    ],
)
def test_the_weekend_of_a_country_is_known_by_its_time_zone(zone, days):
    assert weekend_of_zone(zone) == Weekend(days)


def test_a_period_of_weekends_alone_has_no_typical_day(kwh):
    friday = LocalTime(60, "UTC", FRIDAY_SATURDAY).calendar(FIRST + timedelta(days=4), 48)
    with pytest.raises(InputError, match="take a period with a whole day from Sunday to Thursday"):
        profile_vectors(kwh[:, :48], np.ones(6, bool), friday, TYPICAL)
