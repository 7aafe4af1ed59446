"""How a simulated export is written, as the section ``export`` of a configuration."""

from __future__ import annotations

from collections.abc import MutableMapping
from datetime import date, timedelta

_LAYOUT = {
    "format": "long_csv",
    "meter_column": "meter_id",
    "time_column": "interval_start",
    "time_of_day_column": None,
    "energy_column": "kwh",
    "circuit_column": "circuit",
    "unit_column": None,
    "delimiter": ",",
    "skip_rows": 0,
    "skip_rows_after_header": 0,
    "decimal": ".",
    "thousands": None,
    "time_format": "%Y-%m-%d %H:%M",
    "time_zone": "America/Los_Angeles",
    "stamp_time_zone": None,
    "stamp": "start",
    "unit": "kWh",
    "interval_minutes": 15,
}


# First local day: a Monday two weeks before summer time ends, so that a study of four weeks has a change of clocks.
START_DATE = "2025-10-20"
# What a simulated household uses a day, about: a public number, as all that the simulation goes by.
TYPICAL_DAILY_KWH = 30.0


def simulated_export(start_date: str, days: int) -> dict:
    """Return the section ``export`` that describes a simulated export of ``days`` days from ``start_date`` on."""
    last_day = date.fromisoformat(start_date) + timedelta(days=days - 1)
    return {**_LAYOUT, "first_day": start_date, "last_day": last_day.isoformat()}


def describe_simulated(config: MutableMapping) -> None:
    """Put into a configuration without an export what describes the one that is simulated."""
    config["export"] |= simulated_export(START_DATE, config["simulate"]["days"])
    if config["release"]["feeder_typical_daily_kwh"] is None:
        config["release"]["feeder_typical_daily_kwh"] = TYPICAL_DAILY_KWH
