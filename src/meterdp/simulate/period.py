"""The metering intervals of a simulated period: regular in UTC, stamped in local time.

A local day with a clock change has 92 or 100 intervals of 15 minutes; the repeated hour appears twice, in order, as
in the export of a utility that writes no time zone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

import numpy as np
import pandas as pd

STAMP_FORMAT = "%Y-%m-%d %H:%M"
SATURDAY = 5


@dataclass(frozen=True)
class Period:
    """All intervals of ``days`` local days.

    Parameters
    ----------
    start_date : date
        First local day.
    days : int
        Number of local days, D.
    time_zone : str
        IANA name.
    interval_minutes : int
        Divides an hour.
    """

    start_date: date
    days: int
    time_zone: str
    interval_minutes: int

    @cached_property
    def _local(self) -> pd.DatetimeIndex:
        return pd.date_range(
            self._midnight(self.start_date),
            self._midnight(self.start_date + timedelta(days=self.days)),
            freq=f"{self.interval_minutes}min",
            inclusive="left",
        )

    def _midnight(self, day: date) -> pd.Timestamp:
        # Some zones change their clocks at midnight: then the day begins at its first existing, first-pass instant.
        return pd.Timestamp(day).tz_localize(self.time_zone, ambiguous=True, nonexistent="shift_forward")

    @property
    def slot_count(self) -> int:
        """Number of intervals, T."""
        return len(self._local)

    @property
    def slots_per_day(self) -> int:
        """Intervals of a day without a clock change, S."""
        return 24 * 60 // self.interval_minutes

    @property
    def hours_per_slot(self) -> float:
        """Length of an interval, hours."""
        return self.interval_minutes / 60

    @cached_property
    def stamps(self) -> list[str]:
        """Local start of every interval, as written in the export, length T."""
        return self._local.strftime(STAMP_FORMAT).tolist()

    @cached_property
    def slot_of_day(self) -> np.ndarray:
        """Interval of the local day by the clock, (T,) int in [0, S)."""
        return (self._local.hour * 60 + self._local.minute).to_numpy() // self.interval_minutes

    @cached_property
    def day_index(self) -> np.ndarray:
        """Local calendar day, (T,) int in [0, D)."""
        return (self._local.tz_localize(None).normalize() - pd.Timestamp(self.start_date)).days.to_numpy()

    @cached_property
    def first_slot_of_day(self) -> np.ndarray:
        """First interval of every local day and the end of the last, (D + 1,) int."""
        return np.searchsorted(self.day_index, np.arange(self.days + 1))

    @cached_property
    def utc_hour(self) -> np.ndarray:
        """UTC hour of day of the middle of every interval, (T,) float64."""
        utc = self._local.tz_convert("UTC")
        return (utc.hour + utc.minute / 60).to_numpy() + self.hours_per_slot / 2

    @cached_property
    def repeated(self) -> np.ndarray:
        """Whether the stamp of an interval occurs twice, (T,) bool."""
        return pd.Series(self.stamps).duplicated(keep=False).to_numpy()

    def weekend(self, count: int, first: int = 0) -> np.ndarray:
        """Whether each of ``count`` days from day ``first`` on is a Saturday or Sunday, (count,) bool."""
        weekday = (self.start_date.weekday() + first + np.arange(count)) % 7
        return weekday >= SATURDAY
