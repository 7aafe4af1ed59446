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
    "row_malformed": "The row cannot be split into as many fields as the header has, or is no text.",
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
    "finer_interval": "The meter is read more often than every export.interval_minutes; none of its readings counts.",
    "part_of_sum": "The reading is one more part of a sum that is used: over registers, or within an interval.",
    "sum_incomplete": "Another part of the sum is missing: another register, or the rest of the interval.",
    "interval_differs": "The reading covers more than export.interval_minutes, or a time that does not divide it.",
    "quality_unknown": "The row says that its quality varies, but not which this reading has.",
    "reading_type_missing": "No reading type, or more than one, says what the reading means.",
    "too_many_readings": "The meter has more readings of different times and registers than can be in the period.",
    "file_unreadable": "One of several files cannot be read, or not to its end; counted once for each such file.",
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
    *_,
) = range(len(REASONS))

FILE_UNREADABLE = list(REASONS).index("file_unreadable")

# Rows of a household that are counted: they repeat a reading, differ from one, or lie between two intervals.
REPEATED, DIFFERING, BETWEEN = range(3)

_NO_SLOT = -1
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
def slot_range(start_us, meter, anchor_us, interval_us):
    """Return the first and last slot on the grid and the readings they come from; first > last if there is none."""
    first, last, first_at, last_at = np.iinfo(np.int64).max, np.iinfo(np.int64).min, -1, -1
    for i in range(len(start_us)):
        t = start_us[i]
        if t <= LAST_MARK or meter[i] < 0 or (t - anchor_us) % interval_us != 0:
            continue
        slot = (t - anchor_us) // interval_us
        if slot < first:
            first, first_at = slot, i
        if slot > last:
            last, last_at = slot, i
    return first, last, first_at, last_at


@numba.njit(cache=True, nogil=True)
def _reason_and_slot(start_us, household, energy, unreadable, anchor_us, interval_us):
    """Return why a reading cannot be used, or ``USED`` and its absolute slot."""
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
    if (start_us - anchor_us) % interval_us != 0:
        return OFF_GRID_STAMP, _NO_SLOT
    return USED, (start_us - anchor_us) // interval_us


@numba.njit(cache=True, nogil=True)
def count_reasons(start_us, household, energy, unreadable, anchor_us, interval_us, counts):
    """Add to ``counts`` (R,) what becomes of readings that are not put anywhere; see :func:`scatter`."""
    for i in range(len(start_us)):
        counts[_reason_and_slot(start_us[i], household[i], energy[i], unreadable[i], anchor_us, interval_us)[0]] += 1


@numba.njit(cache=True, nogil=True)
def scatter(
    start_us,
    household,
    energy,
    unreadable,
    kwh_per_unit,
    anchor_us,
    interval_us,
    first_slot,
    has_period,
    none_counts,
    energy_kwh,
    row_counts,
    counts,
):
    """Put a batch of readings into the dense array and count what became of each.

    Returns False if a slot lies outside the array, which means the export changed since its range was found.

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
    anchor_us, interval_us, first_slot : int
        Column j of ``energy_kwh`` starts at ``anchor_us + (first_slot + j) * interval_us``.
    has_period : bool
        Whether the grid is that of a public period, so that a slot outside is none of the study's.
    none_counts : bool
        Whether rows of one slot that differ leave it without a reading, marked by infinity until
        :func:`clear_conflicts`; otherwise the last counts.
    energy_kwh, row_counts, counts : (H, T) float64, (H, 3) int64, (R,) int64
        Filled or added to in place: readings; rows of a household that are ``REPEATED``, ``DIFFERING`` or
        ``BETWEEN``; rows per reason in the order of :data:`REASONS`.
    """
    for i in range(len(start_us)):
        reason, slot = _reason_and_slot(start_us[i], household[i], energy[i], unreadable[i], anchor_us, interval_us)
        if reason == USED:
            column = slot - first_slot
            if column < 0 or column >= energy_kwh.shape[1]:
                if not has_period:
                    return False
                # The last of a period that does not end on the grid.
                counts[STAMP_OUTSIDE_PERIOD] += 1
                continue
            new, old = energy[i] * kwh_per_unit[0] / kwh_per_unit[1], energy_kwh[household[i], column]
            if not np.isfinite(new):
                reason = VALUE_NOT_FINITE
            elif np.isnan(old):
                energy_kwh[household[i], column] = new
            elif old == new:
                reason = DUPLICATE_IDENTICAL
                row_counts[household[i], REPEATED] += 1
            elif none_counts:
                reason = CONFLICTING_ROWS
                if np.isfinite(old):  # the row before this one counted until now
                    counts[USED] -= 1
                    counts[CONFLICTING_ROWS] += 1
                    row_counts[household[i], DIFFERING] += 1
                energy_kwh[household[i], column] = np.inf
                row_counts[household[i], DIFFERING] += 1
            else:
                energy_kwh[household[i], column] = new
                reason = SUPERSEDED_BY_LATER_ROW
                row_counts[household[i], DIFFERING] += 1
        elif reason == OFF_GRID_STAMP:
            row_counts[household[i], BETWEEN] += 1
        counts[reason] += 1
    return True


def put(
    readings: Sequence[np.ndarray],
    settings: ExportSettings,
    anchor_us: int,
    first_slot: int,
    energy_kwh,
    row_counts,
    counts,
) -> bool:
    """Put start, household, energy and mark of readings into arrays; see :func:`scatter`."""
    grid = settings.kwh_per_unit, anchor_us, settings.interval_us, first_slot, settings.period_us is not None
    return scatter(*readings, *grid, none_counts(settings), energy_kwh, row_counts, counts)


def none_counts(settings: ExportSettings) -> bool:
    """Whether rows of one interval that differ leave it without a reading."""
    return settings.conflicting_rows == "missing"


def clear(settings: ExportSettings, energy_kwh: np.ndarray, row_counts: np.ndarray, counts: np.ndarray) -> None:
    """Take out of the readings (H, T), in place, what does not count once all rows of a household are known.

    Those of intervals whose rows differ, which are marked, and all of a household with so many rows between the
    intervals that it is read more often: what stands for an interval is the energy of a part of it.
    """
    if none_counts(settings):
        for row in energy_kwh:
            row[np.isinf(row)] = np.nan
    for household in np.flatnonzero(row_counts[:, BETWEEN]):
        used = np.isfinite(energy_kwh[household]).sum()
        if 2 * row_counts[household, BETWEEN] > used:
            energy_kwh[household] = np.nan
            counts[USED] -= used
            counts[FINER_INTERVAL] += used
