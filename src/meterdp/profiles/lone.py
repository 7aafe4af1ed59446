"""Single readings that are no use of energy: catch-ups after a gap, spikes, and registers set back.

An export of differences of a register has them where readings failed (the next difference holds the energy of the
gap), where a telegram was garbled, and where a meter was exchanged under the same id or its register began again.
Each is judged against the household's own other readings; a household with fewer than a day of them is not judged.
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
    of its plausible readings at that local hour.

    Parameters
    ----------
    energy_kwh : (H, T) float64
        NaN where there is no reading.
    plausible : (H, T) bool
        Readings to judge by.
    calendar : Calendar
        Of the T slots.
    factor, tolerance : float

    Returns
    -------
    (H, T) int32
        Slots of the gap before such a reading, 0 for all others.
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

    Parameters
    ----------
    energy_kwh : (H, T) float64
    gap_slots : (H, T) int32
        From :func:`catch_ups`.
    longest : int

    Returns
    -------
    energy_kwh : (H, T) float64
        Other catch-ups as they are.
    repaired : (H, T) bool
        Slots that hold a part.
    """
    out, repaired = energy_kwh.copy(), np.zeros(energy_kwh.shape, bool)
    for i, t in zip(*np.nonzero((gap_slots > 0) & (gap_slots <= longest)), strict=True):
        begin = t - gap_slots[i, t]
        if begin > 0:
            out[i, begin : t + 1] = energy_kwh[i, t] / (t - begin + 1)
            repaired[i, begin : t + 1] = True
    return out, repaired


def register_resets(energy_kwh: np.ndarray, plausible: np.ndarray, factor: float, fewest: int) -> np.ndarray:
    """Find negative readings that are a register set back: minus what it stood at.

    All negative readings of the household stand alone, and each is more than ``factor`` times the size of its largest
    plausible reading. A household that feeds in has others, and is not judged.

    Parameters
    ----------
    energy_kwh : (H, T) float64
    plausible : (H, T) bool
        Readings to judge by.
    factor : float
    fewest : int
        With fewer plausible readings from zero on a household is not judged.

    Returns
    -------
    (H, T) bool
    """
    with np.errstate(invalid="ignore"):
        negative = energy_kwh < 0
        top = _largest(np.where(plausible & ~negative, energy_kwh, 0.0))
        too_large = negative & (-energy_kwh > factor * top[:, None])
    enough = (plausible & ~negative).sum(axis=1) >= fewest
    judged = enough & (negative == too_large).all(axis=1) & ~_has_neighbours(negative).any(axis=1)
    return negative & judged[:, None]


def spikes(energy_kwh: np.ndarray, plausible: np.ndarray, factor: float, fewest: int) -> np.ndarray:
    """Find single readings outside the plausible range, ``factor`` times as large as the largest plausible one.

    Parameters
    ----------
    energy_kwh : (H, T) float64
    plausible : (H, T) bool
        Readings to judge by.
    factor : float
    fewest : int
        With fewer plausible readings a household is not judged.

    Returns
    -------
    (H, T) bool
    """
    strange = np.isfinite(energy_kwh) & ~plausible
    size = np.abs(energy_kwh)
    top = _largest(np.where(plausible, size, 0.0))
    with np.errstate(invalid="ignore"):
        out = strange & ~_has_neighbours(strange) & (size >= factor * top[:, None])
    out[plausible.sum(axis=1) < fewest] = False
    return out


def _largest(values: np.ndarray) -> np.ndarray:
    """Return the largest value of every household, (H,); 0 without a slot."""
    return values.max(axis=1, initial=0.0)


def _has_neighbours(marks: np.ndarray) -> np.ndarray:
    """Mark marked slots next to another marked one, (H, T)."""
    out = np.zeros(marks.shape, bool)
    out[:, 1:] = marks[:, :-1]
    out[:, :-1] |= marks[:, 1:]
    return out & marks
