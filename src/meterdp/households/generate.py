"""Readings drawn from households' vectors, for any period: of as many households and as long as asked for.

A draw is post-processing: it reads vectors and public settings, never readings. The random stream of a household is
named by seed and number, so its series depends neither on the batch nor on how many households there are.

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
from scipy.special import ndtri

from meterdp.core.noise import keyed_generator
from meterdp.households import marginal
from meterdp.households.columns import Columns
from meterdp.households.common import LARGEST_COMMON, CommonSeries
from meterdp.households.components import Components, Lags
from meterdp.households.correlations import day_products, lag_products, lags_of
from meterdp.households.latent import VALUES, Covariances, Readings, find_readings
from meterdp.households.vector import VectorSettings
from meterdp.profiles.grid import Calendar

# Numbers of a batch of households, at most: 8 MB an array.
_BATCH_NUMBERS = 1 << 20
# Largest latent share of a common series, and its largest value, in standard deviations.
_MOST_COMMON = 0.6
# Points of a common series' range at which a household's answer to it is found.
_COMMON_GRID = np.linspace(-LARGEST_COMMON, LARGEST_COMMON, 257)


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
    def _rank_scores(self) -> np.ndarray:
        """Normal scores of the ranks of a period, (T,)."""
        slots = self.columns.calendar.slot_count
        return ndtri((np.arange(slots) + 0.5) / slots)

    @cached_property
    def _common(self) -> np.ndarray | None:
        return None if self.common is None else self.common.over(self.columns)

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
        correlation = products / np.maximum(len(series) - np.arange(most + 1), 1)
        return Lags(self._components.slots).of(lambda lag: correlation[lag])

    def batches(self, vectors: np.ndarray, seed: int, first: int = 0) -> Iterator[np.ndarray]:
        """Yield (h, T) kWh per interval, some households at a time, in the order of the (H, d) vectors."""
        size = max(1, _BATCH_NUMBERS // self.columns.calendar.slot_count)
        for begin in range(0, len(vectors), size):
            yield self.kwh(vectors[begin : begin + size], seed, first + begin)

    def kwh(self, vectors: np.ndarray, seed: int, first: int = 0) -> np.ndarray:
        """Return kWh per interval of the households ``first``, ``first`` + 1, ..., (H, T), in one go."""
        settings = self.settings
        vectors = np.clip(vectors, *settings.bounds)
        parts = settings.parts(vectors)
        mean = parts["net_share"][:, 0] if settings.feed_in else np.ones(len(vectors))
        quantile_function = marginal.quantile_functions(
            parts["quantiles"], parts["zero_share"][:, 0], mean, settings.calendar.slot_count, settings.feed_in
        )
        low, high = quantile_function[:, marginal.SCORES.searchsorted([-2.5, 3.0])].T[..., None]
        reference = np.clip(settings.expected_ratio(vectors), low, high)
        readings = find_readings(quantile_function, reference)
        wanted = _Wanted.of(vectors, quantile_function, reference, Covariances.of(readings), settings)
        expected = reference
        if self.columns is not settings.columns:
            expected = np.clip(settings.expected_ratio(vectors, self.columns), low, high)
        size_kwh = np.exp(parts["log_mean_kw"]) * self.columns.calendar.interval_minutes / 60
        ratios, drawn = np.empty(expected.shape), self._components.room()
        for i in range(len(vectors)):
            self._components.draw(keyed_generator(seed, "household series", first + i), drawn)
            ratios[i] = self._ratios(i, expected[i], readings, wanted, drawn)
        return size_kwh * ratios

    def _ratios(
        self, i: int, expected: np.ndarray, readings: Readings, wanted: _Wanted, drawn: np.ndarray
    ) -> np.ndarray:
        """Return the readings of household ``i`` in multiples of its mean size, (T,), from its drawn components."""
        latent_means = readings.latent_means(expected, i)
        ranked = self._ranked_readings(i, latent_means, readings)
        target = wanted.correlations(i, wanted.covariances[i])
        together, share = self._together(i, wanted)
        aim = target
        for again in (True, False):
            weights = self._components.weights(aim, wanted.between_hours[i], self._common_correlations, share)
            latent = latent_means + np.sqrt(weights) @ drawn
            if share:
                latent += together
            ratios = np.empty(len(latent))
            ratios[np.argsort(latent)] = ranked
            if again:
                found = wanted.correlations(i, self._covariances(ratios - expected, wanted.variance[i]))
                aim = aim + target - found
        return ratios

    def _together(self, i: int, wanted: _Wanted) -> tuple[np.ndarray | None, float]:
        """Return what the common series adds to the latent values of household ``i``, (T,), and its variance.

        It is such that the expected reading changes in proportion to the common series, however far that goes.
        """
        if self.common is None:
            return None, 0.0
        change = np.sqrt(self.common.share * wanted.variance[i]) * _COMMON_GRID
        shifts = np.interp(self._common, _COMMON_GRID, wanted.table.shifts(i, change))
        shifts -= shifts.mean()
        variance = float(shifts @ shifts) / len(shifts)
        share = min(variance, _MOST_COMMON)
        return shifts * np.sqrt(share / max(variance, 1e-12)), share

    def _ranked_readings(self, i: int, latent_means: np.ndarray, readings: Readings) -> np.ndarray:
        """Return the readings of the period from the lowest to the highest, (T,)."""
        same = self.columns is self.settings.columns
        scores = readings.scores[i] if same else readings.scores_of(latent_means)
        rising = np.concatenate([[True], np.diff(scores) > 1e-12])
        values = np.interp(self._rank_scores, scores[rising], VALUES[rising])
        return np.interp(values, VALUES, readings.reading[i])

    def _covariances(self, residual: np.ndarray, variance: float) -> np.ndarray:
        """Return what :attr:`_Wanted.covariances` is of drawn readings about their expected load, (7,)."""
        slots = self._components.slots
        residual = residual - residual.mean()
        scale = variance / max(float(residual @ residual) / len(residual), 1e-12)
        at_lags = scale * lag_products(residual, lags_of(slots))
        days = scale * day_products(residual, self.columns.day, self.columns.day_count, slots / 2)
        return _without_near(at_lags, days, variance, slots)


def _without_near(at_lags: np.ndarray, days: np.ndarray, variance: float, slots: int) -> np.ndarray:
    """Join (4,) covariances at lags and (3,) between days, the first of these without its nearest lags."""
    near = (variance + 2 * (1 - 1 / slots) * at_lags[0] + 2 * (1 - 2 / slots) * at_lags[1]) / slots
    return np.concatenate([at_lags, [days[0] - near], days[1:]])


@dataclass(frozen=True)
class _Wanted:
    """What the readings of H households about their expected load are to have."""

    covariances: np.ndarray  # at the four lags, and between days 0 (without the nearest lags), 1 and 7 apart, (H, 7)
    table: Covariances
    slots: int

    @classmethod
    def of(cls, vectors, quantile_function, expected, table: Covariances, settings: VectorSettings) -> _Wanted:
        daily, acf = settings.parts(vectors)["daily"], settings.autocorrelations(vectors)
        slots = settings.calendar.slots_per_day
        variance = marginal.variances(quantile_function)
        about = expected - expected.mean(axis=1, keepdims=True)
        rows = []
        for i in range(len(expected)):
            of_expected = lag_products(about[i], lags_of(slots))
            at_lags = acf[i] * variance[i] - of_expected
            left = max(variance[i] - about[i] @ about[i] / about.shape[1], 0.0)
            rows.append(_without_near(at_lags, daily[i] * variance[i], left, slots))
        return cls(np.array(rows), table, slots)

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
