"""What a stamp looks like, without saying what it is: its shape for messages, and the formats that read it.

The formats are those that utilities and public data sets use. Where a day may as well be a month, both are given.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

ISO8601 = "ISO8601"
SPREADSHEET = "spreadsheet"
# Seconds and milliseconds since 1970, UTC by definition: the word, decimal places of a microsecond in its unit, and
# the digits that stamps from 2001 to 2033 have.
UNIX = {"unix_s": (6, 10), "unix_ms": (3, 13)}
_COUNT = re.compile(r"(\d{1,15})(?:\.(\d{1,15}))?", re.ASCII)
# The end of a day; pandas knows its last minute at most.
_END_OF_DAY = re.compile(r"(?<![\d:])24:00(:00)?(?![\d:.,])", re.ASCII)
_LONGEST = 40
_TRIED_FIRST = 20
_DATES = (
    *("%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d"),
    *("%d%b%Y", "%d-%b-%Y"),
)
_SHORT_DATES = ("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%b-%y")
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
# Without marks between its numbers a stamp is read only at its full length.
_DIGITS = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
FORMATS = (
    *(date + time for date in _DATES + _SHORT_DATES for time in _TIMES),
    "%d%b%Y:%H:%M:%S",
    "%d%b%y:%H:%M:%S",
    "%Y%m%d %H:%M",
    "%Y%m%d %H:%M:%S",
)
# What a part of a format may look like; what it is read as, pandas says.
_PARTS = {"Y": r"\d{4}", "b": r"[^\W\d_]+", "p": r"[^\W\d_]+", **dict.fromkeys("dmyHIMS", r"\d{1,2}")}
_SERIAL = re.compile(r"(\d{1,6})(?:[.,](\d{1,15}))?")
_SERIALS = (30_000, 75_000)  # 1982 to 2105: meters write no others, dates without marks are longer
_SERIAL_ORIGIN_S = -25569 * 86400  # 1899-12-30


def shape_of(text: str) -> str:
    """Return ``text`` with d for every digit and a for every letter, so that nothing of it shows but its form."""
    kinds = ("d" if c.isdigit() else "a" if c.isalpha() else c if " " <= c <= "~" else "?" for c in text[:_LONGEST])
    return "".join(kinds) + ("..." if len(text) > _LONGEST else "")


def serial_seconds(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return spreadsheet serial numbers, days since 1899-12-30 with a decimal point or comma, as (n,) int64 seconds
    since 1970, rounded, and (n,) bool which words are none; those are 0.
    """
    matches = [_SERIAL.fullmatch(word) if word.isascii() else None for word in texts]
    seconds = [
        0 if m is None else _SERIAL_ORIGIN_S + int(m[1]) * 86400 + round(float(f"0.{m[2] or 0}") * 86400)
        for m in matches
    ]
    return np.array(seconds, dtype=np.int64), np.array([m is None for m in matches], dtype=bool)


def unix_microseconds(texts: Sequence[str], time_format: str) -> tuple[np.ndarray, np.ndarray]:
    """Return digits, perhaps with a decimal point, that count seconds or milliseconds, as (n,) int64 microseconds
    since 1970, cut off, and (n,) bool which words are none; those are 0.
    """
    places, _ = UNIX[time_format]
    matches = [_COUNT.fullmatch(word) for word in texts]
    # As many digits as make a whole number of microseconds, of fewer than 2^63.
    matches = [m if m is not None and len(m[1]) + places <= 18 else None for m in matches]
    counts = [0 if m is None else int(m[1] + (m[2] or "")[:places].ljust(places, "0")) for m in matches]
    return np.array(counts, dtype=np.int64), np.array([m is None for m in matches], dtype=bool)


def ends_of_days(texts: Sequence[str], time_format: str) -> tuple[list[str], np.ndarray]:
    """Return texts with 00:00 for 24:00, and (n,) bool where that was so and the next day is meant.

    Only where the format has a time of day of 24 hours, and only 24:00 or 24:00:00.
    """
    if "%H:%M" not in time_format:
        return list(texts), np.zeros(len(texts), bool)
    found = ["24:00" in text and _END_OF_DAY.search(text) is not None for text in texts]
    out = [_END_OF_DAY.sub(r"00:00\1", t) if end else t for t, end in zip(texts, found, strict=True)]
    return out, np.array(found, bool)


def formats_that_fit(texts: Sequence[str]) -> list[str]:
    """Return the usual values of ``export.time_format`` under which every text is a stamp; blanks around them do not
    count.

    Two or more where the texts do not tell day and month apart; empty if nothing usual fits. ISO8601 is given only
    where no format without a T, an offset or fractions of seconds will do.
    """
    texts = [text.strip() for text in texts]
    if not texts or not all(text.isascii() and any(c.isdigit() for c in text) for text in texts):
        return []
    lengths = {len(text) for text in texts}
    if all(text.isdigit() for text in texts) and lengths & set(_DIGITS):
        candidates = [_DIGITS[length] for length in lengths if len(lengths) == 1]
    else:
        candidates = list(FORMATS)
    # Most formats fail on the shape of the first text, or on the first few.
    units = [word for word, (_, digits) in UNIX.items() if all(_is_count(text, digits) for text in texts)]
    if units:
        return units
    marks = _marks(texts[0])
    candidates = [known for known in candidates if _format_marks(known) == marks]
    candidates = [known for known in candidates if _pattern(known).fullmatch(texts[0])]
    found = [known for known in candidates if _fits(texts[:_TRIED_FIRST], known) and _fits(texts, known)]
    if not found and all(_is_serial(text) for text in texts):
        return [SPREADSHEET]
    if not found and all(re.match(r"\d{4}-\d\d-\d\d", text) for text in texts) and _fits(texts, ISO8601):
        return [ISO8601]
    return found


def alike(one: str, other: str) -> bool:
    """Whether two formats differ in which number is the day and which the month, at most."""
    return one.replace("%m", "%d") == other.replace("%m", "%d")


def _marks(text: str) -> str:
    """Return what stands between the words and numbers of a text, runs of blanks as one."""
    return re.sub(r"\s+", " ", re.sub(r"[^\W_]+", "", text))


@cache
def _format_marks(time_format: str) -> str:
    return _marks(re.sub("%.", "", time_format))


@cache
def _pattern(time_format: str) -> re.Pattern:
    """Return what every text that one of :data:`FORMATS` reads looks like, and others may."""
    parts = re.split("(%.)", time_format)
    return re.compile("".join(_PARTS[p[1]] if p[:1] == "%" else re.escape(p).replace(r"\ ", r"\s+") for p in parts))


def _fits(texts: Sequence[str], time_format: str) -> bool:
    texts, _ = ends_of_days(texts, time_format)
    return bool(pd.to_datetime(texts, format=time_format, errors="coerce", utc=True, cache=False).notna().all())


def _is_count(text: str, digits: int) -> bool:
    match = _COUNT.fullmatch(text)
    return match is not None and len(match[1]) == digits and match[1][0] == "1"


def _is_serial(text: str) -> bool:
    match = _SERIAL.fullmatch(text)
    return match is not None and _SERIALS[0] <= int(match[1]) < _SERIALS[1]
