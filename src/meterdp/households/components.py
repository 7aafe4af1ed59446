"""The latent Gaussian series of a household as a weighted sum of independent components with public time constants.

Any weights that are not negative give a valid series, so noise in a vector cannot break it. Components: levels of
days that are forgotten at once, after days, after a month; a habit over the slots of a day and one over the slots of
a week; a pattern of the day that drifts from day to day; deviations that last half an hour, one and a half and six
hours; independent intervals; a wave of about a day, and cycles of two and of five intervals. Weights are found by
least squares that are not negative from the correlations wanted at a few lags, which are linear in the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import nnls

from meterdp.core.compiled import njit
from meterdp.households.columns import DAILY_HARMONICS, Columns
from meterdp.households.correlations import DAY_LAGS, lags_of

DAY_MEMORY_DAYS = (0.0, 3.0, 30.0)
DEVIATION_HOURS = (0.5, 1.5, 6.0)
# A habit's pattern is smooth over such a time; a drifting one keeps this correlation from one day to the next.
HABIT_HOURS, DRIFT_HOURS, DRIFT = 0.35, 0.4, 0.8
WAVE_HOURS, WAVE_MEMORY_HOURS = 24.0, 36.0
# Period and memory of cycles, in intervals.
CYCLES = ((5.0, 3.0), (2.2, 3.0))
COUNT = len(DAY_MEMORY_DAYS) + 3 + len(DEVIATION_HOURS) + 2 + len(CYCLES)
# How well each correlation is to be met: the sum of the weights first, then the lags, then the days.
_IMPORTANCE = np.array([30.0, 3.0, 3.0, 3.0, 3.0, 3.0, 2.0, 2.0])
_RIDGE = np.diag([0.05] * (COUNT - 1) + [0.1])
# Lags below this many intervals count by their own correlations, not by the weights, in the variance of a day's mean.
NEAR = 3


def _habit_amplitudes(slots: int, days: int, hours: float) -> np.ndarray:
    """Amplitudes of the harmonics of a habit of so many days: none that the expected load has."""
    harmonic = np.arange(slots * days // 2 + 1)
    amplitude = 1 / np.sqrt(1 + (2 * np.pi * harmonic / (slots * days * hours) * HABIT_HOURS) ** 2)
    amplitude[harmonic % days == 0 if days > 1 else harmonic <= DAILY_HARMONICS] = 0.0
    return amplitude


def _day_correlation(memory_days: float, days: np.ndarray) -> np.ndarray:
    """Correlation of levels of days at (n,) lags in days, averaged over the time of day."""

    def of(count: np.ndarray) -> np.ndarray:
        return np.where(count == 0, 1.0, np.exp(-count / memory_days) if memory_days else 0.0)

    whole = np.floor(days)
    return (1 - days + whole) * of(whole) + (days - whole) * of(whole + 1)


@dataclass(frozen=True)
class Lags:
    """Correlations that weights are found from, in S slots a day: at lags, and sums of them between days.

    Sums between days are weighted by how often a lag occurs between two slots of days 0, 1 and 7 apart, for the first
    without the nearest; the second kind has a cosine of the lag on top (see :meth:`Weights.rows`).
    """

    slots: int

    @cached_property
    def _between_days(self) -> list[tuple[np.ndarray, np.ndarray]]:
        lag = np.arange(1 - self.slots, self.slots)
        weight = (self.slots - np.abs(lag)) / self.slots**2
        same = np.abs(lag) >= NEAR
        return [(np.abs(lag[same]), weight[same]), *((lag + d * self.slots, weight) for d in DAY_LAGS[1:])]

    def of(self, correlation) -> np.ndarray:
        """Return 1, the correlations at the four lags, and both kinds of sums, (11,), of a function of (n,) lags."""
        at_lags = correlation(lags_of(self.slots))
        plain = [weight @ correlation(lag) for lag, weight in self._between_days]
        waves = [
            (weight * np.cos(2 * np.pi * lag / self.slots)) @ correlation(lag) for lag, weight in self._between_days
        ]
        return np.concatenate([[1.0], at_lags, plain, waves])


@njit(cache=True, nogil=True)
def _autoregressive(x, phi, step):
    """Turn independent numbers into an AR process over every ``step``-th of them, of the same variance."""
    new = np.sqrt(1 - phi**2)
    for t in range(step, len(x)):
        x[t] = phi * x[t - step] + new * x[t]


@njit(cache=True, nogil=True)
def _cycle(x, phi_1, phi_2):
    """Turn independent numbers into an AR(2) process of variance one."""
    new = np.sqrt((1 + phi_2) * ((1 - phi_2) ** 2 - phi_1**2) / (1 - phi_2))
    first = phi_1 / (1 - phi_2)
    x[1] = first * x[0] + np.sqrt(1 - first**2) * x[1]
    for t in range(2, len(x)):
        x[t] = phi_1 * x[t - 1] + phi_2 * x[t - 2] + new * x[t]


def _standardised(x: np.ndarray) -> np.ndarray:
    return (x - x.mean()) / x.std()


@dataclass(frozen=True)
class Components:
    """The components on the calendar of ``columns``."""

    columns: Columns

    @property
    def slots(self) -> int:
        return self.columns.calendar.slots_per_day

    @property
    def hours(self) -> float:
        return self.columns.calendar.interval_minutes / 60

    @cached_property
    def _amplitudes(self) -> dict[int, np.ndarray]:
        return {days: _habit_amplitudes(self.slots, days, self.hours) for days in (1, 7)}

    @cached_property
    def _cycles(self) -> list[tuple[float, float]]:
        """Coefficients of the AR(2) processes."""
        kinds = (WAVE_HOURS / self.hours, WAVE_MEMORY_HOURS / self.hours), *CYCLES
        return [(2 * np.exp(-1 / m) * np.cos(2 * np.pi / period), -np.exp(-2 / m)) for period, m in kinds]

    def room(self) -> np.ndarray:
        """Return an array for :meth:`draw` to fill, (COUNT, T)."""
        return np.empty((COUNT, self.columns.calendar.slot_count))

    def draw(self, rng: np.random.Generator, out: np.ndarray) -> None:
        """Draw all components, each of variance one, into ``out``, which many households share one after another."""
        calendar = self.columns.calendar
        row = iter(out)
        for memory in DAY_MEMORY_DAYS:
            level = rng.standard_normal(self.columns.day_count)
            if memory:
                _autoregressive(level, np.exp(-1 / memory), 1)
            next(row)[:] = _standardised(level)[self.columns.day]
        for days, slot in ((1, calendar.slot_of_day), (7, calendar.slot_of_week)):
            waves = np.fft.rfft(rng.standard_normal(self.slots * days)) * self._amplitudes[days]
            next(row)[:] = _standardised(np.fft.irfft(waves, self.slots * days))[slot]
        rest = out[len(DAY_MEMORY_DAYS) + 2 :]
        rng.standard_normal(out=rest)
        _autoregressive(rest[0], np.exp(-self.hours / DRIFT_HOURS), 1)
        _autoregressive(rest[0], DRIFT, self.slots)
        for series, hours in zip(rest[1:], DEVIATION_HOURS, strict=False):
            _autoregressive(series, np.exp(-self.hours / hours), 1)
        for series, coefficients in zip(rest[-len(self._cycles) :], self._cycles, strict=True):
            _cycle(series, *coefficients)

    @cached_property
    def correlations(self) -> np.ndarray:
        """Correlations of every component, (11, COUNT); see :class:`Lags`."""
        lags, slots = Lags(self.slots), self.slots

        def habit(days: int):
            power = self._amplitudes[days] ** 2 / (self._amplitudes[days] ** 2).sum()
            angle = 2 * np.pi * np.arange(len(power)) / (slots * days)
            return lambda lag: np.cos(np.outer(lag, angle)) @ power

        def drifting(lag):
            days = np.round(lag / slots)
            return DRIFT**days * np.exp(-np.abs(lag - days * slots) * self.hours / DRIFT_HOURS)

        def cycle(phi_1: float, phi_2: float):
            out = [1.0, phi_1 / (1 - phi_2)]
            for _ in range(8 * slots):
                out.append(phi_1 * out[-1] + phi_2 * out[-2])
            out = np.array(out)
            return lambda lag: out[lag]

        functions = [
            *(lambda lag, m=memory: _day_correlation(m, lag / slots) for memory in DAY_MEMORY_DAYS),
            habit(1),
            habit(7),
            drifting,
            *(lambda lag, h=hours: np.exp(-lag * self.hours / h) for hours in DEVIATION_HOURS),
            lambda lag: 1.0 * (lag == 0),
            *(cycle(*coefficients) for coefficients in self._cycles),
        ]
        return np.array([lags.of(function) for function in functions]).T

    def weights(self, wanted: np.ndarray, between_hours: float, common: np.ndarray, share: float) -> np.ndarray:
        """Return the weights, (COUNT,), that with the share of a common series give correlations (7,) ``wanted``.

        Wanted are correlations at the lags, and sums between days of correlations times how far two times of day move
        together: by ``between_hours`` k on average, taken as k + (1 - k) cos of their distance. ``common`` are the
        correlations of the common series, (11,), without the leading 1.
        """
        rows = self.rows(self.correlations, between_hours)
        own = np.concatenate([[1.0], wanted]) - share * self.rows(common, between_hours)
        left = np.vstack([_IMPORTANCE[:, None] * rows, _RIDGE])
        found, _ = nnls(left, np.concatenate([_IMPORTANCE * own, np.zeros(COUNT)]))
        return found * (1 - share) / max(found.sum(), 1e-9)

    @staticmethod
    def rows(correlations: np.ndarray, between_hours: float) -> np.ndarray:
        """Return 1, the lags and the sums between days for one household, (8, ...)."""
        plain, waves = correlations[5:8], correlations[8:]
        return np.concatenate([correlations[:5], between_hours * plain + (1 - between_hours) * waves])
