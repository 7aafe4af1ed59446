"""The hours of a week in the files of a group forecast, in a release and in a study; nothing here opens a ledger."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from meterdp.core.stamps import DAY_MINUTES, utc_offset_minutes
from meterdp.core.weekend import Weekend
from meterdp.groupforecast.mechanism import GroupRelease
from meterdp.groupforecast.plan import HOURS, cells_of
from meterdp.publish.forecast_files import Forecasts, Intervals
from meterdp.publish.tables import FORECAST_QUANTILES


def week_cells(intervals: Intervals, weekend: Weekend) -> np.ndarray:
    """Return the cell 0..47 of each of the hours of a forecast, (k,), by their local time."""
    starts = np.asarray(intervals.start_utc, "datetime64[m]").astype(np.int64)
    local = starts + utc_offset_minutes(intervals.start_utc, intervals.time_zone)
    first = int(local[0] // DAY_MINUTES)
    days = int(local[-1] // DAY_MINUTES) - first + 1
    return cells_of(first, days, weekend)[local // 60 - first * HOURS]


def group_forecasts(released: GroupRelease, intervals: Intervals, weekend: Weekend) -> Forecasts:
    """Return the forecasts of groups, within the public bounds."""
    cell, (low, high) = week_cells(intervals, weekend), intervals.scale.bounds_kwh
    low = max(low, 0.0)
    of_group = [
        columns_of("kwh", np.clip(mean[cell], low, high), np.clip(quantile[cell], low, high).T)
        for mean, quantile in zip(released.expected_kwh, released.quantile_kwh, strict=True)
    ]
    return Forecasts(released.group, of_group.__getitem__)


def columns_of(unit: str, expected: np.ndarray, quantiles: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns of an expected value and its quantiles, (k,) and (5, k), in a unit."""
    names = (f"{name}_{unit}" for name in FORECAST_QUANTILES)
    return {f"expected_{unit}": expected, **dict(zip(names, quantiles, strict=True))}


def intervals_ahead(last_day: str, steps: int, interval_minutes: int, time_zone: str) -> np.ndarray:
    """Return the UTC starts of the intervals after the last local day of the period, (k,) datetime64[us]."""
    end = datetime.combine(date.fromisoformat(last_day) + timedelta(days=1), time(), ZoneInfo(time_zone))
    first = np.datetime64(end.astimezone(UTC).replace(tzinfo=None), "us")
    return first + np.arange(steps) * np.timedelta64(interval_minutes, "m")
