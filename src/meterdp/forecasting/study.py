"""Forecasts of one shard of a study: rolling origins and the law at the last of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meterdp.core.errors import InputError
from meterdp.forecasting.arma import ArmaFit
from meterdp.forecasting.rolling import forecast_columns, law_columns, roll, rolling_origins
from meterdp.forecasting.tables import FORECAST_LAWS, FORECASTS
from meterdp.profiles.dense import LogLoad


def shard_forecasts(
    load: LogLoad, fits: Sequence[ArmaFit], train_days: int, horizon: int, origins: int
) -> tuple[dict, dict]:
    """Forecast every household of a shard from every origin.

    Parameters
    ----------
    load : LogLoad
        H households, in the order of ``fits``.
    fits : sequence of H ArmaFit
        From the training window.
    train_days, horizon, origins : int
        Section ``forecast`` of the configuration.

    Returns
    -------
    forecasts, laws : dict
        Columns of the tables ``forecasts`` and ``forecast_laws``; the law is that of the last origin.

    Raises
    ------
    InputError
        If the export leaves no room for the origins after the training window.
    """
    if load.calendar is None:
        return _no_rows(FORECASTS), _no_rows(FORECAST_LAWS)
    calendar = load.calendar
    train_end = calendar.window(train_days).stop
    if train_end + horizon + origins - 1 > calendar.slot_count:
        raise InputError(
            f"asks for {train_days} days of training and {origins} origins, and the export is too short for them",
            file="config",
            field="forecast.train_days",
            remedy="lower forecast.train_days or forecast.origins, or give a longer export",
        )
    slots = rolling_origins(train_end, calendar.slot_count, horizon, origins)
    common = (load.household, fits, load.log_kwh, load.seasonal_log_kwh)
    rolled = roll(*common, slots, horizon, calendar.same_time_last_week())
    last = int(slots[-1])
    laws = law_columns(*common, last, horizon, calendar.start_utc[last])
    return forecast_columns(rolled, slots, calendar.start_utc), laws


def _no_rows(table) -> dict[str, np.ndarray]:
    return {c.name: [] for c in table.columns}
