"""From a household's vector to the Gaussian series behind its readings.

Readings are r(t) = g(a(t) + e(t)): g increases, a is the expected load on a latent scale and e is a stationary
Gaussian series of variance one. For a household, three things are found on grids, without drawing anything:

* a(t) and g, such that E r(t) is the expected load M(t) and the readings of the period have the household's quantile
  function: g(y) = Q(F(y)), where F is the distribution of a(t) + e(t) over the period;
* the covariance of readings as a function of the correlation rho of e, which is
  mean over t of E[g(a + sqrt(rho) u + sqrt(1 - rho) v)^2 given u] - E r^2 with u, v standard normal (Mehler's formula
  says the same as a series);
* so the correlations of e at a few lags that give the readings the autocorrelations of the vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from meterdp.core.compiled import njit
from meterdp.households.marginal import SCORE_STEP, SCORES, variances

_STEP = 1 / 16
# Latent means and latent values.
MEANS = np.arange(-6, 6 + _STEP / 2, _STEP)
VALUES = np.arange(-11, 11 + _STEP / 2, _STEP)
# Correlations at which the covariance of readings is tabulated.
CORRELATIONS = np.array([0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.88, 0.94, 0.98, 1.0])
_BINS = 240
# Points between the least and the greatest expected load of a household.
_GRID = 1024
# Steps of the search for latent means, longer than a plain one, as those go too slowly to the same side.
_ITERATIONS, _STRIDE = 10, 1.6


def _smoothing(to: np.ndarray, std: float) -> np.ndarray:
    """Weights of the values in a mean over a normal distribution around each of ``to``, (len(to), len(VALUES))."""
    weights = np.exp(-0.5 * ((to[:, None] - VALUES) / max(std, 1e-3)) ** 2)
    return weights / weights.sum(axis=1, keepdims=True)


@lru_cache(maxsize=1)
def _tables() -> tuple[np.ndarray, np.ndarray, list[np.ndarray], list[np.ndarray]]:
    """P(a + e <= y), the mean over e, and the means over v and over u for every correlation."""
    below = ndtr(VALUES - MEANS[:, None])
    over_e = _smoothing(MEANS, 1.0)
    over_v = [_smoothing(VALUES, np.sqrt(1 - rho)) for rho in CORRELATIONS]
    over_u = [_smoothing(MEANS, np.sqrt(rho)) for rho in CORRELATIONS]
    return below, over_e, over_v, over_u


@njit(cache=True, nogil=True)
def _histograms(values, bins):
    """Return shares and middles of equal bins of every row, (H, bins) each."""
    share, middle = np.zeros((len(values), bins)), np.empty((len(values), bins))
    for i in range(len(values)):
        low, high = values[i].min(), values[i].max()
        width = (high - low) / bins
        for b in range(bins):
            middle[i, b] = low + width * (b + 0.5)
        for value in values[i]:
            b = int((value - low) / width) if width > 0 else 0
            share[i, min(b, bins - 1)] += 1 / values.shape[1]
    return share, middle


@njit(cache=True, nogil=True)
def _weights_on_grid(values, weights, first, step, size):
    """Return the distribution of (n,) weighted values, shared between the two nearest points of a grid, (size,)."""
    out = np.zeros(size)
    for i in range(len(values)):
        at = min(max((values[i] - first) / step, 0.0), size - 1.000001)
        k = int(at)
        out[k] += weights[i] * (k + 1 - at)
        out[k + 1] += weights[i] * (at - k)
    return out


@njit(cache=True, nogil=True)
def _at(table, positions):
    """Interpolate a table at (n,) positions from 0 to its last index."""
    out = np.empty(len(positions))
    for t in range(len(positions)):
        k = min(int(positions[t]), len(table) - 2)
        out[t] = table[k] + (positions[t] - k) * (table[k + 1] - table[k])
    return out


def _scores(distribution: np.ndarray) -> np.ndarray:
    """Return the scores of VALUES in the distribution of a + e, (H, len(VALUES)), from that of a over MEANS."""
    below, *_ = _tables()
    lower = ndtri(np.clip(distribution @ below, 1e-300, 1))
    upper = -ndtri(np.clip(distribution @ (1 - below), 1e-300, 1))
    # The smaller tail is the exact one.
    scores = np.where(lower < 0, lower, upper)
    return np.clip(scores, SCORES[0], SCORES[-1])


def _at_scores(table: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Interpolate rows of a table over SCORES at (H, m) scores."""
    at = np.clip((scores - SCORES[0]) / SCORE_STEP, 0, table.shape[1] - 1.000001)
    left = at.astype(int)
    rows = np.arange(len(table))[:, None]
    return table[rows, left] * (left + 1 - at) + table[rows, left + 1] * (at - left)


@dataclass(frozen=True)
class Readings:
    """The map from latent values to readings of H households."""

    reading: np.ndarray  # g at VALUES, (H, len(VALUES))
    expected: np.ndarray  # E g(a + e) at MEANS, (H, len(MEANS))
    shift: np.ndarray  # what makes the latent means of the reference period zero on average, (H,)
    distribution: np.ndarray  # of a over MEANS in the reference period, (H, len(MEANS))
    scores: np.ndarray  # normal scores of VALUES in the reference period, (H, len(VALUES))

    def latent_means(self, expected: np.ndarray, household: int, known: float = 0.0) -> np.ndarray:
        """Return a(t) of one household from its (T,) expected load, given ``known`` of the variance of e."""
        low, high = expected.min(), expected.max()
        grid = np.linspace(low, high, _GRID)
        reading = self.expected[household]
        if known:
            reading = np.maximum.accumulate(_smoothing(MEANS, np.sqrt(1 - known)) @ self.reading[household])
        means = np.interp(grid, reading, MEANS) - self.shift[household]
        return _at(means, (expected - low) * ((_GRID - 1) / max(high - low, 1e-12)))

    def variances(self, latent_means: np.ndarray, household: int) -> np.ndarray:
        """Return the variance of one household's reading at (T,) latent means, (T,)."""
        _, over_e, *_ = _tables()
        square = over_e @ self.reading[household] ** 2
        return np.interp(latent_means, MEANS, np.maximum(square - self.expected[household] ** 2, 0.0))

    def scores_of(self, latent_means: np.ndarray) -> np.ndarray:
        """Return the normal scores of VALUES for other (T,) latent means, (len(VALUES),)."""
        share = np.full(len(latent_means), 1 / len(latent_means))
        weights = _weights_on_grid(latent_means, share, MEANS[0], _STEP, len(MEANS))
        return _scores(weights[None])[0]


def _first_means(quantile_function: np.ndarray, share: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """Return normal scores of the expected loads, spread as their share of the variance of readings asks for."""
    explained = (share * (middle - (share * middle).sum(axis=1, keepdims=True)) ** 2).sum(axis=1)
    ratio = np.clip(explained / np.maximum(variances(quantile_function), 1e-12), 0.0, 0.95)
    scores = ndtri(np.clip(np.cumsum(share, axis=1) - share / 2, 1e-4, 1 - 1e-4))
    return scores * np.sqrt(ratio / (1 - ratio))[:, None]


def find_readings(quantile_function: np.ndarray, expected: np.ndarray) -> Readings:
    """Find the map for (H, len(SCORES)) quantile functions and (H, T) expected loads of the reference period."""
    _, over_e, *_ = _tables()
    share, middle = _histograms(expected, _BINS)
    means = _first_means(quantile_function, share, middle)
    for _ in range(_ITERATIONS):
        distribution = np.array(
            [_weights_on_grid(a, w, MEANS[0], _STEP, len(MEANS)) for a, w in zip(means, share, strict=True)]
        )
        scores = _scores(distribution)
        reading = _at_scores(quantile_function, scores)
        smooth = reading @ over_e.T
        found = np.array([np.interp(m, g, MEANS) for m, g in zip(middle, smooth, strict=True)])
        shift = (share * found).sum(axis=1)
        means = np.clip(means + _STRIDE * (found - shift[:, None] - means), MEANS[0], MEANS[-1])
    return Readings(reading, smooth, shift, distribution, scores)


@dataclass(frozen=True)
class Covariances:
    """Covariance of readings about their expected load as a function of the latent correlation, of H households."""

    table: np.ndarray  # at CORRELATIONS, (H, len(CORRELATIONS)), increasing from 0
    # What is left of it, by the first order, between any two hours of a day: (mean slope)^2 over the mean square.
    between_hours: np.ndarray

    @classmethod
    def of(cls, readings: Readings) -> Covariances:
        """Integrate over the reference period."""
        _, _, over_v, over_u = _tables()
        second = np.empty((len(readings.reading), len(CORRELATIONS)))
        for k in range(len(CORRELATIONS)):
            given_u = readings.reading @ over_v[k].T
            second[:, k] = (readings.distribution * (given_u**2 @ over_u[k].T)).sum(axis=1)
        table = np.maximum.accumulate(second - second[:, :1], axis=1)
        slopes = np.gradient(readings.expected, _STEP, axis=1)
        square = (readings.distribution * slopes**2).sum(axis=1)
        mean = (readings.distribution * slopes).sum(axis=1)
        ratio = mean**2 / np.maximum(square, 1e-12)
        return cls(table, np.clip(ratio, 0.2, 1.0))

    @property
    def variance(self) -> np.ndarray:
        return self.table[:, -1]

    def correlations(self, household: int, covariances: np.ndarray) -> np.ndarray:
        """Return the latent correlations of (k,) covariances; below zero as much as above."""
        increasing = self.table[household] + 1e-12 * np.arange(len(CORRELATIONS))
        return np.sign(covariances) * np.interp(np.abs(covariances), increasing, CORRELATIONS)
