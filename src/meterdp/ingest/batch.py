"""What every reader yields: some readings as arrays, in the order of the file, with the row they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

import numpy as np

NO_STAMP = np.iinfo(np.int64).min  # what NumPy calls NaT
NO_SUCH_TIME = NO_STAMP + 1  # a time that the local day does not have
NO_CODE = -1
NOT_LISTED = -2  # a meter that is not on the public list

# Why a reading cannot be read at all, where bad rows count as missing values; 0 where it can.
# ``OTHER_REGISTER`` marks a row of a register that is not wanted: then nothing else in it is looked at.
UNIT_DIFFERS, STAMP_UNREADABLE, VALUE_UNREADABLE, HEADER_REPEATED, OTHER_REGISTER = 1, 2, 3, 4, 5

# Bytes of export a reader turns into one batch: the arrays of a batch stay within some tens of megabytes.
BATCH_BYTES = 4 << 20


class Names(list):
    """A list of names that goes on growing; :class:`NameIndex` remembers it while something reads it."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__
    __ne__ = object.__ne__


class Seen(Sequence):
    """The first ``count`` of a list of names that goes on growing, so that batches can share it."""

    def __init__(self, names: Names, count: int):
        self.names, self._count = names, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, at):
        return self.names[: self._count][at] if isinstance(at, slice) else self.names[range(self._count)[at]]


def plain_id(name: str) -> str:
    """Return a meter's id without what spreadsheets write around digits that are to stay text: ="541" or '541."""
    if name.startswith('="') and name.endswith('"') and len(name) > 3:
        return name[2:-1]
    return name[1:] if name.startswith("'") and name[1:].isdecimal() else name


class NameIndex:
    """Numbers of names through all batches of an export.

    ``index`` has the number of every known name. An unknown one gets the next number if it may ``grow``, else
    ``NOT_LISTED``.
    """

    def __init__(self, index: dict[str, int], *, grow: bool):
        self._index, self._grow = index, grow
        # The numbers of those already met in lists of names that batches share.
        self._shared: WeakKeyDictionary[Names, np.ndarray] = WeakKeyDictionary()

    def __call__(self, names: Sequence[str], codes: np.ndarray) -> np.ndarray:
        """Return (n,) int64 numbers of ``names[codes]``, ``NO_CODE`` where that is the code."""
        if not isinstance(names, Seen):
            return np.append(self._look_up(names), NO_CODE)[codes]
        numbers = self._shared.get(names.names, np.empty(0, np.int64))
        if len(names) > len(numbers):
            numbers = np.append(numbers, self._look_up(names[len(numbers) :]))
            self._shared[names.names] = numbers
        return np.append(numbers[: len(names)], NO_CODE)[codes]

    def _look_up(self, names: Sequence[str]) -> np.ndarray:
        index, ids = self._index, map(plain_id, names)
        found = [index.setdefault(name, len(index)) if self._grow else index.get(name, NOT_LISTED) for name in ids]
        return np.array(found, np.int64)


@dataclass(frozen=True)
class Batch:
    """Consecutive readings of an export, n of them."""

    first_row: int  # of the first reading; the header is row 1, a Parquet file starts with record 1
    meter_ids: Sequence[str]  # of this batch and perhaps of batches before it, in any order
    meter: np.ndarray  # (n,) int32 into meter_ids, ``NO_CODE`` where the row names no meter
    # (n,) int64 as written, since 1970-01-01 00:00; ``NO_STAMP``, or ``NO_SUCH_TIME`` behind the end of a local day.
    stamp_us: np.ndarray
    stamps_are_utc: bool | np.ndarray  # or (n,) bool: it carried an offset and is UTC, not on the local clock
    energy: np.ndarray  # (n,) float64 in the unit of the export, NaN where missing
    readings_per_row: int = 1  # more than one in a wide export
    circuits: Sequence[str] = ()  # likewise; empty if the export names none
    circuit: np.ndarray | None = None  # (n,) int32 into circuits, ``NO_CODE`` where empty
    unreadable: np.ndarray | None = None  # (n,) int8: 0, or one of the marks above
    left_out: int = 0  # readings in rows that could not be split into fields; not among the n
    place: str = ""  # which of several files of the export it is, for messages
    rows: np.ndarray | None = None  # (n,) int64, row of the file of every reading, where they are not consecutive
    # Readings per reason of dense.REASONS that are not among the n, where readings are summed.
    set_aside: Mapping[str, int] = field(default_factory=dict)

    def first(self, readings: int) -> Batch:
        arrays = {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        return replace(self, **{name: values[:readings] for name, values in arrays.items()})

    def row_of(self, reading):
        """Return the row of the file that holds a reading of this batch, or those of several."""
        return self.first_row + reading // self.readings_per_row if self.rows is None else self.rows[reading]

    @property
    def marks(self) -> np.ndarray:
        """``unreadable``, also where all can be read."""
        return np.zeros(len(self.meter), np.int8) if self.unreadable is None else self.unreadable


def nothing_but(set_aside: Mapping[str, int], place: str) -> Batch:
    """Return a batch without a reading."""
    none = np.zeros(0, np.int64)
    return Batch(1, (), none, none, True, np.zeros(0), place=place, set_aside=set_aside)
