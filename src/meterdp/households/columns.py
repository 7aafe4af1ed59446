"""Calendar columns of a household's expected load: hours of the day, days off and seasons.

Expected load, in multiples of the household's mean, is a profile of the day, another on days off, times a season,
plus what the season changes in the profile:

    M(t) = (c + profile(slot) + off(day) (b + off_profile(slot))) (1 + year(day)) + sum of year(day) x profile(slot)

Of net load, which changes its sign, year(day) is added instead. All are harmonics with public frequencies, so every
column is a number of a local day times one of a slot of that day. Whether seasons are in it follows from the length
of the period alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cached_property

import numpy as np

from meterdp.profiles.grid import Calendar

DAYS_OF_YEAR = 365.2425
# Fewer local days say nothing of weeks that come again.
FEWEST_DAYS = 56
# Under nine months a season cannot be separated from a household's level: no yearly columns.
LEAST_DAYS_OF_SEASONS = 270
DAILY_HARMONICS = 8
DAY_OFF_HARMONICS = 3
YEARLY_HARMONICS = 2
# Daily harmonics that move with the first yearly harmonic beyond being multiplied by it.
SEASON_HARMONICS = 2

_EPOCH = date(1970, 1, 1)


def harmonics(phase: np.ndarray, count: int) -> np.ndarray:
    """Return cosine and sine of the first harmonics of (n,) phases in turns, (n, 2 count)."""
    angle = 2 * np.pi * np.outer(phase, np.arange(1, count + 1))
    return np.stack([np.cos(angle), np.sin(angle)], axis=2).reshape(len(phase), 2 * count)


def _waves(prefix: str, count: int) -> list[str]:
    return [f"{prefix}_{wave}_{k}" for k in range(1, count + 1) for wave in ("cos", "sin")]


PROFILE_NAMES = (*_waves("day", DAILY_HARMONICS), "off", *_waves("off_day", DAY_OFF_HARMONICS))
SEASON_NAMES = (
    *_waves("year", YEARLY_HARMONICS),
    *(f"{year}_{day}" for year in _waves("year", 1) for day in _waves("day", SEASON_HARMONICS)),
)


@dataclass(frozen=True)
class Columns:
    """The columns of a calendar; ``days_off`` are local days lived like a Sunday, such as public holidays."""

    calendar: Calendar
    days_off: tuple[date, ...]

    @property
    def seasons(self) -> bool:
        return self.calendar.slot_count >= LEAST_DAYS_OF_SEASONS * self.calendar.slots_per_day

    @cached_property
    def _first_day(self) -> int:
        return int(self.calendar.local_day[0])

    @cached_property
    def day(self) -> np.ndarray:
        """Local day of every slot, (T,) int from 0."""
        return self.calendar.local_day - self._first_day

    @property
    def day_count(self) -> int:
        return int(self.day[-1]) + 1

    @cached_property
    def is_off(self) -> np.ndarray:
        """Whether a local day is of the weekend or in ``days_off``, (days,) bool."""
        days = self._first_day + np.arange(self.day_count)
        return self.calendar.weekend.holds(days) | np.isin(days, [(day - _EPOCH).days for day in self.days_off])

    @cached_property
    def yearly(self) -> np.ndarray:
        """Yearly harmonics of every local day without centring, (days, 2 YEARLY_HARMONICS)."""
        days = self._first_day + np.arange(self.day_count)
        return harmonics((days + 0.5) / DAYS_OF_YEAR, YEARLY_HARMONICS)

    @cached_property
    def yearly_mean(self) -> np.ndarray:
        """Mean of the yearly harmonics over the slots of the period."""
        return self.yearly[self.day].mean(axis=0)

    @cached_property
    def slot_harmonics(self) -> np.ndarray:
        """Daily harmonics at the middle of every slot of a day, (S, 2 DAILY_HARMONICS)."""
        slots = self.calendar.slots_per_day
        return harmonics((np.arange(slots) + 0.5) / slots, DAILY_HARMONICS)

    @cached_property
    def profile(self) -> np.ndarray:
        """Columns of :data:`PROFILE_NAMES`, (T, .)."""
        daily = self.slot_harmonics[self.calendar.slot_of_day]
        off = self.is_off[self.day].astype(float)[:, None]
        return np.column_stack([daily, off, off * daily[:, : 2 * DAY_OFF_HARMONICS]])

    @cached_property
    def profile_mean(self) -> np.ndarray:
        return self.profile.mean(axis=0)

    def expected(
        self, coefficients: np.ndarray, mean: np.ndarray, reference: Columns, *, net_load: bool
    ) -> np.ndarray:
        """Return M(t) of this calendar, (H, T), whose mean over the calendar of ``reference`` is (H,) ``mean``.

        ``coefficients`` are (H, .) of :data:`PROFILE_NAMES` and, if ``reference`` has seasons, :data:`SEASON_NAMES`.
        """
        profile, season = np.split(coefficients, [len(PROFILE_NAMES)], axis=1)
        constant = mean - profile @ reference.profile_mean
        daily = self.slot_harmonics
        ordinary = constant[:, None] + profile[:, : daily.shape[1]] @ daily.T
        off_level, off_waves = profile[:, daily.shape[1], None], profile[:, daily.shape[1] + 1 :]
        off = off_level + off_waves @ daily[:, : 2 * DAY_OFF_HARMONICS].T
        out = np.empty((len(coefficients), self.calendar.slot_count))
        yearly = self.yearly - reference.yearly_mean
        moving = daily[:, : 2 * SEASON_HARMONICS]
        for i in range(len(coefficients)):
            table = ordinary[i] + np.outer(self.is_off, off[i])
            if reference.seasons:
                level = yearly @ season[i, : yearly.shape[1], None]
                table += level if net_load else level * table
                table += yearly[:, :2] @ season[i, yearly.shape[1] :].reshape(2, -1) @ moving.T
            out[i] = table[self.day, self.calendar.slot_of_day]
        return out
