"""Errors of forecasts, of naive forecasts and of released forecasts, in log kWh and in kWh.

Section VI-B of Ramakrishna et al. names a normalised mean squared error without defining it. Here, per household,

* nmse = sum (forecast - actual)^2 / sum actual^2 in the named scale, the usual reading; mean over households.
  In log kWh it depends on the unit of energy: a reading near 1 kWh has a logarithm near zero.
* relative_mse = sum (forecast - actual)^2 / sum (actual - mean of the household's held-out readings)^2, both sums
  over all households; one means no better than the mean, in any unit.

All methods are judged on the same cells: those where the reading and both naive forecasts exist. The noise of a
released forecast enters by its exact expectation, not by a draw. A mean over households follows the worst of them, so
the median and the share of households that gain stand beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from meterdp.core.log_scale import PLAIN, LogScale
from meterdp.errors import InputError
from meterdp.forecasting.energy import censored_absolute_error, censored_moment
from meterdp.forecasting.rolling import METHODS, ForecastSet

SCALES = ("log_kwh", "kwh")
MEASURES = ("mse", "nmse", "nmse_se", "nmse_median", "relative_mse", "mae", "mae_median", "won_share")


@dataclass(frozen=True)
class Errors:
    """Errors of every forecast of a :class:`ForecastSet` on one scale.

    Parameters
    ----------
    scale : {"log_kwh", "kwh"}
    squared, absolute : (H, n, h) float64 arrays
        In the unit of the scale squared, and in the unit; NaN where there is no reading.
    """

    scale: str
    squared: np.ndarray
    absolute: np.ndarray


def plain_errors(log_forecast: np.ndarray, actual_log_kwh: np.ndarray, scale: LogScale = PLAIN) -> list[Errors]:
    """Errors of a forecast without noise, in log kWh and in kWh.

    In kWh a forecast is the inverse of the scale at the log forecast, the median of the distribution; (62) on a
    plain log.
    """
    gaps = log_forecast - actual_log_kwh, scale.kwh(log_forecast) - scale.kwh(actual_log_kwh)
    return [Errors(name, gap**2, np.abs(gap)) for name, gap in zip(SCALES, gaps, strict=True)]


def forecast_errors(forecasts: ForecastSet, scale: LogScale = PLAIN) -> list[dict]:
    """Return rows of table ``forecast_errors`` for the study's forecast and the naive ones.

    Parameters
    ----------
    forecasts : ForecastSet
        From :func:`meterdp.forecasting.rolling.roll`.
    scale : LogScale
        Of the energy in an interval.

    Raises
    ------
    InputError
        If there is no cell that every method covers.
    """
    rows = []
    for method, name in METHODS.items():
        errors = plain_errors(getattr(forecasts, name), forecasts.actual_log_kwh, scale)
        rows += [_row(forecasts, e, scale, method, "none", 0.0) for e in errors]
    if not rows[0]["household_count"]:
        raise InputError(
            "no held-out reading has a reading one week before it",
            field="origins",
            hint="give an export of more than a week before the first origin",
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


def released_errors(forecasts: ForecastSet, released: Released, scale: LogScale) -> list[dict]:
    """Return rows of table ``forecast_errors`` for released forecasts.

    With f the mean of the released log forecast, y the log reading and s^2 the noise variance of the step, the
    expected squared error is (f - y)^2 + s^2 in log kWh. In kWh the released value is the energy of f + n clipped to
    the public bounds, as in the forecast files, and its moments are those of a censored distribution (log-normal on
    a plain log): the accuracy after the exponential that section V-B leaves out.

    Parameters
    ----------
    forecasts : ForecastSet
        From :func:`meterdp.forecasting.rolling.roll`.
    released : Released
        Of the same households and origins.
    scale : LogScale
        Of the energy in an interval.
    """
    shape = forecasts.actual_log_kwh.shape
    f, s = (np.broadcast_to(a, shape) for a in (released.mean_log_kwh, released.noise_std_log_kwh))
    key = released.design, released.rho, released.query_model
    errors = _noisy_log(f - forecasts.actual_log_kwh, s), _noisy_kwh(f, s, forecasts.actual_log_kwh, scale)
    return [_row(forecasts, e, scale, "released", *key) for e in errors]


def _noisy_log(gap: np.ndarray, std: np.ndarray) -> Errors:
    """Expected errors of gap + n, n ~ N(0, std^2); the absolute value is a folded normal."""
    u = np.abs(gap) / np.where(std > 0, std, 1.0)
    folded = std * np.sqrt(2 / np.pi) * np.exp(-0.5 * u**2) + np.abs(gap) * (2 * ndtr(u) - 1)
    return Errors("log_kwh", gap**2 + std**2, np.where(std > 0, folded, np.abs(gap)))


def _noisy_kwh(f: np.ndarray, std: np.ndarray, actual_log_kwh: np.ndarray, scale: LogScale) -> Errors:
    """Expected errors of the clipped energy of f + n; readings are within the bounds, NaN where there is none."""
    y = scale.kwh(actual_log_kwh)
    first, second = (censored_moment(f, std, scale, order) for order in (1, 2))
    cut = np.clip(np.where(np.isfinite(y), y, scale.low_kwh), *scale.bounds_kwh)
    absolute = np.where(np.isfinite(y), censored_absolute_error(f, std, cut, scale), np.nan)
    return Errors("kwh", second - 2 * y * first + y**2, absolute)


def _row(forecasts, errors: Errors, scale: LogScale, method: str, design: str, rho: float, model="") -> dict:
    facts = {"method": method, "design": design, "query_model": model, "rho": float(rho)}
    return facts | error_measures(forecasts, errors, scale)


def common_cells(forecasts: ForecastSet) -> np.ndarray:
    """Cells (H, n, h) that have a reading and that every method covers."""
    common = np.isfinite(forecasts.actual_log_kwh)
    for name in METHODS.values():
        common &= np.isfinite(getattr(forecasts, name))
    return common


def household_means(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Mean over the cells of each household that has some, one entry per such household."""
    count = cells.sum(axis=(1, 2))
    return np.where(cells, values, 0.0).sum(axis=(1, 2))[count > 0] / count[count > 0]


def error_measures(forecasts: ForecastSet, errors: Errors, log_scale: LogScale) -> dict:
    """Average errors over the cells every method covers.

    Parameters
    ----------
    forecasts : ForecastSet
        H households, n origins, h steps: the readings, and which cells every method covers.
    errors : Errors
        Of one method on the same cells.
    log_scale : LogScale
        Of the energy in an interval.

    Returns
    -------
    dict
        Columns ``scale`` to ``origin_count`` of table ``forecast_errors``; NaN where no cell is covered.
    """
    common, scale = common_cells(forecasts), errors.scale
    actual = forecasts.actual_log_kwh if scale == "log_kwh" else log_scale.kwh(forecasts.actual_log_kwh)
    row = {"scale": scale, **dict.fromkeys(MEASURES, np.nan)}
    counts = {"household_count": int(common.any(axis=(1, 2)).sum()), "origin_count": common.shape[1]}
    if not common.any():
        return row | counts
    squared, absolute = (household_means(v, common) for v in (errors.squared, errors.absolute))
    own = plain_errors(forecasts.forecast_log_kwh, forecasts.actual_log_kwh, log_scale)[SCALES.index(scale)]
    reference = household_means(own.squared, common)
    judged = common.any(axis=(1, 2))
    cells = common.sum(axis=(1, 2))[judged]
    mean = household_means(actual, common)
    deviation = np.where(common[judged], actual[judged] - mean[:, None, None], 0.0)
    nmse = squared / household_means(actual**2, common)
    return {
        **row,
        "mse": squared @ cells / cells.sum(),
        "nmse": nmse.mean(),
        "nmse_se": nmse.std(ddof=1) / np.sqrt(nmse.size) if nmse.size > 1 else np.nan,
        "nmse_median": np.median(nmse),
        "relative_mse": squared @ cells / (deviation**2).sum() if deviation.any() else np.nan,
        "mae": absolute.mean(),
        "mae_median": np.median(absolute),
        "won_share": (squared < reference).mean(),
        **counts,
    }
