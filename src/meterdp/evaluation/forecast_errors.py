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

from dataclasses import dataclass

import numpy as np

from meterdp.core.errors import InputError
from meterdp.forecasting.energy import censored_moment
from meterdp.forecasting.rolling import METHODS, ForecastSet

SCALES = ("log_kwh", "kwh")


def forecast_errors(forecasts: ForecastSet) -> list[dict]:
    """Return rows of table ``forecast_errors`` for the ARMA forecast and the naive ones.

    In kWh a forecast is the exponential of the log forecast, the median of the log-normal law, as in (62).

    Parameters
    ----------
    forecasts : ForecastSet
        From :func:`meterdp.forecasting.rolling.roll`.

    Raises
    ------
    InputError
        If there is no cell that every method covers.
    """
    rows = []
    for method, name in METHODS.items():
        log_forecast = getattr(forecasts, name)
        squared = {
            "log_kwh": (log_forecast - forecasts.actual_log_kwh) ** 2,
            "kwh": (np.exp(log_forecast) - np.exp(forecasts.actual_log_kwh)) ** 2,
        }
        rows += [_row(forecasts, squared[scale], scale, method, "none", 0.0) for scale in SCALES]
    if not rows[0]["household_count"]:
        raise InputError(
            "no held-out reading has a reading one week before it",
            field="origins",
            remedy="give an export of more than a week before the first origin",
        )
    return rows


@dataclass(frozen=True)
class Released:
    """Released forecasts of a :class:`ForecastSet`: their mean and the noise about it.

    Parameters
    ----------
    design, query_model : str
        What made them.
    rho : float
        Accuracy budget, (log kWh)^2.
    mean_log_kwh : (H, n, h) float64 array
        Forecasts after everything a design does for certain.
    noise_std_log_kwh : array, broadcasts to (H, n, h)
        Standard deviation of the Gaussian noise added.
    """

    design: str
    query_model: str
    rho: float
    mean_log_kwh: np.ndarray
    noise_std_log_kwh: np.ndarray


def released_errors(forecasts: ForecastSet, released: Released, bounds_kwh: tuple[float, float]) -> list[dict]:
    """Return rows of table ``forecast_errors`` for released forecasts.

    With f the mean of the released log forecast, y the reading in kWh and s^2 the noise variance of the step, the
    expected squared error is (f - ln y)^2 + s^2 in log kWh. In kWh the released value is e^(f+n) clipped to the
    public bounds, as in the forecast files, and its first two moments are those of a censored log-normal: the
    accuracy after the exponential that section V-B leaves out.

    Parameters
    ----------
    forecasts : ForecastSet
        From :func:`meterdp.forecasting.rolling.roll`.
    released : Released
        Of the same households and origins.
    bounds_kwh : (float, float)
        Public bounds of the energy in an interval, kWh.
    """
    f, s, y = released.mean_log_kwh, released.noise_std_log_kwh, np.exp(forecasts.actual_log_kwh)
    first, second = (censored_moment(f, s, bounds_kwh, order) for order in (1, 2))
    squared = {
        "log_kwh": (f - forecasts.actual_log_kwh) ** 2 + s**2,
        "kwh": second - 2 * y * first + y**2,
    }
    key = released.design, released.rho, released.query_model
    return [_row(forecasts, squared[scale], scale, "released", *key) for scale in SCALES]


def _row(forecasts, squared_error: np.ndarray, scale: str, method: str, design: str, rho: float, model="") -> dict:
    facts = {"method": method, "design": design, "query_model": model, "rho": float(rho)}
    return facts | error_measures(forecasts, squared_error, scale)


def error_measures(forecasts: ForecastSet, squared_error: np.ndarray, scale: str) -> dict:
    """Average squared errors over the cells every method covers.

    Parameters
    ----------
    forecasts : ForecastSet
        H households, n origins, h steps: the readings, and which cells every method covers.
    squared_error : (H, n, h) float64 array
        In the square of the unit of ``scale``.
    scale : {"log_kwh", "kwh"}

    Returns
    -------
    dict
        Columns ``scale`` to ``origin_count`` of table ``forecast_errors``; NaN where no cell is covered.
    """
    common = np.isfinite(forecasts.actual_log_kwh)
    for name in METHODS.values():
        common &= np.isfinite(getattr(forecasts, name))
    actual = forecasts.actual_log_kwh if scale == "log_kwh" else np.exp(forecasts.actual_log_kwh)
    cells = common.sum(axis=(1, 2))
    judged = cells > 0
    row = {
        "scale": scale,
        **dict.fromkeys(("mse", "nmse", "nmse_se", "relative_mse"), np.nan),
        "household_count": int(judged.sum()),
        "origin_count": squared_error.shape[1],
    }
    if not judged.any():
        return row
    error = np.where(common, squared_error, 0.0).sum(axis=(1, 2))[judged]
    size = np.where(common, actual**2, 0.0).sum(axis=(1, 2))[judged]
    mean = np.where(common, actual, 0.0).sum(axis=(1, 2))[judged] / cells[judged]
    deviation = np.where(common[judged], actual[judged] - mean[:, None, None], 0.0)
    nmse = error / size
    return row | {
        "mse": error.sum() / cells.sum(),
        "nmse": nmse.mean(),
        "nmse_se": nmse.std(ddof=1) / np.sqrt(nmse.size) if nmse.size > 1 else np.nan,
        "relative_mse": error.sum() / (deviation**2).sum() if deviation.any() else np.nan,
    }
