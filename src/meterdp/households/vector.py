"""A household's readings over a period as one bounded vector: a function of its own rows and public settings alone.

What is in it: the mean power; quantiles of the readings in multiples of the mean; the share of zeros; coefficients of
the expected load (columns.py); autocorrelations of the readings; variance and autocorrelation of daily means about
the expected load; and the share of days in spells away (away.py), which the expected load leaves out. Every entry is
clipped to public bounds, so the vector lies in a box. A household is computed by itself, in one order of operations:
the same rows give the same bits whatever else is in the batch.

Defined behaviour: a missing reading is left out of every sum; an hour that comes twice counts twice; without feed-in
a negative reading counts as zero; readings are clipped to a public bound; a household with readings of less than a
week has the public typical vector. Ridge penalties shrink what few readings cannot tell, seasons first.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cached_property

import numpy as np

from meterdp.core.compiled import njit
from meterdp.households import marginal
from meterdp.households.away import days_away
from meterdp.households.columns import PROFILE_NAMES, SEASON_HARMONICS, SEASON_NAMES, Columns
from meterdp.households.correlations import day_products, lag_products, lags_of
from meterdp.profiles.grid import Calendar

LEAST_DAYS = 7
# A home that uses less counts as one without load; readings that vary less, in squared means, as constant.
_LEAST_KW, _LEAST_VARIANCE = 1e-9, 1e-12
# Penalties of the regressions, in rows of the whole period; a column of harmonics weighs about half of the rows.
_PROFILE_RIDGE, _SEASON_RIDGE = 0.001, 0.005
# Typical value of an entry and how far the box reaches to both sides of it: about four times as far as homes differ,
# as noise is in proportion to it. Quantiles are logs of multiples of the mean.
_QUANTILES = {
    "lowest": (-2.4, 2.0),
    "quantile_2": (-1.9, 2.1),
    "quantile_10": (-1.4, 2.1),
    "quantile_25": (-1.0, 2.0),
    "quantile_45": (-0.4, 1.8),
    "quantile_65": (0.05, 1.4),
    "quantile_80": (0.4, 1.1),
    "quantile_90": (0.7, 1.0),
    "quantile_95": (1.0, 1.2),
    "quantile_98": (1.25, 1.5),
    "quantile_99.5": (1.5, 1.7),
    "quantile_99.9": (1.75, 1.9),
    "highest": (2.1, 2.0),
}
# Lowest and highest quantile with feed-in, in multiples of the mean size.
_NET_BOUNDS = (-30.0, 70.0)
# Reach of coefficients of the expected load, whose typical value is zero, by the start of their name.
_COEFFICIENTS = {
    "day_cos_1": 1.2,
    "day_sin_1": 1.2,
    "day_cos_2": 1.0,
    "day_sin_2": 1.0,
    "day_cos_3": 0.8,
    "day_sin_3": 0.8,
    "day_cos_4": 0.7,
    "day_sin_4": 0.7,
    "day_cos_5": 0.6,
    "day_sin_5": 0.6,
    "day_cos_6": 0.6,
    "day_sin_6": 0.6,
    "day_": 0.4,
    "off_day_cos_1": 0.7,
    "off_day_sin_1": 0.7,
    "off_day_": 0.5,
    "off": 0.7,
    "year_cos_1_day": 0.5,
    "year_sin_1_day": 0.5,
    "year_cos_1": 1.0,
    "year_sin_1": 1.0,
    "year_": 0.6,
}
_ACF = {
    "acf_interval": (0.55, 0.75),
    "acf_interval_less_two": (0.2, 0.45),
    "acf_day": (0.45, 0.6),
    "acf_day_less_week": (0.1, 0.4),
}
_DAILY = {"daily_variance": (0.1, 0.4), "daily_covariance_1": (0.05, 0.35), "daily_covariance_7": (0.0, 0.15)}
# Share of days in spells away; not of net load, which does not fall when no one is at home.
_AWAY = {"days_away": (0.05, 0.3)}


# What entries say, by how their names begin; the first that fits counts. Loads are in multiples of the mean.
_MEANINGS = {
    "log_mean_kw": "logarithm of the mean power",
    "net_share": "mean of net load over the mean of its size",
    "lowest": "logarithm of the lowest reading over the mean",
    "highest": "logarithm of the largest reading over the mean",
    "quantile_": "logarithm of that percentile of the readings over the mean",
    "zero_share": "share of readings that are zero",
    "day_": "wave with so many turns a day in the expected load of working days",
    "off_day_": "what days off add to that wave",
    "off": "what days off add to the expected load",
    "year_cos_1_day": "how that wave of the day changes over the year, most at its turn",
    "year_sin_1_day": "how that wave of the day changes over the year, most in early April",
    "year_": "wave with so many turns a year by which the expected load rises and falls",
    "acf_interval_less_two": "by how much the correlation after two intervals is lower than after one",
    "acf_interval": "correlation of a reading with the next",
    "acf_day_less_week": "by how much the correlation after a week is lower than after a day",
    "acf_day": "correlation of a reading with that a day later",
    "daily_variance": "variance of daily means about the expected load, as a share of that of readings",
    "daily_covariance_": "covariance of daily means so many days apart, likewise",
    "days_away": "share of days in spells with nobody at home",
}


@dataclass(frozen=True)
class Entry:
    """One entry of the vector: its public typical value, and bounds as far below it as above."""

    name: str
    unit: str
    typical: float
    reach: float

    @property
    def meaning(self) -> str:
        return next(words for start, words in _MEANINGS.items() if self.name.startswith(start))

    @property
    def low(self) -> float:
        return self.typical - self.reach

    @property
    def high(self) -> float:
        return self.typical + self.reach


@dataclass(frozen=True)
class VectorSettings:
    """Public settings: the period and its local calendar, days off, and bounds.

    ``feed_in`` says that readings are net load: negative where a home exports.
    """

    calendar: Calendar
    days_off: tuple[date, ...] = ()
    feed_in: bool = False
    mean_kw: tuple[float, float] = marginal.MEAN_KW
    typical_kw: float | None = None  # of a home that is not known; by default what lies between the bounds
    # What every reading was clipped to before anything was computed, at least from zero on.
    reading_kw: tuple[float, float] = (-np.inf, np.inf)
    # Lowest and highest values of the entries in a folder of an earlier version, if they were others.
    earlier_bounds: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    @cached_property
    def columns(self) -> Columns:
        return Columns(self.calendar, self.days_off)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Name, unit, bounds and typical value of every entry, in order."""
        low, high = np.log(self.mean_kw)
        wider = 2 if self.feed_in else 1
        coefficients = [*PROFILE_NAMES, *(SEASON_NAMES if self.columns.seasons else ())]
        return (
            Entry("log_mean_kw", "ln kW", (low + high) / 2, (high - low) / 2),
            *([Entry("net_share", "1", 0.0, 1.0)] if self.feed_in else []),
            *(Entry(name, "ln of multiples of the mean", *box) for name, box in self._quantile_boxes.items()),
            Entry("zero_share", "1", 0.0, 1.0),
            *(Entry(name, "1", 0.0, wider * _reach(name)) for name in coefficients),
            *(Entry(name, "1", *box) for name, box in {**_ACF, **_DAILY, **self._away_boxes}.items()),
        )

    @property
    def _quantile_boxes(self) -> dict[str, tuple[float, float]]:
        if not self.feed_in:
            return _QUANTILES
        low, high = marginal.signed_log(_NET_BOUNDS)
        return dict.fromkeys(_QUANTILES, (float(low + high) / 2, float(high - low) / 2))

    @property
    def _away_boxes(self) -> dict[str, tuple[float, float]]:
        return {} if self.feed_in else _AWAY

    @property
    def names(self) -> list[str]:
        return [entry.name for entry in self.entries]

    @cached_property
    def bounds(self) -> np.ndarray:
        """Lowest and highest values, (2, d)."""
        if self.earlier_bounds is not None:
            return np.array(self.earlier_bounds)
        return np.array([[entry.low for entry in self.entries], [entry.high for entry in self.entries]])

    @cached_property
    def typical(self) -> np.ndarray:
        """The vector of a home that is not known, (d,)."""
        vector = np.array([entry.typical for entry in self.entries])
        if self.typical_kw is not None:
            vector[0] = np.log(np.clip(abs(self.typical_kw), *self.mean_kw))
        return vector

    def in_half_widths(self, vectors: np.ndarray) -> np.ndarray:
        """Return (H, d) vectors about the middles of their bounds, in half widths of these."""
        low, high = self.bounds
        return (vectors - (low + high) / 2) / ((high - low) / 2)

    @property
    def hours(self) -> float:
        """Length of an interval."""
        return self.calendar.interval_minutes / 60

    def parts(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        """Split (H, d) vectors by subject."""
        widths = {
            "log_mean_kw": 1,
            "net_share": int(self.feed_in),
            "quantiles": marginal.QUANTILES,
            "zero_share": 1,
            "coefficients": len(PROFILE_NAMES) + len(SEASON_NAMES) * self.columns.seasons,
            "acf": len(_ACF),
            "daily": len(_DAILY),
            "away": len(self._away_boxes),
        }
        return dict(zip(widths, np.split(vectors, np.cumsum(list(widths.values()))[:-1], axis=1), strict=True))

    def autocorrelations(self, vectors: np.ndarray) -> np.ndarray:
        """Return those of (H, d) vectors at one and two intervals, a day and a week, (H, 4)."""
        acf = self.parts(vectors)["acf"]
        return np.column_stack([acf[:, 0], acf[:, 0] - acf[:, 1], acf[:, 2], acf[:, 2] - acf[:, 3]])

    def ratio_bounds(self, vectors: np.ndarray) -> np.ndarray:
        """Return the lowest and the highest reading that households of (H, d) vectors may have, (2, H).

        In multiples of their mean size.
        """
        bounds = np.divide.outer(self.reading_kw, np.exp(vectors[:, 0]))
        return np.clip(bounds, -marginal.LARGEST if self.feed_in else 0.0, marginal.LARGEST)

    def quantile_functions(self, vectors: np.ndarray) -> np.ndarray:
        """Return those of the readings of (H, d) vectors in multiples of their mean size, (H, len(SCORES))."""
        parts = self.parts(vectors)
        mean = parts["net_share"][:, 0] if self.feed_in else np.ones(len(vectors))
        zero_share, slots = parts["zero_share"][:, 0], self.calendar.slot_count
        return marginal.quantile_functions(parts["quantiles"], zero_share, mean, slots, self.ratio_bounds(vectors))

    def at_home(self, kw: np.ndarray) -> tuple[np.ndarray, float]:
        """Return (T,) readings of a household without those of spells away, and the share of days in these."""
        if self.feed_in:
            return kw, 0.0
        away, days = days_away(kw, self.columns.day, self.columns.day_count)
        return np.where(away[self.columns.day], np.nan, kw), away.sum() / max(days, 1)

    def expected_ratio(
        self, vectors: np.ndarray, mean: np.ndarray | None = None, columns: Columns | None = None
    ) -> np.ndarray:
        """Return the expected load of (H, d) vectors with somebody at home, in multiples of the mean size, (H, T).

        Its mean over the period is ``mean`` (H,), by default that of all readings.
        """
        parts = self.parts(vectors)
        if mean is None:
            mean = parts["net_share"][:, 0] if self.feed_in else np.ones(len(vectors))
        columns = columns or self.columns
        return columns.expected(parts["coefficients"], mean, self.columns, net_load=self.feed_in)


def _reach(name: str) -> float:
    return next(reach for start, reach in _COEFFICIENTS.items() if name.startswith(start))


def household_vectors(energy_kwh: np.ndarray, settings: VectorSettings) -> np.ndarray:
    """Return the vectors of (H, T) readings in kWh per interval, NaN where missing, (H, d)."""
    out = np.empty((len(energy_kwh), len(settings.entries)))
    for i, row in enumerate(energy_kwh):
        out[i] = _household_vector(np.asarray(row, float) / settings.hours, settings)
    return np.clip(out, *settings.bounds)


def _household_vector(kw: np.ndarray, settings: VectorSettings) -> np.ndarray:
    """Return the vector of one household without clipping, (d,)."""
    slots, largest = settings.calendar.slots_per_day, marginal.LARGEST * settings.mean_kw[1]
    kw = np.clip(np.where(np.isfinite(kw), kw, np.nan), -largest if settings.feed_in else 0.0, largest)
    known = kw[np.isfinite(kw)]
    size = np.abs(known).mean() if known.size >= LEAST_DAYS * slots else 0.0
    if size < _LEAST_KW:
        return _without_readings(known, settings)
    columns, ratio = settings.columns, kw / size
    known = known / size
    quantiles = np.quantile(known, marginal.levels(len(kw)), method="hazen")
    mean, variance = known.mean(), known.var()
    at_home, share_away = settings.at_home(ratio)
    coefficients, residual = _expected_load(at_home, columns, settings.feed_in)
    scale = 1 / variance if variance > _LEAST_VARIANCE else 0.0
    return np.concatenate(
        [
            [np.log(size), *([mean] if settings.feed_in else [])],
            marginal.signed_log(quantiles),
            [(known == 0).mean()],
            coefficients,
            _drops(scale * lag_products(ratio - mean, lags_of(slots))),
            scale * day_products(residual, columns.day, columns.day_count, slots / 2),
            [] if settings.feed_in else [share_away],
        ]
    )


def _drops(acf: np.ndarray) -> np.ndarray:
    """Return the autocorrelations at one interval and a day, each followed by how much less the later one is.

    The later ones follow the earlier closely, so their differences need narrower bounds.
    """
    return np.array([acf[0], acf[0] - acf[1], acf[2], acf[2] - acf[3]])


def _without_readings(known: np.ndarray, settings: VectorSettings) -> np.ndarray:
    """Return the typical vector; that of a home whose readings are all zero has the least mean and only zeros."""
    vector = settings.typical.copy()
    if known.size >= LEAST_DAYS * settings.calendar.slots_per_day:
        parts = settings.parts(vector[None])
        parts["log_mean_kw"][:] = -np.inf
        parts["zero_share"][:] = 1.0
    return vector


def _expected_load(ratio: np.ndarray, columns: Columns, feed_in: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients of M(t) and what M leaves of ``ratio``, (T,)."""
    profile, constant = _regression(ratio, columns.profile, _PROFILE_RIDGE)
    fitted = constant + _products(columns.profile, profile)
    residual = ratio - fitted
    if not columns.seasons:
        return profile, residual
    yearly = (columns.yearly - columns.yearly_mean)[columns.day]
    moving = columns.profile[:, : 2 * SEASON_HARMONICS]
    level = np.ones(len(ratio)) if feed_in else np.maximum(fitted, 0.0)
    products = [yearly * level[:, None], *(yearly[:, k : k + 1] * moving for k in range(2))]
    season_columns = np.ascontiguousarray(np.column_stack(products))
    season, constant = _regression(residual, season_columns, _SEASON_RIDGE)
    return np.concatenate([profile, season]), residual - constant - _products(season_columns, season)


@njit(cache=True, nogil=True)
def _sums(y, columns):
    """Return count and means of the rows with a finite y, and centred sums of products of columns and with y."""
    rows, width = columns.shape
    count, y_mean, mean = 0, 0.0, np.zeros(width)
    for t in range(rows):
        if np.isfinite(y[t]):
            count += 1
            y_mean += y[t]
            for p in range(width):
                mean[p] += columns[t, p]
    y_mean /= count
    mean /= count
    products, with_y, centred = np.zeros((width, width)), np.zeros(width), np.empty(width)
    for t in range(rows):
        if np.isfinite(y[t]):
            for p in range(width):
                centred[p] = columns[t, p] - mean[p]
            for p in range(width):
                with_y[p] += centred[p] * (y[t] - y_mean)
                for q in range(p + 1):
                    products[p, q] += centred[p] * centred[q]
    for p in range(width):
        for q in range(p):
            products[q, p] = products[p, q]
    return y_mean, mean, products, with_y


@njit(cache=True, nogil=True)
def _products(columns, coefficients):
    """Return columns @ coefficients in one order of operations, which a BLAS does not promise."""
    out = np.zeros(len(columns))
    for t in range(len(columns)):
        for p in range(columns.shape[1]):
            out[t] += columns[t, p] * coefficients[p]
    return out


def _regression(y: np.ndarray, columns: np.ndarray, ridge: float) -> tuple[np.ndarray, float]:
    """Regress the finite of (T,) numbers on (T, P) columns and a constant that is not penalised."""
    y_mean, mean, products, with_y = _sums(y, columns)
    coefficients = np.linalg.solve(products + ridge * len(y) * np.eye(len(mean)), with_y)
    return coefficients, y_mean - mean @ coefficients
