"""Forecasts past the end of the readings: what a release hands out, where a study looks back at held-out readings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from meterdp.forecasting.arma import ArmaSettings
from meterdp.forecasting.bulk import fit_households
from meterdp.forecasting.distribution import forecast_means
from meterdp.forecasting.rolling import cap_slots_of, held_between
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.seasonal import Season, seasonal_part


def forecast_ahead(load: LogLoad, settings: Mapping, profiles: Mapping, threads: int = 1) -> np.ndarray:
    """Fit every household on its last days and forecast the steps after its last slot.

    Parameters
    ----------
    load : LogLoad
        H households, T slots.
    settings : mapping
        Section ``forecast`` of the configuration, or the keys ``AHEAD`` of it.
    profiles : mapping
        Section ``profiles``, or what of it and of the constants a season is made of.
    threads : int
        Cores to use.

    Returns
    -------
    (H, h) float64 array
        log kWh per interval; NaN where a household has no reading in the training window. A row follows from the
        household's own readings and from public settings alone.
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
