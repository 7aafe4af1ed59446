"""Forecasts in kWh: median, mean and central intervals of the distribution on the log scale, and its moments.

Section V-B of Ramakrishna et al. takes the exponential of a log forecast, the median. The intervals are those of
:mod:`meterdp.forecasting.rolling`. On another scale (:mod:`meterdp.core.log_scale`) its inverse is in the place
of the exponential; it rises as well, so medians and intervals stay what they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import log_ndtr, ndtr

from meterdp.core.log_scale import Bounds, LogScale
from meterdp.core.stamps import local_text, utc_column
from meterdp.profiles.grid import Calendar

ROUNDING = 1e-9  # log kWh; a distribution without spread covers the reading it equals
NODES = 64  # of Gauss and Legendre: 12 digits up to a standard deviation of 5 in log kWh


def energy_columns(
    household: np.ndarray,
    mean_log_kwh: np.ndarray,
    std_log_kwh: np.ndarray,
    interval_log_kwh: np.ndarray,
    calendar: Calendar,
    origin: int,
    levels: Sequence[float],
    scale: LogScale,
) -> dict:
    """Return the columns of table ``forecasts_kwh`` from the Gaussian distribution (H, h) of every step and interval
    ends (H, L, 2, h).

    ``origin`` is the slot of the first step. The distribution is that of the clipped reading, so the mean is that of
    the clipped distribution; on a plain log with bounds far away it is exp(m + s^2/2).
    """
    shape = (*mean_log_kwh.shape, len(levels))
    at = np.indices(shape).reshape(3, -1)
    stamps = calendar.start_utc[origin : origin + shape[1]]
    local = np.array(local_text(stamps, calendar.time_zone), dtype=object)
    lower, upper = np.moveaxis(scale.kwh(interval_log_kwh), (2, 3), (0, 2))
    values = {
        "median_kwh": np.broadcast_to(scale.kwh(mean_log_kwh)[:, :, None], shape),
        "mean_kwh": np.broadcast_to(censored_moment(mean_log_kwh, std_log_kwh, scale, 1)[:, :, None], shape),
        "lower_kwh": lower,
        "upper_kwh": upper,
    }
    return {
        "household": np.asarray(household, np.int32)[at[0]],
        "step": (at[1] + 1).astype(np.int32),
        "interval_start_utc": utc_column(stamps[at[1]]),
        "interval_start_local": local[at[1]],
        "level": np.asarray(levels, dtype=float)[at[2]],
        **{name: np.clip(value, *scale.bounds_kwh).ravel() for name, value in values.items()},
    }


def censored_moment(log_median: np.ndarray, std: np.ndarray, scale: LogScale, order: int) -> np.ndarray:
    """Return E[X^order] of energy X = clip(x(Z), a, b) for Z ~ N(log_median, std^2), elementwise; exact.

    ``scale`` has x(.), from log kWh to kWh, and the bounds a and b. Clipping the energy is clipping Z, and X^k is a
    polynomial of e^Z and e^-Z (``LogScale.powers``): e^(k Z) on a plain log, that of e^Z - o above an offset, that of
    e^Z - c^2 e^-Z on a signed one.
    """
    bounds = Bounds(*(scale.log(np.asarray(bound, dtype=float)) for bound in scale.bounds_kwh))
    return _moment(log_median, std, bounds, scale, order)


def censored_crps(log_median: np.ndarray, std: np.ndarray, target: np.ndarray, scale: LogScale) -> np.ndarray:
    """Return the continuous ranked probability score E|X - t| - E|X - X'| / 2 in kWh, for X and t as in
    :func:`censored_absolute_error` and X' like X; elementwise.

    E|X - X'| / 2 is the integral of F (1 - F) over energies, which is smooth in log kWh: Gauss-Legendre from bound to
    bound, or as far as it is not zero to the last digit.
    """
    reach = 9.0 + std
    ends = [
        np.where(std > 0, (bound - log_median) / np.where(std > 0, std, 1.0), 0.0) for bound in scale.bounds_log_kwh
    ]
    low, high = (np.clip(end, -reach, reach) for end in ends)
    half, spread = 0.5 * (high - low), np.zeros(np.shape(target))
    for node, weight in zip(*np.polynomial.legendre.leggauss(NODES), strict=True):
        u = low + half * (1.0 + node)
        slope = sum(c * p * np.exp(p * (log_median + std * u)) for p, c in scale.powers(1).items())
        spread += weight * half * std * slope * ndtr(u) * ndtr(-u)
    return censored_absolute_error(log_median, std, target, scale) - spread


def _moment(log_median, std, bounds_log: Bounds, scale: LogScale, order: int) -> np.ndarray:
    """Return the moment for Z clipped to bounds in log kWh, floats or arrays that broadcast."""
    terms = scale.powers(order).items()
    return sum(c * (_censored_exponential(log_median, std, bounds_log, p) if p else 1.0) for p, c in terms)


def _censored_exponential(log_median, std, bounds_log: Bounds, order: int) -> np.ndarray:
    """Return E[e^(k clip(Z, a, b))] for Z ~ N(log_median, std^2) and any power k, without overflow for wide noise.

    e^(k a) Phi(u_a) + e^(k b) Phi(-u_b) + e^(k f + k^2 s^2 / 2) (Phi(u_b - k s) - Phi(u_a - k s)), u_c = (c - f)/s.
    The last term is taken in logs, on the side of the tail on which the difference does not cancel.
    """
    low, high = bounds_log
    f, s = np.broadcast_arrays(log_median, std)
    point = np.exp(order * np.clip(f, low, high))
    s_safe = np.where(s > 0, s, 1.0)
    u_low, u_high = (low - f) / s_safe, (high - f) / s_safe
    top, bottom = u_high - order * s_safe, u_low - order * s_safe
    flip = bottom > 0
    larger = log_ndtr(np.where(flip, -bottom, top))
    smaller = log_ndtr(np.where(flip, -top, bottom))
    with np.errstate(divide="ignore"):
        between = larger + np.log(-np.expm1(np.minimum(smaller - larger, 0.0)))
    inside = np.exp(order * f + 0.5 * (order * s_safe) ** 2 + between)
    ends = np.exp(order * low + log_ndtr(u_low)) + np.exp(order * high + log_ndtr(-u_high))
    return np.where(s > 0, ends + inside, point)


def censored_absolute_error(
    log_median: np.ndarray, std: np.ndarray, target: np.ndarray, scale: LogScale
) -> np.ndarray:
    """Return E|X - t| for X as in :func:`censored_moment` and targets t from a to b in kWh, elementwise.

    |X - t| = X + t - 2 min(X, t), and min(X, t) is the energy clipped to a and t.
    """
    low, high = (scale.log(values) for values in (np.full_like(target, scale.low_kwh), target))
    below = _moment(log_median, std, Bounds(low, high), scale, 1)
    return np.maximum(censored_moment(log_median, std, scale, 1) + target - 2 * below, 0.0)
