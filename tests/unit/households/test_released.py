"""Years drawn from a release: what homes do together is on the days of its period alone, and as large as there."""

import json
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from meterdp.core.noise import StudyNoise
from meterdp.errors import InputError
from meterdp.households.columns import Columns
from meterdp.households.common import BLOCKS, CommonSeries
from meterdp.households.configured import calendar_of
from meterdp.households.mechanism import (
    LEAST,
    MEASURED,
    HouseholdRecords,
    Households,
    HouseholdsPublic,
    Population,
    directions_of,
)
from meterdp.households.released import ReleasedHouseholds
from meterdp.households.vector import VectorSettings, household_vectors
from meterdp.mechanisms.proven.mechanism import Box
from meterdp.mixture.draws import Mixture
from meterdp.profiles.grid import LocalTime
from meterdp.release.service import as_json
from tests.unit.households.homes import YEAR, seasonal, simulated

NINE_WEEKS = calendar_of(date(2025, 2, 24), date(2025, 4, 27), LocalTime(60, "UTC"))


def released(calendar):
    """A release whose first and last days are far from the others, as noise makes them."""
    z = np.random.default_rng(1).standard_normal(len(calendar.days))
    z[:2], z[-2:] = 3.0, -3.0
    common = CommonSeries(np.repeat(z[:, None], BLOCKS, axis=1), 0.1)
    return ReleasedHouseholds(VectorSettings(calendar), None, {"all": 1}, (), common)


def of_one_mixture(settings, mean, std):
    mixture = Mixture(np.ones(1), mean[None], np.diag(std**2)[None])
    return ReleasedHouseholds(settings, None, {"all": 1}, (Population(mixture, np.empty(0), ()),), None)


def daily_kwh(release, vectors, year=None):
    """Mean energy of a home on every day."""
    generator = release.generator(year)
    return np.bincount(generator.columns.day, generator.kwh(vectors, seed=1).mean(axis=0))


@pytest.fixture(scope="module")
def short():
    """A release of nine weeks, vectors, and how much more homes use on the days of 2027 for doing things together."""
    release = released(NINE_WEEKS)
    vectors = np.tile(household_vectors(simulated(12, NINE_WEEKS), release.settings), (5, 1))
    year = daily_kwh(release, vectors, 2027)
    return release, vectors, year, year - daily_kwh(replace(release, common=None), vectors, 2027)


def test_homes_of_a_badly_noisy_release_keep_within_the_public_bounds():
    """Oracle: without the bounds, the same noise makes homes of more than 100 kW."""
    records, held = household_vectors(simulated(60, NINE_WEEKS), VectorSettings(NINE_WEEKS)), (0.0, 20.0)
    largest = []
    for settings in (VectorSettings(NINE_WEEKS), VectorSettings(NINE_WEEKS, reading_kw=held)):
        box, directions = Box(*map(tuple, settings.bounds.tolist())), directions_of(settings.names)
        mechanism = Households.calibrate(HouseholdsPublic(1.0, 1e-5, box, (0,) * len(records), directions))
        populations, _ = mechanism.release(HouseholdRecords.of(records), StudyNoise(4, "small town"))
        release = ReleasedHouseholds(settings, None, {"all": 1}, populations, None)
        release = ReleasedHouseholds.of(json.dumps(release.stated).encode())
        _, vectors = release.draw(40, StudyNoise(2, "drawn"))
        readings = np.concatenate([rows["energy_kwh"] for rows in release.readings(vectors, seed=1)])
        largest.append(readings.max())
    assert largest[0] > 100 and largest[1] == pytest.approx(20)


@pytest.mark.parametrize("of_earlier", [False, True])
def test_a_release_is_drawn_by_the_functions_it_states(of_earlier):
    """Earlier releases measured fewer, in the order of today, and held none to a least value."""
    settings = VectorSettings(NINE_WEEKS)
    records = household_vectors(simulated(60, NINE_WEEKS), settings)
    box = Box(*map(tuple, settings.bounds.tolist()))
    earlier = {name: of for name, of in MEASURED.items() if name not in LEAST}
    directions = directions_of(settings.names, earlier, {}) if of_earlier else directions_of(settings.names)
    mechanism = Households.calibrate(HouseholdsPublic(4.0, 1e-5, box, (0,) * len(records), directions))
    populations, _ = mechanism.release(HouseholdRecords.of(records), StudyNoise(4, "small town"))
    stated = ReleasedHouseholds(settings, None, {"all": 60}, populations, None).stated
    if of_earlier:
        stated["reweighting"] = {"functions": earlier, "cosines": 12}
    (read,) = ReleasedHouseholds.of(as_json(stated)).populations
    assert read.directions == directions
    drawn = [one.draw(20, StudyNoise(2, "drawn")) for one in (read, *populations)]
    assert np.array_equal(*drawn)


@pytest.mark.parametrize("reach", [0.5, 1.0])
def test_homes_of_a_folder_keep_within_the_bounds_it_states(reach):
    """Zeros were at most half of the readings in earlier versions."""
    settings = VectorSettings(NINE_WEEKS)
    at = settings.names.index("zero_share")
    mean = settings.typical + 0.4 * np.eye(len(settings.names))[at]
    stated = of_one_mixture(settings, mean, np.where(np.arange(len(mean)) == at, 0.3, 1e-3)).stated
    stated["entries"][at] |= {"low": -reach, "high": reach}
    read = ReleasedHouseholds.of(as_json(stated))
    assert read.stated["entries"][at]["high"] == reach
    assert (read.settings == settings) == (reach == 1.0)
    _, vectors = read.draw(300, StudyNoise(2, "drawn"))
    assert (vectors[:, at] == reach).mean() > 0.2 if reach == 0.5 else vectors[:, at].max() > 0.8


@pytest.mark.parametrize(
    "functions", [[], {}, {"acf_day": 3}, [{"name": "acf_day"}], [{"name": "a", "entries": 3, "least": None}]]
)
def test_a_folder_whose_functions_were_changed_is_refused(functions):
    settings = VectorSettings(NINE_WEEKS)
    stated = of_one_mixture(settings, settings.typical, np.ones(len(settings.names))).stated
    stated["strata"][0]["exponents"] = [0.0] * 12
    stated["reweighting"]["functions"] = functions
    with pytest.raises(InputError, match="does not hold released households"):
        ReleasedHouseholds.of(as_json(stated))


def test_nine_weeks_drawn_for_a_year_use_as_much_in_every_month(short):
    """Oracle: means of months on workdays, and of the period as a whole."""
    release, _, year, _ = short
    days = calendar_of(date(2027, 1, 1), date(2027, 12, 31), LocalTime(60, "UTC")).days
    inside = np.array([date(2027, 2, 24) <= day <= date(2027, 4, 27) for day in days])
    workday = np.array([day.weekday() < 5 for day in days])
    month = np.where(inside, 0, [day.month for day in days])
    means = np.array([year[workday & (month == number)].mean() for number in np.unique(month)])
    assert len(means) == 12 and means == pytest.approx(means.mean(), rel=0.04)
    assert "24 February to 27 April, too short" in release.without_seasons(2027)
    assert release.without_seasons(None) is None


def test_days_of_the_period_have_in_a_year_what_they_have_in_the_period(short):
    release, vectors, _, effect = short
    own = daily_kwh(release, vectors) - daily_kwh(replace(release, common=None), vectors)
    z = release.common.z.mean(axis=1)
    first = date(2027, 2, 24).timetuple().tm_yday - 1
    inside, outside = effect[first : first + 63], np.delete(effect, np.arange(first, first + 63))
    assert np.corrcoef(own, z)[0, 1] > 0.9 and np.corrcoef(inside, z)[0, 1] > 0.9
    assert np.polyfit(z, inside, 1)[0] == pytest.approx(np.polyfit(z, own, 1)[0], rel=0.15)
    assert np.abs(outside).max() < 0.2 * np.abs(own).max()


def test_a_release_over_a_year_has_its_seasons_and_days_in_another_year():
    """Oracle: the months of the homes it describes; a leap day is like the day before it."""
    release, homes = released(YEAR), seasonal(12)
    vectors = household_vectors(homes, release.settings)
    quiet = replace(release, common=None)
    drawn = daily_kwh(quiet, vectors, 2028)
    real = np.bincount(release.settings.columns.day, homes.mean(axis=0))
    month = [
        np.array([day.month for day in of])
        for of in (YEAR.days, calendar_of(date(2028, 1, 1), date(2028, 12, 31), LocalTime(60, "UTC")).days)
    ]
    ratio = [of[m == 1].mean() / of[m == 7].mean() for of, m in zip((real, drawn), month, strict=True)]
    assert ratio[0] > 1.8 and ratio[1] == pytest.approx(ratio[0], rel=0.1)
    z = release.generator(2028).common.z
    assert np.array_equal(np.delete(z, 59, axis=0), release.common.z) and np.array_equal(z[59], z[58])
    assert release.without_seasons(2028) is None


def test_the_days_of_a_period_of_two_years_are_those_of_either_year():
    calendar = calendar_of(date(2025, 1, 1), date(2026, 12, 31), LocalTime(60, "UTC"))
    release = released(calendar)
    assert np.array_equal(release.generator().common.z, release.common.z)
    assert np.array_equal(release.generator(2026).common.z, release.common.z[:365])


def test_a_common_series_has_its_scale_on_the_days_that_have_it():
    """Oracle: the series of these days alone, away from the edges."""
    z = np.random.default_rng(2).standard_normal((63, BLOCKS))
    year = np.full((365, BLOCKS), np.nan)
    year[100:163] = z
    own = CommonSeries(z, 0.1).over(Columns(NINE_WEEKS, ()))
    found = CommonSeries(year, 0.1).over(Columns(YEAR, ())).reshape(365, 24)
    assert found[100:163].ravel() == pytest.approx(own, abs=0.02)
    assert not np.delete(found, np.arange(100, 163), axis=0).any()
