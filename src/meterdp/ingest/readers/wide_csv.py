"""Wide CSV in two layouts: a row per meter and day with a column per interval, or a row per stamp with a column per
meter. Every cell is a reading; cells are taken row by row, as they would stand in a long export.

Columns of intervals are named by times of day, or numbered as the settlement periods of Great Britain are: a number
counts what has passed since local midnight, so that the days of clock changes have 46 and 50 half-hours. Where a
column beside them is for the hour that the clock repeats, as HE02X beside HE02 in North America, numbers are hours of
the clock, and so they are in a row whose columns of an hour that the clock skips are empty while its last ones are
not. Where the interval before the change is named by its end, 03:00, the columns one earlier are empty instead. For
other numbers it makes no difference whether stamps are starts or ends.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from meterdp.core.stamps import DAY_US
from meterdp.ingest.batch import BATCH_BYTES, NO_STAMP, NO_SUCH_TIME, Batch, plain_id
from meterdp.ingest.clock import clock_time_us, elapsed_us
from meterdp.ingest.fields import (
    REPEATED,
    Field,
    Rejects,
    StampParser,
    in_unit,
    key_columns,
    keys,
    numbers,
    rows_of_other_registers,
)
from meterdp.ingest.readers.csv_rows import CsvRows, csv_batches
from meterdp.ingest.settings import ExportSettings

_CLOCK = r"(\d{1,2}):(\d{2})(?::(\d{2}))?"
_TIME_OF_DAY, _FROM_TO = re.compile(_CLOCK), re.compile(rf"{_CLOCK}\s*[-–]\s*{_CLOCK}")
_NUMBERED = re.compile(r"(.*?)(\d{1,4})")
# What a repeated hour is called: the name of the hour and a mark.
_MARKED = re.compile(rf"(.*?)(\d{{1,4}}){REPEATED}")
_LIKE_A_TIME = re.compile(rf"{_CLOCK}(?:\s*[-–]\s*{_CLOCK})?.{{0,6}}")
# No clock change is longer.
_LONGEST_CHANGE_HOURS = 2
_SECOND_US = 1_000_000


def batches(path: str | Path, settings: ExportSettings, *, batch_bytes: int = BATCH_BYTES) -> Iterator[Batch]:
    """Yield the readings of a wide CSV row by row; see :class:`~.interface.Format`."""
    days = settings.wide_layout == "days"
    time_format = re.split("[ T]", settings.time_format)[0] if days else settings.time_format
    parse_stamps = StampParser(time_format, settings.missing_words)
    layout = _days if days else _meters
    return csv_batches(path, settings, lambda rows: layout(rows, settings, parse_stamps, batch_bytes))


def _days(rows: CsvRows, settings: ExportSettings, parse_dates: StampParser, batch_bytes: int) -> Iterator[Batch]:
    """A row per meter and day, a column per interval."""
    names = [*key_columns(settings), settings.date_column]
    positions = [rows.position(name) for name in names]
    numbered = settings.wide_columns == "numbers"
    intervals = _numbers(rows, settings) if numbered else _times(rows, settings)
    repeated = repeated_columns(rows.header, intervals) if numbered else {}
    each = np.array([*intervals.values(), *repeated.values()])
    width, again = len(each), np.arange(len(each)) >= len(intervals)
    for batch in rows.batches([*positions, *intervals, *repeated], batch_bytes):
        fields, cells = batch.fields[: len(names)], batch.fields[len(names) :]
        columns = dict(zip(names, fields, strict=True))
        others = rows_of_other_registers(columns, settings)
        rejects = Rejects(settings, (len(fields[0].values), width), batch.header_repeated, others)
        date_us = parse_dates(columns[settings.date_column].without(others), rejects)[0][:, None]
        energy = _cells([cell.without(others) for cell in cells], settings, rejects)
        if repeated:
            stamp_us = clock_time_us(date_us, each, again, settings)
        elif numbered:
            stamp_us = _numbered_us(date_us, each, np.isfinite(energy), settings)
        else:
            stamp_us = np.where(date_us == NO_STAMP, NO_STAMP, date_us + each)
        key = keys(columns, settings, rejects, rows.member.meter_id)
        for name in {"meter", "circuit"} & set(key):
            key[name] = np.repeat(key[name], width)
        yield Batch(
            first_row=fields[0].first_row,
            stamp_us=stamp_us.ravel(),
            stamps_are_utc=numbered,
            energy=in_unit(energy, columns, settings).ravel(),
            readings_per_row=width,
            unreadable=rejects.marks.ravel(),
            left_out=batch.left_out * width,
            **key,
        )


def _numbered_us(date_us: np.ndarray, number: np.ndarray, given: np.ndarray, settings: ExportSettings) -> np.ndarray:
    """Return the UTC stamps of numbered columns, (rows, columns): counted from midnight, or by the clock in rows that
    say so; ``given`` marks readings.
    """
    stamp_us = elapsed_us(date_us, number, settings)
    behind = (stamp_us == NO_SUCH_TIME) & (number <= DAY_US // settings.interval_us)
    if not behind.any():
        return stamp_us
    for later in (1, 0):  # the next number is the end; where both leave their columns empty, numbers are of starts
        by_clock_us = clock_time_us(date_us, number + later, np.zeros(len(number), bool), settings)
        skipped = by_clock_us == NO_SUCH_TIME
        by_clock = skipped.any(1) & (given & behind).any(1) & ~(given & skipped).any(1)
        by_clock_us = np.where(skipped, NO_SUCH_TIME, by_clock_us - later * settings.interval_us)
        stamp_us = np.where(by_clock[:, None], by_clock_us, stamp_us)
    return stamp_us


def _times(rows: CsvRows, settings: ExportSettings) -> dict[int, int]:
    times = times_of_day_us(rows.header, ends=settings.stamp == "end")
    if not times:
        raise rows.refuse_header(
            "has no column that is a time of day such as 00:15",
            "name the columns of the intervals by their times, or set export.wide_columns to numbers or "
            "export.wide_layout to meters",
        )
    return times


def _numbers(rows: CsvRows, settings: ExportSettings) -> dict[int, int]:
    per_day = DAY_US // settings.interval_us
    numbered = numbered_columns(rows.header, per_day, per_day * _LONGEST_CHANGE_HOURS // 24)
    if numbered is None:
        raise rows.refuse_header(
            f"has no columns, or several rows of columns, that count the {per_day} intervals of a day from 1 on",
            "number the columns of the intervals behind one common word, or set export.interval_minutes to what they "
            "are",
        )
    return numbered


def interval_columns(header: list[str], settings: ExportSettings) -> set[int]:
    """Return the positions of columns that are taken for intervals of a day."""
    if settings.wide_columns == "times":
        return {*times_of_day_us(header, ends=settings.stamp == "end")}
    per_day = DAY_US // settings.interval_us
    numbered = numbered_columns(header, per_day, per_day * _LONGEST_CHANGE_HOURS // 24) or {}
    return {*numbered, *repeated_columns(header, numbered)}


def numbered_columns(header: list[str], per_day: int, surplus: int) -> dict[int, int] | None:
    """Return position and number of every column that counts the intervals of a day.

    They are called by a common word, or none, and the numbers 1 to ``per_day``, at most ``surplus`` more or fewer for
    days on which the clock changes: 1, HH01 or Kwh 1. None if there are no such columns, or two sets of them.
    """
    found: dict[str, dict[int, int]] = {}
    for position, name in enumerate(header):
        match = _NUMBERED.fullmatch(name)
        if match is not None:
            found.setdefault(match[1], {})[position] = int(match[2])
    fitting = [
        columns
        for columns in found.values()
        if abs(len(columns) - per_day) <= surplus and set(columns.values()) == set(range(1, len(columns) + 1))
    ]
    return fitting[0] if len(fitting) == 1 else None


def repeated_columns(header: list[str], numbered: Mapping[int, int]) -> dict[int, int]:
    """Return position and number of the columns of the hour that the clock repeats when it is set back.

    They are called like ``numbered`` columns and have a mark behind the number: HE02X. More than two hours of them
    are something else, such as flags.
    """
    stems = {_NUMBERED.fullmatch(header[position])[1] for position in numbered}
    found = {p: int(m[2]) for p, name in enumerate(header) if (m := _MARKED.fullmatch(name)) and m[1] in stems}
    return found if len(found) <= _LONGEST_CHANGE_HOURS * len(numbered) // 24 else {}


def times_not_read(header: list[str], times: Collection[int]) -> list[str]:
    """Return the names of columns that look like times of day and are none of those at the positions ``times``.

    More than two hours of them are something else, such as flags.
    """
    found = [name for p, name in enumerate(header) if p not in times and _LIKE_A_TIME.fullmatch(name)]
    return found if len(found) <= _LONGEST_CHANGE_HOURS * len(times) // 24 else []


def times_of_day_us(header: list[str], *, ends: bool) -> dict[int, int]:
    """Return position and microseconds since midnight of every column that is named by a time of day.

    24:00 is the end of the day. If columns name the ends of intervals, so is a 00:00 that does not stand first. If
    there are none, columns named by both, 00:00-00:15, count as named by the one that ``ends`` says.
    """
    named = {p: _time_us(match.groups()) for p, name in enumerate(header) if (match := _TIME_OF_DAY.fullmatch(name))}
    named = {p: time_us for p, time_us in named.items() if time_us is not None}
    named = named or {position: span[ends] for position, span in _from_to_us(header).items()}
    times: dict[int, int] = {}
    for position, time_us in named.items():
        times[position] = DAY_US if ends and time_us == 0 and times else time_us
    return times


def _from_to_us(header: list[str]) -> dict[int, tuple[int, int]]:
    """Return position, start and end of the columns named by both, as long as most of them are: others are sums of
    parts of the day. None if a start comes twice, as on a clock of twelve hours.
    """
    found = {}
    for position, name in enumerate(header):
        match = _FROM_TO.fullmatch(name)
        if match is not None:
            begin, end = _time_us(match.groups()[:3]), _time_us(match.groups()[3:])
            if begin is not None and end is not None:
                found[position] = begin, end
    length = Counter((end - begin) % DAY_US for begin, end in found.values()).most_common(1)
    found = {p: (begin, end) for p, (begin, end) in found.items() if (end - begin) % DAY_US == length[0][0]}
    return found if len({begin for begin, _ in found.values()}) == len(found) else {}


def _time_us(parts: Sequence[str | None]) -> int | None:
    """Return microseconds since midnight of hours, minutes and perhaps seconds, None of no time of day."""
    hours, minutes, seconds = (int(part or 0) for part in parts)
    time_us = (hours * 3600 + minutes * 60 + seconds) * _SECOND_US
    return None if minutes > 59 or seconds > 59 or time_us > DAY_US else time_us


def _meters(rows: CsvRows, settings: ExportSettings, parse_stamps: StampParser, batch_bytes: int) -> Iterator[Batch]:
    """A row per stamp; every column but that of the stamp is a meter."""
    time = rows.position(settings.time_column, header_is_public=False)
    meters = [p for p in range(len(rows.header)) if p != time]
    meter_ids = [rows.header[p] for p in meters]
    if not meters or any(name in settings.missing_words for name in meter_ids):
        raise rows.refuse_header(
            "has a column without a meter id in the header",
            "write the meter ids into the header, or remove such columns",
        )
    if (twice := named_twice(meter_ids)) is not None:
        raise rows.refuse_header(*twice)
    width = len(meters)
    for batch in rows.batches([time, *meters], batch_bytes):
        stamp, *cells = batch.fields
        rejects = Rejects(settings, (len(stamp.values), width), batch.header_repeated)
        stamp_us, stamps_are_utc = parse_stamps(stamp, rejects)
        # The column name is a meter id, which has no place in a message.
        cells = [replace(cell, name=f"column {p + 1}") for p, cell in zip(meters, cells, strict=True)]
        yield Batch(
            first_row=stamp.first_row,
            meter_ids=meter_ids,
            meter=np.tile(np.arange(width, dtype=np.int32), len(stamp.values)),
            stamp_us=np.repeat(stamp_us, width),
            stamps_are_utc=np.repeat(stamps_are_utc, width),
            energy=_cells(cells, settings, rejects).ravel(),
            readings_per_row=width,
            unreadable=rejects.marks.ravel(),
            left_out=batch.left_out * width,
        )


def named_twice(meter_ids: list[str]) -> tuple[str, str] | None:
    """Return the problem of a header that gives a meter several columns and what to do about it; None of others."""
    count = sum(columns > 1 for columns in Counter(map(plain_id, meter_ids)).values())
    if not count:
        return None
    return (
        f"names {count:,} meter{'s' * (count > 1)} in more than one column",
        "keep one column per meter, and where rows below the header say what each column is, those of consumption",
    )


def _cells(columns: list[Field], settings: ExportSettings, rejects: Rejects) -> np.ndarray:
    """Return the readings of all columns, (rows, columns)."""
    read = [
        numbers(column, settings.missing_words, rejects, at, settings.notation) for at, column in enumerate(columns)
    ]
    return np.stack(read, axis=1)
