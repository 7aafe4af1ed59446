"""Readings drawn from households' vectors, for any period: of as many households and as long as asked for.

A draw is post-processing: it reads vectors and public settings, never readings. The random stream of a household is
named by seed and number, so its series depends neither on the batch nor on how many households there are.

While no one is at home (away.py) a household has readings of its empty home. The rest is what follows.

A household's series is the latent series of latent.py with the components of components.py. Its ranks are mapped to
what the model expects of the period's distribution, so energy and peak do not depend on luck: over the reference
period they are those of the vector. After a first draw, correlations are compared with those wanted and the weights
of the same components are corrected once, which mends both approximations and luck.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cached_property

import numpy as np

from meterdp.core.noise import keyed_generator
from meterdp.households import marginal
from meterdp.households.away import FEWEST_DAYS, Spells, at_home_and_away, draw_spells
from meterdp.households.columns import Columns
from meterdp.households.common import CommonSeries
from meterdp.households.components import Components, Lags
from meterdp.households.correlations import day_products, lag_products, lags_of
from meterdp.households.latent import VALUES, Covariances, Readings, find_readings
from meterdp.households.vector import VectorSettings
from meterdp.profiles.grid import Calendar

# Numbers of a batch of households, at most: 8 MB an array.
_BATCH_NUMBERS = 1 << 20
# Largest share of a common series in the variance of latent values, and how far it moves them.
_MOST_COMMON, _LARGEST_MOVE = 0.6, 2.0


@dataclass(frozen=True)
class HouseholdGenerator:
    """Draws series for vectors of ``settings``, on ``calendar``, which is that of the settings unless given.

    ``days_off`` are those of the period drawn.
    """

    settings: VectorSettings
    calendar: Calendar | None = None
    days_off: tuple[date, ...] | None = None
    common: CommonSeries | None = None

    def __post_init__(self):
        calendar = self.calendar or self.settings.calendar
        if calendar.interval_minutes != self.settings.calendar.interval_minutes:
            raise ValueError("the calendar's interval must be that of the vectors")

    @cached_property
    def columns(self) -> Columns:
        if self.calendar is None and self.days_off is None:
            return self.settings.columns
        days_off = self.settings.days_off if self.days_off is None else self.days_off
        return Columns(self.calendar or self.settings.calendar, days_off)

    @cached_property
    def _components(self) -> Components:
        return Components(self.columns)

    @cached_property
    def _common(self) -> np.ndarray | None:
        return None if self.common is None else self.common.over(self.columns)

    @cached_property
    def _common_variance(self) -> float:
        """Variance of the common series: below one where not all days have it."""
        return float((self._common**2).mean())

    @cached_property
    def _common_correlations(self) -> np.ndarray:
        """Correlations of the common series at the lags that weights are found from, (11,)."""
        if self._common is None:
            return np.zeros(11)
        series = self._common
        most = 8 * self._components.slots
        # All lags at once, by the Fourier transform of the padded series.
        power = np.abs(np.fft.rfft(series, 2 * len(series))) ** 2
        products = np.fft.irfft(power)[: most + 1]
        correlation = products / np.maximum(len(series) - np.arange(most + 1), 1) / self._common_variance
        return Lags(self._components.slots).of(lambda lag: correlation[lag])

    def batches(self, vectors: np.ndarray, seed: int, first: int = 0) -> Iterator[np.ndarray]:
        """Yield (h, T) kWh per interval, some households at a time, in the order of the (H, d) vectors."""
        for begin in range(0, len(vectors), self.batch_size):
            yield self.kwh(vectors[begin : begin + self.batch_size], seed, first + begin)

    @property
    def batch_size(self) -> int:
        """How many households are drawn at once."""
        return max(1, _BATCH_NUMBERS // self.columns.calendar.slot_count)

    def kwh(self, vectors: np.ndarray, seed: int, first: int = 0) -> np.ndarray:
        """Return kWh per interval of the households ``first``, ``first`` + 1, ..., (H, T), in one go."""
        settings = self.settings
        vectors = np.clip(vectors, *settings.bounds)
        parts = settings.parts(vectors)
        quantile_function = settings.quantile_functions(vectors)
        days_away = self._days_away(parts["away"])
        at_home, away = at_home_and_away(quantile_function, days_away / self.columns.day_count)
        mean = marginal.means(at_home)
        low, high = at_home[:, marginal.SCORES.searchsorted([-2.5, 3.0])].T[..., None]
        reference = np.clip(settings.expected_ratio(vectors, mean), low, high)
        readings = find_readings(at_home, reference)
        variances = marginal.variances(quantile_function), marginal.variances(at_home)
        wanted = _Wanted.of(vectors, *variances, reference, Covariances.of(readings), settings)
        expected = reference
        if self.columns is not settings.columns:
            expected = np.clip(settings.expected_ratio(vectors, mean, self.columns), low, high)
        hours = self.columns.calendar.interval_minutes / 60
        size_kwh = np.exp(parts["log_mean_kw"]) * hours
        change = np.zeros(len(vectors))
        if self.common is not None:
            # Deviations are measured with those of spells away, in which a home does nothing with others.
            of_all = variances[0] - settings.expected_ratio(vectors).var(axis=1)
            larger = np.sqrt(np.maximum(of_all, 0.0) / np.maximum(wanted.left, 1e-12))
            at_home_share = 1 - days_away / self.columns.day_count
            change = self.common.correlations(vectors, settings) * np.clip(larger / at_home_share, 0.5, 2.0)
        ratios, drawn = np.empty(expected.shape), self._components.room()
        for i in range(len(vectors)):
            rng = keyed_generator(seed, "household series", first + i)
            self._components.draw(rng, drawn)
            is_away = draw_spells(rng, days_away[i], self.columns.day_count)
            spells = Spells(is_away[self.columns.day], away[i])
            ratios[i] = self._ratios(i, expected[i], spells, readings, wanted, drawn, change[i])
        low_kwh, high_kwh = (hours * kw for kw in settings.reading_kw)
        return np.clip(size_kwh * ratios, low_kwh, high_kwh)  # by the last digit

    def _days_away(self, share: np.ndarray) -> np.ndarray:
        """Return on how many days of the period households are away, (H,), from their (H, 0 or 1) shares of days."""
        days = np.rint(share.sum(axis=1) * self.columns.day_count).astype(int)
        return np.where(days < FEWEST_DAYS, 0, days)

    def _ratios(
        self,
        i: int,
        expected: np.ndarray,
        spells: Spells,
        readings: Readings,
        wanted: _Wanted,
        drawn: np.ndarray,
        correlation: float,
    ) -> np.ndarray:
        """Return the readings of household ``i`` in multiples of its mean size, (T,), from its drawn components.

        ``expected`` is its expected load with somebody at home, (T,), ``correlation`` that of what it deviates from
        it with the common series.
        """
        latent_means, at_home = readings.latent_means(expected, i), ~spells.away
        ranked = self._ranked_readings(i, latent_means, int(at_home.sum()), readings)
        target = wanted.correlations(i, wanted.covariances(i, expected, spells))
        together, share = self._together(i, expected, latent_means, readings, correlation)
        aim = target
        for again in (True, False):
            weights = self._components.weights(aim, wanted.between_hours[i], self._common_correlations, share)
            deviations = np.sqrt(weights) @ drawn + together
            ratios = np.empty(len(expected))
            ratios[_by_size(latent_means + deviations, at_home)] = ranked
            ratios[_by_size(deviations, spells.away)] = spells.ranked
            if again:
                residual = np.where(at_home, ratios - expected, np.nan)
                found = wanted.correlations(i, self._covariances(residual, wanted.variance[i]))
                aim = aim + target - found
        return ratios

    def _together(
        self, i: int, expected: np.ndarray, latent_means: np.ndarray, readings: Readings, correlation: float
    ) -> tuple[np.ndarray, float]:
        """Return what the common series adds to the latent values of household ``i``, (T,), and its variance.

        It is such that the expected reading changes by ``correlation`` times the common series, in standard
        deviations of the household's readings at that time of day.
        """
        if correlation == 0:
            return np.zeros(len(expected)), 0.0
        change = correlation * self._common * self._daily_std(readings.variances(latent_means, i))
        most = _MOST_COMMON * self._common_variance
        share = correlation**2 * self._common_variance
        for _ in range(3):  # what is known of e is itself the result
            moved = readings.latent_means(expected + change, i, min(share, most)) - latent_means
            moved = np.clip(moved, -_LARGEST_MOVE, _LARGEST_MOVE)
            moved -= moved.mean()
            share = float(moved @ moved) / len(moved)
        kept = min(share, most)
        return moved * np.sqrt(kept / max(share, 1e-12)), kept

    def _daily_std(self, variance: np.ndarray) -> np.ndarray:
        """Return the standard deviations by time of day of (T,) variances, (T,).

        The mean of a block of the common series is what the block's deviations are measured in.
        """
        slot, slots = self.columns.calendar.slot_of_day, self.columns.calendar.slots_per_day
        std = np.sqrt(np.bincount(slot, variance, slots) / np.maximum(np.bincount(slot, minlength=slots), 1))
        block = np.arange(slots) * self.common.blocks // slots
        count = np.bincount(block)
        mean, square = np.bincount(block, std) / count, np.bincount(block, std**2) / count
        return (std * (np.sqrt(square) / np.maximum(mean, 1e-12))[block])[slot]

    def _ranked_readings(self, i: int, latent_means: np.ndarray, slots: int, readings: Readings) -> np.ndarray:
        """Return so many readings with somebody at home from the lowest to the highest, (slots,)."""
        same = self.columns is self.settings.columns
        scores = readings.scores[i] if same else readings.scores_of(latent_means)
        rising = np.concatenate([[True], np.diff(scores) > 1e-12])
        values = np.interp(marginal.rank_scores(slots), scores[rising], VALUES[rising])
        return np.interp(values, VALUES, readings.reading[i])

    def _covariances(self, residual: np.ndarray, variance: float) -> np.ndarray:
        """Return what :meth:`_Wanted.covariances` is of drawn readings at home, NaN elsewhere, (7,)."""
        slots = self._components.slots
        residual = residual - np.nanmean(residual)
        scale = variance / max(float(np.nanmean(residual**2)), 1e-12)
        at_lags = scale * lag_products(residual, lags_of(slots))
        days = scale * day_products(residual, self.columns.day, self.columns.day_count, slots / 2)
        return _without_near(at_lags, days, variance, slots)


def _by_size(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return the positions where the mask (T,) is true in ascending order of their values."""
    at = np.flatnonzero(where)
    return at[np.argsort(values[at])]


def _without_near(at_lags: np.ndarray, days: np.ndarray, variance: float, slots: int) -> np.ndarray:
    """Join (4,) covariances at lags and (3,) between days, the first of these without its nearest lags."""
    near = (variance + 2 * (1 - 1 / slots) * at_lags[0] + 2 * (1 - 2 / slots) * at_lags[1]) / slots
    return np.concatenate([at_lags, [days[0] - near], days[1:]])


@dataclass(frozen=True)
class _Wanted:
    """What the readings of H households with somebody at home are to have about their expected load."""

    at_lags: np.ndarray  # covariances at the four lags, with those that spells away bring, (H, 4)
    of_days: np.ndarray  # between means of days 0, 1 and 7 apart, (H, 3)
    left: np.ndarray  # variance about the expected load, (H,)
    table: Covariances
    slots: int

    @classmethod
    def of(
        cls,
        vectors: np.ndarray,
        variance: np.ndarray,
        variance_at_home: np.ndarray,
        expected: np.ndarray,
        table: Covariances,
        settings: VectorSettings,
    ) -> _Wanted:
        slots = settings.calendar.slots_per_day
        about = expected - expected.mean(axis=1, keepdims=True)
        of_expected = np.array([lag_products(row, lags_of(slots)) for row in about])
        at_lags = settings.autocorrelations(vectors) * variance[:, None] - of_expected
        of_days = settings.parts(vectors)["daily"] * variance[:, None]
        return cls(at_lags, of_days, np.maximum(variance_at_home - (about**2).mean(axis=1), 0.0), table, slots)

    def covariances(self, i: int, expected: np.ndarray, spells: Spells) -> np.ndarray:
        """Return those of household ``i``, (7,): at the lags, and between days 0 (without the nearest lags), 1 and 7
        apart. ``expected`` is its load with somebody at home in the period of the spells."""
        at_lags, lags = self.at_lags[i], lags_of(self.slots)
        if spells.away.any():
            alone, both = (load - load.mean() for load in (expected, spells.expected(expected)))
            # Of two readings that far apart, the share with somebody at home at both.
            share = lag_products(1.0 - spells.away, lags)
            at_lags = (at_lags + lag_products(alone, lags) - lag_products(both, lags)) / np.maximum(share, 0.1)
        return _without_near(at_lags, self.of_days[i], self.left[i], self.slots)

    @property
    def between_hours(self) -> np.ndarray:
        return self.table.between_hours

    @property
    def variance(self) -> np.ndarray:
        return self.table.variance

    def correlations(self, i: int, covariances: np.ndarray) -> np.ndarray:
        """Return the latent correlations, and latent sums between days, (7,), of one household's covariances."""
        sums = Lags(self.slots).of(lambda lag: np.ones(len(lag)))
        reach = Components.rows(sums, self.between_hours[i])[5:]
        scale = np.concatenate([np.ones(4), reach])
        return scale * self.table.correlations(i, covariances / scale)
