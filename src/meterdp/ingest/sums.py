"""From the registers of a household to one reading per interval: sums over registers and over parts of an interval.

A sum counts only if all of its parts are there; a part that is missing leaves the interval missing. Every part is
accounted for: a household's readings make the sums that come out, or they are counted by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from meterdp.errors import InputError
from meterdp.ingest.batch import Batch
from meterdp.ingest.clock import Clock
from meterdp.ingest.dense import REASONS
from meterdp.ingest.settings import ExportSettings

# Readings of an export that make one batch, so that batches of all formats hold about the same number.
_READINGS_PER_BATCH = 1 << 17
# Readings of a household after which it is looked at what can be dropped, and beyond which it has too many: more than
# those of a few registers every five minutes.
LOOKED_AT, MOST_PARTS = 1 << 18, 1 << 20
_REGISTERS, _SHORTEST_US = 4, 5 * 60_000_000


@dataclass(frozen=True)
class Parts:
    """The n readings of one household, in the order of the file."""

    register: np.ndarray  # (n,) int, 0 to R - 1
    start_us: np.ndarray  # (n,) int64, UTC start of the interval the reading covers
    length_us: np.ndarray  # (n,) int64
    kwh: np.ndarray  # (n,) float64, NaN where missing; negative where it counts against the household's consumption
    row: np.ndarray  # (n,) int64, row of the file

    def __getitem__(self, chosen) -> Parts:
        return Parts(*(column[chosen] for column in vars(self).values()))

    def __len__(self) -> int:
        return len(self.kwh)

    @classmethod
    def together(cls, pieces: list[Parts]) -> Parts:
        """Return the readings of all ``pieces``, one after another."""
        if not pieces:
            return cls(*(np.zeros(0, kind) for kind in (np.int64, np.int64, np.int64, float, np.int64)))
        return cls(*(np.concatenate(columns) for columns in zip(*(vars(p).values() for p in pieces), strict=True)))


def sums(parts: Parts, required, settings: ExportSettings) -> tuple[np.ndarray, np.ndarray, np.ndarray, Counter]:
    """Return UTC starts (m,), rising, their sums over all registers in kWh (m,), the row of the last part (m,), and
    what became of all other parts: readings per reason of ``dense.REASONS``, which with the m sums make len(parts).

    ``required`` says from (u,) int64 starts of intervals, each ``settings.interval_us`` long, which registers the sum
    of an interval needs, (u, R) bool. A register that has a reading of the interval is needed in any case.
    """
    set_aside: Counter = Counter()
    interval_us, row = settings.interval_us, parts.row
    # Many readings may share a row, so the order of the file is kept in its place.
    parts, anchor_us = _usable(replace(parts, row=np.arange(len(row))), settings, set_aside)
    if not len(parts):
        return parts.start_us, parts.kwh, row[parts.row], set_aside
    start_us = parts.start_us - (parts.start_us - anchor_us) % interval_us
    # Runs of one register in one interval, by length; a run is whole if its parts fill the interval.
    parts, start_us = (x[np.lexsort((parts.length_us, parts.register, start_us))] for x in (parts, start_us))
    run = _runs(start_us, parts.register, parts.length_us)
    partial = (np.bincount(run) * parts.length_us[_firsts(run)] != interval_us)[run] if len(run) else run.astype(bool)
    start_us, run = start_us[~partial], run[~partial]
    parts = _without(parts, partial, "sum_incomplete", set_aside)
    # Of whole runs of different lengths, the one that stands last in the file counts.
    run = np.unique(run, return_inverse=True)[1]
    first = _firsts(run)
    last = np.maximum.reduceat(parts.row, first) if len(first) else first
    cell = _runs(start_us[first], parts.register[first])
    best = np.zeros(len(first), bool)
    best[np.lexsort((last, cell))[_lasts(cell)]] = True
    kept = best[run]
    start_us = start_us[kept]
    parts = _without(parts, ~kept, "superseded_by_later_row", set_aside)
    # Sums over registers.
    slot = _runs(start_us)
    first = _firsts(slot)
    at = start_us[first]
    need = required(at)
    have = np.zeros(need.shape, bool)
    have[slot, parts.register] = True
    whole = (have | ~need).all(axis=1)
    kept = whole[slot]
    parts, slot = _without(parts, ~kept, "sum_incomplete", set_aside), slot[kept]
    at = at[whole]
    slot = np.unique(slot, return_inverse=True)[1]
    set_aside["part_of_sum"] += len(parts) - len(at)
    last = np.maximum.reduceat(parts.row, _firsts(slot)) if len(at) else at
    # Register by register, so that equal ones that count against each other leave exactly nothing.
    cell = _runs(slot, parts.register)
    kwh = np.bincount(slot[_firsts(cell)], np.bincount(cell, parts.kwh), len(at))
    return at, kwh, row[last], set_aside


def _without(parts: Parts, bad: np.ndarray, reason: str, set_aside: Counter) -> Parts:
    set_aside[reason] += int(bad.sum())
    return parts[~bad]


def _usable(parts: Parts, settings: ExportSettings, set_aside: Counter) -> tuple[Parts, int]:
    """Return what may be a part of a sum, of every register, start and length the last reading, and the grid."""
    parts = _without(parts, np.isnan(parts.kwh), "value_missing", set_aside)
    parts = _without(parts, np.isinf(parts.kwh), "value_not_finite", set_aside)
    shorter = (parts.length_us > 0) & (parts.length_us <= settings.interval_us)
    divides = shorter & (settings.interval_us % np.where(shorter, parts.length_us, 1) == 0)
    parts = _without(parts, ~divides, "interval_differs", set_aside)
    if not len(parts):
        return parts, 0
    first_us = int(parts.start_us.min()) if settings.period_us is None else settings.period_us[0]
    anchor_us = Clock(settings).grid_anchor_us(first_us)
    parts = _without(parts, (parts.start_us - anchor_us) % parts.length_us != 0, "off_grid_stamp", set_aside)
    return _latest(parts, set_aside), anchor_us


class Held:
    """The readings of one household as they come.

    In a public period they take no more memory than that many readings do, however many there are: now and then
    those are dropped that no sum can need. A household that still has too many, of other lengths and registers, has
    none.
    """

    def __init__(self, settings: ExportSettings):
        self._settings = settings
        self._pieces: list[Parts] = []
        self._new, self._dropped, self._too_many = 0, Counter(), False

    def add(self, piece: Parts) -> None:
        """Take readings, in the order of the file."""
        if self._too_many:
            self._dropped["too_many_readings"] += len(piece)
            return
        self._pieces.append(piece)
        self._new += len(piece)
        if self._new > LOOKED_AT and self._settings.period_us is not None:
            self._drop()

    def _drop(self) -> None:
        settings, parts, self._new = self._settings, Parts.together(self._pieces), 0
        begin, end = settings.period_us
        outside = (parts.start_us < begin - settings.interval_us) | (parts.start_us >= end + settings.interval_us)
        self._dropped["stamp_outside_period"] += int(outside.sum())
        parts = parts[~outside]
        kept, _ = _usable(replace(parts, row=np.arange(len(parts))), settings, self._dropped)
        parts = parts[np.sort(kept.row)]
        most = max(MOST_PARTS, _REGISTERS * (end - begin) // _SHORTEST_US)
        self._too_many = settings.bad_rows != "refuse" and len(parts) > most
        if self._too_many:
            self._dropped["too_many_readings"] += len(parts)
        self._pieces = [] if self._too_many else [parts]

    def sums(self, required, renumbered=None) -> tuple[np.ndarray, np.ndarray, np.ndarray, Counter]:
        """Return what :func:`sums` does, with registers that ``renumbered`` numbers from their numbers, if given."""
        parts = Parts.together(self._pieces)
        if renumbered is not None:
            parts = replace(parts, register=renumbered(parts.register))
        *found, set_aside = sums(parts, required, self._settings)
        return *found, set_aside + self._dropped

    @property
    def registers(self) -> set[int]:
        return {int(number) for piece in self._pieces for number in np.unique(piece.register)}


def _latest(parts: Parts, set_aside: Counter) -> Parts:
    """Keep the last reading of every register, start and length; the others are duplicates or superseded."""
    parts = parts[np.lexsort((np.arange(len(parts)), parts.length_us, parts.start_us, parts.register))]
    again = np.zeros(len(parts), bool)
    again[:-1] = np.diff(_runs(parts.register, parts.start_us, parts.length_us)) == 0
    equal = np.zeros(len(parts), bool)
    equal[:-1] = parts.kwh[1:] == parts.kwh[:-1]
    set_aside["duplicate_identical"] += int((again & equal).sum())
    set_aside["superseded_by_later_row"] += int((again & ~equal).sum())
    return parts[~again]


def _runs(*keys: np.ndarray) -> np.ndarray:
    """Return (n,) numbers of the runs of equal keys in columns that are sorted by them."""
    new = np.zeros(len(keys[0]), bool)
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return np.cumsum(new)


def _firsts(run: np.ndarray) -> np.ndarray:
    """Return where each run starts."""
    return np.flatnonzero(np.diff(run, prepend=-1))


def _lasts(run: np.ndarray) -> np.ndarray:
    """Return where each run ends."""
    return np.flatnonzero(np.diff(run, append=run[-1] + 1)) if len(run) else run


ONE_FEED = "export usage points, meter readings, reading types and interval blocks as one feed"
_HINTS = {
    "interval_differs": "set export.interval_minutes to the intervals of the file, or to a multiple of them",
    "other_register": "set export.flow, or ask for the interval readings of electrical energy",
    "sum_incomplete": "export all registers of each meter, and set export.interval_minutes to their intervals",
    "off_grid_stamp": "check export.interval_minutes",
    "reading_type_missing": ONE_FEED,
}


def nothing_left(path, set_aside: Mapping[str, int]) -> InputError:
    """The error for a file with readings none of which can be used, by what became of most of them."""
    reason = max(set_aside, key=set_aside.get)
    return InputError(
        f"holds no usable reading, most are {reason} ({REASONS[reason].rstrip('.')})",
        file=path,
        hint=_HINTS.get(reason, "check that the file holds interval readings"),
    )


class Batches:
    """Gather the sums of a file's households until they make a batch; refuse bad rows, or count what they hold."""

    def __init__(self, path, settings: ExportSettings, batch_bytes: int):
        self.path, self.refuse = path, settings.bad_rows == "refuse"
        self.sums, self.became = 0, Counter()  # of the whole file
        self._readings = min(_READINGS_PER_BATCH, max(1, batch_bytes // 32))
        self._clear()

    def _clear(self) -> None:
        self._ids: list[str] = []
        self._columns: list[tuple[np.ndarray, ...]] = []
        self._set_aside: Counter = Counter()
        self._count = 0

    def set_aside(self, reason: str, readings: int) -> None:
        """Count readings that belong to no household."""
        self._set_aside[reason] += readings
        self.became[reason] += readings

    def reject(self, reason: str, row: int, field: str | None, problem: str, hint: str, readings: int) -> None:
        """Refuse a row, or count so many readings of it."""
        if self.refuse:
            raise InputError(problem, file=self.path, row=row, field=field, hint=hint)
        if readings:
            self.set_aside(reason, readings)

    def add(self, meter_id: str, start_us, kwh, row, set_aside: Counter) -> Iterator[Batch]:
        """Take the sums of a household, and yield a batch if there are enough."""
        self._columns.append((np.full(len(kwh), len(self._ids), np.int32), start_us, kwh, row))
        self._ids.append(meter_id)
        self._set_aside.update(set_aside)
        self.became.update(set_aside)
        self.sums += len(kwh)
        self._count += len(kwh)
        if self._count >= self._readings:
            yield from self.rest()

    def rest(self) -> Iterator[Batch]:
        if not self._columns and not self._set_aside:
            return
        empty = (np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64))
        meter, start_us, kwh, row = (np.concatenate(c) for c in zip(empty, *self._columns, strict=True))
        batch = Batch(
            first_row=int(row[0]) if len(row) else 1,
            meter_ids=self._ids,
            meter=meter,
            stamp_us=start_us,
            stamps_are_utc=True,
            energy=kwh,
            rows=row,
            set_aside=dict(self._set_aside),
        )
        self._clear()
        yield batch
