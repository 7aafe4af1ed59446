"""What homes do together beyond the calendar.

A household's part is its mean deviations from its expected load in blocks of every day, in standard deviations of its
readings in that block of the day, clipped: (days, blocks) bounded numbers that are a function of its own rows, its
vector and public settings. Only their mean over households is used. A release measures it with noise
(mechanism.py); :func:`common_series` is for studies and not private.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from meterdp.households.columns import Columns

if TYPE_CHECKING:  # loads numba: a plan does without
    from meterdp.households.vector import VectorSettings

# Blocks of a day: eight hours each.
BLOCKS = 3
# Bound of a standardised deviation; the mean of a block has less than that of a reading.
LARGEST_DEVIATION = 4.0
# Bound of the series, in its standard deviations.
LARGEST_COMMON = 8.0


@dataclass(frozen=True)
class CommonSeries:
    """What homes do together beyond the calendar, such as on a hot evening.

    ``z`` is (days, blocks): a series over the local days of the period drawn, in blocks of equal length from midnight
    on, NaN on days on which homes do nothing together. On the other days a home's deviation from its expected load
    has the correlation sqrt(``share``) with it, or with ``persistence``, in the mean of all homes: that of a
    home is then in proportion to the square root of how its daily means covary from a day to the next.
    """

    z: np.ndarray
    share: float
    persistence: float | None = None  # mean over homes of that square root

    @property
    def blocks(self) -> int:
        return np.asarray(self.z).reshape(len(self.z), -1).shape[1]

    def among(self, vectors: np.ndarray, settings: VectorSettings) -> CommonSeries:
        """Return the series with the persistence of the (H, d) vectors of homes that it is for."""
        return replace(self, persistence=float(_persistence(vectors, settings).mean()))

    def correlations(self, vectors: np.ndarray, settings: VectorSettings) -> np.ndarray:
        """Return how the deviations of the homes of (H, d) vectors correlate with the series, (H,)."""
        share = np.full(len(vectors), np.sqrt(self.share))
        return share * _persistence(vectors, settings) / self.persistence if self.persistence else share

    def over(self, columns: Columns) -> np.ndarray:
        """Interpolate between the middles of the blocks, (T,), and clip.

        Mean zero and variance one over the days that have it; zero on the others.
        """
        z = np.asarray(self.z, float).reshape(columns.day_count, -1)
        has = np.isfinite(z).all(axis=1)
        if z.shape[1] == 1:
            series = z[columns.day, 0]
        else:
            calendar, known = columns.calendar, np.repeat(has, z.shape[1])
            days = columns.day + (calendar.slot_of_day + 0.5) / calendar.slots_per_day
            series = np.interp(days * z.shape[1] - 0.5, np.flatnonzero(known), z.ravel()[known])
        there = series[has[columns.day]]
        series = np.clip((series - there.mean()) / there.std(), -LARGEST_COMMON, LARGEST_COMMON)
        return np.where(has[columns.day], series, 0.0)


def _persistence(vectors: np.ndarray, settings: VectorSettings) -> np.ndarray:
    """Return the square roots of the covariances of daily means a day apart, (H,), of (H, d) vectors."""
    return np.sqrt(np.maximum(settings.parts(vectors)["daily"][:, 1], 0.0))


def block_deviations(
    energy_kwh: np.ndarray, vectors: np.ndarray, settings: VectorSettings, blocks: int = BLOCKS
) -> np.ndarray:
    """Return standardised mean deviations of (H, T) readings, (H, days, blocks), 0 where nothing was read."""
    columns, slots = settings.columns, settings.calendar.slots_per_day
    block_of_day = settings.calendar.slot_of_day * blocks // slots
    cell, cells = columns.day * blocks + block_of_day, columns.day_count * blocks
    out = np.zeros((len(energy_kwh), columns.day_count, blocks))
    for i, row in enumerate(energy_kwh):
        ratio = row / settings.hours / np.exp(vectors[i, 0])
        deviation = ratio - settings.expected_ratio(vectors[i : i + 1])[0]
        known = np.isfinite(deviation)
        square = np.bincount(block_of_day[known], deviation[known] ** 2, blocks)
        std = np.sqrt(square / np.maximum(np.bincount(block_of_day[known], minlength=blocks), 1))
        count = np.bincount(cell[known], minlength=cells)
        mean = np.bincount(cell[known], deviation[known], cells) / np.maximum(count, 1)
        mean = mean.reshape(-1, blocks) / np.maximum(std, 1e-9)
        read = count.reshape(-1, blocks) > 0
        mean -= (mean * read).sum(axis=0) / np.maximum(read.sum(axis=0), 1)
        out[i] = np.clip(mean * read, -LARGEST_DEVIATION, LARGEST_DEVIATION)
    return out


def common_series(deviations: np.ndarray) -> CommonSeries:
    """Return the mean of (H, days, blocks) deviations; its share is without what luck leaves in the variance."""
    mean = deviations.mean(axis=0)
    luck = ((deviations - mean) ** 2).mean() / len(deviations)
    share = max(float(mean.var() - luck), 0.0)
    return CommonSeries((mean - mean.mean()) / max(float(mean.std()), 1e-9), share)
