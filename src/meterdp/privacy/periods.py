"""Days and periods, read once and kept in one form: ISO dates to show, intervals of UTC seconds to compare."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

Interval = tuple[int, int]
PERIODS = "a year (2025), a month (2025-03) or a first and a last day (2025-01-06 to 2025-06-30)"
_DAY = r"\d{4}-\d{2}-\d{2}"
_SPAN = re.compile(rf"({_DAY}) to ({_DAY})")
_YEAR, _MONTH = re.compile(r"\d{4}"), re.compile(r"\d{4}-\d{2}")
# Local time is nowhere further ahead of UTC, and nowhere further behind.
_MOST_AHEAD, _MOST_BEHIND = timedelta(hours=14), timedelta(hours=12)


def day_of(text: str | date) -> date:
    """Return a calendar day, in whichever form of ISO 8601 it is written; raise ValueError if it is none."""
    if isinstance(text, datetime) or not isinstance(text, date | str):
        raise ValueError("no day")
    return text if isinstance(text, date) else date.fromisoformat(text)


def days_read(days: Sequence[str | None], parameters: Mapping) -> list[str | None]:
    """Return the first and the last day that a release is of: the last ones of its days, if it has a window."""
    (first, last), window = days, parameters.get("window") or {}
    if "days" not in window or not last:
        return [first, last]
    return [(date.fromisoformat(last) - timedelta(days=window["days"] - 1)).isoformat(), last]


def days_in_common(one: Sequence[str | None], other: Sequence[str | None]) -> float:
    """Return how many days two spans share, as a share of the longer one; 0 if a first or last day is unknown."""
    if not all((*one, *other)):
        return 0.0
    (first, last), (begin, end) = (tuple(map(date.fromisoformat, days)) for days in (one, other))
    shared = (min(last, end) - max(first, begin)).days + 1
    return max(0, shared) / (max(last - first, end - begin).days + 1)


def days_of(period: str) -> list[tuple[date, date]]:
    """Return the first and last day of every period that a text names, several of them separated by commas.

    Raises ValueError if a part is no year, month or pair of days, or two parts share a day.
    """
    spans = sorted(_span(part.strip()) for part in period.split(","))
    if any(later[0] <= earlier[1] for earlier, later in itertools.pairwise(spans)):
        raise ValueError("periods share days")
    return spans


def _span(text: str) -> tuple[date, date]:
    if _YEAR.fullmatch(text):
        return date(int(text), 1, 1), date(int(text), 12, 31)
    if _MONTH.fullmatch(text):
        first = date.fromisoformat(f"{text}-01")
        return first, (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    if (pair := _SPAN.fullmatch(text)) is None:
        raise ValueError("no period")
    first, last = map(date.fromisoformat, pair.groups())
    if first > last:
        raise ValueError("ends before it begins")
    return first, last


def interval_of(first: date, last: date, time_zone: str | None) -> Interval:
    """Return the interval from the first midnight of ``first`` to that after ``last``, in an IANA time zone.

    Of a zone that nobody knows, None, whatever could be meant is inside. Raises ValueError if there is no such zone.
    """
    end = last + timedelta(days=1)
    if time_zone is None:
        return _seconds(first, UTC, -_MOST_AHEAD), _seconds(end, UTC, _MOST_BEHIND)
    try:
        zone = ZoneInfo(time_zone)
    except (KeyError, OSError, TypeError, ValueError):
        raise ValueError("no time zone") from None
    return _seconds(first, zone), _seconds(end, zone)


def _seconds(day: date, zone, later: timedelta = timedelta(0)) -> int:
    return int((datetime.combine(day, time(), zone) + later).timestamp())


def spoken(interval: Interval) -> str:
    """Write an interval for people.

    Examples
    --------
    >>> spoken((0, 90_000))
    '1970-01-01 00:00 to 1970-01-02 01:00 UTC'
    """
    first, last = (f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M}" for second in interval)
    return f"{first} to {last} UTC"


def same_days(one: Interval, other: Interval) -> bool:
    """Whether two intervals could be the same local days in two time zones."""
    most = (_MOST_AHEAD + _MOST_BEHIND).total_seconds()
    return all(abs(mine - theirs) <= most for mine, theirs in zip(one, other, strict=True))


def overlap(one: Interval, other: Interval) -> bool:
    """Whether two intervals share a second."""
    return one[0] < other[1] and other[0] < one[1]


def covers(intervals: Sequence[Interval], inner: Interval) -> bool:
    """Whether every second of ``inner`` is in one of ``intervals``, which share none."""
    shared = (min(end, inner[1]) - max(start, inner[0]) for start, end in intervals if overlap((start, end), inner))
    return sum(shared) == inner[1] - inner[0]
