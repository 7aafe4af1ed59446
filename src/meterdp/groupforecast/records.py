"""What the group forecast knows of a household: its level, its week and how its hours spread around both.

A record is a function of the household's own readings and of public settings, made in one order of operations: the
same readings give the same bits, whoever else is among them. A shard's records are a table; a release reads them
piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from meterdp.core.compiled import njit
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_row_groups
from meterdp.core.pieces import Pieces
from meterdp.groupforecast.mechanism import BINS, ForecastRecords
from meterdp.groupforecast.plan import (
    CELL_SHARE,
    CELLS,
    HOURS,
    SPREAD_EDGES,
    cells_of,
    in_cells,
    prior_shape,
    spread_prior,
    window_of,
)
from meterdp.groupforecast.tables import GROUP_RECORDS
from meterdp.ingest.meter_list import LEAST_READ
from meterdp.profiles.dense import log_load_batches
from meterdp.profiles.grid import Calendar, LocalTime
from meterdp.profiles.tables import RECENT_LOAD

ENTRIES = 1 + CELLS + HOURS * BINS


def household_records(hourly_kwh: np.ndarray, cell: np.ndarray, public_shape: np.ndarray) -> ForecastRecords:
    """Return the records of (N, T) hourly energies, NaN where missing, of hours in ``cell`` (T,) 0..47.

    ``public_shape`` is (48,). Feed-in counts as no energy.
    """
    usable, *of = _measured(hourly_kwh, cell, public_shape)
    x = np.full((len(hourly_kwh), ENTRIES), np.nan)
    x[usable] = _joined(*of)
    return ForecastRecords(x)


def _measured(hourly_kwh: np.ndarray, cell: np.ndarray, public_shape: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return which households (N,) have usable readings and of these levels (n,), weeks (n, 48) and readings a bin,
    (n, 24 * BINS).
    """
    kwh = np.ascontiguousarray(hourly_kwh, dtype=float)
    level, ratio = np.empty(len(kwh)), np.empty((len(kwh), CELLS))
    count = np.zeros((len(kwh), HOURS * BINS), np.int32)
    least = max(LEAST_READ * kwh.shape[1], 1)
    public = (np.asarray(public_shape, float), CELL_SHARE, SPREAD_EDGES)
    usable = _measure(kwh, np.asarray(cell, np.int64), *public, least, level, ratio, count)
    return usable, level[usable], ratio[usable], count[usable]


def _joined(level_kwh: np.ndarray, ratio: np.ndarray, bin_readings: np.ndarray) -> np.ndarray:
    """Return the records (n, 1 + 48 + 24 B): an hour of the day that was never read spreads as the prior has it."""
    count = bin_readings.reshape(-1, HOURS, BINS)
    of_hour = count.sum(axis=2, keepdims=True)
    shares = np.where(of_hour == 0, spread_prior()[0], count / np.maximum(of_hour, 1))
    return np.column_stack([level_kwh, ratio, shares.reshape(len(count), HOURS * BINS)])


@njit(cache=True, nogil=True)
def _measure(kwh, cell, shape, cell_share, edges, least, level, ratio, bin_readings):
    """Fill the three arrays; return which households were read often enough, (N,)."""
    cells, hours = len(shape), len(shape) // 2
    bins = len(edges) + 1
    usable = np.zeros(len(kwh), np.bool_)
    for i in range(len(kwh)):
        total, count = np.zeros(cells), np.zeros(cells)
        for t in range(kwh.shape[1]):
            if np.isfinite(kwh[i, t]):
                total[cell[t]] += max(kwh[i, t], 0.0)
                count[cell[t]] += 1
        read = count.sum()
        if read < least:
            continue
        usable[i] = True
        mean_of_all, own = total.sum() / read, 0.0
        for c in range(cells):
            other = (c + hours) % cells
            # A cell that was never read has the mean of its hour on the other days, or of all hours.
            if count[c] > 0:
                ratio[i, c] = total[c] / count[c]
            elif count[other] > 0:
                ratio[i, c] = total[other] / count[other]
            else:
                ratio[i, c] = mean_of_all
            own += ratio[i, c] * cell_share[c]
        level[i] = own
        for c in range(cells):
            ratio[i, c] = ratio[i, c] / own if own > 0 else shape[c]
        for t in range(kwh.shape[1] if own > 0 else 0):
            if np.isfinite(kwh[i, t]):
                energy, at = max(kwh[i, t], 0.0), 0
                if energy > 0:
                    log = np.log(energy / (own * shape[cell[t]]))
                    while at < len(edges) and log >= edges[at]:
                        at += 1
                bin_readings[i, cell[t] % hours * bins + at] += 1
    return usable


def hourly(log_kwh: np.ndarray, calendar: Calendar, scale: LogScale, first_day: int, last_day: int) -> np.ndarray:
    """Return energies of local hours, (H, 24 days) kWh: the mean of what was read of an hour, over all of it.

    An hour that the clock skips is NaN, of one that comes twice both passes count as one.
    """
    hour = (calendar.local_day - first_day) * HOURS + calendar.minute_of_day // 60
    count = (last_day - first_day + 1) * HOURS
    inside = np.flatnonzero((hour >= 0) & (hour < count))
    total, seen = np.zeros((2, len(log_kwh), count))
    _add_up(scale.kwh(log_kwh[:, inside]), hour[inside].astype(np.int64), total, seen)
    with np.errstate(invalid="ignore"):
        return total / seen * calendar.slots_per_hour


@njit(cache=True, nogil=True)
def _add_up(kwh, hour, total, seen):
    for i in range(len(kwh)):
        for t in range(kwh.shape[1]):
            if np.isfinite(kwh[i, t]):
                total[i, hour[t]] += kwh[i, t]
                seen[i, hour[t]] += 1


def record_tables(path, config: Mapping) -> Iterator[dict]:
    """Yield the rows of table ``group_records`` of a part of ``recent_load``, some households at a time.

    The window is the end of the public period; a household without usable readings there has no row.
    """
    export = config["export"]
    first, last = window_of(export)
    local = LocalTime.of(export)
    scale = LogScale.of_interval(config["profiles"], local.interval_minutes)
    shape, cell = in_cells(prior_shape()), cells_of(first, last - first + 1, local.weekend)
    for household, log_kwh, calendar in log_load_batches(path, local, table=RECENT_LOAD):
        usable, level, ratio, count = _measured(hourly(log_kwh, calendar, scale, first, last), cell, shape)
        yield {
            "household": household[usable],
            "level_kwh": level,
            "ratio": pa.array(list(ratio), GROUP_RECORDS.schema.field("ratio").type),
            "bin_readings": pa.array(list(count), GROUP_RECORDS.schema.field("bin_readings").type),
        }


def stored_records(paths: Sequence, household: np.ndarray) -> Pieces:
    """Return the records of the listed households (N,) ascending from parts of ``group_records``."""

    def read() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for path in paths:
            for rows in read_row_groups(path, GROUP_RECORDS):
                own = rows["household"].to_numpy()
                listed = np.isin(own, household)
                ratio, count = (
                    rows[name].combine_chunks().flatten().to_numpy().reshape(len(own), width)[listed]
                    for name, width in (("ratio", CELLS), ("bin_readings", HOURS * BINS))
                )
                level = rows["level_kwh"].to_numpy()[listed]
                yield np.searchsorted(household, own[listed]), _joined(level, ratio, count)

    return Pieces((len(household), ENTRIES), read)
