"""Log load of shards as dense arrays: what the packages of forecasts read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC

import numpy as np
import pyarrow.parquet as pq

from meterdp.core.parquet import read_batches
from meterdp.core.tables import Table
from meterdp.profiles.grid import Calendar, LocalTime
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


# Numbers of a batch of households: 32 MB of readings. Rows of a column that are looked at together.
BATCH_NUMBERS, _ROWS = 1 << 22, 1 << 20


def log_load_batches(
    path, local_time: LocalTime, numbers: int = BATCH_NUMBERS, table: Table = LOG_LOAD
) -> Iterator[tuple[np.ndarray, np.ndarray, Calendar]]:
    """Yield some households (h,) of a part of ``log_load`` at a time, their log load (h, T) and its calendar.

    So many numbers at a time, at least one household; a long period of a whole part is a large array. ``table`` may
    be another with these columns.
    """
    ids, calendar = _households(path, local_time, table)
    if calendar is None:
        return
    slots = calendar.slot_count
    size, begin = max(1, numbers // slots), 0
    for values in read_batches(path, table, "log_kwh", size * slots):
        log = values.reshape(-1, slots)
        yield ids[begin : begin + len(log)], log, calendar
        begin += len(log)


def read_log_load(paths: Iterable, households: np.ndarray | None, local_time: LocalTime) -> LogLoad:
    """Read some households of parts of the table ``log_load``, or all; those a part does not hold are skipped.

    Parts come in the order of the households, which is kept. Memory is that of what is returned, and of a row group.
    """
    ids, logs, seasons, calendar = [], [], [], None
    for path in paths:
        present, own = _households(path, local_time)
        if own is None:
            continue
        calendar = own
        wanted = np.ones(len(present), bool) if households is None else np.isin(present, households)
        rows = [_rows_of(path, wanted, own.slot_count, name) for name in ("log_kwh", "seasonal_log_kwh")]
        ids.append(present[wanted])
        logs.append(rows[0])
        seasons.append(rows[1])
    if not ids:
        return LogLoad(np.empty(0, np.int32), np.empty((0, 0)), np.empty((0, 0)), None)
    return LogLoad(np.concatenate(ids).astype(np.int32), np.concatenate(logs), np.concatenate(seasons), calendar)


def _households(path, local_time: LocalTime, table: Table = LOG_LOAD) -> tuple[np.ndarray, Calendar | None]:
    """Return the households of a part of ``log_load`` in its order, (H,), and their calendar, None without any."""
    ids, rows, last = [], 0, None
    for column in read_batches(path, table, "household", _ROWS):
        first = np.diff(column, prepend=column[0] - 1 if last is None else last) != 0
        ids.append(column[first])
        rows, last = rows + len(column), column[-1]
    if last is None:
        return np.empty(0, np.int32), None
    household = np.concatenate(ids)
    (stamp,) = next(read_batches(path, table, "interval_start_utc", 1))
    start = stamp.item().replace(tzinfo=UTC)
    return household, local_time.calendar(start, rows // len(household))


def _rows_of(path, wanted: np.ndarray, slots: int, column: str) -> np.ndarray:
    """Return a column of the wanted households (H,) of a part, (h, T); row groups without any are not read."""
    kept, begin = [np.empty(0)], 0
    with pq.ParquetFile(path) as file:
        for number in range(file.num_row_groups):
            rows = np.arange(begin, begin + file.metadata.row_group(number).num_rows)
            inside = wanted[rows // slots]
            begin += len(rows)
            if inside.any():
                kept.append(file.read_row_group(number, columns=[column])[column].to_numpy()[inside])
    return np.concatenate(kept).reshape(-1, slots)
