"""Calendar columns that a household's mean load is regressed on: season, days off and the hours of the day.

Every column is a product of one number of a local day and one of a slot of that day, so T rows of P columns need
(days, .) and (slots, .) tables only. Columns are centred over the reference period, which is public; so a
coefficient means the same whatever period is generated from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cached_property

import numpy as np

from meterdp.profiles.grid import Calendar

DAYS_OF_YEAR = 365.2425
# Under nine months a season cannot be told from a trend or from a household's level: its columns are left out.
LEAST_DAYS_OF_SEASONS = 270
YEARLY_HARMONICS = 2
DAILY_HARMONICS = 6
# Daily harmonics that differ on days off, and those that move with the first yearly harmonic.
DAY_OFF_HARMONICS = 3
SEASON_HARMONICS = 2


def has_seasons(calendar: Calendar) -> bool:
    """Say by the length of the period alone whether seasons are modelled."""
    return calendar.slot_count >= LEAST_DAYS_OF_SEASONS * calendar.slots_per_day


def _harmonics(phase: np.ndarray, count: int) -> np.ndarray:
    """Return cosine and sine of the first harmonics of (n,) phases in turns, (n, 2 count): cos 1, sin 1, cos 2, ..."""
    angle = 2 * np.pi * np.outer(phase, np.arange(1, count + 1))
    return np.stack([np.cos(angle), np.sin(angle)], axis=2).reshape(len(phase), 2 * count)


def _names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}_{wave}_{k}" for k in range(1, count + 1) for wave in ("cos", "sin")]


@dataclass(frozen=True)
class Columns:
    """The P columns of a calendar, as products of day and slot numbers.

    ``day_off`` are local days on which people live as on a Sunday. ``seasons`` says whether yearly columns exist.
    """

    calendar: Calendar
    days_off: tuple[date, ...]
    seasons: bool

    @cached_property
    def first_day(self) -> int:
        return int(self.calendar.local_day[0])

    @cached_property
    def day(self) -> np.ndarray:
        """Local day of every slot, (T,) int from 0."""
        return self.calendar.local_day - self.first_day

    @property
    def day_count(self) -> int:
        return int(self.day[-1]) + 1

    @cached_property
    def is_off(self) -> np.ndarray:
        """Whether a local day is a Saturday, a Sunday or one of ``days_off``, (days,) bool."""
        days = self.first_day + np.arange(self.day_count)
        holidays = [(day - date(1970, 1, 1)).days for day in self.days_off]
        return ((days + 3) % 7 >= 5) | np.isin(days, holidays)

    @cached_property
    def _day_table(self) -> np.ndarray:
        """1, day off and yearly harmonics of every local day, (days, 2 or 2 + 2 YEARLY_HARMONICS)."""
        phase = (self.first_day + np.arange(self.day_count) + 0.5) / DAYS_OF_YEAR
        yearly = [_harmonics(phase, YEARLY_HARMONICS)] if self.seasons else []
        return np.column_stack([np.ones(self.day_count), self.is_off, *yearly])

    @cached_property
    def _slot_table(self) -> np.ndarray:
        """1 and daily harmonics at the middle of every slot, (S, 1 + 2 DAILY_HARMONICS)."""
        slots = self.calendar.slots_per_day
        return np.column_stack([np.ones(slots), _harmonics((np.arange(slots) + 0.5) / slots, DAILY_HARMONICS)])

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        """Which column of the day table goes with which of the slot table, in the order of the columns."""
        pairs = [(0, s) for s in range(1, 1 + 2 * DAILY_HARMONICS)]
        pairs += [(1, s) for s in range(1 + 2 * DAY_OFF_HARMONICS)]
        return pairs

    @property
    def profile_count(self): return len(self._pairs)

    @cached_property
    def yearly(self):
        """(days, 4) yearly harmonics centred over the slots"""
        y = self._day_table[:, 2:]
        return y

    @cached_property
    def yearly_means(self):
        return self.yearly[self.day].mean(0)

    @property
    def names(self) -> list[str]:
        names = _names("day", DAILY_HARMONICS) + ["off", *(f"off_{n}" for n in _names("day", DAY_OFF_HARMONICS))]
        if self.seasons:
            names += _names("year", YEARLY_HARMONICS)
            names += [f"{y}_{d}" for y in _names("year", 1) for d in _names("day", SEASON_HARMONICS)]
        return names

    def rows(self, coefficients: np.ndarray, constant: np.ndarray, yearly_means) -> np.ndarray:
        day, slot = self._day_table, self._slot_table
        out = np.empty((len(coefficients), self.calendar.slot_count))
        n = self.profile_count
        for i, row in enumerate(coefficients):
            weight = np.zeros((2, slot.shape[1]))
            weight[0, 0] = constant[i]
            for value, pair in zip(row[:n], self._pairs, strict=True):
                weight[pair] = value
            table = day[:, :2] @ weight @ slot.T
            if self.seasons:
                y = self.yearly - yearly_means
                table *= (1 + y @ row[n:n + 4])[:, None]
                table += y[:, :2] @ row[n + 4:].reshape(2, -1) @ slot[:, 1:1 + 2 * SEASON_HARMONICS].T
            out[i] = table[self.day, self.calendar.slot_of_day]
        return out

    @cached_property
    def means(self) -> np.ndarray:
        """Mean of every column over the period, (P,)."""
        return self.matrix.mean(axis=0)

    @cached_property
    def matrix(self) -> np.ndarray:
        """All columns without centring, (T, P)."""
        day, slot = self._day_table[self.day], self._slot_table[self.calendar.slot_of_day]
        return np.column_stack([day[:, d] * slot[:, s] for d, s in self._pairs])
