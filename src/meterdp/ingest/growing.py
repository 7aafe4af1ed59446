"""The dense array of an export read once, while its meters and the range of its stamps are still becoming known.

The room for it is reserved at once and used as meters come, so nothing is copied when there is one more; a wider
range of slots moves the rows within that room. Where the room does not do, or what was read turns out to need another
look (a meter whose rows run backwards through a repeated hour), it is given up and the export is read a second time.

The readings of an export as dense arrays of consecutive households, as many at a time as the memory given holds.

Where one array holds all, readings go straight into it. Otherwise they are first written to a scratch file for each
chunk of households, in the order of the export, and then put into one array after the other; a scratch file has no
name, so that it is gone with the process however that ends. What becomes of a reading is the same in either case,
because it depends on rows of its household only.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from meterdp.errors import InputError
from meterdp.ingest.batch import NO_CODE, NOT_LISTED
from meterdp.ingest.dense import REASONS, put, taken_together
from meterdp.ingest.settings import ExportSettings


class Growing:
    """Readings of meters in the order in which they come, on a grid that widens; the array takes ``most_bytes``.

    ``counts`` (R,) has the rows per reason, in the order of ``dense.REASONS``, and ``row_counts`` (H, 3) rows of each
    household, see ``dense.scatter``; in order after :meth:`finish`.
    """

    all_inside = True  # there is no earlier reading of the export that it could differ from

    def __init__(self, settings: ExportSettings, most_bytes: int):
        self._settings, self._parts = settings, settings.parts
        self.counts = np.zeros(len(REASONS), np.int64)
        self.row_counts = np.zeros((0, 3), np.int64)
        self._meters, self._first, self._cells = 0, 0, 0  # cells are the parts of slots
        try:
            self._room: np.ndarray | None = np.empty(most_bytes // 8)  # no page of it is used before it is written
        except MemoryError:
            self._room = None

    @property
    def given_up(self) -> bool:
        """Whether the export must be read a second time."""
        return self._room is None

    def has_room(self, meters: int, slots: int) -> bool:
        return not self.given_up and meters * slots * self._parts <= len(self._room)

    def give_up(self) -> None:
        """Let go of what was read."""
        self._room = None

    def put(self, start_us, meter, energy, unreadable, anchor_us: int, first_slot: int, last_slot: int, meters: int):
        """Take readings of :func:`meterdp.ingest.dense.scatter`, of meters by the order in which they come.

        ``first_slot`` to ``last_slot`` are those of these readings, or of the public period; the first is larger if
        there is none. ``meters`` are known by now.
        """
        if self.given_up or not self._grow(first_slot * self._parts, (last_slot + 1) * self._parts - 1, meters):
            return
        readings, grid = (start_us, meter, energy, unreadable), (self._settings, anchor_us, self._first)
        put(readings, *grid, self._rows(self._meters), self.row_counts, self.counts)

    def _rows(self, meters: int) -> np.ndarray:
        return self._room[: meters * self._cells].reshape(meters, self._cells)

    def _grow(self, first_cell: int, last_cell: int, meters: int) -> bool:
        """Make room for cells and meters; return whether there is."""
        end = self._first + self._cells
        if first_cell <= last_cell and (not self._cells or first_cell < self._first or last_cell >= end):
            first, last = first_cell, last_cell + 1
            if self._cells:
                first, last = min(first, self._first), max(last, end)
                # Twice as wide as asked for, so that an export in order of time does not widen it at every block.
                before, behind = (last - first) * (first < self._first), (last - first) * (last > end)
                if max(meters, self._meters) * (last + behind - first + before) <= len(self._room):
                    first, last = first - before, last + behind
            if max(meters, self._meters) * (last - first) > len(self._room):
                self.give_up()
                return False
            self._widen(first, last - first)
        if meters * self._cells > len(self._room):
            self.give_up()
            return False
        if meters > self._meters:
            self._rows(meters)[self._meters :] = np.nan
            self.row_counts = np.concatenate([self.row_counts, np.zeros((meters - self._meters, 3), np.int64)])
            self._meters = meters
        return True

    def _widen(self, first: int, cells: int) -> None:
        """Move the rows, the last one first, to where they lie when there are more cells."""
        shift, old = (self._first - first, self._cells) if self._cells else (0, 0)
        for meter in range(self._meters - 1, -1, -1):
            values = self._room[meter * old : (meter + 1) * old].copy()
            row = self._room[meter * cells : (meter + 1) * cells]
            row[:] = np.nan
            row[shift : shift + old] = values
        self._first, self._cells = first, cells

    def finish(self, rank: np.ndarray, first_slot: int, slots: int) -> None:
        """Put the households in order, household h being meter ``rank[h]``, and cut the grid to its ``slots``."""
        first, cells = first_slot * self._parts, slots * self._parts
        if self.given_up or not self._grow(first, first + cells - 1, len(rank)):
            return
        rows = self._rows(self._meters)
        if not np.array_equal(rank, np.arange(len(rank))):
            _permute(rows, rank)
            self.row_counts = self.row_counts[rank]
        rows = rows[:, first - self._first : first - self._first + cells]
        self._energy_kwh = taken_together(self._settings, rows, self.row_counts, self.counts)

    def arrays(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield all households as :meth:`meterdp.ingest.growing.Chunks.arrays` yields some."""
        yield 0, self._energy_kwh


def _permute(rows: np.ndarray, order: np.ndarray) -> None:
    """Let row i be what row ``order[i]`` was, in place."""
    done = np.zeros(len(order), bool)
    for start in range(len(order)):
        if done[start] or order[start] == start:
            continue
        kept, at = rows[start].copy(), start
        while order[at] != start:
            rows[at] = rows[order[at]]
            done[at] = True
            at = order[at]
        rows[at] = kept
        done[at] = True


# What Python, its libraries, the batches being read and the tables being written take beside the array.
OTHER_BYTES = 5 << 27
_ROW = np.dtype([("household", "<i4"), ("start_us", "<i8"), ("energy", "<f8"), ("unreadable", "i1")])
_READING = ("start_us", "household", "energy", "unreadable")
_ROWS_AT_ONCE = 1 << 20


class Chunks:
    """Households in chunks, and the readings of each chunk on the grid.

    ``edges`` are the first household of each chunk, and the number of households last. Scratch files go into
    ``folder``, if there is more than one chunk. After :meth:`arrays`, ``counts`` and ``row_counts`` are those of
    :class:`Growing`, and ``all_inside`` is false if a slot lies outside the grid, because the export changed since
    the grid was found.
    """

    def __init__(
        self,
        settings: ExportSettings,
        anchor_us: int,
        first_slot: int,
        slots: int,
        edges: Sequence[int],
        folder: Path | None = None,
    ):
        self._settings, self._anchor_us = settings, anchor_us
        self._first, self._cells = first_slot * settings.parts, slots * settings.parts
        self._edges = np.array(edges)
        self.counts, self.row_counts = np.zeros(len(REASONS), np.int64), np.zeros((edges[-1], 3), np.int64)
        self._folder, self._files = folder, []
        # Of every household; readings of none, which have a negative number, are counted with the first chunk. Of 16
        # bits, because NumPy sorts these in one pass; so many files cannot be open.
        sizes = [*np.diff(edges), -min(NO_CODE, NOT_LISTED)]
        self._chunk_of = np.repeat([*range(len(edges) - 1), 0], sizes).astype(np.uint16)
        self._only = self._empty(0) if len(edges) == 2 else None
        self.all_inside = True

    def __enter__(self) -> Chunks:
        if self._only is None:
            with self._telling_no_room():
                try:
                    for _ in self._edges[1:]:
                        self._files.append(tempfile.TemporaryFile(dir=self._folder))
                except OSError:  # of which too many may be open
                    self.__exit__()
                    raise
        return self

    def __exit__(self, *error) -> None:
        for file in self._files:
            with suppress(OSError):  # of a full disk, which has been reported
                file.close()

    def _empty(self, chunk: int) -> np.ndarray:
        return np.full((self._edges[chunk + 1] - self._edges[chunk], self._cells), np.nan)

    def start_again(self) -> None:
        """Let go of all readings that were put."""
        self.counts[:], self.row_counts[:], self.all_inside = 0, 0, True
        if self._only is not None:
            self._only[:] = np.nan
        for file in self._files:
            file.seek(0)
            file.truncate()

    @contextmanager
    def _telling_no_room(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            raise InputError(
                "has no room for the scratch files of so many readings",
                file=self._folder,
                hint="free disk space, raise memory_gib, or split the export by meter",
            ) from None

    def put(self, start_us: np.ndarray, household: np.ndarray, energy: np.ndarray, unreadable: np.ndarray) -> None:
        """Take the next readings of the export; see :func:`meterdp.ingest.dense.scatter`."""
        if self._only is not None:
            self._scatter((start_us, household, energy, unreadable), self._only, 0)
            return
        if not len(household):  # a batch may hold nothing but rows that could not be read
            return
        rows = np.empty(len(household), _ROW)
        for name, values in zip(_READING, (start_us, household, energy, unreadable), strict=True):
            rows[name] = values
        chunk = self._chunk_of[household]
        if chunk.min() < chunk.max():  # else all are of one: often so in an export that goes home by home
            rows = rows[np.argsort(chunk, kind="stable")]
        ends = np.cumsum(np.bincount(chunk, minlength=len(self._files)))
        for file, some in zip(self._files, np.split(rows, ends[:-1]), strict=True):
            with self._telling_no_room():
                file.write(some)

    def arrays(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the first household and (H, T) float64 readings in kWh of every chunk, NaN where there is none."""
        for number, first in enumerate(self._edges[:-1]):
            energy_kwh = self._only
            if energy_kwh is None:
                energy_kwh = self._empty(number)
                with self._telling_no_room():
                    self._files[number].seek(0)
                while len(rows := np.fromfile(self._files[number], _ROW, _ROWS_AT_ONCE)):
                    columns = [np.ascontiguousarray(rows[name]) for name in _READING]
                    self._scatter(columns, energy_kwh, first)
                self._files[number].close()
            row_counts = self.row_counts[first : first + len(energy_kwh)]
            yield int(first), taken_together(self._settings, energy_kwh, row_counts, self.counts)

    def _scatter(self, readings: Sequence[np.ndarray], energy_kwh: np.ndarray, first: int) -> None:
        start_us, household, *others = readings
        household = np.where(household >= 0, household - first, household)
        row_counts = self.row_counts[first : first + len(energy_kwh)]
        readings, grid = (start_us, household, *others), (self._settings, self._anchor_us, self._first)
        self.all_inside &= put(readings, *grid, energy_kwh, row_counts, self.counts)


def room_bytes(memory_bytes: int) -> int:
    """Return what is left for an array of the memory that the whole process may take."""
    return max(memory_bytes - OTHER_BYTES, 0)


def chunk_edges(shards: Sequence[np.ndarray], cells: int, memory_bytes: int) -> list[int]:
    """Return the first household of each chunk and the number of households, so that no shard lies in two chunks.

    ``shards`` are consecutive households; ``OTHER_BYTES`` of the memory of the whole process are for something else.
    Raises ``InputError`` if one shard does not fit.
    """
    most = room_bytes(memory_bytes) // (8 * max(cells, 1))
    longest = max(len(shard) for shard in shards)
    if longest > most:
        needed = -(-sum(map(len, shards)) // max(most, 1))
        raise InputError(
            "does not hold a shard of the readings",
            file="config",
            field="memory_gib",
            hint=f"set shards to {needed} or more, or raise it",
        )
    edges, end = [0], 0
    for shard in shards:
        if end + len(shard) - edges[-1] > most:
            edges.append(end)
        end += len(shard)
    return [*edges, end]
