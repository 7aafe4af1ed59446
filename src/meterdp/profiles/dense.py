"""Log load of shards as dense arrays: what the packages of forecasts read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC

import numpy as np

from meterdp.core.parquet import read_batches, read_table
from meterdp.profiles.grid import Calendar
from meterdp.profiles.tables import LOG_LOAD


@dataclass(frozen=True)
class LogLoad:
    """Log load of H households on one grid of T slots, with its seasonal part, (H, T) log kWh each.

    The log is that of the clipped energy, NaN where missing; without households there is no calendar.
    """

    household: np.ndarray
    log_kwh: np.ndarray
    seasonal_log_kwh: np.ndarray
    calendar: Calendar | None

    @property
    def residual_log_kwh(self) -> np.ndarray:
        """Log load without its seasonal mean, (H, T)."""
        return self.log_kwh - self.seasonal_log_kwh


# Numbers of a batch of households: 32 MB of readings.
BATCH_NUMBERS = 1 << 22


def log_load_batches(
    path, interval_minutes: int, time_zone: str, numbers: int = BATCH_NUMBERS
) -> Iterator[tuple[np.ndarray, np.ndarray, Calendar]]:
    """Yield some households (h,) of a part of ``log_load`` at a time, their log load (h, T) and its calendar.

    So many numbers at a time, at least one household; a long period of a whole part is a large array.
    """
    household = read_table(path, LOG_LOAD, columns=["household"])["household"].to_numpy()
    if not household.size:
        return
    ids = household[np.flatnonzero(np.diff(household, prepend=household[0] - 1))]
    slots = household.size // ids.size
    (stamp,) = next(read_batches(path, LOG_LOAD, "interval_start_utc", 1))
    calendar = Calendar(stamp.item().replace(tzinfo=UTC), slots, interval_minutes, time_zone)
    size, begin = max(1, numbers // slots), 0
    for values in read_batches(path, LOG_LOAD, "log_kwh", size * slots):
        log = values.reshape(-1, slots)
        yield ids[begin : begin + len(log)], log, calendar
        begin += len(log)


def read_log_load(paths: Iterable, households: np.ndarray | None, interval_minutes: int, time_zone: str) -> LogLoad:
    """Read some households of parts of the table ``log_load``, or all; those a part does not hold are skipped.

    Parts come in the order of the households, which is kept.
    """
    ids, logs, seasons, calendar = [], [], [], None
    for path in paths:
        table = read_table(path, LOG_LOAD, columns=["household", "interval_start_utc", "log_kwh", "seasonal_log_kwh"])
        column = table["household"].to_numpy()
        if column.size == 0:
            continue
        present, first = np.unique(column, return_index=True)
        slots = column.size // present.size
        wanted = np.isin(present, present if households is None else households)
        calendar = Calendar(table["interval_start_utc"][0].as_py(), slots, interval_minutes, time_zone)
        rows = first[wanted, None] + np.arange(slots)
        ids.append(present[wanted])
        logs.append(table["log_kwh"].to_numpy()[rows])
        seasons.append(table["seasonal_log_kwh"].to_numpy()[rows])
    if not ids:
        return LogLoad(np.empty(0, np.int32), np.empty((0, 0)), np.empty((0, 0)), None)
    return LogLoad(np.concatenate(ids).astype(np.int32), np.concatenate(logs), np.concatenate(seasons), calendar)
