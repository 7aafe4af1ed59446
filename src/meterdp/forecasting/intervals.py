"""Forecasts in kWh: median, mean and central intervals of the log-normal law, and how often the intervals cover.

Section V-B of Ramakrishna et al. takes the exponential of a log forecast, the median. The intervals follow from (57);
those of a released forecast count the variance of its noise as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from meterdp.core.errors import InputError
from meterdp.core.stamps import local_text, utc_column
from meterdp.forecasting.errors import Released, censored_moment
from meterdp.forecasting.rolling import ForecastSet
from meterdp.profiles.grid import Calendar

ROUNDING = 1e-9  # log kWh; a law without spread covers the reading it equals


def energy_columns(
    household: np.ndarray,
    mean_log_kwh: np.ndarray,
    std_log_kwh: np.ndarray,
    calendar: Calendar,
    origin: int,
    levels: Sequence[float],
    bounds_kwh: tuple[float, float],
) -> dict:
    """Return the columns of table ``forecasts_kwh``.

    Parameters
    ----------
    household : (H,) int array
        Dense indices.
    mean_log_kwh, std_log_kwh : (H, h) float64 arrays
        Gaussian law of every step.
    calendar : Calendar
        Of the study.
    origin : int
        Slot of the first step.
    levels : sequence of float
        Probabilities of the central intervals.
    bounds_kwh : (float, float)
        Public bounds of the energy in an interval, kWh.

    Notes
    -----
    The law is that of the clipped reading, so the mean is that of the clipped log-normal; where the bounds are far
    away it is exp(m + s^2/2).
    """
    shape = (*mean_log_kwh.shape, len(levels))
    at = np.indices(shape).reshape(3, -1)
    stamps = calendar.start_utc[origin : origin + shape[1]]
    local = np.array(local_text(stamps, calendar.time_zone), dtype=object)
    reach = ndtri(0.5 + 0.5 * np.asarray(levels, dtype=float))
    values = {
        "median_kwh": np.broadcast_to(np.exp(mean_log_kwh)[:, :, None], shape),
        "mean_kwh": np.broadcast_to(censored_moment(mean_log_kwh, std_log_kwh, bounds_kwh, 1)[:, :, None], shape),
        "lower_kwh": np.exp(mean_log_kwh[:, :, None] - reach * std_log_kwh[:, :, None]),
        "upper_kwh": np.exp(mean_log_kwh[:, :, None] + reach * std_log_kwh[:, :, None]),
    }
    return {
        "household": np.asarray(household, np.int32)[at[0]],
        "step": (at[1] + 1).astype(np.int32),
        "interval_start_utc": utc_column(stamps[at[1]]),
        "interval_start_local": local[at[1]],
        "level": np.asarray(levels, dtype=float)[at[2]],
        **{name: np.clip(value, *bounds_kwh).ravel() for name, value in values.items()},
    }


def interval_rows(
    forecasts: ForecastSet,
    levels: Sequence[float],
    bounds_kwh: tuple[float, float],
    released: Released | None = None,
) -> list[dict]:
    """Return rows of table ``forecast_intervals`` for the forecast, or for released forecasts.

    Parameters
    ----------
    forecasts : ForecastSet
        With ``forecast_std_log_kwh``.
    levels : sequence of float
        Probabilities of the central intervals.
    bounds_kwh : (float, float)
        Public bounds of the energy in an interval, kWh.
    released : Released, optional
        Of the same households and origins.

    Notes
    -----
    The interval is centred at the released forecast r + n with n ~ N(0, s^2), so the noise enters its position by
    exact expectation: a reading y is covered with probability Phi((y - r + z t)/s) - Phi((y - r - z t)/s), where
    t^2 is the variance of (57) plus s^2. What a design shifts is not in t: the recipient does not know it.
    """
    mean = forecasts.forecast_log_kwh if released is None else released.mean_log_kwh
    noise = np.zeros_like(mean) if released is None else np.broadcast_to(released.noise_std_log_kwh, mean.shape)
    total = np.sqrt(forecasts.forecast_std_log_kwh**2 + noise**2)
    seen = np.isfinite(forecasts.actual_log_kwh)
    judged = seen.any(axis=(1, 2))
    if not judged.any() and released is None:
        raise InputError("no held-out reading to judge", field="origins", remedy="give a longer export")
    gap = np.where(seen, forecasts.actual_log_kwh - mean, 0.0)
    spread = np.where(noise > 0, noise, 1.0)
    rows = []
    for level in levels:
        reach = ndtri(0.5 + 0.5 * level) * total
        by_chance = ndtr((gap + reach) / spread) - ndtr((gap - reach) / spread)
        inside = np.where(noise > 0, by_chance, np.abs(gap) <= reach + ROUNDING)
        width = np.subtract(*(censored_moment(mean + s * reach, noise, bounds_kwh, 1) for s in (1.0, -1.0)))
        coverage, coverage_se = _over_households(inside, seen)
        rows.append(
            {
                "method": "arma" if released is None else "released",
                "design": "none" if released is None else released.design,
                "query_model": "" if released is None else released.query_model,
                "rho": 0.0 if released is None else float(released.rho),
                "level": float(level),
                "coverage": coverage,
                "coverage_se": coverage_se,
                "mean_width_kwh": _over_households(width, seen)[0],
                "household_count": int(judged.sum()),
                "origin_count": mean.shape[1],
            }
        )
    return rows


def _over_households(values: np.ndarray, seen: np.ndarray) -> tuple[float, float]:
    """Mean over households of their mean over seen cells, and its standard error; NaN where there are too few."""
    count = seen.sum(axis=(1, 2))
    own = np.where(seen, values, 0.0).sum(axis=(1, 2))[count > 0] / count[count > 0]
    if own.size == 0:
        return np.nan, np.nan
    return float(own.mean()), float(own.std(ddof=1) / np.sqrt(own.size)) if own.size > 1 else np.nan
