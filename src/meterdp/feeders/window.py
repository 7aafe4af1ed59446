"""The public window of days that feeder totals are of: from readings to records, and from intervals to stamps.

A record has a cell for every local day and time of day, so that days of 23 and 25 hours fit: an hour that the clock
skips is a gap, and of an hour that comes twice the mean of both passes counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from meterdp.core.log_scale import LogScale
from meterdp.core.stamps import utc_offset_minutes
from meterdp.profiles.dense import LogLoad

WINDOWS = DAYS, AVERAGE_DAY = ("days", "average_day")
# Share of the intervals a meter needs readings in to count as read.
LEAST_READ = 0.5
_DAY_MINUTES = 24 * 60
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class Window:
    """The last days of the public period.

    Parameters
    ----------
    kind : {"days", "average_day"}
        Every interval of the days, or the mean of the days at every time of day.
    last_day : date
    day_count : int
    interval_minutes : int
        Of the totals.
    time_zone : str
        IANA name of the zone the days are of.
    """

    kind: str
    last_day: date
    day_count: int
    interval_minutes: int
    time_zone: str

    @property
    def first_day(self) -> date:
        """First local day."""
        return self.last_day - timedelta(days=self.day_count - 1)

    @property
    def intervals_per_day(self) -> int:
        """Cells of a local day."""
        return _DAY_MINUTES // self.interval_minutes

    @property
    def record_days(self) -> int:
        """Days of a record: 1 for an average day."""
        return self.day_count if self.kind == DAYS else 1

    def ends_utc(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the UTC ends of all intervals, (n,) datetime64[us], and the cell of a record each belongs to, (n,).

        Those of an average day are stamped as the last day is.
        """
        first = self.first_day if self.kind == DAYS else self.last_day
        begin, end = (_midnight(day, self.time_zone) for day in (first, self.last_day + timedelta(days=1)))
        length = np.timedelta64(self.interval_minutes, "m")
        start = np.arange(begin, end, length)
        cell = self._cell(start)
        return start + length, cell if self.kind == DAYS else cell % self.intervals_per_day

    def records(self, load: LogLoad, interval_minutes: int, scale: LogScale) -> np.ndarray:
        """Return the records of some households, (H, record_days * intervals_per_day) float64 kWh, NaN where missing.

        Energy below zero, which is export, counts as none in every reading before any are added up. An average day is
        missing where a meter was read in less than ``LEAST_READ`` of the intervals of all its days.

        Parameters
        ----------
        load : LogLoad
        interval_minutes : int
            Of the readings; divides that of the totals.
        scale : LogScale
            Of the energy in an interval of the readings.
        """
        per_total = self.interval_minutes // interval_minutes
        whole = np.full((len(load.household), self.day_count * self.intervals_per_day), np.nan)
        if load.calendar is not None:
            cell = self._cell(load.calendar.start_utc)
            inside = (cell >= 0) & (cell < whole.shape[1])
            at, energy = cell[inside], np.maximum(scale.clipped_kwh(load.log_kwh[:, inside]), 0.0)
            expected = np.bincount(at, minlength=whole.shape[1])
            sums = np.zeros(whole.shape)
            np.add.at(sums.T, at, energy.T)
            # A reading that is missing makes the sum NaN; a cell the grid does not fill is missing, too.
            full = (expected > 0) & (expected % per_total == 0)
            whole[:, full] = sums[:, full] * (per_total / expected[full])
        if self.kind == DAYS:
            return whole
        by_day = whole.reshape(len(whole), self.day_count, self.intervals_per_day)
        given = np.isfinite(by_day)
        total, count = np.where(given, by_day, 0.0).sum(axis=1), given.sum(axis=1)
        read = given.mean(axis=(1, 2)) >= LEAST_READ
        return np.where((count > 0) & read[:, None], total / np.maximum(count, 1), np.nan)

    def _cell(self, start_utc: np.ndarray) -> np.ndarray:
        """Return the cell of intervals that start at ``start_utc``, counted from the first day on, (n,) int64."""
        local = start_utc.astype("datetime64[m]").astype(np.int64) + utc_offset_minutes(start_utc, self.time_zone)
        day, minute = np.divmod(local, _DAY_MINUTES)
        return (day - (self.first_day - _EPOCH).days) * self.intervals_per_day + minute // self.interval_minutes


def total_minutes(interval_minutes: int) -> int:
    """Return the interval of the totals for one of the readings: half an hour, or an hour where that does not fit."""
    return 30 if 30 % interval_minutes == 0 else 60


def _midnight(day: date, time_zone: str) -> np.datetime64:
    local = datetime.combine(day, time(), ZoneInfo(time_zone))
    return np.datetime64(local.astimezone(UTC).replace(tzinfo=None), "us")
