"""Gaps: readings that come in a longer interval than the grid's, and short gaps filled from the days before."""

from __future__ import annotations

import numpy as np

from meterdp.profiles.grid import Calendar

_FEWEST_COARSE = 6
_DAYS_BACK, _FEWEST_DAYS = 7, 2


def coarse_readings(energy_kwh: np.ndarray, min_slots: float) -> np.ndarray:
    """Find stretches of readings of a longer interval, such as hours in a half-hourly export.

    A stretch is a run of readings with no two in neighbouring slots. It is coarse if it has at least six, reaches
    over ``min_slots`` from the first to the last, and the most frequent distance of neighbours is that of more than
    half of them and divides nine in ten. An ordinary reading next to it belongs to it: which of the slots between
    them a reading is of is not known.

    Parameters
    ----------
    energy_kwh : (H, T) float64
        NaN where missing.
    min_slots : float

    Returns
    -------
    (H, T) bool
        Readings that hold the energy of more than their slot.
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
    """Fill gaps of at most ``longest`` slots by the mean of the same local time on the seven days before.

    Only the past is looked at, so that a reading filled in knows nothing that a forecast from there must not know. A
    slot with readings on fewer than two of the days stays missing; what was filled in fills no other.

    Parameters
    ----------
    usable_kwh : (H, T) float64
        NaN where missing.
    calendar : Calendar
        Of the T slots.
    longest : int

    Returns
    -------
    usable_kwh : (H, T) float64
    repaired : (H, T) bool
        Slots that were filled.
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
