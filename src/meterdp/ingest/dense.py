"""From readings in the order of an export to a dense array meters x slots, and the count of what became of each.

The last row of the file wins, as a corrected reading is sent after the one it corrects, unless rows that differ shall
not count; a missing value corrects nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np

from meterdp.ingest.batch import (
    HEADER_REPEATED,
    NO_CODE,
    NO_STAMP,
    NO_SUCH_TIME,
    NOT_LISTED,
    OTHER_REGISTER,
    UNIT_DIFFERS,
)
from meterdp.ingest.clock import END_YEAR, FIRST_YEAR, LAST_MARK, OUT_OF_RANGE, OUTSIDE_PERIOD
from meterdp.ingest.settings import ExportSettings

# What can become of a row, in the order in which the tests are made, with 'used' first.
REASONS = {
    "used": "The reading is one of the canonical readings.",
    "meter_missing": "The row names no meter, e.g. a blank line.",
    "meter_not_listed": "The meter is not on the public list export.meters.",
    "row_malformed": "The row cannot be split into as many fields as the header has, or is not text.",
    "unit_differs": "The row names no unit that can be converted to export.unit.",
    "stamp_unreadable": "The stamp is not in the format of export.time_format.",
    "value_unreadable": "The reading is not a number.",
    "header_repeated": "The row is the header once more.",
    "other_register": "The row is not among those of export.keep_rows or export.flow, or does not measure energy.",
    "stamp_missing": "The row has no stamp.",
    "value_missing": "The reading is empty, or a word that means a missing one.",
    "value_not_finite": "The reading is infinite.",
    "stamp_out_of_range": f"The stamp lies before {FIRST_YEAR} or after {END_YEAR - 1}.",
    "stamp_outside_period": "The stamp lies outside the days export.first_day to export.last_day.",
    "nonexistent_local_time": "The stamp names a local time that a clock change skips.",
    "off_grid_stamp": "The stamp does not lie on the interval grid.",
    "duplicate_identical": "An earlier row has the same meter, interval and reading.",
    "superseded_by_later_row": "A later row has the same meter and interval but another reading; the last counts.",
    "conflicting_rows": "Another row has the same meter and interval but another reading; none counts, by policy.",
    "finer_interval": "The reading is of a part of an interval, which is not added up (shortest_interval_minutes).",
    "part_of_sum": "The reading is one more part of a sum that is used: over registers, or within an interval.",
    "sum_incomplete": "Another part of the sum is missing: another register, or the rest of the interval.",
    "interval_differs": "The reading covers more than export.interval_minutes, or a time that does not divide it.",
    "quality_unknown": "The row says that its quality varies, but not which this reading has.",
    "reading_type_missing": "No reading type, or more than one, says what the reading means.",
    "too_many_readings": "The meter has more readings of different times and registers than can be in the period.",
    "file_unreadable": "A file cannot be read, or not to its end; counted once for each such file.",
}
(
    USED,
    METER_MISSING,
    METER_NOT_LISTED,
    ROW_MALFORMED,
    _UNIT_DIFFERS,
    _STAMP_UNREADABLE,
    _VALUE_UNREADABLE,
    _HEADER_REPEATED,
    _OTHER_REGISTER,
    STAMP_MISSING,
    VALUE_MISSING,
    VALUE_NOT_FINITE,
    STAMP_OUT_OF_RANGE,
    STAMP_OUTSIDE_PERIOD,
    NONEXISTENT_LOCAL_TIME,
    OFF_GRID_STAMP,
    DUPLICATE_IDENTICAL,
    SUPERSEDED_BY_LATER_ROW,
    CONFLICTING_ROWS,
    FINER_INTERVAL,
    PART_OF_SUM,
    SUM_INCOMPLETE,
    *_,
) = range(len(REASONS))

FILE_UNREADABLE = list(REASONS).index("file_unreadable")

# Rows of a household that are counted: they repeat a reading, differ from one, or lie between two intervals.
REPEATED, DIFFERING, BETWEEN = range(3)

_NO_SLOT = -1
# What stands in a cell that has no reading because rows of it differ, or because there are others between its stamps.
_DIFFER, _IN_PARTS = np.inf, -np.inf
# A stamp that is no multiple of it is that of no interval we read, so it tells nothing of others.
SHORTEST_US = 5 * 60_000_000
# Of an interval: nothing, a reading of the whole, all its parts, some of them.
_NOTHING, _WHOLE, _PARTS, _SOME_PARTS = range(4)
# A mark of Batch.unreadable and its reason differ by this.
_MARKS = _UNIT_DIFFERS - UNIT_DIFFERS
assert _MARKS + HEADER_REPEATED == _HEADER_REPEATED and _MARKS + OTHER_REGISTER == _OTHER_REGISTER


@numba.njit(cache=True, nogil=True)
def run_begins(meter, circuit):
    """Return where meter or circuit are others than in the row before, of rows that name both."""
    out = np.empty(len(meter), np.int64)
    found, last_meter, last_circuit = 0, NO_CODE, NO_CODE
    for i in range(len(meter)):
        if meter[i] != NO_CODE and circuit[i] != NO_CODE and (meter[i] != last_meter or circuit[i] != last_circuit):
            last_meter, last_circuit = meter[i], circuit[i]
            out[found] = i
            found += 1
    return out[:found]


@numba.njit(cache=True, nogil=True)
def slot_range(start_us, meter, anchor_us, step_us, interval_us):
    """Return the first and last slot on the grid and the readings they come from; first > last if there is none."""
    first, last, first_at, last_at = np.iinfo(np.int64).max, np.iinfo(np.int64).min, -1, -1
    for i in range(len(start_us)):
        t = start_us[i]
        if t <= LAST_MARK or meter[i] < 0 or (t - anchor_us) % step_us != 0:
            continue
        slot = (t - anchor_us) // interval_us
        if slot < first:
            first, first_at = slot, i
        if slot > last:
            last, last_at = slot, i
    return first, last, first_at, last_at


@numba.njit(cache=True, nogil=True)
def _reason_and_cell(start_us, household, energy, unreadable, anchor_us, step_us):
    """Return why a reading cannot be used, or ``USED`` and its absolute cell."""
    if unreadable == HEADER_REPEATED:  # names no meter
        return _HEADER_REPEATED, _NO_SLOT
    if household < 0:
        return METER_NOT_LISTED if household == NOT_LISTED else METER_MISSING, _NO_SLOT
    if unreadable > 0:
        return _MARKS + unreadable, _NO_SLOT
    if start_us == NO_STAMP:
        return STAMP_MISSING, _NO_SLOT
    if np.isnan(energy):
        return VALUE_MISSING, _NO_SLOT
    if np.isinf(energy):
        return VALUE_NOT_FINITE, _NO_SLOT
    if start_us == OUT_OF_RANGE:
        return STAMP_OUT_OF_RANGE, _NO_SLOT
    if start_us == OUTSIDE_PERIOD:
        return STAMP_OUTSIDE_PERIOD, _NO_SLOT
    if start_us == NO_SUCH_TIME:
        return NONEXISTENT_LOCAL_TIME, _NO_SLOT
    if (start_us - anchor_us) % step_us != 0:
        return OFF_GRID_STAMP, _NO_SLOT
    return USED, (start_us - anchor_us) // step_us


@numba.njit(cache=True, nogil=True)
def count_reasons(start_us, household, energy, unreadable, anchor_us, step_us, counts):
    """Add to ``counts`` (R,) what becomes of readings that are not put anywhere; see :func:`scatter`."""
    for i in range(len(start_us)):
        counts[_reason_and_cell(start_us[i], household[i], energy[i], unreadable[i], anchor_us, step_us)[0]] += 1


@numba.njit(cache=True, nogil=True)
def scatter(
    start_us,
    household,
    energy,
    unreadable,
    kwh_per_unit,
    anchor_us,
    step_us,
    first_cell,
    is_end,
    has_period,
    none_counts,
    energy_kwh,
    row_counts,
    counts,
):
    """Put a batch of readings into the dense array and count what became of each.

    Returns False if a cell lies outside the array, which means the export changed since its range was found.

    Parameters
    ----------
    start_us : (n,) int64
        UTC starts of the intervals, or the marks of :mod:`meterdp.ingest.clock`.
    household : (n,) int
        Row of ``energy_kwh``, negative for no meter.
    energy, unreadable : (n,)
        As in ``Batch``.
    kwh_per_unit : (int, int)
        Numerator and denominator of the factor to kWh.
    anchor_us, step_us, first_cell : int
        Column j of ``energy_kwh`` starts at ``anchor_us + (first_cell + j) * step_us``: a cell, as long as the
        shortest interval that readings are of.
    is_end : bool
        Whether stamps are ends, so that one between two cells is of a part of the later one.
    has_period : bool
        Whether the grid is that of a public period, so that a cell outside is none of the study's.
    none_counts : bool
        Whether rows of one cell that differ leave it without a reading, marked until :func:`taken_together`;
        otherwise the last counts.
    energy_kwh, row_counts, counts : (H, C) float64, (H, 3) int64, (R,) int64
        Filled or added to in place: readings; rows of a household that are ``REPEATED``, ``DIFFERING`` or
        ``BETWEEN``; rows per reason in the order of :data:`REASONS`.
    """
    for i in range(len(start_us)):
        h = household[i]
        reason, cell = _reason_and_cell(start_us[i], h, energy[i], unreadable[i], anchor_us, step_us)
        if reason == USED:
            column = cell - first_cell
            if column < 0 or column >= energy_kwh.shape[1]:
                if not has_period:
                    return False
                # The last of a period that does not end on the grid.
                counts[STAMP_OUTSIDE_PERIOD] += 1
                continue
            new, old = energy[i] * kwh_per_unit[0] / kwh_per_unit[1], energy_kwh[h, column]
            if not np.isfinite(new):
                reason = VALUE_NOT_FINITE
            elif np.isnan(old):
                energy_kwh[h, column] = new
            elif old == _IN_PARTS:
                reason = FINER_INTERVAL
            elif old == new:
                reason = DUPLICATE_IDENTICAL
                row_counts[h, REPEATED] += 1
            elif none_counts:
                reason = CONFLICTING_ROWS
                if np.isfinite(old):  # the row before this one counted until now
                    counts[USED] -= 1
                    counts[CONFLICTING_ROWS] += 1
                    row_counts[h, DIFFERING] += 1
                energy_kwh[h, column] = _DIFFER
                row_counts[h, DIFFERING] += 1
            else:
                energy_kwh[h, column] = new
                reason = SUPERSEDED_BY_LATER_ROW
                row_counts[h, DIFFERING] += 1
        elif reason == OFF_GRID_STAMP and (start_us[i] - anchor_us) % SHORTEST_US == 0:
            row_counts[h, BETWEEN] += 1
            column = (start_us[i] - anchor_us) // step_us + is_end - first_cell
            if 0 <= column < energy_kwh.shape[1]:
                if np.isfinite(energy_kwh[h, column]):
                    counts[USED] -= 1
                    counts[FINER_INTERVAL] += 1
                energy_kwh[h, column] = _IN_PARTS
        counts[reason] += 1
    return True


def put(
    readings: Sequence[np.ndarray],
    settings: ExportSettings,
    anchor_us: int,
    first_cell: int,
    energy_kwh,
    row_counts,
    counts,
) -> bool:
    """Put start, household, energy and mark of readings into arrays; see :func:`scatter`."""
    grid = settings.kwh_per_unit, anchor_us, settings.step_us, first_cell
    how = settings.stamps_are_ends, settings.period_us is not None, none_counts(settings)
    return scatter(*readings, *grid, *how, energy_kwh, row_counts, counts)


def none_counts(settings: ExportSettings) -> bool:
    """Whether rows of one interval that differ leave it without a reading."""
    return settings.conflicting_rows == "missing"


def taken_together(settings: ExportSettings, cells_kwh: np.ndarray, row_counts: np.ndarray, counts) -> np.ndarray:
    """Return the readings (H, T) of the intervals, in the place of their cells (H, C), once all rows are known.

    An interval has a reading if there is one of the whole of it or one of each of its parts. Without one are those
    whose rows differ, if none of these shall count, or lack a part.
    """
    parts = settings.parts
    slots = cells_kwh.shape[1] // parts
    changed = row_counts[:, BETWEEN] > 0
    if none_counts(settings):
        changed |= row_counts[:, DIFFERING] > 0
    rows = np.arange(len(cells_kwh)) if parts > 1 else np.flatnonzero(changed)
    whole_at = parts - 1 if settings.stamps_are_ends else 0
    for household in rows:
        _take_together(cells_kwh[household], parts, whole_at, settings.is_power, counts)
    return cells_kwh[:, :slots]


@numba.njit(cache=True, nogil=True)
def _take_together(row, parts, whole_at, is_power, counts):
    """Let the first T of the cells (T * parts,) of a household be the readings of its intervals, and count parts.

    What stands in the cell ``whole_at`` alone is the reading of an interval, unless those before and after it with
    any reading are in parts: then the others are missing, as before and after a gap.
    """
    slots = len(row) // parts
    found = np.empty(slots, np.uint8)
    for slot in range(slots):
        given, marked, total, whole = 0, False, 0.0, row[slot * parts + whole_at]
        for cell in row[slot * parts : (slot + 1) * parts]:
            marked |= cell == _IN_PARTS
            if np.isfinite(cell):
                given += 1
                total += cell
        if given == parts and parts > 1:
            found[slot], row[slot] = _PARTS, total / parts if is_power else total
            counts[USED] -= parts - 1
            counts[PART_OF_SUM] += parts - 1
        elif given == 1 and np.isfinite(whole) and not marked:
            found[slot], row[slot] = _WHOLE, whole
        else:
            found[slot], row[slot] = _SOME_PARTS if given or marked else _NOTHING, np.nan
            counts[USED] -= given
            counts[SUM_INCOMPLETE] += given
    before = _NOTHING
    for slot in range(slots):
        if found[slot] == _WHOLE and before != _WHOLE:
            after = slot + 1
            while after < slots and found[after] == _NOTHING:
                after += 1
            in_parts = after < slots and found[after] != _WHOLE
            if (in_parts and before == _NOTHING) or (before != _NOTHING and (in_parts or after == slots)):
                found[slot], row[slot] = _SOME_PARTS, np.nan
                counts[USED] -= 1
                counts[FINER_INTERVAL] += 1
        if found[slot] != _NOTHING:
            before = found[slot]
