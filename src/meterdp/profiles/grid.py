"""The regular grid of a study: dense readings of a shard and the local calendar of its slots.

Readings live on a UTC grid; a household's habits live in local time. Everything that needs an hour of day or a week
goes through :class:`Calendar`, so that clock changes are handled in one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from meterdp.core.parquet import read_row_groups, read_table
from meterdp.core.stamps import DAY_MINUTES, utc_offset_minutes
from meterdp.core.weekend import SATURDAY_SUNDAY, Weekend
from meterdp.errors import InputError
from meterdp.ingest.tables import READINGS

# Keys of the section ``export`` that a local time is of.
LOCAL_TIME_KEYS = ("interval_minutes", "time_zone", "weekend")


@dataclass(frozen=True)
class LocalTime:
    """Public settings of local time: the interval of the readings, the IANA zone of the homes, and their weekend."""

    interval_minutes: int
    time_zone: str
    weekend: Weekend = SATURDAY_SUNDAY

    @classmethod
    def of(cls, export: Mapping) -> LocalTime:
        """Take the section ``export``, or the keys of it that :data:`LOCAL_TIME_KEYS` names."""
        return cls(export["interval_minutes"], export["time_zone"], Weekend.of(export))

    def calendar(self, start: datetime, slot_count: int) -> Calendar:
        """Return the calendar of so many intervals from a start on."""
        return Calendar(start, slot_count, self.interval_minutes, self.time_zone, self.weekend)


@dataclass(frozen=True)
class Calendar:
    """Local calendar of T = ``slot_count`` intervals, from the UTC start of slot 0 on; the zone is an IANA name."""

    start: datetime
    slot_count: int
    interval_minutes: int
    time_zone: str
    weekend: Weekend = SATURDAY_SUNDAY

    @cached_property
    def start_utc(self) -> np.ndarray:
        """UTC start of every slot, (T,) datetime64[us]."""
        first = np.datetime64(self.start.astimezone(UTC).replace(tzinfo=None), "us")
        return first + np.arange(self.slot_count) * np.timedelta64(self.interval_minutes, "m")

    @cached_property
    def _local_minutes(self) -> np.ndarray:
        """Local wall-clock minutes since 1970-01-01 00:00 of every slot, (T,) int64."""
        utc_minutes = self.start_utc.astype("datetime64[m]").astype(np.int64)
        return utc_minutes + utc_offset_minutes(self.start_utc, self.time_zone)

    @cached_property
    def minute_of_day(self) -> np.ndarray:
        """Local minute of day, (T,) int64 in 0..1439."""
        return self._local_minutes % DAY_MINUTES

    @cached_property
    def local_day(self) -> np.ndarray:
        """Local day number since 1970-01-01, (T,) int64."""
        return self._local_minutes // DAY_MINUTES

    @cached_property
    def slot_of_day(self) -> np.ndarray:
        """Slot of the local day, (T,) int64 in 0..1440/interval - 1."""
        return self.minute_of_day // self.interval_minutes

    @cached_property
    def slot_of_week(self) -> np.ndarray:
        """Slot of the local week, Monday first, (T,) int64."""
        weekday = (self.local_day + 3) % 7  # 1970-01-01 was a Thursday
        return weekday * self.slots_per_day + self.slot_of_day

    @property
    def local(self) -> LocalTime:
        return LocalTime(self.interval_minutes, self.time_zone, self.weekend)

    @property
    def slots_per_day(self) -> int:
        """Slots of a day without clock change."""
        return DAY_MINUTES // self.interval_minutes

    @property
    def slots_per_hour(self) -> int:
        return 60 // self.interval_minutes

    def slot_at(self, day: date, hour: int) -> int:
        """Slot that starts at local ``hour`` of ``day``; may lie outside 0..T-1."""
        local = datetime.combine(day, time(hour), ZoneInfo(self.time_zone))
        return int((local.astimezone(UTC) - self.start.astimezone(UTC)) / timedelta(minutes=self.interval_minutes))

    def window(self, days: int) -> slice:
        """Slots of the first ``days`` x 24 h from the first local midnight on: the training window."""
        midnights = np.flatnonzero(self.minute_of_day == 0)
        first = int(midnights[0]) if midnights.size else 0
        return slice(first, first + days * self.slots_per_day)

    def same_time_before(self, days: int) -> np.ndarray:
        """Slot with the same local time so many days before, (T,) int64, -1 where there is none.

        Of a repeated local hour the first pass is taken.
        """
        order = self._wall_clock_order
        ordered = self._local_minutes[order]
        wanted = self._local_minutes - days * DAY_MINUTES
        at = np.minimum(np.searchsorted(ordered, wanted), self.slot_count - 1)
        return np.where(ordered[at] == wanted, order[at], -1)

    @cached_property
    def _wall_clock_order(self) -> np.ndarray:
        return np.argsort(self._local_minutes, kind="stable")

    @cached_property
    def is_weekend(self) -> np.ndarray:
        """Whether a slot is of the local weekend, (T,) bool."""
        return self.weekend.holds(self.local_day)

    def longer(self, slots: int) -> Calendar:
        """Return the calendar with so many slots after the last."""
        return replace(self, slot_count=self.slot_count + slots)

    @property
    def days(self) -> list[date]:
        """Local days the grid touches, in order."""
        return [date(1970, 1, 1) + timedelta(days=int(d)) for d in np.unique(self.local_day)]

    def is_working_day(self, day: date) -> bool:
        """Whether a local day is not of the weekend; public holidays are not known."""
        return day.weekday() not in self.weekend.days

    @property
    def middle_day(self) -> date:
        """The middle of the local days: public, because the period of the export is."""
        return self.days[len(self.days) // 2]


@dataclass(frozen=True)
class Shard:
    """Dense readings of one shard: (H,) int32 indices of households and (H, T) kWh, NaN where there is no reading."""

    household: np.ndarray
    energy_kwh: np.ndarray
    calendar: Calendar


def read_shard(path, local_time: LocalTime) -> Shard:
    """Read one part of the canonical readings; InputError if its households are not all on the same slots."""
    return _as_shard(path, read_table(path, READINGS), local_time, None)


def read_shard_in_pieces(path, local_time: LocalTime) -> Iterator[Shard]:
    """Yield the same households some at a time, as they were written; one empty piece of an empty part.

    InputError as above, and if households differ in their slots from those of the piece before.
    """
    calendar = None
    for table in read_row_groups(path, READINGS):
        shard = _as_shard(path, table, local_time, calendar)
        yield shard
        calendar = shard.calendar


def _as_shard(path, table: pa.Table, local_time: LocalTime, like: Calendar | None) -> Shard:
    """Return whole households as a dense array; ``like`` is the calendar they must have, if it is known."""
    household = table["household"].to_numpy()
    energy = table["energy_kwh"].cast(pa.float64()).to_numpy(zero_copy_only=False)
    if household.size == 0:
        empty = like or local_time.calendar(datetime(1970, 1, 1, tzinfo=UTC), 0)
        return Shard(household.astype(np.int32), np.empty((0, empty.slot_count)), empty)
    first = np.flatnonzero(np.diff(household, prepend=household[0] - 1))
    slots, rest = divmod(household.size, first.size)
    start = table["interval_start_utc"][0].as_py()
    regular = (
        not rest and np.array_equal(first, np.arange(first.size) * slots) and (np.diff(household[first]) > 0).all()
    )
    if not regular or (like is not None and (like.start, like.slot_count) != (start, slots)):
        raise InputError("does not hold a regular grid", file=path, hint="delete it and run again")
    return Shard(
        household[first].astype(np.int32),
        energy.reshape(first.size, slots),
        like or local_time.calendar(start, slots),
    )
