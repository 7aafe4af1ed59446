"""Forecasts past the end of the readings: what a release hands out, where a study looks back at held-out readings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from meterdp.forecasting.arma import ArmaSettings
from meterdp.forecasting.bulk import fit_households
from meterdp.forecasting.law import forecast_means
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.grid import Calendar


def season_ahead(calendar: Calendar, seasonal_log_kwh: np.ndarray, horizon: int) -> np.ndarray:
    """Continue a seasonal part beyond the last slot.

    Parameters
    ----------
    calendar : Calendar
        Of the T slots.
    seasonal_log_kwh : (H, T) float64 array
        By the time of day or of week.
    horizon : int
        Steps h.

    Returns
    -------
    (H, h) float64 array
        Of the last slot at the same time of the week; where there is none, at the same time of the day; else NaN.
    """
    longer = Calendar(calendar.start, calendar.slot_count + horizon, calendar.interval_minutes, calendar.time_zone)
    known = np.arange(calendar.slot_count)
    season = np.full((len(seasonal_log_kwh), horizon), np.nan)
    for keys in (longer.slot_of_day, longer.slot_of_week):
        for step in range(horizon):
            same = known[keys[known] == keys[calendar.slot_count + step]]
            if same.size:
                season[:, step] = seasonal_log_kwh[:, same[-1]]
    return season


def forecast_ahead(load: LogLoad, settings: Mapping, threads: int = 1) -> np.ndarray:
    """Fit every household on its training window and forecast the steps after its last slot.

    Parameters
    ----------
    load : LogLoad
        H households, T slots.
    settings : mapping
        Section ``forecast`` of the configuration, or the keys ``AHEAD`` of it.
    threads : int
        Cores to use.

    Returns
    -------
    (H, h) float64 array
        log kWh per interval; NaN where a household has no seasonal part. A row follows from the household's own
        readings and from public settings alone.
    """
    horizon = settings["horizon_steps"]
    if load.calendar is None:
        return np.empty((0, horizon))
    fits = fit_households(load.training_residual(settings["train_days"]), ArmaSettings.from_config(settings), threads)
    season = season_ahead(load.calendar, load.seasonal_log_kwh, horizon)
    end = np.array([load.calendar.slot_count])
    rows = zip(fits, load.residual_log_kwh, season, strict=True)
    return np.array([forecast_means(fit, past, end, horizon)[0] + ahead for fit, past, ahead in rows])
