"""What the year of a household has beyond its days: seasons, vacations and changes of tenancy.

Each has random streams of its own, keyed by seed and household, so that whoever is never away and never moves has the
readings of a simulation without vacations and tenancies. By the shipped parameters nothing of it shows in the four
weeks of the default export: they lie between the seasons, outside vacations and before the first moves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meterdp.core.noise import keyed_generator
from meterdp.simulate.fleet import Period
from meterdp.simulate.parameters import HouseholdType, Seasons, Tenancies, Vacations

DAYS_PER_YEAR = 365.25
# Vacations around the turn of the year begin from 22 December to 2 January, days since 1 January (a day less in a
# leap year).
_TURN_OF_YEAR = (355, 367)
# Second homes: first day and day after the last of their summer, with a standard deviation; other stays; base load
# when empty.
_SUMMER, _SUMMER_STD = (170, 243), 12.0
_SHORT_STAYS, _SHORT_DAYS, _LONG_STAYS, _LONG_DAYS = 8, 2, 3, 7
_BASE_KW = (0.03, 0.1)


def days_from(middle_day: float, day_of_year: np.ndarray) -> np.ndarray:
    """Return how many days each day of the year is after the nearest ``middle_day``, in [-182.6, 182.6)."""
    half = DAYS_PER_YEAR / 2
    return (day_of_year - middle_day + half) % DAYS_PER_YEAR - half


def season_course(from_middle: np.ndarray, length_days: float) -> np.ndarray:
    """Return the strength of a season, in [0, 1]: one in its middle, zero outside its days, smooth between.

    The yearly cosine above its value at the ends of the season, in between a cubic without kinks.
    """
    edge = np.cos(np.pi * length_days / DAYS_PER_YEAR)
    height = np.clip((np.cos(2 * np.pi * from_middle / DAYS_PER_YEAR) - edge) / (1 - edge), 0, 1)
    return height**2 * (3 - 2 * height)


def winter_and_summer(seasons: Seasons, day_of_year: np.ndarray, weather: np.ndarray) -> np.ndarray:
    """Return how much heating and cooling each day needs, (2, D): course of the season times that day's weather."""
    middles = (seasons.coldest_day, seasons.coldest_day + DAYS_PER_YEAR / 2)
    course = np.array([season_course(days_from(middle, day_of_year), seasons.length_days) for middle in middles])
    return course * np.maximum(1 + seasons.weather * weather, 0)


def following(kind: HouseholdType, seed: int, household: int) -> np.ndarray:
    """Draw how strongly a household follows winter and summer, (2,): factors of mean about one, at least zero."""
    rng = keyed_generator(seed, "seasons", household)
    return np.maximum(rng.normal(1, kind.season_spread, size=2), 0)


def days_away(
    kind: HouseholdType, vacations: Vacations, seasons: Seasons, period: Period, seed: int, household: int
) -> np.ndarray:
    """Draw on which local days a household is away, (D,) bool; they do not depend on the first day of the period."""
    away = np.zeros(period.days, dtype=bool)
    if kind.vacations_per_year == 0:
        return away
    first = period.start_date.toordinal()
    midsummer = (seasons.coldest_day + DAYS_PER_YEAR / 2) % DAYS_PER_YEAR
    summer = (midsummer - seasons.length_days / 2, midsummer + seasons.length_days / 2)
    # A vacation may begin in the year before, and the summer of a year too.
    for year in range(period.start_date.year - 1, period.last_date.year + 2):
        rng = keyed_generator(seed, "vacations", household, year)
        new_year = period.start_date.replace(year=year, month=1, day=1).toordinal()
        for _ in range(rng.poisson(kind.vacations_per_year)):
            season = _TURN_OF_YEAR if rng.random() < vacations.turn_of_year_share else summer
            begin = new_year + int(np.floor(rng.uniform(*season))) - first
            length = round(rng.uniform(*vacations.days))
            away[max(begin, 0) : max(begin + length, 0)] = True
    return away


@dataclass(frozen=True)
class Habits:
    """What is a household's own for as long as it lives there: level, how late its day runs, sizes of the modes."""

    level_log: float
    shift_h: float
    mode_log: tuple[float, ...]


def later_habits(
    kind: HouseholdType, tenancies: Tenancies, days: int, seed: int, household: int
) -> list[tuple[int, Habits]]:
    """Draw who moves in after the first: day, counted from the first of ``days``, and the habits from then on."""
    found = []
    if kind.moves_per_year == 0:
        return found
    rng = keyed_generator(seed, "tenancies", household)
    day = 0
    while True:
        day += tenancies.at_least_days + int(rng.exponential(DAYS_PER_YEAR / kind.moves_per_year))
        if day >= days:
            return found
        habits = Habits(
            rng.normal(0, kind.level_spread_log),
            rng.normal(0, kind.shift_spread_h),
            tuple(rng.normal(0, mode.household_spread_log) for mode in kind.deviation_modes),
        )
        found.append((day, habits))


def with_second_homes(kwh: np.ndarray, day: np.ndarray, hours: float, share: float, seed: int) -> np.ndarray:
    """Return readings (H, T) of households of which a share, as whole homes, stand empty most of a year.

    ``day`` (T,) is the local day from 0 of every interval of so many ``hours``. Of three such homes two are lived in
    for a summer and two days at a time, and one for three weeks; two have a base load when empty, and one has none.
    """
    out, count = kwh.copy(), round(share * len(kwh))
    for number, home in enumerate((np.arange(count) * len(kwh) / max(count, 1)).astype(int)):
        rng, kind = keyed_generator(seed, "second homes", int(home)), number % 3
        spells = [(first, first + _SHORT_DAYS) for first in rng.integers(day[-1] + 1, size=_SHORT_STAYS)]
        spells.append(tuple(rng.normal(_SUMMER, _SUMMER_STD).astype(int)))
        if kind == 0:
            spells = [(first, first + _LONG_DAYS) for first in rng.integers(day[-1] + 1, size=_LONG_STAYS)]
        lived_in = np.zeros(day[-1] + 1, dtype=bool)
        for first, end in spells:
            lived_in[first:end] = True
        base_kwh = (kind != 1) * rng.uniform(*_BASE_KW) * hours
        out[home] = np.where(lived_in[day], kwh[home], base_kwh * rng.uniform(0.8, 1.2, len(day)))
    return out
