"""How well ARMA coefficients forecast, whoever found them: rolling origins, one code for all methods.

Twelve steps from the study's 24 origins and from one every twelve slots, in log kWh and in kWh: there a forecast is
the exponential of the log forecast clipped to the public bounds, the median of the study's forecast files. Methods
are compared on the homes for which both have a stationary fit, each home weighing as much as its squared error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arma_parts.series import Homes
from meterdp.forecasting.arma import ArmaFit
from meterdp.forecasting.rolling import Rolling, TrainingWindow, roll, rolling_origins
from meterdp.forecasting.state_space import arma_system, concentrated_likelihood, kalman_pass, largest_pole
from meterdp.profiles.dense import LogLoad

HORIZON = 12
STUDY_ORIGINS = 24
SCALES = ("log kWh", "kWh")


def as_fit(x: np.ndarray, ar: np.ndarray, ma: np.ndarray) -> ArmaFit | None:
    """Return coefficients of a series as a fit the project can forecast from, None if they are of no use."""
    if not (np.isfinite(ar).all() and np.isfinite(ma).all()) or largest_pole(ar) >= 1.0 or not np.any(np.isfinite(x)):
        return None
    mean = float(np.nanmean(x))
    passed = kalman_pass(arma_system(ar, ma), x - mean)
    variance, log_likelihood, count = concentrated_likelihood(passed.innovation, passed.innovation_scale)
    if not np.isfinite(log_likelihood):
        return None
    return ArmaFit("arma", ar, ma, mean, variance, log_likelihood, count)


def origins_of(homes: Homes) -> dict[str, np.ndarray]:
    """Return first slots of the forecasts: as in the study, and one each ``HORIZON`` slots of the held-out part."""
    start, slots = homes.train.stop, homes.log_kwh.shape[1]
    everywhere = np.arange(start, slots - HORIZON + 1, HORIZON)
    return {
        f"the study's {STUDY_ORIGINS} origins": rolling_origins(start, slots, HORIZON, STUDY_ORIGINS),
        f"all {everywhere.size} origins": everywhere,
    }


def squared_errors(homes: Homes, fits: Sequence[ArmaFit | None], origins: np.ndarray) -> np.ndarray:
    """Return the mean squared error over all origins and steps, (2, H): rows as :data:`SCALES`; NaN without a fit."""
    rows = np.array([i for i, fit in enumerate(fits) if fit is not None], dtype=int)
    errors = np.full((len(SCALES), len(fits)), np.nan)
    if rows.size == 0:
        return errors
    window = TrainingWindow(homes.train, np.arange(origins.size))
    rolling = Rolling([window], origins, HORIZON, cap_slots=None, calibration_slots=0)
    load = LogLoad(rows, homes.log_kwh[rows], homes.seasonal_log_kwh[rows], homes.calendar)
    rolled = roll(load, [[fits[i] for i in rows]], rolling).forecasts
    log_forecast, log_actual = rolled.forecast_log_kwh, rolled.actual_log_kwh
    median_kwh = homes.scale.clipped_kwh(log_forecast)
    off = (log_forecast - log_actual, median_kwh - homes.scale.kwh(log_actual))
    errors[:, rows] = [np.nanmean(e**2, axis=(1, 2)) for e in off]
    return errors


def ratio(ours: np.ndarray, other: np.ndarray) -> tuple[float, float, int]:
    """Return the ratio of summed errors, its standard error paired over homes, and the number of homes.

    The error is that of a ratio estimator: homes are a sample, and both methods forecast the same ones.
    """
    both = np.isfinite(ours) & np.isfinite(other)
    a, b, n = ours[both], other[both], int(both.sum())
    if n < 2:
        return np.nan, np.nan, n
    value = a.sum() / b.sum()
    return value, float(np.std(a - value * b, ddof=1) * np.sqrt(n) / b.sum()), n
