"""Forecasts from rolling origins in the held-out part, beside what happened and two naive forecasts.

Section VI-B of Ramakrishna et al. shows three forecasts; an error needs many. Coefficients and the seasonal mean
come from the training window only; the readings before an origin are the past the forecast is conditioned on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from meterdp.core.errors import InputError
from meterdp.forecasting.arma import ArmaFit
from meterdp.forecasting.law import forecast_covariance, forecast_means, forecast_std, query_covariance

METHODS = {"arma": "forecast_log_kwh", "last_value": "last_value_log_kwh", "last_week": "last_week_log_kwh"}
COLUMNS = (*METHODS.values(), "actual_log_kwh", "forecast_std_log_kwh")


@dataclass(frozen=True)
class ForecastSet:
    """Forecasts of H households from n origins, h steps each; all arrays (H, n, h) in log kWh, NaN where missing.

    Parameters
    ----------
    household : (H,) int32 array
        Dense indices.
    forecast_log_kwh : array
        Conditional mean (57) with the seasonal part added back.
    last_value_log_kwh : array
        The last reading before the origin, for every step.
    last_week_log_kwh : array
        The reading at the same local time one week before.
    actual_log_kwh : array
        The held-out reading.
    forecast_std_log_kwh : array, optional
        Standard deviation of the reading about its forecast, from (57).
    """

    household: np.ndarray
    forecast_log_kwh: np.ndarray
    last_value_log_kwh: np.ndarray
    last_week_log_kwh: np.ndarray
    actual_log_kwh: np.ndarray
    forecast_std_log_kwh: np.ndarray | None = None

    def last_origin(self) -> ForecastSet:
        """Return the forecasts from the last origin alone."""
        values = {name: value for name, value in vars(self).items() if name != "household" and value is not None}
        return ForecastSet(self.household, **{name: value[:, -1:] for name, value in values.items()})


def rolling_origins(train_length: int, total_length: int, horizon: int, count: int) -> np.ndarray:
    """Return ``count`` origins spread evenly over the held-out part.

    The first is the first held-out slot, the last leaves exactly ``horizon`` slots, the others are
    floor(first + j (last - first) / (count - 1)).

    Returns
    -------
    (count,) int64 array
        First slot of each forecast.

    Raises
    ------
    InputError
        If the held-out part has fewer possible origins than ``count``.
    """
    last = total_length - horizon
    if count < 1 or last - train_length + 1 < count:
        raise InputError(
            "the readings after the training window are too few for that many rolling origins",
            field="origins",
            remedy="give a longer export, shorten the training window or ask for fewer origins",
        )
    if count == 1:
        return np.array([last], dtype=np.int64)
    return train_length + np.arange(count, dtype=np.int64) * (last - train_length) // (count - 1)


def roll(
    household: np.ndarray,
    fits: Sequence[ArmaFit],
    log_kwh: np.ndarray,
    seasonal_log_kwh: np.ndarray,
    origins: np.ndarray,
    horizon: int,
    last_week_slot: np.ndarray,
) -> ForecastSet:
    """Forecast every household from every origin.

    Parameters
    ----------
    household : (H,) int array
        Dense indices.
    fits : sequence of H ArmaFit
        From the training window.
    log_kwh : (H, T) float64 array
        Log load, NaN where a reading is missing.
    seasonal_log_kwh : (H, T) float64 array
        Seasonal mean of the training window, continued over all slots.
    origins : (n,) int array
        See :func:`rolling_origins`.
    horizon : int
        Steps h.
    last_week_slot : (T,) int array
        Slot of the same local time one week before, -1 where there is none (start of the export, clock change).
    """
    slots = origins[:, None] + np.arange(horizon)
    forecast, std = np.empty((2, len(fits), *slots.shape))
    for row, fit in enumerate(fits):
        residual = log_kwh[row] - seasonal_log_kwh[row]
        forecast[row] = forecast_means(fit, residual, origins, horizon) + seasonal_log_kwh[row][slots]
        std[row] = forecast_std(fit, residual, origins, horizon)
    week = np.asarray(last_week_slot)[slots]
    # A reading after the origin is not known yet, however the caller maps the clock change.
    known = (week >= 0) & (week < origins[:, None])
    last_week = np.where(known, log_kwh[:, np.where(known, week, 0)], np.nan)
    last_value = np.repeat(_last_reading(log_kwh)[:, origins, None], horizon, axis=2)
    household = np.asarray(household, np.int32)
    return ForecastSet(household, forecast, last_value, last_week, log_kwh[:, slots], std)


def _last_reading(log_kwh: np.ndarray) -> np.ndarray:
    """Last reading before each slot 0..T, NaN if none; (H, T + 1)."""
    slots = log_kwh.shape[1]
    position = np.where(np.isfinite(log_kwh), np.arange(slots), -1)
    position = np.maximum.accumulate(np.pad(position, ((0, 0), (1, 0)), constant_values=-1), axis=1)
    found = np.take_along_axis(log_kwh, np.maximum(position, 0), axis=1)
    return np.where(position >= 0, found, np.nan)


def forecast_columns(forecasts: ForecastSet, origin_slots: np.ndarray, interval_start_utc: np.ndarray) -> dict:
    """Return the columns of table ``forecasts``.

    Parameters
    ----------
    forecasts : ForecastSet
        From :func:`roll`.
    origin_slots : (n,) int array
        The origins.
    interval_start_utc : (T,) datetime64 array
        Start of every slot, UTC.
    """
    households, origins, steps = forecasts.actual_log_kwh.shape
    slots = origin_slots[:, None] + np.arange(steps)
    stamps = np.asarray(interval_start_utc, "datetime64[us]")[slots].ravel()
    index = np.indices((households, origins, steps)).reshape(3, -1)
    columns = {
        "household": forecasts.household[index[0]],
        "origin": index[1].astype(np.int32),
        "step": (index[2] + 1).astype(np.int32),
        "interval_start_utc": pa.array(np.tile(stamps, households)).cast(pa.timestamp("us", tz="UTC")),
    }
    for name in COLUMNS:
        columns[name] = pa.array(getattr(forecasts, name).ravel(), from_pandas=True)
    return columns


def forecast_set(table: pa.Table) -> ForecastSet:
    """Read table ``forecasts`` back into arrays; inverse of :func:`forecast_columns`."""
    household, position = np.unique(table["household"].to_numpy(), return_inverse=True)
    origin, step = table["origin"].to_numpy(), table["step"].to_numpy() - 1
    values = {}
    for name in COLUMNS:
        values[name] = np.full((household.size, origin.max() + 1, step.max() + 1), np.nan)
        values[name][position, origin, step] = table[name].to_numpy()
    return ForecastSet(household.astype(np.int32), **values)


def law_columns(
    household: np.ndarray,
    fits: Sequence[ArmaFit],
    log_kwh: np.ndarray,
    seasonal_log_kwh: np.ndarray,
    origin: int,
    horizon: int,
    origin_utc: np.datetime64,
) -> dict:
    """Return the columns of table ``forecast_laws``: both laws at one origin, given the gaps before it.

    Parameters are those of :func:`roll`; ``origin`` is one slot and ``origin_utc`` its start.
    """
    columns = {"mean_log_kwh": [], "covariance": [], "query_mean_log_kwh": [], "query_covariance": []}
    for row, fit in enumerate(fits):
        past = log_kwh[row, :origin] - seasonal_log_kwh[row, :origin]
        season = seasonal_log_kwh[row, origin : origin + horizon]
        columns["mean_log_kwh"].append(forecast_means(fit, past, np.array([origin]), horizon)[0] + season)
        columns["covariance"].append(forecast_covariance(fit, horizon, past).ravel())
        columns["query_mean_log_kwh"].append(fit.mean + season)
        columns["query_covariance"].append(query_covariance(fit, horizon, past).ravel())
    stamp = pa.array(np.full(len(fits), np.datetime64(origin_utc, "us")))
    return {
        "household": np.asarray(household, np.int32),
        "origin_utc": stamp.cast(pa.timestamp("us", tz="UTC")),
        **columns,
    }
