"""A household's readings over a period as one bounded vector: a function of its own rows and public settings alone.

What is in it: the mean power; quantiles of the readings in multiples of the mean; the share of zeros; coefficients of
the expected load (columns.py); autocorrelations of the readings, and variance and autocorrelation of daily means
about the expected load. Every entry is clipped to public bounds, so the vector lies in a box. A household is computed
by itself, in one order of operations: the same rows give the same bits whatever else is in the batch.

Defined behaviour: a missing reading is left out of every sum; an hour that comes twice counts twice; without feed-in
a negative reading counts as zero; readings are clipped to a public bound; a household with readings of less than a
week has the public typical vector. Ridge penalties shrink what few readings cannot tell, seasons first.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from meterdp.core.compiled import njit
from meterdp.households import marginal
from meterdp.households.columns import PROFILE_NAMES, SEASON_HARMONICS, SEASON_NAMES, Columns
from meterdp.households.correlations import day_products, lag_products, lags_of
from meterdp.profiles.grid import Calendar

LEAST_DAYS = 7
# A home that uses less counts as one without load; readings that vary less, in squared means, as constant.
_LEAST_KW, _LEAST_VARIANCE = 1e-9, 1e-12
# Penalties of the regressions, in rows of the whole period; a column of harmonics weighs about half of the rows.
_PROFILE_RIDGE, _SEASON_RIDGE = 0.001, 0.005
# Lowest logs of quantiles without feed-in: of lower levels it is that of zero, of higher levels that of the mean.
_LOW_QUANTILES = {0.65: -2.5, 0.8: -1.5, 0.9: -1.0, 0.95: -0.5}
_ACF_NAMES = ("acf_interval", "acf_two_intervals", "acf_day", "acf_week")
_DAILY_NAMES = ("daily_variance", "daily_covariance_1", "daily_covariance_7")


@dataclass(frozen=True)
class Entry:
    """One entry of the vector: public bounds, and the value of a household without enough readings."""

    name: str
    unit: str
    low: float
    high: float
    typical: float


@dataclass(frozen=True)
class VectorSettings:
    """Public settings: the period and its local calendar, days off, and bounds.

    ``feed_in`` says that readings are net load: negative where a home exports.
    """

    calendar: Calendar
    days_off: tuple[date, ...] = ()
    feed_in: bool = False
    mean_kw: tuple[float, float] = (0.02, 20.0)

    @cached_property
    def columns(self) -> Columns:
        return Columns(self.calendar, self.days_off)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Name, unit, bounds and typical value of every entry, in order."""
        return (
            Entry("log_mean_kw", "ln kW", *np.log(self.mean_kw), float(np.mean(np.log(self.mean_kw)))),
            *([Entry("net_share", "1", -1.0, 1.0, 1.0)] if self.feed_in else []),
            *self._quantile_entries(),
            Entry("zero_share", "1", 0.0, 1.0, 0.0),
            *(_coefficient(name) for name in PROFILE_NAMES),
            *(_coefficient(name) for name in SEASON_NAMES if self.columns.seasons),
            *(Entry(name, "1", -0.6, 1.0, 0.3) for name in _ACF_NAMES),
            Entry(_DAILY_NAMES[0], "1", 0.0, 1.0, 0.1),
            *(Entry(name, "1", -0.3, 1.0, 0.0) for name in _DAILY_NAMES[1:]),
        )

    def _quantile_entries(self) -> list[Entry]:
        """Bounds of quantiles: without feed-in no more than 1 / (1 - level) of readings' means can lie above one."""
        levels = marginal.levels(self.calendar.slot_count)
        names = ["lowest", *(f"quantile_{100 * level:g}" for level in marginal.INNER_LEVELS), "highest"]
        highest = float(marginal.signed_log(marginal.LARGEST))
        entries = []
        for name, level, score in zip(names, levels, ndtri(levels), strict=True):
            if self.feed_in:
                low, high = -highest + 2 * np.log(marginal.NEAR_ZERO), highest
            else:
                low = _LOW_QUANTILES.get(level, 0.0 if level > 0.95 else float(np.log(marginal.NEAR_ZERO)))
                high = min(highest, float(marginal.signed_log(1 / (1 - level))))
            # A lognormal distribution of mean one and logarithmic standard deviation 0.7.
            typical = float(np.clip(0.7 * score - 0.7**2 / 2, low, high))
            entries.append(Entry(name, "ln of multiples of the mean", low, high, typical))
        return entries

    @property
    def names(self) -> list[str]:
        return [entry.name for entry in self.entries]

    @cached_property
    def bounds(self) -> np.ndarray:
        """Lowest and highest values, (2, d)."""
        return np.array([[entry.low for entry in self.entries], [entry.high for entry in self.entries]])

    @cached_property
    def typical(self) -> np.ndarray:
        return np.array([entry.typical for entry in self.entries])

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
            "acf": len(_ACF_NAMES),
            "daily": len(_DAILY_NAMES),
        }
        return dict(zip(widths, np.split(vectors, np.cumsum(list(widths.values()))[:-1], axis=1), strict=True))

    def expected_ratio(self, vectors: np.ndarray, columns: Columns | None = None) -> np.ndarray:
        """Return the expected load of (H, d) vectors in multiples of the mean size, (H, T)."""
        parts = self.parts(vectors)
        mean = parts["net_share"][:, 0] if self.feed_in else np.ones(len(vectors))
        return (columns or self.columns).expected(parts["coefficients"], mean, self.columns)


def _coefficient(name: str) -> Entry:
    """Bounds by kind; no harmonic of a load that is never negative is above twice its mean."""
    if name.startswith("day_"):
        bound = 1.2 if int(name[-1]) <= 2 else 0.8
    else:
        bound = 0.6 if "_day_" in name and name.startswith("year") else 1.0
    return Entry(name, "1", -bound, bound, 0.0)


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
    coefficients, residual = _expected_load(ratio, columns, settings.feed_in)
    scale = 1 / variance if variance > _LEAST_VARIANCE else 0.0
    return np.concatenate(
        [
            [np.log(size), *([mean] if settings.feed_in else [])],
            marginal.signed_log(quantiles),
            [(known == 0).mean()],
            coefficients,
            scale * lag_products(ratio - mean, lags_of(slots)),
            scale * day_products(residual, columns.day, columns.day_count, slots / 2),
        ]
    )


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
    level = fitted if feed_in else np.maximum(fitted, 0.0)
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
