"""From the local clock of an export to UTC, also through the hour that a clock change in autumn repeats.

A stamp without an offset in that hour is resolved by the order of the rows of its meter: when time steps back inside
the hour, the second pass has begun. A day that is sent again starts outside the hour and so resolves like the first
time. A meter whose rows run from the newest to the oldest reading is read by the mirrored rule.

Two ways of writing the ends of intervals are understood: converting the end to local time (the interval that ends
with the change is then labelled 02:00) and adding the interval to the local start (it is then labelled 03:00).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import numba
import numpy as np

from meterdp.core.stamps import DAY_US
from meterdp.ingest.batch import NO_CODE, NO_STAMP, NO_SUCH_TIME, Batch
from meterdp.ingest.settings import ExportSettings

OUT_OF_RANGE = NO_STAMP + 2
OUTSIDE_PERIOD = NO_STAMP + 3
LAST_MARK = OUTSIDE_PERIOD
# Interval meters are younger than the first and no export is as late as the second year.
FIRST_YEAR, END_YEAR = 1990, 2100

_OUTSIDE = -1  # a stamp that is in no hour the clock repeats
_STEP_DAYS = 3
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class ClockChanges:
    """The K changes of a zone's offset between ``FIRST_YEAR`` and ``END_YEAR``."""

    utc_us: np.ndarray  # (K,) int64, microseconds since 1970
    offset_us: np.ndarray  # (K + 1,) int64, local minus UTC before, between and after them

    @property
    def local_edges_us(self) -> np.ndarray:
        """Local start and end of what each change skips or repeats, (2 K,) int64, rising."""
        both = self.utc_us[:, None] + np.stack([self.offset_us[:-1], self.offset_us[1:]], axis=1)
        return np.sort(both, axis=1).ravel()

    def offset_at(self, utc_us: int) -> int:
        """Return local minus UTC at one instant, in microseconds."""
        return int(self.offset_us[np.searchsorted(self.utc_us, utc_us, side="right")])


# To tell the zone of readings, all zones are looked at, each several times.
@lru_cache(maxsize=1024)
def clock_changes(time_zone: str, first_year: int = FIRST_YEAR, end_year: int = END_YEAR) -> ClockChanges:
    """Find every change of the offset of an IANA zone to the second, by bisection between instants that differ.

    These are few enough days apart: no zone changed twice in less than six since ``FIRST_YEAR``.
    """
    zone = ZoneInfo(time_zone)

    def offset(instant: datetime) -> timedelta:
        return instant.astimezone(zone).utcoffset()

    first, end = datetime(first_year, 1, 1, tzinfo=UTC), datetime(end_year, 1, 1, tzinfo=UTC)
    days = [*(first + timedelta(days=i) for i in range(0, (end - first).days, _STEP_DAYS)), end]
    offsets = [offset(d) for d in days]
    instants, after = [], [offsets[0]]
    for i in range(1, len(days)):
        if offsets[i] == offsets[i - 1]:
            continue
        low, high = days[i - 1], days[i]
        while high - low > timedelta(seconds=1):
            middle = low + timedelta(seconds=(high - low) // timedelta(seconds=2))
            low, high = (middle, high) if offset(middle) == offsets[i - 1] else (low, middle)
        instants.append(high)
        after.append(offsets[i])
    microsecond = timedelta(microseconds=1)
    return ClockChanges(
        np.array([(instant - _EPOCH) // microsecond for instant in instants], dtype=np.int64),
        np.array([o // microsecond for o in after], dtype=np.int64),
    )


def midnights_us(day_us: np.ndarray, time_zone: str) -> np.ndarray:
    """Return the UTC instants at which local days begin, (n,) microseconds since 1970.

    A day whose midnight the clock skips begins with the change; one whose midnight comes twice begins with the first.
    ``day_us`` holds local midnights as microseconds since 1970-01-01 00:00 of the local clock.
    """
    changes = clock_changes(time_zone)
    at = np.searchsorted(changes.local_edges_us, day_us, side="right")
    change = at // 2
    skipped = (at % 2 == 1) & np.append(np.diff(changes.offset_us) > 0, False)[change]
    utc_us = day_us - changes.offset_us[change]
    return np.where(skipped, np.append(changes.utc_us, 0)[change], utc_us)


def elapsed_us(day_us: np.ndarray, number: np.ndarray, settings: ExportSettings) -> np.ndarray:
    """Return the UTC stamps of intervals that are counted from local midnight; a day may have 46 or 50 half-hours.

    ``number`` counts from 1 on and broadcasts with the local midnights ``day_us``. Where those are ``NO_STAMP``, so
    is the result; behind the end of the day it is ``NO_SUCH_TIME``.
    """
    known = day_us != NO_STAMP
    local_us = np.where(known, day_us, 0)
    begin, end = (midnights_us(local_us + days * DAY_US, settings.time_zone) for days in (0, 1))
    start_us = begin + (number - 1) * settings.interval_us
    stamp_us = start_us + settings.interval_us if settings.stamps_are_ends else start_us
    return np.where(known, np.where(start_us < end, stamp_us, NO_SUCH_TIME), NO_STAMP)


def clock_time_us(day_us: np.ndarray, number: np.ndarray, again: np.ndarray, settings: ExportSettings) -> np.ndarray:
    """Return the UTC stamps of intervals that are numbered by the local clock, as :func:`elapsed_us` does.

    Number n begins when the clock shows n - 1 intervals after midnight; of an hour that it shows twice the second one
    if ``again``, which is no time on other days.
    """
    changes = clock_changes(settings.time_zone)
    known = day_us != NO_STAMP
    local_us = np.where(known, day_us, 0) + (number - 1) * settings.interval_us
    at = np.searchsorted(changes.local_edges_us, local_us, side="right")
    change, inside = at // 2, at % 2 == 1
    repeated = inside & np.append(np.diff(changes.offset_us) < 0, False)[change]
    utc_us = local_us - changes.offset_us[change + (repeated & again)]
    stamp_us = utc_us + settings.interval_us if settings.stamps_are_ends else utc_us
    return np.where(known, np.where(np.where(again, repeated, inside <= repeated), stamp_us, NO_SUCH_TIME), NO_STAMP)


class Clock:
    """Turn stamps into UTC, meter by meter in the order of the file.

    ``descending`` (M,) marks meters whose rows run from the newest to the oldest reading; none without it. Of an hour
    alone, which the clock repeats, the second one has a mark, so that one without is the first in any order.
    """

    def __init__(self, settings: ExportSettings, *, descending: np.ndarray | None = None):
        self._changes = clock_changes(settings.time_zone)
        self._edges_us = self._changes.local_edges_us
        self._settings = settings
        self._range_us = np.array(
            [
                (datetime(year, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
                for year in (FIRST_YEAR, END_YEAR)
            ]
        )
        # Per meter: local stamp of its last row, the change whose repeated hour that is in, and the pass (1 or 2).
        self._last_us = np.empty(0, np.int64)
        self._last_change = np.empty(0, np.int64)
        self._last_pass = np.empty(0, np.int64)
        # How much more often its next local stamp was earlier than later.
        self._back_steps = np.empty(0, np.int64)
        self._last_step_us = np.empty(0, np.int64)
        self._descending = np.empty(0, bool) if descending is None or settings.hours_rows else descending

    @property
    def repeats(self) -> bool:
        """Whether the zone ever sets its clock back."""
        return bool((np.diff(self._changes.offset_us) < 0).any())

    @property
    def runs_backwards(self) -> np.ndarray:
        """Meters whose rows stepped back in time more often than forward, (M,) bool."""
        return self._back_steps > 0

    def interval_starts(self, meter: np.ndarray, batch: Batch) -> np.ndarray:
        """Return the UTC start of the interval of every reading of the next batch, (n,) int64 microseconds since
        1970, or ``NO_STAMP``, ``NO_SUCH_TIME`` (skipped by a clock change), ``OUT_OF_RANGE``, ``OUTSIDE_PERIOD``.

        ``meter`` (n,) numbers meters alike through all batches of an export; ``NO_CODE`` for none.
        """
        out = np.empty(len(meter), np.int64)
        is_utc = np.broadcast_to(batch.stamps_are_utc, len(meter))
        if not is_utc.all():
            self._make_room(int(meter.max(initial=NO_CODE)) + 1)
            _local_to_utc(
                meter,
                np.where(is_utc, NO_STAMP, batch.stamp_us) if is_utc.any() else batch.stamp_us,
                self._range_us,
                self._edges_us,
                self._changes.offset_us,
                self._settings.step_us,
                self._settings.interval_us,
                self._settings.stamps_are_ends,
                self._descending,
                self._last_us,
                self._last_step_us,
                self._last_change,
                self._last_pass,
                self._back_steps,
                out,
            )
        if is_utc.any():
            stamp_us, (first, end) = batch.stamp_us, self._range_us
            known = (stamp_us == NO_STAMP) | (stamp_us == NO_SUCH_TIME) | ((first <= stamp_us) & (stamp_us < end))
            np.copyto(out, np.where(known, stamp_us, OUT_OF_RANGE), where=is_utc)
        if self._settings.stamps_are_ends:
            out[out > LAST_MARK] -= self._settings.step_us
        if self._settings.period_us is not None:
            begin, end = self._settings.period_us
            out[(out > LAST_MARK) & ((out < begin) | (out >= end))] = OUTSIDE_PERIOD
        return out

    def grid_anchor_us(self, utc_us: int) -> int:
        """Return where, modulo the interval, the grid lies that runs through the full local hours at ``utc_us``."""
        return -self._changes.offset_at(utc_us) % self._settings.interval_us

    def _make_room(self, meters: int) -> None:
        have = len(self._last_us)
        if meters > have:
            more = max(meters, 2 * have) - have
            self._last_us = np.append(self._last_us, np.full(more, NO_STAMP))
            self._last_change = np.append(self._last_change, np.full(more, _OUTSIDE))
            self._last_pass = np.append(self._last_pass, np.zeros(more, np.int64))
            self._back_steps = np.append(self._back_steps, np.zeros(more, np.int64))
            self._last_step_us = np.append(self._last_step_us, np.zeros(more, np.int64))
            missing = max(0, len(self._last_us) - len(self._descending))
            self._descending = np.append(self._descending, np.zeros(missing, bool))


@numba.njit(cache=True, nogil=True)
def _pass_inside(t, last, last_pass, single, descending):
    """Pass (1 or 2) of stamp ``t`` when the row before was in the same repeated hour.

    ``single``: the hour holds one interval per pass, so that an equal stamp must be the other pass.
    """
    entry = 2 if descending else 1
    step = last - t if descending else t - last
    if last_pass == entry:
        return 3 - entry if step < 0 or (step == 0 and single) else entry
    return last_pass if step >= 0 else entry


@numba.njit(cache=True, nogil=True)
def _ends_first_pass(t, last, last_pass, hour_us, interval_us, descending):
    """Whether an end stamp just behind a repeated hour is the end of its first pass, written by the old clock.

    It is if the row before was its neighbour in the pass that comes first in the file, or a copy of itself.
    """
    neighbour = t - hour_us + interval_us if descending else t - interval_us
    copy = last == t and interval_us < hour_us
    return last_pass == (2 if descending else 1) and (last == neighbour or copy)


@numba.njit(cache=True, nogil=True)
def _local_to_utc(
    meter,
    local_us,
    range_us,
    edges_us,
    offset_us,
    shortest_us,
    longest_us,
    is_end,
    runs_backwards,
    last_us,
    last_step_us,
    last_change,
    last_pass,
    back_steps,
    out,
):
    """Fill ``out`` with UTC instants, keep the state of every meter, and count its steps in time."""
    low, high, at = np.int64(0), np.int64(0), 0  # edges_us[at - 1] <= t < edges_us[at] while low <= t < high
    for i in range(len(local_us)):
        t, m = local_us[i], meter[i]
        if t == NO_STAMP or not range_us[0] <= t < range_us[1]:
            out[i] = t if t == NO_STAMP else OUT_OF_RANGE
            continue
        if not low <= t < high:
            at = np.searchsorted(edges_us, t, side="right")
            low = edges_us[at - 1] if at > 0 else range_us[0]
            high = edges_us[at] if at < len(edges_us) else range_us[1]
        # Edges alternate between the start and the end of a change, so an odd position lies inside change at // 2.
        change, inside = at // 2, at % 2 == 1
        descending = m >= 0 and runs_backwards[m]
        # Of a meter that is read less often, the same stamp again is no copy but the hour that comes again.
        interval_us = longest_us if m >= 0 and last_step_us[m] >= longest_us else shortest_us
        repeats = inside and offset_us[change + 1] < offset_us[change]
        which = 0
        if repeats:
            same = m >= 0 and last_change[m] == change
            single = interval_us >= offset_us[change] - offset_us[change + 1]
            entry = 2 if descending else 1
            which = _pass_inside(t, last_us[m], last_pass[m], single, descending) if same else entry
        elif inside:
            # The gap starts where the change is: an end stamp there is the change itself, written by the old clock.
            out[i] = t - offset_us[change] if is_end and t == low else NO_SUCH_TIME
            continue
        elif is_end and change > 0 and t == low and m >= 0 and last_change[m] == change - 1:
            hour_us = offset_us[change - 1] - offset_us[change]
            if _ends_first_pass(t, last_us[m], last_pass[m], hour_us, interval_us, descending):
                change, which = change - 1, 1
        out[i] = t - offset_us[change + 1 if which == 2 else change]
        if m >= 0:
            if last_us[m] != NO_STAMP:
                back_steps[m] += np.int64(t < last_us[m]) - np.int64(t > last_us[m])
                last_step_us[m] = abs(t - last_us[m]) if t != last_us[m] else last_step_us[m]
            last_us[m], last_pass[m] = t, which
            last_change[m] = change if which > 0 else _OUTSIDE
