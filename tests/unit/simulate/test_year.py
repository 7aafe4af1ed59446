"""A year of simulated households: seasons of both hemispheres, vacations and changes of tenancy.

What each adds is seen beside the same households without it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest

from meterdp.simulate.fleet import Period
from meterdp.simulate.load import LoadModel, Variation, hourly_log_kwh, simulated_kwh
from meterdp.simulate.parameters import START_DATE, Appliance
from meterdp.simulate.year import days_from, following, later_habits, season_course, with_second_homes

NEW_YEAR = date(2025, 1, 1)
SEED = 11
HALF_A_YEAR = 182.625
GAS, ELECTRIC, SOLAR = range(3)


def with_types(parameters, **changes):
    """The parameters with some fields of every type replaced."""
    kinds = tuple(replace(kind, **changes) for kind in parameters.household_types)
    return replace(parameters, household_types=kinds)


def plain(parameters):
    """Households that stay at home and never move, without weather."""
    parameters = replace(parameters, seasons=replace(parameters.seasons, weather=0.0))
    return with_types(parameters, weather_log=0.0, vacations_per_year=0.0, moves_per_year=0.0)


def varied(parameters, **changes):
    counts = [kind.households for kind in parameters.household_types]
    return Variation(0.0, 0.0, counts, 1.0, 1.0, 1.0, **changes).of(parameters)


def year_of(parameters, kind: int, households: int):
    """Month (365,) and energy (365, 24) kWh of the mean home of a type in hours of 2025, in UTC: no clock changes."""
    period = Period(NEW_YEAR, 365, "UTC", 60)
    model = LoadModel(replace(parameters, time_zone="UTC"), period, SEED)
    energy = np.mean([model.energy(parameters.household_types[kind], i) for i in range(households)], axis=0)
    month = np.array([(NEW_YEAR + timedelta(days=d)).month for d in range(365)])
    return month, energy.reshape(365, 24)


def test_days_are_counted_from_the_nearest_middle_of_the_season():
    """Oracle: the calendar. 20 January is day 20; 31 December is 20 days before it, 365.25 days being a year."""
    day_of_year = np.array([date(2025, m, d).timetuple().tm_yday for m, d in ((1, 20), (1, 27), (12, 31), (7, 1))])
    assert days_from(20, day_of_year).tolist() == [0, 7, -20.25, 162]


def test_a_season_is_one_in_its_middle_zero_outside_and_smooth():
    days = np.linspace(-182, 182, 36_401)
    course = season_course(days, 128)
    assert course[np.abs(days) < 1e-9] == 1
    assert not course[np.abs(days) >= 64].any() and course[np.abs(days) < 63.9].min() > 0
    assert np.allclose(course, course[::-1], atol=1e-12)
    slope = np.gradient(course, days)
    assert np.abs(np.diff(slope)).max() < 1e-4  # without kinks: a step of 0.01 days changes the slope by nothing


def test_nothing_of_a_year_shows_on_the_default_dates(parameters):
    """Bit for bit; also on the days behind the prior mixture, up to 17 November."""
    still = with_types(varied(parameters, season=0.0), vacations_per_year=0.0, moves_per_year=0.0)
    period = Period(date.fromisoformat(START_DATE), 29, parameters.time_zone, 15)
    for i in range(40):
        with_year, without = (
            LoadModel(p, period, SEED).energy(p.household_types[i % 6], i) for p in (parameters, still)
        )
        assert np.array_equal(with_year, without)


def test_winters_of_the_hemispheres_are_half_a_year_apart(parameters):
    north = plain(parameters)
    south = varied(north, season_later_days=HALF_A_YEAR)
    month, there = year_of(north, ELECTRIC, 40)
    _, here = year_of(south, ELECTRIC, 40)
    daily = {"north": there.sum(axis=1), "south": here.sum(axis=1)}
    for hemisphere, winter, summer in (("north", 1, 7), ("south", 7, 1)):
        energy = daily[hemisphere]
        cold, hot = energy[month == winter].mean(), energy[month == summer].mean()
        mild = energy[(month == 4) | (month == 10)].mean()
        assert 1.1 * mild < hot < cold < 1.8 * mild and cold > 1.1 * hot, hemisphere


def test_seasons_change_the_shape_of_the_day(parameters):
    """Winter adds most in the evening, summer in the afternoon; a solar home's midday follows the sun."""
    month, gas = year_of(plain(parameters), GAS, 60)
    mild = gas[month == 4].mean(axis=0)
    assert 17 <= (gas[month == 1].mean(axis=0) / mild).argmax() <= 20
    assert 14 <= (gas[month == 7].mean(axis=0) / mild).argmax() <= 18
    _, solar = year_of(plain(parameters), SOLAR, 60)
    little = [(solar[month == m].mean(axis=0) < 0.3).sum() for m in (1, 4, 7)]
    assert little[0] < little[1] < little[2], "hours in which next to nothing is bought"


def test_a_variation_without_seasons_has_none_and_with_stronger_ones_has_more(parameters):
    ratio = []
    for season in (0.0, 1.0, 1.5):
        month, energy = year_of(varied(plain(parameters), season=season), ELECTRIC, 30)
        ratio.append(energy[month == 1].mean() / energy[month == 4].mean())
    assert abs(ratio[0] - 1) < 0.1 and ratio[0] + 0.3 < ratio[1] < ratio[2] - 0.1


def test_households_follow_the_seasons_with_the_stated_spread(parameters):
    """Oracle: a normal distribution about one. The tolerance is eight standard errors."""
    kind = replace(parameters.household_types[ELECTRIC], season_spread=0.2)  # never cut off at zero
    factors = np.array([following(kind, SEED, i) for i in range(2000)])
    assert np.allclose(factors.mean(axis=0), 1, atol=8 * 0.2 / np.sqrt(2000))
    assert np.allclose(factors.std(axis=0), 0.2, rtol=8 / np.sqrt(2 * 2000))
    assert abs(np.corrcoef(factors.T)[0, 1]) < 8 / np.sqrt(2000)


def away_in(parameters, first_day, days, households, kind=GAS):
    model = LoadModel(parameters, Period(first_day, days, "UTC", 60), SEED)
    return np.array([model.days_away(parameters.household_types[kind], i) for i in range(households)])


def test_share_of_days_away_is_rate_times_length(parameters):
    """Closed form, for vacations so rare that they do not meet; eight standard errors of a sum of Poisson stays."""
    rare = with_types(replace(parameters, vacations=replace(parameters.vacations, days=(8.0, 8.0))))
    rare = with_types(rare, vacations_per_year=0.1)
    away = away_in(rare, NEW_YEAR, 365, 4000)
    expected = 4000 * 0.1 * 8
    assert abs(away.sum() - expected) < 8 * 8 * np.sqrt(4000 * 0.1)


@pytest.mark.parametrize(("later", "summer"), [(0.0, (5, 6, 7, 8, 9, 10)), (HALF_A_YEAR, (11, 12, 1, 2, 3, 4))])
def test_vacations_begin_at_the_turn_of_the_year_or_in_the_local_summer(parameters, later, summer):
    away = away_in(varied(parameters, season_later_days=later), NEW_YEAR, 365, 1500)
    begins = away & ~np.pad(away, ((0, 0), (1, 0)))[:, :-1]
    month = np.array([(NEW_YEAR + timedelta(days=d)).month for d in range(365)])
    by_month = {m: int(begins[:, month == m].sum()) for m in range(1, 13)}
    assert set(m for m, count in by_month.items() if count) <= {12, 1, *summer}
    assert min(by_month[12], by_month[7 if later == 0 else 2]) > 100


def test_who_is_away_on_a_day_does_not_depend_on_the_period(parameters):
    year, spring = (
        away_in(parameters, first, days, 200) for first, days in ((NEW_YEAR, 365), (date(2025, 5, 1), 100))
    )
    assert spring.any() and np.array_equal(year[:, 120:220], spring)


def test_days_away_lie_at_base_load(parameters):
    """Closed form: without noise and appliances exactly standby plus base load, from midnight to midnight."""
    quiet = replace(parameters, vacations=replace(parameters.vacations, standby_kw=(0.1, 0.1)))
    quiet = with_types(quiet, noise_spread_log=(0.0, 0.0), base_load_kw=(0.02, 0.02), appliances=())
    model = LoadModel(quiet, Period(NEW_YEAR, 365, "UTC", 30), SEED)
    kind = quiet.household_types[ELECTRIC]
    household = next(i for i in range(50) if model.days_away(kind, i).any())
    away = model.days_away(kind, household)
    energy = model.energy(kind, household).reshape(365, 48)
    assert np.allclose(energy[away], 0.12 / 2, rtol=1e-12)
    assert energy[~away].sum(axis=1).min() > 3 * 0.12 * 24


def test_vacations_leave_other_days_and_automatic_appliances_as_they_are(parameters):
    use = {"owned_share": 1.0, "uses_per_day": 8.0, "power_kw": (2.0, 2.0), "duration_h": (0.5, 0.5)}
    appliances = {
        automatic: Appliance("device", **use, start_hour=12.0, start_spread_h=2.0, automatic=automatic)
        for automatic in (False, True)
    }
    period = Period(NEW_YEAR, 365, "UTC", 30)
    for automatic, appliance in appliances.items():
        absent = with_types(parameters, appliances=(appliance,))
        at_home = with_types(absent, vacations_per_year=0.0)
        model, kind = LoadModel(absent, period, SEED), absent.household_types[GAS]
        household = next(i for i in range(50) if model.days_away(kind, i).any())
        away = model.days_away(kind, household)
        energy = model.energy(kind, household).reshape(365, 48)
        without = LoadModel(at_home, period, SEED).energy(at_home.household_types[GAS], household).reshape(365, 48)
        assert np.array_equal(energy[~away], without[~away])
        assert (energy[away].max() > 0.9) == automatic


def test_a_change_of_tenancy_keeps_earlier_days_bit_for_bit(parameters):
    settled = with_types(parameters, moves_per_year=0.0)
    moving = with_types(parameters, moves_per_year=4.0)
    period = Period(NEW_YEAR, 200, "UTC", 30)
    moved = 0
    for i in range(30):
        before, after = (LoadModel(p, period, SEED).energy(p.household_types[GAS], i) for p in (settled, moving))
        moves = later_habits(moving.household_types[GAS], moving.tenancies, 200, SEED, i)
        first = moves[0][0] if moves else 200
        # A household's day begins at the hour that the parameters name.
        slot = 48 * first + int(2 * parameters.day_start_hour) if moves else 48 * 200
        assert np.array_equal(before[:slot], after[:slot])
        if moves:
            moved += 1
            assert (before[slot:] != after[slot:]).mean() > 0.8  # days away are the same
    assert moved > 15


def test_habits_of_those_who_move_in_are_those_of_their_type(parameters):
    """Oracle: the stated normal distributions, and for the moves a Poisson process that rests after each."""
    kind = replace(parameters.household_types[ELECTRIC], moves_per_year=2.0)
    years = [later_habits(kind, parameters.tenancies, 3650, SEED, i) for i in range(200)]
    habits = [found for year in years for _, found in year]
    for values, spread in (
        ([h.level_log for h in habits], kind.level_spread_log),
        ([h.shift_h for h in habits], kind.shift_spread_h),
        ([h.mode_log[0] for h in habits], kind.deviation_modes[0].household_spread_log),
    ):
        assert np.std(values) == pytest.approx(spread, rel=8 / np.sqrt(2 * len(habits)))
    days = [np.diff([0, *(day for day, _ in year)]) for year in years]
    assert min(gap.min() for gap in days) >= parameters.tenancies.at_least_days
    mean_gap = parameters.tenancies.at_least_days + 365.25 / 2
    assert len(habits) == pytest.approx(200 * 3650 / mean_gap, rel=0.1)


def test_a_household_does_not_depend_on_how_many_there_are(parameters):
    half_hourly = replace(parameters, interval_minutes=30)
    few, many = (simulated_kwh(half_hourly, SEED, n, NEW_YEAR, 365) for n in (3, 7))
    assert np.array_equal(few, many[:3])
    assert few.min() > 0


def test_a_year_has_its_days_of_clock_changes(parameters):
    """Los Angeles: 23 hours on 9 March, 25 on 2 November, so the whole year has as many as any other."""
    hourly = replace(parameters, interval_minutes=60)
    assert simulated_kwh(hourly, SEED, 1, NEW_YEAR, 365).shape == (1, 8760)
    assert simulated_kwh(hourly, SEED, 1, date(2025, 3, 8), 3).shape == (1, 71)
    assert simulated_kwh(hourly, SEED, 1, date(2025, 11, 1), 3).shape == (1, 73)


def test_hourly_log_energy_is_that_of_the_intervals(parameters):
    first = date(2025, 12, 27)
    energy = simulated_kwh(parameters, SEED, 5, first, 2)
    log_kwh = hourly_log_kwh(parameters, SEED, 5, first, 2, (1e-9, 1e9))
    assert np.allclose(np.exp(log_kwh).sum(axis=1), energy.sum(axis=1), rtol=1e-12)


def test_second_homes_stand_empty_most_of_the_year_and_others_are_as_they_were():
    """Oracle: days without more than a base load, counted."""
    kwh, day = np.full((40, 365 * 24), 2.0), np.arange(365 * 24) // 24
    found = with_second_homes(kwh, day, 1.0, 0.3, SEED)
    changed = (found != kwh).any(axis=1)
    assert changed.sum() == 12
    empty = (found.reshape(40, 365, 24) <= 0.12).all(axis=2).mean(axis=1)[changed]
    assert 0.65 < empty.min() < 0.85 < 0.93 < empty.max() < 1
    at_zero = (found[changed] == 0).any(axis=1)
    assert at_zero.sum() == 4 and ((found[changed][at_zero] == 0) | (found[changed][at_zero] == 2)).all()
    assert found[changed][~at_zero].min() > 0.02
    assert np.array_equal(with_second_homes(kwh, day, 1.0, 0.0, SEED), kwh)
