"""Unit slips: a stretch of a household's readings that is 10, 100 or 1000 times too large or too small.

A household's use may change a hundredfold when somebody comes home, so a level alone proves nothing. A stretch is a
slip by 10^j only if all of this holds, each from the household's own readings and public constants:

1. Place: of all stretches it is the likeliest. With z the log10 of a reading's size over the household's median at
   the same local hour, the sum of |z| - |z - j| over the stretch is largest.
2. Length: at least ``unit_slip_hours``, with a reading other than zero in every second slot, and no more of them than
   outside, where three days of them are.
3. Shape: the 10th, 50th and 90th percentiles of the sizes are 10^j times those of the other readings, each within the
   factor ``level_tolerance``.
4. Sharp edges: the median z of the six hours inside each edge is nearer to j than to 0, and that of the six hours
   outside nearer to 0; an edge without readings outside is not looked at, but one of the two must be.
5. Evidence that no use of energy leaves: the last digit moved with the point (a stretch of whole 0.01 kWh among
   readings of 0.001 kWh, or the other way round), or, for 100 and 1000, its median power is above
   ``unit_slip_power_kw``.

Zeros have no size; they belong to the stretch they lie in. A slip downwards that was rounded to the usual digits, one
of a factor of 10 in readings without a last digit, and one of more than half the period are not found.
"""

from __future__ import annotations

import numba
import numpy as np

from meterdp.profiles.grid import Calendar

POWERS = (3, 2, 1, -1, -2, -3)
_EDGE_HOURS = 6
_FEWEST_OTHER_DAYS = 3
_MOST_STRETCHES = 20
# Stretches that are looked at for each power; of the likeliest, all may fail and a shorter one pass.
_MOST_TRIED = 5
_NEVER = -1e9
# A household with no half stretch so far from its median half stretch has no slip.
_SUSPICIOUS_LOG10 = 0.4
_FINEST_DIGITS = 6
_OFF_DIGIT = 1e-3
_NEARLY_ALL, _HALF = 0.99, 0.5


def unit_slips(
    energy_kwh: np.ndarray, calendar: Calendar, min_hours: float, tolerance: float, power_kw: float
) -> np.ndarray:
    """Find the unit slips of every household in (H, T) kWh, NaN where missing.

    ``min_hours`` is the shortest slip, ``tolerance`` the factor that a level may be off, and no household draws
    ``power_kw`` all day. Returns the power of ten by which a reading is too large, (H, T) int8, 0 where there is no
    slip.
    """
    out = np.zeros(energy_kwh.shape, np.int8)
    if not energy_kwh.size:
        return out
    with np.errstate(divide="ignore"):
        log_size = np.log10(np.abs(energy_kwh))
    log_size[~np.isfinite(log_size)] = np.nan
    slots = max(1, round(min_hours * calendar.slots_per_hour))
    hour = calendar.minute_of_day // 60
    for i in _suspects(log_size, max(1, slots // 2)):
        above_usual = log_size[i] - _medians(log_size[i], hour, 24)[hour]
        for _ in range(_MOST_STRETCHES):
            found = _likeliest(energy_kwh[i], log_size[i], above_usual, out[i], calendar, slots, tolerance, power_kw)
            if found is None:
                break
            begin, end, power = found
            out[i, begin:end][np.isfinite(energy_kwh[i, begin:end])] = power
    return out


def _suspects(log_size: np.ndarray, block: int) -> np.ndarray:
    """Return the households with a block of slots far from their median block: none of the others has a slip."""
    blocks = log_size.shape[1] // block
    parts = log_size[:, : blocks * block].reshape(len(log_size), blocks, block)
    count = np.isfinite(parts).sum(axis=2)
    mean = np.where(count > 0, np.nansum(parts, axis=2) / np.maximum(count, 1), np.nan)
    some = np.flatnonzero((count > 0).any(axis=1))
    far = np.abs(mean[some] - np.nanmedian(mean[some], axis=1, keepdims=True)) >= _SUSPICIOUS_LOG10
    return some[far.any(axis=1)]


def _medians(values: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """Return the median of the finite values of each group, (groups,); NaN for a group without any."""
    finite = np.isfinite(values)
    values, group = values[finite], group[finite]
    ordered = values[np.lexsort((values, group))]
    count = np.bincount(group, minlength=groups)
    some, begin = count > 0, np.cumsum(count) - count
    low, high = ((begin + half)[some] for half in ((count - 1) // 2, count // 2))
    out = np.full(groups, np.nan)
    out[some] = (ordered[low] + ordered[high]) / 2
    return out


@numba.njit(cache=True)
def best_stretch(gain):
    """Return begin, end and sum of the stretch with the largest sum of ``gain``, (T,); the first of several."""
    best, best_begin, best_end = 0.0, 0, 0
    total, begin = 0.0, 0
    for t in range(len(gain)):
        if total <= 0.0:
            total, begin = 0.0, t
        total += gain[t]
        if total > best:
            best, best_begin, best_end = total, begin, t + 1
    return best_begin, best_end, best


def _likeliest(energy, log_size, above_usual, known, calendar: Calendar, slots: int, tolerance, power_kw):
    """Return begin, end and power of the likeliest slip of one household that is not ``known``, or None."""
    best, answer = 0.0, None
    for power in POWERS:
        # By how much each slot is nearer to the power than to 0.
        nearer = np.nan_to_num(np.abs(above_usual) - np.abs(above_usual - power))
        gain = np.where(known != 0, _NEVER, nearer)
        for _ in range(_MOST_TRIED):
            begin, end, total = best_stretch(gain)
            if total <= best:
                break
            gain[begin:end] = _NEVER
            if end - begin < slots:
                continue
            found = _judged(energy, log_size, above_usual, known, begin, end, power, calendar, tolerance, power_kw)
            if found is not None:
                best, answer = total, (*found, power)
                break
    return answer


def _judged(
    energy, log_size, above_usual, known, begin: int, end: int, power: int, calendar: Calendar, tolerance, power_kw
) -> tuple[int, int] | None:
    """Return begin and end of a stretch if it is a slip, without what does not belong to it at its edges."""
    inside = np.zeros(len(energy), bool)
    inside[begin:end] = True
    outside = ~inside & (known == 0)
    if not _alike(log_size, inside, outside, power, calendar, tolerance):
        return None
    moved = _digits_moved(energy[inside], energy[outside], power)
    median_kw = 10 ** np.nanmedian(log_size[inside]) * 60 / calendar.interval_minutes
    if not moved and not (power >= 2 and median_kw > power_kw):
        return None
    if moved and power > 0:
        begin, end = _trimmed(energy, begin, end, _last_digit(energy[outside]) * 10.0**power)
    return (begin, end) if _sharp(above_usual, begin, end, power, calendar) else None


def _alike(log_size, inside, outside, power: int, calendar: Calendar, tolerance: float) -> bool:
    """Whether the sizes in the stretch are those of the others moved by ``power``."""
    own, others = (log_size[part & np.isfinite(log_size)] for part in (inside, outside))
    if 2 * len(own) < inside.sum() or len(others) < max(len(own), _FEWEST_OTHER_DAYS * calendar.slots_per_day):
        return False
    at = [0.1, 0.5, 0.9]
    return bool((np.abs(np.quantile(own, at) - power - np.quantile(others, at)) <= np.log10(tolerance)).all())


def _sharp(above_usual, begin: int, end: int, power: int, calendar: Calendar) -> bool:
    """Whether the level jumps at the edges."""
    length, judged, half = _EDGE_HOURS * calendar.slots_per_hour, 0, abs(power) / 2
    for inner, outer in (
        (above_usual[begin : begin + length], above_usual[max(begin - length, 0) : begin]),
        (above_usual[max(end - length, 0) : end], above_usual[end : end + length]),
    ):
        inner, outer = inner[np.isfinite(inner)], outer[np.isfinite(outer)]
        if not len(inner) or not len(outer):
            continue
        judged += 1
        if abs(np.median(inner) - power) > half or abs(np.median(outer)) > half:
            return False
    return judged > 0


def _whole(values: np.ndarray, unit: float) -> np.ndarray:
    """Whether values are whole multiples of a unit, up to floating point."""
    return np.abs(values / unit - np.round(values / unit)) < _OFF_DIGIT


def _last_digit(values: np.ndarray) -> float | None:
    """Return the largest power of ten that nearly all values other than zero are multiples of; None without one."""
    values = values[np.isfinite(values) & (values != 0)]
    for digits in range(_FINEST_DIGITS + 1):
        if len(values) and _whole(values, 10.0**-digits).mean() >= _NEARLY_ALL:
            return 10.0**-digits
    return None


def _digits_moved(inside: np.ndarray, outside: np.ndarray, power: int) -> bool:
    """Whether the last digit in the stretch is another one than outside, by ``power``."""
    unit = _last_digit(outside)
    if unit is None:
        return False
    inside, outside = (part[np.isfinite(part) & (part != 0)] for part in (inside, outside))
    moved = unit * 10.0**power
    coarse, fine = (outside, moved) if power > 0 else (inside, unit)
    return bool(_whole(inside, moved).mean() >= _NEARLY_ALL and _whole(coarse, fine).mean() <= _HALF)


def _trimmed(energy: np.ndarray, begin: int, end: int, unit: float) -> tuple[int, int]:
    """Return the stretch without readings at its edges that are no multiples of ``unit``: ordinary high ones."""
    whole = np.flatnonzero(_whole(np.nan_to_num(energy[begin:end]), unit) & np.isfinite(energy[begin:end]))
    return begin + whole[0], begin + whole[-1] + 1
