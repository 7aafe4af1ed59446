"""Which households a forecasting study takes, by an order that looks at no reading, and whether there is room.

The order is the order of a hash of the household's dense index, so it needs no seed, is the same on every machine
and in every run, and does not change for the households already chosen when ``count`` grows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from meterdp.errors import InputError
from meterdp.profiles.grid import Calendar, LocalTime


def fixed_order(household: np.ndarray, purpose: str) -> np.ndarray:
    """Return the positions that put ``household`` (n,) into its fixed pseudo-random order; two purposes give two
    unrelated ones.
    """
    digests = [hashlib.sha256(f"{purpose}\0{int(h)}".encode()).digest() for h in household]
    return np.array(sorted(range(len(digests)), key=digests.__getitem__), dtype=np.int64)


def choose_households(household: np.ndarray, count: int) -> np.ndarray:
    """Choose ``count`` of some households by the fixed order, ascending int32; all of them if there are fewer.

    Whoever is chosen out of more households is chosen out of any part of them that still holds it: a household that
    quality rules keep and that is among the first ``count`` of all meters is forecast.
    """
    if count < 0:
        raise ValueError("count must not be negative")
    household = np.unique(np.asarray(household, dtype=np.int64))
    return np.sort(household[fixed_order(household, "forecast households")[:count]]).astype(np.int32)


def circuits_of(meters: pa.Table, household: np.ndarray) -> np.ndarray | None:
    """Return the circuit 0..G-1 of some households, (n,) int64; None if table ``meters`` does not name them all."""
    names = dict(zip(meters["household"].to_pylist(), meters["circuit"].to_pylist(), strict=True))
    named = [names[h] for h in household.tolist()]
    return None if None in named else np.unique(named, return_inverse=True)[1]


def study_calendar(log_load_parts: Iterable, slot_count: int, local_time: LocalTime) -> Calendar | None:
    """Return the calendar of the study from one stamp of the table ``log_load``, None if no part has a household.

    Only the first stamp of the first part that has a row is read.
    """
    for path in log_load_parts:
        for batch in pq.ParquetFile(path).iter_batches(batch_size=1, columns=["interval_start_utc"]):
            return local_time.calendar(batch["interval_start_utc"][0].as_py(), slot_count)
    return None


def check_room(calendar: Calendar, train_days: int, horizon: int, origins: int) -> int:
    """Return the slot after the training window; refuse an export that leaves no room for that many origins behind
    it.
    """
    train_end = calendar.window(train_days).stop
    if train_end + horizon + origins - 1 > calendar.slot_count:
        raise InputError(
            f"asks for {train_days} days of training and {origins} origins, but the export is too short for them",
            file="config",
            field="forecast.train_days",
            hint="lower forecast.train_days or forecast.origins, or give a longer export",
        )
    return train_end
