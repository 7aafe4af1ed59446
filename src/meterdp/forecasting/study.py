"""Forecasts of one shard of a study: rolling origins, the laws at the last, kWh, and a check for Gaussianity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from meterdp.forecasting.arma import ArmaFit
from meterdp.forecasting.energy import energy_columns
from meterdp.forecasting.gaussian import gaussian_columns
from meterdp.forecasting.rolling import forecast_columns, law_columns, roll, rolling_origins
from meterdp.forecasting.select import check_room
from meterdp.forecasting.tables import FORECAST_LAWS, FORECASTS, FORECASTS_KWH, GAUSSIAN_CHECKS
from meterdp.profiles.dense import LogLoad


@dataclass(frozen=True)
class ShardForecasts:
    """Columns of tables ``forecasts``, ``forecast_laws``, ``forecasts_kwh`` and ``gaussian_checks`` of a shard."""

    forecasts: dict
    laws: dict
    energy: dict
    checks: dict


def shard_forecasts(
    load: LogLoad, fits: Sequence[ArmaFit], settings: Mapping, bounds_kwh: tuple[float, float]
) -> ShardForecasts:
    """Forecast every household of a shard from every origin.

    Parameters
    ----------
    load : LogLoad
        H households, in the order of ``fits``.
    fits : sequence of H ArmaFit
        From the training window.
    settings : mapping
        Section ``forecast`` of the configuration.
    bounds_kwh : (float, float)
        Public bounds of the energy in an interval, kWh.

    Returns
    -------
    ShardForecasts
        The laws and the forecasts in kWh are those of the last origin.

    Raises
    ------
    InputError
        If the export leaves no room for the origins after the training window.
    """
    if load.calendar is None:
        tables = (FORECASTS, FORECAST_LAWS, FORECASTS_KWH, GAUSSIAN_CHECKS)
        return ShardForecasts(*({c.name: [] for c in table.columns} for table in tables))
    calendar, horizon = load.calendar, settings["horizon_steps"]
    train_end = check_room(calendar, settings["train_days"], horizon, settings["origins"])
    slots = rolling_origins(train_end, calendar.slot_count, horizon, settings["origins"])
    common = (load.household, fits, load.log_kwh, load.seasonal_log_kwh)
    rolled = roll(*common, slots, horizon, calendar.same_time_last_week())
    last = int(slots[-1])
    return ShardForecasts(
        forecast_columns(rolled, slots, calendar.start_utc),
        law_columns(*common, last, horizon, calendar.start_utc[last]),
        energy_columns(
            load.household,
            rolled.forecast_log_kwh[:, -1],
            rolled.forecast_std_log_kwh[:, -1],
            calendar,
            last,
            settings["interval_levels"],
            bounds_kwh,
        ),
        gaussian_columns(load.household, fits, load.training_residual(settings["train_days"])),
    )
