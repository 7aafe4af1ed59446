"""How often the intervals of a forecast cover, and how wide they are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import ndtr, ndtri

from meterdp.core.log_scale import LogScale
from meterdp.errors import InputError
from meterdp.evaluation.forecast_errors import Released
from meterdp.forecasting.energy import ROUNDING, censored_moment
from meterdp.forecasting.rolling import ForecastSet


def interval_rows(
    forecasts: ForecastSet,
    ends: Mapping[float, np.ndarray],
    scale: LogScale,
    released: Released | None = None,
) -> list[dict]:
    """Return rows of table ``forecast_intervals`` for the forecast, or for released forecasts.

    Parameters
    ----------
    forecasts : ForecastSet
        With ``forecast_std_log_kwh``.
    ends : mapping
        Level -> lower and upper ends (2, H, n, h) of the calibrated intervals about ``forecast_log_kwh``, log kWh.
    scale : LogScale
        Of the energy in an interval.
    released : Released, optional
        Of the same households and origins.

    Notes
    -----
    The interval sits at the released forecast r + n with n ~ N(0, s^2), so the noise enters its position by exact
    expectation. An end that lies q from the forecast lies sqrt(q^2 + (z s)^2) from the released one, on its side,
    where z is the normal quantile of the level: for the Gaussian distribution (57) that is the interval of its
    variance plus
    s^2. A reading y is covered with probability Phi((y - r + low)/s) - Phi((y - r - high)/s). What a design shifts is
    not in it: the recipient does not know it.
    """
    mean = forecasts.forecast_log_kwh if released is None else released.mean_log_kwh
    noise = np.zeros_like(mean) if released is None else np.broadcast_to(released.noise_std_log_kwh, mean.shape)
    seen = np.isfinite(forecasts.actual_log_kwh)
    judged = seen.any(axis=(1, 2))
    if not judged.any() and released is None:
        raise InputError("no held-out reading to judge", field="origins", hint="give a longer export")
    gap = np.where(seen, forecasts.actual_log_kwh - mean, 0.0)
    spread = np.where(noise > 0, noise, 1.0)
    rows = []
    for level, (lower, upper) in ends.items():
        z = ndtri(0.5 + 0.5 * level)
        distribution = z * forecasts.forecast_std_log_kwh
        own = {
            "calibrated": (forecasts.forecast_log_kwh - lower, upper - forecasts.forecast_log_kwh),
            "law": (distribution, distribution),
        }
        for interval, sides in own.items():
            low, high = (np.where(side < 0, -1.0, 1.0) * np.hypot(side, z * noise) for side in sides)
            by_chance = ndtr((gap + low) / spread) - ndtr((gap - high) / spread)
            within = (gap >= -low - ROUNDING) & (gap <= high + ROUNDING)
            inside = np.where(noise > 0, by_chance, within)
            width = np.subtract(*(censored_moment(mean + side, noise, scale, 1) for side in (high, -low)))
            coverage, coverage_se = _over_households(inside, seen)
            rows.append(
                {
                    "method": "arma" if released is None else "released",
                    "interval": interval,
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
