"""What the stamps tell about their clock: hours that a change of clocks skips or repeats, and when homes sleep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from meterdp.exports.batch import NO_STAMP, Batch
from meterdp.exports.clock import clock_changes

# One zone per rule of clock changes; others share it.
CLOCKS = {
    "Europe/London": "British and Irish",
    "Europe/Zurich": "Central European",
    "Europe/Athens": "Eastern European",
    "America/Los_Angeles": "North American",
    "Australia/Sydney": "south-east Australian",
    "Pacific/Auckland": "New Zealand",
}
_HOUR_US = 3_600_000_000
# Hours since 1970 of the years in which changes of clocks are looked for, 1980 to 2199.
_FIRST_HOUR, _END_HOUR = (int(np.datetime64(year, "h").astype(int)) for year in ("1980", "2200"))
# A skipped hour is empty and a repeated one twice as full as the same hour a day before and after, or nearly.
_EMPTY, _FULL, _DOUBLE = 0.1, 0.8, 1.6
_FEWEST = 4
# Of many readings every seventh, which meets every time of day, tells when homes sleep.
_MANY, _SLEEP_STEP = 50_000, 7


@dataclass(frozen=True)
class ClockEvidence:
    """What the stamps say about the clock.

    Parameters
    ----------
    carries_offset : bool
        Whether stamps carry an offset from UTC.
    changes : bool or None
        Whether the clock changes twice a year; None if no change lies in the period, or the stamps contradict.
    zones : tuple of str
        A zone for every rule of changes that fits, in the order of :data:`CLOCKS`.
    sleep_hour : float or None
        Hour of the file's clock, or of UTC, around which least energy is used.
    """

    carries_offset: bool
    changes: bool | None
    zones: tuple[str, ...]
    sleep_hour: float | None

    def sentences(self) -> list[str]:
        """Say it in words."""
        said = []
        if self.carries_offset:
            said.append("stamps carry an offset from UTC, so no change of clocks is lost")
        elif self.changes:
            names = " or ".join(CLOCKS[zone] for zone in self.zones)
            said.append(f"hours are skipped in spring or repeated in autumn by the {names} rule: a local clock")
        elif self.changes is False:
            said.append("the clock runs through the dates of all clock changes we know: standard time or UTC")
        else:
            said.append("no change of clocks lies in the period, so the stamps do not tell their time zone")
        if self.sleep_hour is not None:
            clock = "UTC" if self.carries_offset else "the file's clock"
            said.append(
                f"least energy is used around {self.sleep_hour:.0f}:00 of {clock}; most homes do so before dawn"
            )
        return said


def clock_evidence(batches: Iterable[Batch]) -> ClockEvidence:
    """Judge the stamps of an export by the dates on which zones change their clocks."""
    local, utc, by_hour, energy = [], 0, np.zeros(24), np.zeros(24)
    for batch in batches:
        is_utc = np.broadcast_to(batch.stamps_are_utc, batch.stamp_us.shape)
        # Where a row holds a whole day, the skipped hour is there and has no readings.
        used = (batch.stamp_us != NO_STAMP) & np.isfinite(batch.energy)
        hour = batch.stamp_us[used] // _HOUR_US
        is_utc = is_utc[used]
        utc += int(is_utc.sum())
        if not is_utc.all():
            local.append(hour[~is_utc])
        some = slice(None, None, _SLEEP_STEP if len(hour) > _MANY else 1)
        of_day = hour[some] % 24
        by_hour += np.bincount(of_day, minlength=24)
        energy += np.bincount(of_day, np.abs(batch.energy[used][some]), minlength=24)
    hours = np.concatenate(local) if local else np.empty(0, np.int64)
    sleep = _sleep_hour(energy, by_hour)
    if utc > len(hours):
        return ClockEvidence(True, None, (), sleep)
    fits, contradicts, seen = [], 0, 0
    counted = _Hours.of(hours)
    for zone in CLOCKS:
        verdict = _follows(counted, zone)
        seen += verdict is not None
        contradicts += verdict is False
        if verdict:
            fits.append(zone)
    changes = True if fits else False if seen and contradicts == seen else None
    return ClockEvidence(False, changes, tuple(fits), sleep)


@dataclass(frozen=True)
class _Hours:
    """How many stamps lie in each local hour from ``_FIRST_HOUR`` on, and in which hours the first and last do."""

    count: np.ndarray
    first: int
    last: int

    @classmethod
    def of(cls, hours: np.ndarray) -> _Hours | None:
        """Count (n,) hours since 1970; strays far off only move the first or last."""
        if not len(hours):
            return None
        known = hours[(hours >= _FIRST_HOUR) & (hours < _END_HOUR)] - _FIRST_HOUR
        return cls(np.bincount(known, minlength=1), int(hours.min()), int(hours.max()))

    def between(self, begin: int, end: int) -> int:
        """Return how many stamps lie in [begin, end)."""
        return int(self.count[max(0, begin - _FIRST_HOUR) : max(0, end - _FIRST_HOUR)].sum())


def _follows(hours: _Hours | None, zone: str) -> bool | None:
    """Whether local stamps follow a zone's changes, which all are of whole hours; None if they cannot tell."""
    if hours is None:
        return None
    edges = np.clip(np.array([hours.first, hours.last]), _FIRST_HOUR, _END_HOUR - 1).astype("datetime64[h]")
    years = edges.astype("datetime64[Y]").astype(int) + 1970
    changes, verdicts = clock_changes(zone, int(years[0]), int(years[1]) + 1), []
    for i, at in enumerate(changes.utc_us):
        before, after = changes.offset_us[i], changes.offset_us[i + 1]
        begin, end = sorted((int(at + before) // _HOUR_US, int(at + after) // _HOUR_US))
        if end + 24 > hours.last or begin - 24 < hours.first:
            continue
        here, usual = hours.between(begin, end), [hours.between(begin + d, end + d) for d in (-24, 24)]
        typical = sum(usual) / 2
        if typical < _FEWEST:
            continue
        if after > before:
            verdicts.append(True if here <= _EMPTY * typical else False if here >= _FULL * typical else None)
        else:
            # An hour that is there once may have been written once by a local clock, too.
            verdicts.append(True if here >= _DOUBLE * typical else None)
    told = [v for v in verdicts if v is not None]
    return None if not told else all(told)


def _sleep_hour(energy: np.ndarray, count: np.ndarray) -> float | None:
    """Return the middle of the four hours of least energy; None where nights do not stand out."""
    if not (count > 0).all():
        return None
    mean = energy / count
    window = np.array([mean[np.arange(h, h + 4) % 24].mean() for h in range(24)])
    if window.min() > 0.9 * mean.mean():
        return None
    return float((window.argmin() + 2) % 24)
