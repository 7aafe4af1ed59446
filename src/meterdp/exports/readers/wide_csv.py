"""Wide CSV in two layouts: a row per meter and day with a column per interval, or a row per stamp with a column per
meter. Every cell is a reading; cells are taken row by row, as they would stand in a long export.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from meterdp.core.errors import InputError
from meterdp.exports.batch import BATCH_BYTES, NO_STAMP, Batch
from meterdp.exports.fields import Field, Rejects, StampParser, key_columns, keys, numbers
from meterdp.exports.readers.csv_rows import HEADER_ROW, CsvRows
from meterdp.exports.settings import ExportSettings

_TIME_OF_DAY = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_SECOND_US = 1_000_000
_DAY_US = 24 * 3600 * _SECOND_US


def batches(path: str | Path, settings: ExportSettings, *, batch_bytes: int = BATCH_BYTES) -> Iterator[Batch]:
    """Yield the readings of a wide CSV row by row; see :class:`meterdp.exports.readers.interface.Reader`."""
    rows = CsvRows(path, settings)
    layout = _days if settings.wide_layout == "days" else _meters
    return layout(rows, settings, batch_bytes)


def _days(rows: CsvRows, settings: ExportSettings, batch_bytes: int) -> Iterator[Batch]:
    """A row per meter and day, a column per time of day such as 00:15."""
    names = [*key_columns(settings), settings.date_column]
    positions = [rows.position(name) for name in names]
    times = times_of_day_us(rows.header, ends=settings.stamp == "end")
    if not times:
        raise InputError(
            "has no column that is a time of day such as 00:15",
            file=rows.path,
            row=HEADER_ROW,
            remedy="name the columns of the intervals by their times, or set export.wide_layout to meters",
        )
    parse_dates = StampParser(re.split("[ T]", settings.time_format)[0], settings.missing_words)
    width = len(times)
    for batch in rows.batches([*positions, *times], batch_bytes):
        fields, cells = batch.fields[: len(names)], batch.fields[len(names) :]
        columns = dict(zip(names, fields, strict=True))
        rejects = Rejects(settings, (len(fields[0].values), width))
        date_us = parse_dates(columns[settings.date_column], rejects)[0][:, None]
        stamp_us = np.where(date_us == NO_STAMP, NO_STAMP, date_us + np.array(list(times.values())))
        key = keys(columns, settings, rejects)
        for name in {"meter", "circuit"} & set(key):
            key[name] = np.repeat(key[name], width)
        yield Batch(
            first_row=fields[0].first_row,
            stamp_us=stamp_us.ravel(),
            stamps_are_utc=False,
            energy=_cells(cells, settings, rejects),
            readings_per_row=width,
            unreadable=rejects.marks.ravel(),
            left_out=batch.left_out * width,
            **key,
        )


def times_of_day_us(header: list[str], *, ends: bool) -> dict[int, int]:
    """Return position and microseconds since midnight of every column that is named by a time of day.

    24:00 is the end of the day. If columns name the ends of intervals, so is a 00:00 that does not stand first.
    """
    times: dict[int, int] = {}
    for position, name in enumerate(header):
        match = _TIME_OF_DAY.fullmatch(name)
        if match is None:
            continue
        hours, minutes, seconds = (int(part or 0) for part in match.groups())
        time_us = (hours * 3600 + minutes * 60 + seconds) * _SECOND_US
        if hours > 24 or minutes > 59 or seconds > 59 or time_us > _DAY_US:
            continue
        times[position] = _DAY_US if ends and time_us == 0 and times else time_us
    return times


def _meters(rows: CsvRows, settings: ExportSettings, batch_bytes: int) -> Iterator[Batch]:
    """A row per stamp; every column but that of the stamp is a meter."""
    time = rows.position(settings.time_column, header_is_public=False)
    meters = [p for p in range(len(rows.header)) if p != time]
    meter_ids = [rows.header[p] for p in meters]
    if not meters or any(name in settings.missing_words for name in meter_ids):
        raise InputError(
            "has a column without a meter id in the header",
            file=rows.path,
            row=HEADER_ROW,
            remedy="write the meter ids into the header, or remove such columns",
        )
    parse_stamps = StampParser(settings.time_format, settings.missing_words)
    width = len(meters)
    for batch in rows.batches([time, *meters], batch_bytes):
        stamp, *cells = batch.fields
        rejects = Rejects(settings, (len(stamp.values), width))
        stamp_us, stamps_are_utc = parse_stamps(stamp, rejects)
        # The column name is a meter id, which has no place in a message.
        cells = [replace(cell, name=f"column {p + 1}") for p, cell in zip(meters, cells, strict=True)]
        yield Batch(
            first_row=stamp.first_row,
            meter_ids=meter_ids,
            meter=np.tile(np.arange(width, dtype=np.int32), len(stamp.values)),
            stamp_us=np.repeat(stamp_us, width),
            stamps_are_utc=np.repeat(stamps_are_utc, width),
            energy=_cells(cells, settings, rejects),
            readings_per_row=width,
            unreadable=rejects.marks.ravel(),
            left_out=batch.left_out * width,
        )


def _cells(columns: list[Field], settings: ExportSettings, rejects: Rejects) -> np.ndarray:
    """Return the readings of all columns, row after row."""
    read = [numbers(column, settings.missing_words, rejects, at) for at, column in enumerate(columns)]
    return np.stack(read, axis=1).ravel()
