"""Errors of forecasts, of naive forecasts and of released forecasts, in log kWh and in kWh.

Section VI-B of Ramakrishna et al. names a normalised mean squared error without defining it. Here, per household,

* nmse = sum (forecast - actual)^2 / sum actual^2 in the named scale, the usual reading; mean over households.
  In log kWh it depends on the unit of energy: a reading near 1 kWh has a logarithm near zero.
* relative_mse = sum (forecast - actual)^2 / sum (actual - mean of the household's held-out readings)^2, both sums
  over all households; one means no better than the mean, in any unit.

All methods are judged on the same cells: those where the reading and both naive forecasts exist. The noise of a
released forecast enters by its exact expectation, not by a draw.
"""

from __future__ import annotations

import numpy as np

from meterdp.core.errors import InputError
from meterdp.forecasting.rolling import METHODS, ForecastSet

SCALES = ("log_kwh", "kwh")


def forecast_errors(forecasts: ForecastSet) -> list[dict]:
    """Return rows of table ``forecast_errors`` for the ARMA forecast and the naive ones.

    In kWh a forecast is the exponential of the log forecast, the median of the log-normal law, as in (62).

    Parameters
    ----------
    forecasts : ForecastSet
        From :func:`meterdp.forecasting.rolling.roll`.
    """
    rows = []
    for method, name in METHODS.items():
        log_forecast = getattr(forecasts, name)
        squared = {
            "log_kwh": (log_forecast - forecasts.actual_log_kwh) ** 2,
            "kwh": (np.exp(log_forecast) - np.exp(forecasts.actual_log_kwh)) ** 2,
        }
        rows += [_row(forecasts, squared[scale], scale, method, "none", 0.0) for scale in SCALES]
    return rows


def released_errors(forecasts: ForecastSet, noise_variance: np.ndarray, design: str, rho: float) -> list[dict]:
    """Return rows of table ``forecast_errors`` for the ARMA forecast with Gaussian noise added.

    With f the log forecast, y the reading in kWh and s^2 the noise variance of the step, the expected squared error
    is (f - ln y)^2 + s^2 in log kWh and E(e^(f+n) - y)^2 = e^(2f + 2 s^2) - 2 y e^(f + s^2/2) + y^2 in kWh: the
    accuracy after the exponential that section V-B leaves out.

    Parameters
    ----------
    forecasts : ForecastSet
        From :func:`meterdp.forecasting.rolling.roll`.
    noise_variance : (H, h) float64 array
        Diagonal of each household's noise covariance, (log kWh)^2, in the order of ``forecasts.household``.
    design : str
        Name of the noise design.
    rho : float
        Its accuracy budget, (log kWh)^2.
    """
    f, y = forecasts.forecast_log_kwh, np.exp(forecasts.actual_log_kwh)
    s2 = np.asarray(noise_variance, dtype=float)[:, None, :]
    squared = {
        "log_kwh": (f - forecasts.actual_log_kwh) ** 2 + s2,
        "kwh": np.exp(2 * f + 2 * s2) - 2 * y * np.exp(f + s2 / 2) + y**2,
    }
    return [_row(forecasts, squared[scale], scale, "released", design, rho) for scale in SCALES]


def _row(forecasts: ForecastSet, squared_error: np.ndarray, scale: str, method: str, design: str, rho: float) -> dict:
    """Average (H, n, h) squared errors over the cells every method covers."""
    common = np.isfinite(forecasts.actual_log_kwh)
    for name in METHODS.values():
        common &= np.isfinite(getattr(forecasts, name))
    actual = forecasts.actual_log_kwh if scale == "log_kwh" else np.exp(forecasts.actual_log_kwh)
    cells = common.sum(axis=(1, 2))
    judged = cells > 0
    if not judged.any():
        raise InputError(
            "no held-out reading has a reading one week before it",
            field="origins",
            remedy="give an export of more than a week before the first origin",
        )
    error = np.where(common, squared_error, 0.0).sum(axis=(1, 2))[judged]
    size = np.where(common, actual**2, 0.0).sum(axis=(1, 2))[judged]
    mean = np.where(common, actual, 0.0).sum(axis=(1, 2))[judged] / cells[judged]
    deviation = np.where(common[judged], actual[judged] - mean[:, None, None], 0.0)
    nmse = error / size
    return {
        "method": method,
        "design": design,
        "rho": float(rho),
        "scale": scale,
        "mse": error.sum() / cells.sum(),
        "nmse": nmse.mean(),
        "nmse_se": nmse.std(ddof=1) / np.sqrt(nmse.size) if nmse.size > 1 else np.nan,
        "relative_mse": error.sum() / (deviation**2).sum(),
        "household_count": int(judged.sum()),
        "origin_count": squared_error.shape[1],
    }
