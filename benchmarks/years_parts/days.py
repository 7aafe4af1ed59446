"""Years made of days that are drawn independently, and the days of real homes that they are made from.

A day is a local day of S intervals, so an hour that comes twice is the same hour twice, and one that is skipped is
not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.mixture import GaussianMixture

from meterdp.core.noise import keyed_generator
from meterdp.households.columns import Columns
from meterdp.mixture.draws import Mixture

# Days of a mixture of log energy are clipped to these kWh an hour, as those of a study are.
BOUNDS_KWH = (0.01, 20.0)
COMPONENTS = 20
# Households of a batch: 8 MB a year of half-hours.
BATCH = 60


def days_of(kwh: np.ndarray, columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Return the days of (H, T) readings that were read as a whole, (n, S) kWh per interval, and their numbers, (n,).

    Days are numbered as in ``columns``; of an interval that comes twice, the second is taken.
    """
    slots = columns.calendar.slots_per_day
    table = np.full((len(kwh), columns.day_count, slots), np.nan)
    table[:, columns.day, columns.calendar.slot_of_day] = kwh
    whole = np.isfinite(table).all(axis=2)
    return table[whole], np.broadcast_to(np.arange(columns.day_count), whole.shape)[whole]


def years_of(days: np.ndarray, columns: Columns) -> np.ndarray:
    """Return the readings (H, T) of households whose every day is given, (H, days, S)."""
    return days[:, columns.day, columns.calendar.slot_of_day]


def month_and_weekday(columns: Columns) -> np.ndarray:
    """Return the month, 1 to 12, and the day of the week, 0 to 6, of every day, (days, 2) int."""
    return np.array([[day.month, day.weekday()] for day in columns.calendar.days])


def mixture_of_days(days: np.ndarray, interval_hours: float, seed: int) -> Mixture:
    """Fit a mixture of Gaussians to (n, S) days of log energy, without privacy."""
    logs = np.log(np.clip(days, *(interval_hours * bound for bound in BOUNDS_KWH)))
    fit = GaussianMixture(min(COMPONENTS, len(logs)), reg_covar=1e-4, random_state=seed).fit(logs)
    return Mixture(fit.weights_, fit.means_, fit.covariances_)


@dataclass(frozen=True)
class IndependentDays:
    """Draws every day of every household from one mixture of log energy, by itself."""

    mixture: Mixture
    columns: Columns

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Return so many days, (count, S) kWh per interval."""
        component = rng.choice(self.mixture.classes, count, p=self.mixture.weights)
        out = np.empty((count, self.mixture.dimension))
        for k, (mean, covariance) in enumerate(zip(self.mixture.means, self.mixture.covariances, strict=True)):
            of = component == k
            out[of] = mean + rng.normal(size=(of.sum(), len(mean))) @ np.linalg.cholesky(covariance).T
        hours = self.columns.calendar.interval_minutes / 60
        return np.clip(np.exp(out), *(hours * bound for bound in BOUNDS_KWH))

    def batches(self, households: int, seed: int) -> Iterator[np.ndarray]:
        """Yield (h, T) kWh per interval, some households at a time."""
        for first in range(0, households, BATCH):
            rng = keyed_generator(seed, "independent days", first)
            count = min(BATCH, households - first)
            days = self.draw(count * self.columns.day_count, rng)
            yield years_of(days.reshape(count, self.columns.day_count, -1), self.columns)


@dataclass(frozen=True)
class DaysOfTheCalendar:
    """Draws every day of every household by itself from the pool of days of its month and day of the week.

    Where there is none of them, from the month.
    """

    pool: np.ndarray  # (n, S) kWh per interval
    labels: np.ndarray  # month and day of the week of each, (n, 2)
    columns: Columns

    def batches(self, households: int, seed: int) -> Iterator[np.ndarray]:
        """Yield (h, T) kWh per interval, some households at a time."""
        wanted = month_and_weekday(self.columns)
        same = {tuple(label): self._like(label) for label in np.unique(wanted, axis=0)}
        for first in range(0, households, BATCH):
            rng = keyed_generator(seed, "days of the calendar", first)
            count = min(BATCH, households - first)
            chosen = np.column_stack([rng.choice(same[tuple(label)], count) for label in wanted])
            yield years_of(self.pool[chosen], self.columns)

    def _like(self, label: np.ndarray) -> np.ndarray:
        month = self.labels[:, 0] == label[0]
        both = month & (self.labels[:, 1] == label[1])
        return np.flatnonzero(both if both.any() else month)
