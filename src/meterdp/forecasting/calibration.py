"""Intervals that cover: their ends are quantiles of the household's own past errors at the same step.

The distribution (57) is Gaussian and log load is not: its intervals cover too little in the tails and too much in
the middle.
Before an origin the same fit would have forecast every earlier slot of the last days, and what it would have missed
by is known. The interval takes the empirical quantiles of those errors, step by step, in the manner of conformal
prediction (Vovk, Gammerman and Shafer 2005); many of those slots lie in the training window and errors follow one
another, so coverage is measured, not proven. Nothing after the origin enters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

FEWEST = 48  # errors of a step below which the Gaussian distribution is kept


def past_errors(means_log_kwh: np.ndarray, log_kwh: np.ndarray) -> np.ndarray:
    """Return by how much every past forecast missed.

    Parameters
    ----------
    means_log_kwh : (m, h) float64 array
        Forecasts from each of the m slots before an origin, oldest first.
    log_kwh : (m,) float64 array
        Readings of the same slots, NaN where missing.

    Returns
    -------
    (m, h) float64 array
        Reading less forecast; NaN where the reading is missing or lies at or after the origin.
    """
    count, horizon = means_log_kwh.shape
    ahead = np.arange(count)[:, None] + np.arange(horizon)
    reading = np.where(ahead < count, log_kwh[np.minimum(ahead, count - 1)], np.nan)
    return reading - means_log_kwh


def interval_offsets(errors_log_kwh: np.ndarray, std_log_kwh: np.ndarray, levels: Sequence[float]) -> np.ndarray:
    """Return lower and upper ends of central intervals, relative to the forecast.

    Parameters
    ----------
    errors_log_kwh : (m, h) float64 array
        From :func:`past_errors`.
    std_log_kwh : (h,) float64 array
        Of the distribution (57): its quantiles stand in where a step has fewer than 48 past errors.
    levels : sequence of L floats
        Probabilities in (0, 1).

    Returns
    -------
    (L, 2, h) float64 array
        Quantiles (1 - level)/2 and (1 + level)/2 of the past errors, log kWh; the first is never above the second.
    """
    levels = np.asarray(levels, dtype=float)
    tails = np.stack([0.5 - 0.5 * levels, 0.5 + 0.5 * levels], axis=1).ravel()
    distribution = ndtri(tails)[:, None] * std_log_kwh
    offsets = distribution.copy()
    finite = np.isfinite(errors_log_kwh)
    counts = finite.sum(axis=0)
    enough = np.flatnonzero(counts >= FEWEST)
    if enough.size:
        own = np.sort(np.where(finite, errors_log_kwh, np.nan)[:, enough], axis=0)  # NaN last
        # Weibull's positions k/(n + 1): of exchangeable errors a new one falls below the k-th of n that often.
        place = np.clip(tails[:, None] * (counts[enough] + 1) - 1, 0, counts[enough] - 1)
        below = place.astype(np.int64)
        low = np.take_along_axis(own, below, axis=0)
        high = np.take_along_axis(own, np.minimum(below + 1, counts[enough] - 1), axis=0)
        offsets[:, enough] = low + (place - below) * (high - low)
    return offsets.reshape(levels.size, 2, -1)
