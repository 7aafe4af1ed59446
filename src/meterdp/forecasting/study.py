"""Forecasts of one shard of a study: fits, rolling origins, the distributions at the last, kWh, a check for
Gaussianity.

Forecasts past the end of the readings: what a release hands out, where a study looks back at held-out readings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from meterdp.core.log_scale import LogScale
from meterdp.forecasting.arma import ArmaFit, ArmaSettings, fit_columns, fit_households
from meterdp.forecasting.distribution import forecast_means
from meterdp.forecasting.energy import energy_columns
from meterdp.forecasting.plausible import innovation_ratio, marks
from meterdp.forecasting.rolling import (
    Rolling,
    TrainingWindow,
    cap_slots_of,
    distribution_columns,
    forecast_columns,
    held_between,
    roll,
    rolling_origins,
    training_windows,
)
from meterdp.forecasting.select import check_room
from meterdp.forecasting.tables import (
    ARMA_FITS,
    FORECAST_DISTRIBUTIONS,
    FORECAST_MARKS,
    FORECASTS,
    FORECASTS_KWH,
)
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.grid import Calendar
from meterdp.profiles.seasonal import Season, seasonal_part


def windows_of(calendar: Calendar, settings: Mapping) -> tuple[np.ndarray, list[TrainingWindow]]:
    """Return the origins of a study and its training windows; ``settings`` needs the keys ``WINDOWS`` only."""
    horizon = settings["horizon_steps"]
    train_end = check_room(calendar, settings["train_days"], horizon, settings["origins"])
    origins = rolling_origins(train_end, calendar.slot_count, horizon, settings["origins"])
    return origins, training_windows(calendar, settings["train_days"], settings["refit_days"], origins)


def rolling_of(calendar: Calendar, settings: Mapping, levels: Sequence[float] = ()) -> Rolling:
    """Return which forecasts a study makes by the section ``forecast`` or, without levels, the keys ``POINTS`` of it.

    Raises :class:`InputError` if the export leaves no room for the origins after the training window.
    """
    day = calendar.slots_per_day
    origins, windows = windows_of(calendar, settings)
    cap = cap_slots_of(settings, calendar)
    calibration = settings["calibration_days"] * day if levels else 0
    return Rolling(windows, origins, settings["horizon_steps"], cap, calibration, tuple(levels))


def window_fits(
    load: LogLoad, settings: Mapping, threads: int = 1, known: Mapping[int, Sequence[ArmaFit]] | None = None
) -> list[list[ArmaFit]]:
    """Fit every household of a shard on every training window: H fits for each.

    ``settings`` are the section ``forecast`` of the configuration, or the keys ``PROCESS`` and ``WINDOWS`` of it.
    ``known`` are fits by the same settings, from :func:`read_window_fits`, which are taken as they are.
    """
    if load.calendar is None:
        return []
    arma, residual = ArmaSettings.from_config(settings), load.residual_log_kwh
    _, windows = windows_of(load.calendar, settings)
    known = known or {}
    new = np.array([h not in known for h in load.household.tolist()], dtype=bool)
    out = []
    for w, window in enumerate(windows):
        fits = iter(fit_households(residual[new][:, window.slots], arma, threads))
        out.append([known[h][w] if h in known else next(fits) for h in load.household.tolist()])
    return out


def window_fit_columns(household: np.ndarray, fits: Sequence[Sequence[ArmaFit]]) -> dict:
    """Return the columns of table ``arma_fits``, a row for each household and window."""
    parts = [{"window": [w] * len(own), **fit_columns(household, own)} for w, own in enumerate(fits)]
    return {c.name: [value for part in parts for value in part[c.name]] for c in ARMA_FITS.columns}


@dataclass(frozen=True)
class ShardForecasts:
    """Columns of the tables that a shard's forecasts make, by table."""

    forecasts: dict
    distributions: dict
    energy: dict
    marks: dict


_TABLES = FORECASTS, FORECAST_DISTRIBUTIONS, FORECASTS_KWH, FORECAST_MARKS


def shard_forecasts(
    load: LogLoad, fits: Sequence[Sequence[ArmaFit]], settings: Mapping, scale: LogScale
) -> ShardForecasts:
    """Forecast every household of a shard from every origin, by the fits of every training window.

    The distributions and the forecasts in kWh are those of the last origin.
    """
    if not load.household.size:
        return ShardForecasts(*({c.name: [] for c in table.columns} for table in _TABLES))
    calendar, levels = load.calendar, settings["interval_levels"]
    rolling = rolling_of(calendar, settings, levels)
    rolled = roll(load, fits, rolling)
    last, window = int(rolling.origins[-1]), rolling.windows[-1]
    residual, found = load.residual_log_kwh, rolled.forecasts
    held_share = rolled.held.mean(axis=(1, 2))
    ratio = innovation_ratio(fits[-1], residual, window.slots.stop, last)
    return ShardForecasts(
        forecast_columns(found, rolling.origins, calendar.start_utc),
        distribution_columns(load, fits[-1], last, rolling.horizon, rolling.cap_slots),
        energy_columns(
            load.household,
            found.forecast_log_kwh[:, -1],
            found.forecast_std_log_kwh[:, -1],
            rolled.interval_log_kwh[:, -1],
            calendar,
            last,
            levels,
            scale,
        ),
        {
            "household": load.household,
            "mark": marks(held_share, ratio),
            "held_share": held_share,
            "innovation_ratio": [value if np.isfinite(value) else None for value in ratio.tolist()],
        },
    )


def forecast_ahead(load: LogLoad, settings: Mapping, profiles: Mapping, threads: int = 1) -> np.ndarray:
    """Fit every household on its last days and forecast the steps after its last slot, (H, h) log kWh per interval.

    ``settings`` are the section ``forecast`` or the keys ``AHEAD`` of it, ``profiles`` that section or what of it and
    of the constants a season is made of. NaN where a household has no reading in the training window. A row follows
    from the household's own readings and from public settings alone.
    """
    horizon = settings["horizon_steps"]
    if load.calendar is None:
        return np.empty((0, horizon))
    calendar, end = load.calendar, load.calendar.slot_count
    train = slice(max(end - settings["train_days"] * calendar.slots_per_day, 0), end)
    season = Season.from_config(profiles, train, horizon, calendar.interval_minutes)
    # Nobody knows a reading after the end; its season comes from those before.
    known = np.pad(load.log_kwh, ((0, 0), (0, horizon)), constant_values=np.nan)
    seasonal = seasonal_part(known, calendar.longer(horizon), season)
    residual = load.log_kwh - seasonal[:, :end]
    fits = fit_households(residual[:, train], ArmaSettings.from_config(settings), threads)
    low, high = held_between(load.log_kwh, cap_slots_of(settings, calendar))
    origin = np.array([end])
    means = [forecast_means(fit, past, origin, horizon)[0] for fit, past in zip(fits, residual, strict=True)]
    held = np.clip(np.array(means) + seasonal[:, end:], low[:, -1:], high[:, -1:])
    seen = np.isfinite(load.log_kwh[:, train]).any(axis=1)
    return np.where(seen[:, None], held, np.nan)
