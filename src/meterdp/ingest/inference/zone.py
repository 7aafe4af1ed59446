"""What the stamps tell about their clock: hours that a change of clocks skips or repeats, and when homes sleep.

Which days of an export keep most meters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from zoneinfo import available_timezones

import numpy as np

from meterdp.core.stamps import DAY_US, HOUR_US, utc_offset_minutes
from meterdp.ingest.batch import NO_STAMP, Batch, NameIndex
from meterdp.ingest.clock import LAST_MARK, ClockChanges, clock_changes
from meterdp.ingest.inference.first_readings import by_clock_us

# One zone per rule of clock changes; others share it.
CLOCKS = {
    "Europe/London": "British and Irish",
    "Europe/Zurich": "Central European",
    "Europe/Athens": "Eastern European",
    "America/Los_Angeles": "North American",
    "Australia/Sydney": "south-east Australian",
    "Pacific/Auckland": "New Zealand",
}
# More zones, of which offsets tell and changes of clocks alone do not.
_BY_OFFSET = (*CLOCKS, "America/Denver", "America/Chicago", "America/New_York", "Australia/Brisbane", "Asia/Kolkata")
# Hours since 1970 of the years in which changes of clocks are looked for, 1980 to 2199.
_FIRST_HOUR, _END_HOUR = (int(np.datetime64(year, "h").astype(int)) for year in ("1980", "2200"))
# A skipped hour is empty and a repeated one twice as full as the same hour a day before and after, or nearly.
_EMPTY, _FULL, _DOUBLE = 0.1, 0.8, 1.6
_FEWEST = 4
# An offset that fewer stamps carry is a mistake in some rows.
_STRAY = 0.01
# Of many readings every seventh, which meets every time of day, tells when homes sleep.
_MANY, _SLEEP_STEP = 50_000, 7
# An offset behind a time of day.
_OFFSET = re.compile(r"[T ].*[\d ]([+-])(\d\d):?(\d\d)?$")
# Hours of the day at which panels feed in most, also in summer time.
_NOON, _NEAR_NOON = 12.5, 2.5
# As many meters as tell.
_MOST_METERS = 2000


@dataclass(frozen=True)
class Hours:
    """How many stamps lie in each local hour from ``_FIRST_HOUR`` on, and in which hours the first and last do."""

    count: np.ndarray
    first: int
    last: int

    @classmethod
    def of(cls, hours: np.ndarray) -> Hours | None:
        """Count (n,) hours since 1970; strays far off only move the first or last."""
        if not len(hours):
            return None
        known = hours[(hours >= _FIRST_HOUR) & (hours < _END_HOUR)] - _FIRST_HOUR
        return cls(np.bincount(known, minlength=1), int(hours.min()), int(hours.max()))

    def between(self, begin: int, end: int) -> int:
        """Return how many stamps lie in [begin, end)."""
        return int(self.count[max(0, begin - _FIRST_HOUR) : max(0, end - _FIRST_HOUR)].sum())


@dataclass(frozen=True)
class ClockEvidence:
    """What the stamps say about the clock."""

    carries_offset: bool  # whether stamps carry an offset from UTC
    # Whether it changes twice a year; None if no change lies in the period, or the stamps contradict.
    changes: bool | None
    zones: tuple[str, ...]  # one for every rule of changes that fits, in the order of CLOCKS
    sleep_hour: float | None  # of the file's clock, or of UTC, around which least energy is used
    hours: Hours | None = None  # where stamps without an offset lie
    unlike_zones: tuple[str, ...] = ()  # one for every rule that does not fit

    def against(self, time_zone: str) -> tuple[str, str, bool] | None:
        """Return problem and hint where the stamps speak against being on the clock of a zone, else None; and whether
        it is an hour that is there twice, which no clock but one that is set back can write.
        """
        if self.follows(time_zone):
            return None
        verdicts = _verdicts(self.hours, time_zone)
        # An hour that is missing may be missing for another reason.
        doubled = not verdicts and any(twice for zone in self.zones for _, twice in _verdicts(self.hours, zone))
        if not verdicts and not doubled:
            return None
        hint = (
            "if stamps are in standard time or UTC, set export.stamp_time_zone to that, such as Etc/GMT-1 for UTC+1"
        )
        if self.zones:
            names = " or ".join(CLOCKS[zone] for zone in self.zones)
            hint = (
                f"stamps follow the {names} rule: set it to the zone of the homes, such as {self.zones[0]}, or "
                "export.stamp_time_zone to that of the stamps"
            )
        what = "repeats an hour that the clock of {} does not repeat"
        if not doubled:
            what = "holds readings in an hour that the clock of {} skips"
        return what.format(time_zone), hint, doubled

    def follows(self, time_zone: str) -> bool:
        """Whether the stamps follow the clock of a zone at every change that they tell of, one at least."""
        verdicts = _verdicts(self.hours, time_zone)
        return bool(verdicts) and all(said for said, _ in verdicts)

    def unlike(self, time_zone: str) -> str | None:
        """Say that the clock of the stamps changes and that of a zone does not, if so: an hour may be missing for
        another reason.
        """
        if self.carries_offset or not self.changes or _verdicts(self.hours, time_zone):
            return None
        names = " or ".join(CLOCKS[zone] for zone in self.zones)
        return (
            f"hours are skipped in spring or repeated in autumn by the {names} rule, not by the clock of {time_zone}"
            f": if stamps are local time, set export.time_zone to the zone of the homes, such as {self.zones[0]}"
        )

    def sentences(self, whole: bool, time_zone: str, at_us: int, *, self_described: bool) -> list[str]:
        """Say what they tell, of all rows of the export or of its first, of homes in a zone; ``at_us`` is an instant
        among them, for its offset. The format may describe the clock itself.
        """
        said = []
        if self.carries_offset:
            said += ["stamps carry an offset from UTC, so no change of clocks is lost"] * (not self_described)
        elif self.changes:
            names = " or ".join(CLOCKS[zone] for zone in self.zones)
            said.append(f"hours are skipped in spring or repeated in autumn by the {names} rule: a local clock")
        elif self.changes is False:
            names = " or ".join(CLOCKS[zone] for zone in self.unlike_zones)
            said.append(
                "stamps show no daylight-saving jump: standard time or UTC"
                if len(self.unlike_zones) == len(CLOCKS)
                else f"stamps show no jump on the dates when {names} clocks change, and cannot tell about other "
                "clocks: they may be standard time, UTC or local time"
            )
        else:
            period = "the period has" if whole else "the first rows have"
            said.append(f"{period} no daylight-saving change, so stamps do not reveal their time zone")
        if self.sleep_hour is not None:
            clock, hour = "the file's clock", self.sleep_hour
            if self.carries_offset:
                [minutes] = utc_offset_minutes(np.array([at_us], "datetime64[us]"), time_zone)
                clock, hour = time_zone, (hour + minutes / 60) % 24
            panels = ", in those with solar panels around noon" if abs(hour - _NOON) <= _NEAR_NOON else ""
            said.append(f"use is lowest around {hour:.0f}:00 by {clock}; in most homes that is before dawn{panels}")
        return said


def clock_evidence(batches: Iterable[Batch], earlier_us: int = 0) -> ClockEvidence:
    """Judge the stamps of an export, made earlier by so much, by the dates on which zones change their clocks."""
    local, utc, number = [], 0, NameIndex({}, grow=True)
    by_hour, energy = np.zeros((_MOST_METERS, 24)), np.zeros((_MOST_METERS, 24))
    for batch in batches:
        is_utc = np.broadcast_to(batch.stamps_are_utc, batch.stamp_us.shape)
        # Where a row holds a whole day, the skipped hour is there and has no readings.
        used = (batch.stamp_us > LAST_MARK) & np.isfinite(batch.energy)
        hour = (batch.stamp_us[used] - earlier_us) // HOUR_US
        is_utc = is_utc[used]
        utc += int(is_utc.sum())
        if not is_utc.all():
            local.append(hour[~is_utc])
        some = slice(None, None, _SLEEP_STEP if len(hour) > _MANY else 1)
        meter = number(batch.meter_ids, batch.meter)[used][some]
        few = (meter >= 0) & (meter < _MOST_METERS)
        cell = 24 * meter[few] + hour[some][few] % 24
        by_hour += np.bincount(cell, minlength=by_hour.size).reshape(by_hour.shape)
        amount = np.abs(batch.energy[used][some][few])
        energy += np.bincount(cell, amount, minlength=energy.size).reshape(energy.shape)
    hours = np.concatenate(local) if local else np.empty(0, np.int64)
    sleep = _sleep_hour(energy, by_hour)
    if utc > len(hours):
        return ClockEvidence(True, None, (), sleep)
    counted = Hours.of(hours)
    verdicts = {zone: [said for said, _ in _verdicts(counted, zone)] for zone in CLOCKS}
    fits = tuple(zone for zone, said in verdicts.items() if said and all(said))
    unlike = tuple(zone for zone, said in verdicts.items() if not all(said))
    return ClockEvidence(False, True if fits else False if unlike else None, fits, sleep, counted, unlike)


def zones_of_empty_columns(batches: Iterable[Batch], interval_us: int) -> tuple[str, ...]:
    """Return the zones of :data:`CLOCKS` in whose skipped hours numbered columns, read in UTC, are empty: columns of
    those hours, or else of the hours one interval earlier, where the end of an interval names it.
    """
    as_local = [replace(batch, stamps_are_utc=False) for batch in batches]
    found = (clock_evidence(as_local, -later_us).zones for later_us in (0, interval_us))
    return next(filter(None, found), ())


def _verdicts(hours: Hours | None, zone: str) -> list[tuple[bool, bool]]:
    """Return whether stamps follow each change of a zone that they tell of, and whether its hour is there twice.

    All these changes are of whole hours.
    """
    if hours is None:
        return []
    changes, verdicts = _changes_between(zone, hours.first, hours.last), []
    for i, at in enumerate(changes.utc_us):
        before, after = changes.offset_us[i], changes.offset_us[i + 1]
        begin, end = sorted((int(at + before) // HOUR_US, int(at + after) // HOUR_US))
        days = [d for d in (-24, 24) if hours.first <= begin + d and end + d <= hours.last]
        if not days:
            continue
        here, typical = hours.between(begin, end), sum(hours.between(begin + d, end + d) for d in days) / len(days)
        if typical < _FEWEST:
            continue
        # Ends of intervals may be written by the old clock or by the new one: if not by the same one for all meters,
        # the hour that is skipped or repeated lies partly in the next.
        usual = sum(hours.between(begin + d, end + 1 + d) for d in days) / len(days)
        shared = abs(abs(hours.between(begin, end + 1) - usual) - typical) <= _EMPTY * typical
        if len(days) == 1:  # of the first or the last day, of which what lies beyond the change must be there
            beyond = 1 + shared if days[0] < 0 else -1
            if hours.between(begin + beyond, end + beyond) < _FULL * typical:
                continue
        if after > before:
            skipped = here <= _EMPTY * typical or (shared and here < _FULL * typical)
            if skipped or here >= _FULL * typical:
                verdicts.append((skipped, False))
        elif here >= _DOUBLE * typical or (shared and here >= (1 + _EMPTY) * typical):
            # An hour that is there once may have been written once by a local clock, too.
            verdicts.append((True, True))
    return verdicts


def _changes_between(zone: str, first_hour: int, last_hour: int) -> ClockChanges:
    """Return the changes of a zone in the years of two hours since 1970."""
    edges = np.clip(np.array([first_hour, last_hour]), _FIRST_HOUR, _END_HOUR - 1).astype("datetime64[h]")
    years = edges.astype("datetime64[Y]").astype(int) + 1970
    return clock_changes(zone, int(years[0]), int(years[1]) + 1)


def local_changes(zone: str, hours: np.ndarray) -> np.ndarray:
    """Return the local hours since 1970 in which a zone changes its clock, (K,), in the years of (n,) such hours."""
    if not len(hours):
        return np.empty(0, np.int64)
    changes = _changes_between(zone, int(hours.min()), int(hours.max()))
    return (changes.utc_us + changes.offset_us[:-1]) // HOUR_US


@dataclass(frozen=True)
class Offsets:
    """Offsets from UTC that some stamps carry, (n,) int64 microseconds, and the stamps, microseconds since 1970; and
    those of other files, each of which counts by itself, as more is read of some than of others.
    """

    utc_us: np.ndarray
    offset_us: np.ndarray
    others: tuple[Offsets, ...] = ()

    @classmethod
    def of(cls, words: Sequence[str], utc_us: np.ndarray) -> Offsets | None:
        """Read them off stamps that could be read; None where there is none but zero, which says nothing of homes."""
        found = [_OFFSET.search(word) if at != NO_STAMP else None for word, at in zip(words, utc_us, strict=True)]
        some = np.array([one is not None for one in found], bool)
        minutes = [60 * int(f"{f[1]}{f[2]}") + int(f"{f[1]}{f[3] or 0}") for f in found if f is not None]
        return cls(utc_us[some], 60_000_000 * np.array(minutes)) if any(minutes) else None

    def and_those(self, other: Offsets | None) -> Offsets:
        """Return these and those of another file."""
        return self if other is None else replace(self, others=(*self.others, other))

    def fit(self, zone: str, *, standard: bool) -> bool:
        """Whether they are those of the clock of a zone, or of its standard time all year, in every file."""
        return all(one._fit_alone(zone, standard=standard) for one in (self, *self.others))

    def _fit_alone(self, zone: str, *, standard: bool) -> bool:
        changes = _changes_between(zone, int(self.utc_us.min()) // HOUR_US, int(self.utc_us.max()) // HOUR_US)
        at = np.searchsorted(changes.utc_us, self.utc_us, side="right")
        around = changes.offset_us[np.clip([at - 1, at, at + 1], 0, len(changes.offset_us) - 1)]
        right = self.offset_us == (around.min(axis=0) if standard else around[1])
        offsets, count = np.unique(self.offset_us, return_counts=True)
        usual = offsets[count >= _STRAY * count.sum()]
        return all(right[self.offset_us == offset].mean() >= _FULL for offset in usual)

    @property
    def zones(self) -> tuple[str, ...]:
        """Zones that they fit: one for each clock, the first of others, or those whose standard time they are."""
        known = tuple(zone for zone in _BY_OFFSET if self.fit(zone, standard=False))
        others = (zone for zone in sorted(available_timezones()) if zone[:1] in "AEP" and "/" in zone)
        return (
            known
            or tuple(islice((zone for zone in others if self.fit(zone, standard=False)), 1))
            or tuple(zone for zone in _BY_OFFSET if self.fit(zone, standard=True))
        )

    def against(self, time_zone: str) -> tuple[str, str] | None:
        """Return problem and hint where they are not those of a zone."""
        if any(self.fit(time_zone, standard=standard) for standard in (False, True)):
            return None
        hours = " and ".join(f"{minutes // 60:+03d}:{minutes % 60:02d}" for minutes in self._minutes)
        zones = f", such as {self.zones[0]}" if self.zones else ""
        return (
            f"holds stamps with the offset {hours}, which is not that of {time_zone}",
            f"set it to the zone of the homes{zones}, or export.stamp_time_zone to that of the stamps",
        )

    @property
    def _minutes(self) -> list[int]:
        offset_us = np.concatenate([one.offset_us for one in (self, *self.others)])
        return np.unique(offset_us // 60_000_000).tolist()


def hours_by_clock(entries: Mapping[int, Counter]) -> dict[str, bool]:
    """Return of zones of :data:`CLOCKS` whether numbers of hours go by their clock, or count what has passed since
    midnight; those are left out of whose changes the days say nothing.

    ``entries`` have of every local day, microseconds since 1970, how often a number is there, and likewise, as
    negative, numbers that are marked as the second of their name.
    """
    found: dict[str, set[bool]] = {}
    for zone in CLOCKS:
        changes = clock_changes(zone)
        for i, at in enumerate(changes.utc_us):
            offsets = changes.offset_us[i : i + 2]
            begin = int(at + offsets.min()) if offsets[1] < offsets[0] else int(at + offsets[0])
            day, hour = begin - begin % DAY_US, begin % DAY_US // HOUR_US + 1
            if (there := entries.get(day)) is None:
                continue
            if offsets[1] < offsets[0]:
                twice = there[hour] > _DOUBLE * max(there[hour - 1], there[hour + 1])
                by_clock, counted = twice or there[-hour] > 0, there[25] > 0
            else:
                skipped = there[hour] <= _EMPTY * there[hour + 1]
                by_clock = skipped and there[24] > 0
                counted = not skipped and there[24] == 0 < there[23]
            said = [True] * by_clock + [False] * counted
            found.setdefault(zone, set()).update(said)
    return {zone: said.pop() for zone, said in found.items() if len(said) == 1}


def set_back_on(day_us: np.ndarray, repeated_us: int | None = None) -> tuple[str, ...]:
    """Return the zones of :data:`CLOCKS` whose clocks are set back on all of (n,) local days, none without days.

    ``repeated_us`` is the time of day at which the hour begins that is repeated, where it is known.
    """

    def fits(zone: str) -> bool:
        changes = clock_changes(zone)
        begin = (changes.utc_us + changes.offset_us[1:])[np.diff(changes.offset_us) < 0]
        days = begin - begin % DAY_US if repeated_us is None else begin - repeated_us
        return bool(np.isin(day_us, days).all())

    return tuple(zone for zone in CLOCKS if len(day_us) and fits(zone))


def least_use(kwh: np.ndarray, starts_us: np.ndarray, time_zone: str) -> str:
    """Say around which hour of a zone's clock the meters of a grid, (H, T), use least, after something else."""
    hour = by_clock_us(starts_us, time_zone) // HOUR_US % 24
    is_hour = (hour[:, None] == np.arange(24)).astype(float)
    least = _sleep_hour(np.abs(np.nan_to_num(kwh)) @ is_hour, np.isfinite(kwh) @ is_hour)
    return "" if least is None else f"; use is lowest around {least:.0f}:00 ({time_zone})"


def _sleep_hour(energy: np.ndarray, count: np.ndarray) -> float | None:
    """Return the middle of the four hours of least energy; None where nights do not stand out.

    ``energy`` and ``count`` of readings, (H, 24), are per meter. Each counts with the shape of its own day, so that
    the meter of a substation does not hide those of homes.
    """
    used = energy.sum(axis=1) > 0
    energy, count = energy[used], count[used]
    if not (count > 0).any(axis=0).all():
        return None
    own = energy.sum(axis=1) / count.sum(axis=1)
    shape = np.divide(energy, count * own[:, None], out=np.zeros_like(energy), where=count > 0)
    mean = shape.sum(axis=0) / (count > 0).sum(axis=0)
    window = np.array([mean[np.arange(h, h + 4) % 24].mean() for h in range(24)])
    if window.min() > 0.9 * mean.mean():
        return None
    return float((window.argmin() + 2) % 24)


_MOST_EDGES = 60
# As the study: what share of its readings a meter may lack, and the fewest days, in order of preference.
_MAX_MISSING_SHARE, _FEWEST_DAYS = 0.1, (28, 14, 7)
# How many of the meters that the best run of days keeps a longer one must keep.
_KEPT_SHARE = 0.95


def best_period(given: np.ndarray, slots_per_day: int) -> tuple[int, int, int, int]:
    """Return first and end slot of the longest run of days in which nearly as many meters have enough readings as in
    any run, how many meters it keeps, and how many the whole period keeps.

    A run has four weeks or more, if one of so many keeps a meter, else two or one, or else all days. ``given`` (H, T)
    is whether there is a reading.
    """
    meters = len(given)
    given = given[:: -(-meters // _MOST_METERS) or 1]
    scale = meters / max(1, len(given))
    days = -(-given.shape[1] // slots_per_day)
    edges = np.unique(np.linspace(0, days, min(days, _MOST_EDGES) + 1).round().astype(int))
    slots = np.minimum(edges * slots_per_day, given.shape[1])
    upto = np.zeros((len(given), len(edges)), np.int64)
    for j in range(1, len(edges)):
        upto[:, j] = upto[:, j - 1] + given[:, slots[j - 1] : slots[j]].sum(axis=1)
    kept = np.zeros((len(edges), len(edges)), np.int64)
    for a in range(len(edges)):
        for b in range(a + 1, len(edges)):
            enough = (1 - _MAX_MISSING_SHARE) * (slots[b] - slots[a])
            kept[a, b] = ((upto[:, b] - upto[:, a]) >= enough).sum()
    whole = kept[0, -1]
    run_days = np.subtract.outer(-edges, -edges)
    fewest = next((few for few in _FEWEST_DAYS if kept[run_days >= min(few, days)].any()), days)
    kept[run_days < min(fewest, days)] = 0
    length = slots[None, :] - slots[:, None]
    best = np.where(kept >= _KEPT_SHARE * kept.max(), length, -1)
    a, b = np.unravel_index(best.argmax(), best.shape)
    return int(slots[a]), int(slots[b]), round(kept[a, b] * scale), round(whole * scale)
