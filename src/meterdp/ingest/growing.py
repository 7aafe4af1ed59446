"""The dense array of an export read once, while its meters and the range of its stamps are still becoming known.

The room for it is reserved at once and used as meters come, so nothing is copied when there is one more; a wider
range of slots moves the rows within that room. Where the room does not do, or what was read turns out to need another
look (a meter whose rows run backwards through a repeated hour), it is given up and the export is read a second time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from meterdp.ingest.dense import REASONS, Grid, clear_conflicts, none_counts
from meterdp.ingest.settings import ExportSettings


class Growing:
    """Readings of meters in the order in which they come, on a grid that widens.

    Parameters
    ----------
    settings : ExportSettings
    most_bytes : int
        Room of the array.

    Attributes
    ----------
    counts : (R,) int64
        Rows per reason, in the order of :data:`meterdp.ingest.dense.REASONS`.
    repeated : (H, 2) int64
        Rows of each household that repeat a reading, and that differ from one; in order after :meth:`finish`.
    all_inside : bool
        Always true: there is no earlier reading of the export that it could differ from.
    """

    all_inside = True

    def __init__(self, settings: ExportSettings, most_bytes: int):
        self._settings = settings
        self.counts = np.zeros(len(REASONS), np.int64)
        self.repeated = np.zeros((0, 2), np.int64)
        self._meters, self._first, self._slots = 0, 0, 0
        try:
            self._room: np.ndarray | None = np.empty(most_bytes // 8)  # no page of it is used before it is written
        except MemoryError:
            self._room = None

    @property
    def given_up(self) -> bool:
        """Whether the export must be read a second time."""
        return self._room is None

    def give_up(self) -> None:
        """Let go of what was read."""
        self._room = None

    def put(self, start_us, meter, energy, unreadable, anchor_us: int, first_slot: int, last_slot: int, meters: int):
        """Take the next readings.

        Parameters
        ----------
        start_us, meter, energy, unreadable : (n,) arrays
            See :func:`meterdp.ingest.dense.scatter`; meters by the order in which they come.
        anchor_us : int
            Of the grid.
        first_slot, last_slot : int
            The slots these readings are of, or those of the public period; the first is larger if there is none.
        meters : int
            Meters known by now.
        """
        if self.given_up or not self._grow(first_slot, last_slot, meters):
            return
        readings = start_us, meter, energy, unreadable
        grid = Grid(self._settings, anchor_us, self._first)
        grid.put(readings, self._rows(self._meters), self.repeated, self.counts)

    def _rows(self, meters: int) -> np.ndarray:
        return self._room[: meters * self._slots].reshape(meters, self._slots)

    def _grow(self, first_slot: int, last_slot: int, meters: int) -> bool:
        """Make room for slots and meters; return whether there is."""
        end = self._first + self._slots
        if first_slot <= last_slot and (not self._slots or first_slot < self._first or last_slot >= end):
            first, last = first_slot, last_slot + 1
            if self._slots:
                first, last = min(first, self._first), max(last, end)
                # Twice as wide as asked for, so that an export in order of time does not widen it at every block.
                before, behind = (last - first) * (first < self._first), (last - first) * (last > end)
                if max(meters, self._meters) * (last + behind - first + before) <= len(self._room):
                    first, last = first - before, last + behind
            if max(meters, self._meters) * (last - first) > len(self._room):
                self.give_up()
                return False
            self._widen(first, last - first)
        if meters * self._slots > len(self._room):
            self.give_up()
            return False
        if meters > self._meters:
            self._rows(meters)[self._meters :] = np.nan
            self.repeated = np.concatenate([self.repeated, np.zeros((meters - self._meters, 2), np.int64)])
            self._meters = meters
        return True

    def _widen(self, first: int, slots: int) -> None:
        """Move the rows, the last one first, to where they lie when there are more slots."""
        shift, old = (self._first - first, self._slots) if self._slots else (0, 0)
        for meter in range(self._meters - 1, -1, -1):
            values = self._room[meter * old : (meter + 1) * old].copy()
            row = self._room[meter * slots : (meter + 1) * slots]
            row[:] = np.nan
            row[shift : shift + old] = values
        self._first, self._slots = first, slots

    def finish(self, rank: np.ndarray, first_slot: int, slots: int) -> None:
        """Put the households in order, household h being meter ``rank[h]``, and cut the grid to its ``slots``."""
        if self.given_up or not self._grow(first_slot, first_slot + slots - 1, len(rank)):
            return
        rows = self._rows(self._meters)
        if not np.array_equal(rank, np.arange(len(rank))):
            _permute(rows, rank)
            self.repeated = self.repeated[rank]
        self._energy_kwh = rows[:, first_slot - self._first : first_slot - self._first + slots]
        if none_counts(self._settings):
            clear_conflicts(self._energy_kwh)

    def arrays(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield all households as :meth:`meterdp.ingest.bands.Bands.arrays` yields some."""
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
