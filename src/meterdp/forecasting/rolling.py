"""Forecasts from rolling origins in the held-out part, beside what happened and two naive forecasts.

Section VI-B of Ramakrishna et al. shows three forecasts; an error needs many. Coefficients come from a training
window before the origin, a rolling season from the days before it; the readings before an origin are the past the
forecast is conditioned on. Nothing at or after an origin enters.

Training windows that follow the origins: coefficients are estimated again every so many days.

The first window is the paper's, the first days of the export; each later one is as long and ends a multiple of
``refit_days`` after it, so that no origin is further than that from the readings its coefficients come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from meterdp.errors import InputError
from meterdp.forecasting.arma import ArmaFit
from meterdp.forecasting.distribution import forecast_covariance, forecast_means, forecast_std, query_covariance
from meterdp.forecasting.plausible import plausible_bounds
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.grid import Calendar


@dataclass(frozen=True)
class TrainingWindow:
    """Slots of one training window, and the positions (m,) in the list of origins, ascending, that its coefficients
    serve.

    It ends at or before each of them; there is at least one.
    """

    slots: slice
    origins: np.ndarray


def training_windows(
    calendar: Calendar, train_days: int, refit_days: int | None, origins: np.ndarray
) -> list[TrainingWindow]:
    """Return the windows of ``train_days`` that serve some origin (n,), in order; the first alone without
    ``refit_days``.
    """
    first = calendar.window(train_days)
    origins = np.asarray(origins)
    step = refit_days * calendar.slots_per_day if refit_days else calendar.slot_count
    number = (origins - first.stop) // step
    return [
        TrainingWindow(slice(first.start + w * step, first.stop + w * step), np.flatnonzero(number == w))
        for w in np.unique(number).tolist()
    ]


COLUMNS = "forecast_log_kwh", "actual_log_kwh", "forecast_std_log_kwh"


@dataclass(frozen=True)
class ForecastSet:
    """Forecasts of H households from n origins, h steps each; all arrays (H, n, h) in log kWh, NaN where missing.

    The forecast is the conditional mean (57) with the seasonal part added back, held within the household's late
    readings, and its standard deviation that of the reading about it; ``actual_log_kwh`` is the held-out reading.
    """

    household: np.ndarray
    forecast_log_kwh: np.ndarray
    actual_log_kwh: np.ndarray
    forecast_std_log_kwh: np.ndarray | None = None


def rolling_origins(train_length: int, total_length: int, horizon: int, count: int) -> np.ndarray:
    """Return the first slots of ``count`` forecasts spread evenly over the held-out part.

    The first is the first held-out slot, the last leaves exactly ``horizon`` slots, the others are floor(first + j
    (last - first) / (count - 1)). Raises :class:`InputError` if the held-out part has fewer possible origins.
    """
    last = total_length - horizon
    if count < 1 or last - train_length + 1 < count:
        raise InputError(
            "the readings after the training window are too few for that many rolling origins",
            field="origins",
            hint="give a longer export, shorten the training window or ask for fewer origins",
        )
    if count == 1:
        return np.array([last], dtype=np.int64)
    return train_length + np.arange(count, dtype=np.int64) * (last - train_length) // (count - 1)


@dataclass(frozen=True)
class Rolling:
    """Which forecasts are made, all of it public.

    The readings of ``cap_slots`` before an origin bound its forecast, by their smallest and largest; None for no
    bound. Forecasts from the ``calibration_slots`` before an origin calibrate its intervals. Without ``levels`` there
    are no intervals, and no standard deviation.
    """

    windows: Sequence[TrainingWindow]
    origins: np.ndarray
    horizon: int
    cap_slots: int | None
    calibration_slots: int
    levels: tuple[float, ...] = ()

    @property
    def slots(self) -> np.ndarray:
        """Slots that are forecast, (n, h)."""
        return self.origins[:, None] + np.arange(self.horizon)


@dataclass(frozen=True)
class Rolled:
    """Forecasts, whether they were held at a bound (H, n, h), and lower and upper end of their intervals by level (H,
    n, L, 2, h).
    """

    forecasts: ForecastSet
    held: np.ndarray
    interval_log_kwh: np.ndarray


def roll(load: LogLoad, fits: Sequence[Sequence[ArmaFit]], rolling: Rolling) -> Rolled:
    """Forecast every household from every origin, by the fits of each window."""
    origins, horizon, slots = rolling.origins, rolling.horizon, rolling.slots
    households, levels = len(load.log_kwh), rolling.levels
    shape = households, *slots.shape
    forecast, free, std = np.full((3, *shape), np.nan)
    ends = np.empty((households, len(origins), len(levels), 2, horizon))
    low, high = held_between(load.log_kwh, rolling.cap_slots)
    for window, own_fits in zip(rolling.windows, fits, strict=True):
        own = window.origins
        # Past forecasts by the same coefficients show by how much these forecasts err.
        first = max(int(origins[own[0]]) - rolling.calibration_slots, 0) if levels else int(origins[own[0]])
        starts = np.arange(first, int(origins[own[-1]]) + 1) if levels else origins[own]
        ahead = np.minimum(starts[:, None] + np.arange(horizon), load.log_kwh.shape[1] - 1)
        for row, fit in enumerate(own_fits):
            residual = load.log_kwh[row] - load.seasonal_log_kwh[row]
            unheld = forecast_means(fit, residual, starts, horizon) + load.seasonal_log_kwh[row][ahead]
            means = np.clip(unheld, low[row, starts, None], high[row, starts, None])
            at = origins[own] - first if levels else np.arange(own.size)
            forecast[row, own], free[row, own] = means[at], unheld[at]
            if levels:
                std[row, own] = forecast_std(fit, residual, origins[own], horizon)
                for position, place in zip(own, at, strict=True):
                    past = slice(max(place - rolling.calibration_slots, 0), place)
                    errors = past_errors(means[past], load.log_kwh[row, first:][past])
                    offsets = interval_offsets(errors, std[row, position], levels)
                    ends[row, position] = forecast[row, position] + offsets
    household = np.asarray(load.household, np.int32)
    rolled = ForecastSet(household, forecast, load.log_kwh[:, slots], std if levels else None)
    return Rolled(rolled, forecast != free, ends)


FEWEST = 48  # errors of a step below which the Gaussian distribution is kept


def past_errors(means_log_kwh: np.ndarray, log_kwh: np.ndarray) -> np.ndarray:
    """Return by how much every past forecast missed, (m, h); NaN where the reading is missing or lies at or after the
    origin.

    The forecasts (m, h) are from each of the m slots before an origin, oldest first, the readings (m,) of the same
    slots.
    """
    count, horizon = means_log_kwh.shape
    ahead = np.arange(count)[:, None] + np.arange(horizon)
    reading = np.where(ahead < count, log_kwh[np.minimum(ahead, count - 1)], np.nan)
    return reading - means_log_kwh


def interval_offsets(errors_log_kwh: np.ndarray, std_log_kwh: np.ndarray, levels: Sequence[float]) -> np.ndarray:
    """Return lower and upper ends of central intervals, relative to the forecast: (L, 2, h) log kWh.

    They are the quantiles (1 - level)/2 and (1 + level)/2 of the past errors (m, h), the first never above the
    second. Those of the distribution (57), ``std_log_kwh`` (h,), stand in where a step has fewer than 48 past errors.
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


def cap_slots_of(settings: Mapping, calendar: Calendar) -> int | None:
    """Return ``cap_days`` in slots, None for no bound."""
    return settings["cap_days"] * calendar.slots_per_day if settings["cap_days"] else None


def held_between(log_kwh: np.ndarray, cap_slots: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of a forecast from every origin 0..T; infinite without a cap; (H, T + 1) each."""
    if cap_slots is None:
        shape = len(log_kwh), log_kwh.shape[1] + 1
        return np.full(shape, -np.inf), np.full(shape, np.inf)
    return plausible_bounds(log_kwh, cap_slots)


def forecast_columns(forecasts: ForecastSet, origin_slots: np.ndarray, interval_start_utc: np.ndarray) -> dict:
    """Return the columns of table ``forecasts``, from the slots of the origins (n,) and the starts of all slots (T,),
    UTC.
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
        if getattr(forecasts, name) is not None:
            columns[name] = pa.array(getattr(forecasts, name).ravel(), from_pandas=True)
    return columns


def forecast_set(table: pa.Table) -> ForecastSet:
    """Read table ``forecasts`` back into arrays; inverse of :func:`forecast_columns`."""
    household, position = np.unique(table["household"].to_numpy(), return_inverse=True)
    origin, step = table["origin"].to_numpy(), table["step"].to_numpy() - 1
    values = {}
    for name in set(COLUMNS) & set(table.column_names):
        values[name] = np.full((household.size, origin.max() + 1, step.max() + 1), np.nan)
        values[name][position, origin, step] = table[name].to_numpy()
    return ForecastSet(household.astype(np.int32), **values)


def distribution_columns(
    load: LogLoad, fits: Sequence[ArmaFit], origin: int, horizon: int, cap_slots: int | None
) -> dict:
    """Return the columns of table ``forecast_distributions``: both distributions at the slot of one origin, given the
    gaps before it.

    The season of the h steps is a function of the past, so given the past the reading is N(season + mean of the
    residual, covariance (57) of the residual), exactly, whatever the season. The distribution over all pasts takes
    the season and the bounds ``mean_log_kwh`` is held at as known, as the paper takes its season; since both are
    computed from the same past, it is that of the residual's forecast and no more than an approximation for the
    whole.
    """
    columns = {"mean_log_kwh": [], "covariance": [], "query_mean_log_kwh": [], "query_covariance": []}
    low, high = held_between(load.log_kwh, cap_slots)
    for row, fit in enumerate(fits):
        past = load.log_kwh[row, :origin] - load.seasonal_log_kwh[row, :origin]
        season = load.seasonal_log_kwh[row, origin : origin + horizon]
        mean = forecast_means(fit, past, np.array([origin]), horizon)[0] + season
        columns["mean_log_kwh"].append(np.clip(mean, low[row, origin], high[row, origin]))
        columns["covariance"].append(forecast_covariance(fit, horizon, past).ravel())
        columns["query_mean_log_kwh"].append(fit.mean + season)
        columns["query_covariance"].append(query_covariance(fit, horizon, past).ravel())
    stamp = pa.array(np.full(len(fits), np.datetime64(load.calendar.start_utc[origin], "us")))
    return {
        "household": np.asarray(load.household, np.int32),
        "origin_utc": stamp.cast(pa.timestamp("us", tz="UTC")),
        **columns,
    }
