"""Single readings that are no use of energy: catch-ups after a gap, spikes, and registers set back; and gaps.

An export of differences of a register has them where readings failed (the next difference holds the energy of the
gap), where a telegram was garbled, and where a meter was exchanged under the same id or its register began again.
Each is judged against the household's own other readings; a household with fewer than a day of them is not judged.
Readings may also come in a longer interval than the grid's, and short gaps be filled from the days before.

Readings are (H, T) kWh, NaN where there is none; ``plausible`` marks those to judge by.
"""

from __future__ import annotations

import numpy as np

from meterdp.profiles.grid import Calendar


def catch_ups(
    energy_kwh: np.ndarray, plausible: np.ndarray, calendar: Calendar, factor: float, tolerance: float
) -> np.ndarray:
    """Find readings directly after a gap that hold the energy of the gap as well.

    One is larger than ``factor`` times the largest plausible reading that follows no gap, and within the factor
    ``tolerance`` of what the household uses in so many intervals: the sum over the gap and its own slot of the mean
    of its plausible readings at that local hour. Returns the slots of the gap before such a reading, (H, T) int32, 0
    for all others.
    """
    out = np.zeros(energy_kwh.shape, np.int32)
    given = np.isfinite(energy_kwh)
    after_gap = given.copy()
    after_gap[:, 1:] &= ~given[:, :-1]
    after_gap[:, :1] = False
    trusted = plausible & given & ~after_gap
    top = _largest(np.where(trusted, energy_kwh, 0.0))
    with np.errstate(invalid="ignore"):
        large = after_gap & (energy_kwh > factor * top[:, None])
    large[trusted.sum(axis=1) < calendar.slots_per_day] = False
    hour = calendar.minute_of_day // 60
    for i in np.flatnonzero(large.any(axis=1)):
        weight = np.bincount(hour[trusted[i]], minlength=24)
        usual = np.bincount(hour[trusted[i]], energy_kwh[i, trusted[i]], minlength=24) / np.maximum(weight, 1)
        for t in np.flatnonzero(large[i]):
            before = np.flatnonzero(given[i, :t])
            begin = before[-1] + 1 if len(before) else 0
            expected = usual[hour[begin : t + 1]].sum()
            if expected / tolerance <= energy_kwh[i, t] <= expected * tolerance:
                out[i, t] = t - begin
    return out


def spread_over_gaps(energy_kwh: np.ndarray, gap_slots: np.ndarray, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Spread catch-ups evenly over gaps of at most ``longest`` slots that begin after the first reading.

    ``gap_slots`` is from :func:`catch_ups`. Returns the readings, other catch-ups as they are, and which slots hold a
    part.
    """
    out, repaired = energy_kwh.copy(), np.zeros(energy_kwh.shape, bool)
    for i, t in zip(*np.nonzero((gap_slots > 0) & (gap_slots <= longest)), strict=True):
        begin = t - gap_slots[i, t]
        if begin > 0:
            out[i, begin : t + 1] = energy_kwh[i, t] / (t - begin + 1)
            repaired[i, begin : t + 1] = True
    return out, repaired


def register_resets(energy_kwh: np.ndarray, plausible: np.ndarray, factor: float, fewest: int) -> np.ndarray:
    """Find negative readings that are a register set back, minus what it stood at; (H, T) bool.

    All negative readings of the household stand alone, and each is more than ``factor`` times the size of its largest
    plausible reading. A household that feeds in has others, and is not judged, nor is one with less than ``fewest``
    plausible readings from zero on.
    """
    with np.errstate(invalid="ignore"):
        negative = energy_kwh < 0
        top = _largest(np.where(plausible & ~negative, energy_kwh, 0.0))
        too_large = negative & (-energy_kwh > factor * top[:, None])
    enough = (plausible & ~negative).sum(axis=1) >= fewest
    judged = enough & (negative == too_large).all(axis=1) & ~_has_neighbours(negative).any(axis=1)
    return negative & judged[:, None]


def spikes(energy_kwh: np.ndarray, plausible: np.ndarray, factor: float, fewest: int) -> np.ndarray:
    """Find single readings outside the plausible range, ``factor`` times as large as the largest plausible one; (H,
    T) bool.

    A household with less than ``fewest`` plausible readings is not judged.
    """
    strange = np.isfinite(energy_kwh) & ~plausible
    size = np.abs(energy_kwh)
    top = _largest(np.where(plausible, size, 0.0))
    with np.errstate(invalid="ignore"):
        out = strange & ~_has_neighbours(strange) & (size >= factor * top[:, None])
    out[plausible.sum(axis=1) < fewest] = False
    return out


def _largest(values: np.ndarray) -> np.ndarray:
    return values.max(axis=1, initial=0.0)


def _has_neighbours(marks: np.ndarray) -> np.ndarray:
    """Mark marked slots next to another marked one, (H, T)."""
    out = np.zeros(marks.shape, bool)
    out[:, 1:] = marks[:, :-1]
    out[:, :-1] |= marks[:, 1:]
    return out & marks


_FEWEST_COARSE = 6
_DAYS_BACK, _FEWEST_DAYS = 7, 2


def coarse_readings(energy_kwh: np.ndarray, min_slots: float) -> np.ndarray:
    """Find readings that hold the energy of more than their slot, such as hours in a half-hourly export; (H, T) bool.

    A stretch is a run of readings with no two in neighbouring slots. It is coarse if it has at least six, reaches
    over ``min_slots`` from the first to the last, and the most frequent distance of neighbours is that of more than
    half of them and divides nine in ten. An ordinary reading next to it belongs to it: which of the slots between
    them a reading is of is not known.
    """
    out = np.zeros(energy_kwh.shape, bool)
    given = np.isfinite(energy_kwh)
    apart = np.zeros(given.shape, bool)  # not the first reading, and none in the slot before
    apart[:, 1:] = given[:, 1:] & ~given[:, :-1]
    for i in np.flatnonzero(apart.any(axis=1) & ~given[:, :1].any(axis=1)):
        apart[i, apart[i].argmax()] = False
    for i in np.flatnonzero(np.count_nonzero(apart, axis=1) >= _FEWEST_COARSE - 1):
        slot = np.flatnonzero(given[i])
        edges = np.flatnonzero(np.diff(np.r_[False, apart[i, slot], False].astype(np.int8)))
        for begin, end in edges.reshape(-1, 2):
            stretch = slot[begin - 1 : end]
            if len(stretch) < _FEWEST_COARSE or stretch[-1] - stretch[0] < min_slots:
                continue
            distance = np.diff(stretch)
            values, count = np.unique(distance, return_counts=True)
            usual = values[count.argmax()]
            if 2 * count.max() > len(distance) and 10 * (distance % usual == 0).sum() >= 9 * len(distance):
                out[i, stretch] = True
    return out


def filled(usable_kwh: np.ndarray, calendar: Calendar, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Fill gaps of at most ``longest`` slots by the mean of the same local time on the seven days before, and mark
    them.

    Only the past is looked at, so that a reading filled in knows nothing that a forecast from there must not know. A
    slot with readings on fewer than two of the days stays missing; what was filled in fills no other.
    """
    missing = np.isnan(usable_kwh)
    wanted = np.zeros(missing.shape, bool)
    for row, marks in zip(missing, wanted, strict=True):
        edges = np.flatnonzero(np.diff(np.r_[False, row, False].astype(np.int8))).reshape(-1, 2)
        for begin, end in edges[edges[:, 1] - edges[:, 0] <= longest]:
            marks[begin:end] = True
    household, slot = np.nonzero(wanted)
    total, count = np.zeros((2, len(slot)))
    for days in range(1, _DAYS_BACK + 1):
        source = calendar.same_time_before(days)[slot]
        value = np.where(source >= 0, usable_kwh[household, source], np.nan)
        seen = np.isfinite(value)
        total[seen] += value[seen]
        count += seen
    enough = count >= _FEWEST_DAYS
    out, repaired = usable_kwh.copy(), np.zeros(missing.shape, bool)
    repaired[household[enough], slot[enough]] = True
    out[repaired] = total[enough] / count[enough]
    return out, repaired
