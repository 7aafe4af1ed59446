"""Time stamps of tables: UTC as Arrow knows it, and local wall-clock time as text a reader cannot misread.

Intervals are counted in UTC; households live in local time. Across a clock change a local hour is skipped or comes
twice, so local text carries its offset.
"""

from __future__ import annotations

import difflib
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
import pyarrow as pa

MINUTE_US, HOUR_US, DAY_US = 60_000_000, 3_600_000_000, 86_400_000_000
DAY_MINUTES = 24 * 60


def zone_hint(name) -> str:
    """Return what to write instead of a time zone that nobody knows."""
    names = available_timezones()
    written = str(name).strip().replace(" ", "_").casefold()
    close = difflib.get_close_matches(written, [known.casefold() for known in names], n=1, cutoff=0.75)
    meant = next((known for known in sorted(names) if [known.casefold()] == close), None)
    if meant is None:  # a city alone
        meant = next((known for known in sorted(names) if known.casefold().endswith(f"/{written}")), None)
    return f"write '{meant}' if you meant that" if meant else "give an IANA name such as Europe/Zurich, or UTC"


def utc_column(stamps_utc: np.ndarray) -> pa.Array:
    """Return (n,) datetime64 stamps in UTC as a column of type STAMP_UTC."""
    return pa.array(np.asarray(stamps_utc, "datetime64[us]")).cast(pa.timestamp("us", tz="UTC"))


def local_text(stamps_utc: np.ndarray, time_zone: str) -> list[str]:
    """Return (n,) datetime64 stamps in UTC as local ISO 8601 text with the offset, e.g. 2018-10-28T02:15:00+01:00."""
    zone = ZoneInfo(time_zone)
    stamps = np.asarray(stamps_utc, "datetime64[s]").tolist()
    return [stamp.replace(tzinfo=UTC).astimezone(zone).isoformat() for stamp in stamps]


def utc_offset_minutes(stamps_utc: np.ndarray, time_zone: str) -> np.ndarray:
    """Return local minus UTC of (n,) datetime64 stamps in UTC, (n,) int64 minutes."""
    # Offsets change a few times a year: look one up per quarter of an hour only.
    quarters = stamps_utc.astype("datetime64[m]").astype(np.int64) // 15
    blocks, where = np.unique(quarters, return_inverse=True)
    zone = ZoneInfo(time_zone)
    offsets = [int(datetime.fromtimestamp(int(b) * 900, zone).utcoffset().total_seconds()) // 60 for b in blocks]
    return np.array(offsets, dtype=np.int64)[where]
