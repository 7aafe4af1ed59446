"""Long CSV: a row per reading with meter, stamp and energy, and if wanted circuit and unit.

Low Carbon London is one, half-hourly, of UK Power Networks in each of its published header styles. Its columns, unit
and stamps are known, so no column setting is needed. Odd stamps, padded numbers, the word Null and repeated rows are
left to the common rules, which count them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meterdp.ingest.batch import BATCH_BYTES, NO_STAMP, Batch
from meterdp.ingest.clock import clock_time_us, elapsed_us
from meterdp.ingest.fields import (
    Rejects,
    StampParser,
    in_unit,
    interval_numbers,
    key_columns,
    keys,
    numbers,
    rows_of_other_registers,
)
from meterdp.ingest.readers.csv_rows import CsvRows, csv_batches
from meterdp.ingest.readers.plain_rows import TABLE_BYTES, PlainRows
from meterdp.ingest.settings import HOUR, ExportSettings
from meterdp.ingest.shapes import ISO8601

# Of Low Carbon London.
METER_COLUMN = "LCLid"
TIME_COLUMNS = ("DateTime", "tstp")
ENERGY_COLUMNS = ("KWH/hh (per half hour)", "energy(kWh/hh)")


def batches(
    path: str | Path, settings: ExportSettings, *, batch_bytes: int = BATCH_BYTES, threads: int = 1
) -> Iterator[Batch]:
    """Yield the readings of a long CSV in the order of the file; see :class:`~.interface.Format`."""
    time_format = settings.time_format.removesuffix(HOUR) if settings.hours_rows else settings.time_format
    parse_stamps = StampParser(time_format, settings.missing_words)
    plain = plain_rows(settings, parse_stamps, threads)

    def read(rows: CsvRows) -> Iterator[Batch]:
        return file_batches(rows, settings, parse_stamps, batch_bytes, plain)

    return csv_batches(path, settings, read)


def plain_rows(settings: ExportSettings, parse_stamps: StampParser, threads: int) -> list[PlainRows]:
    """Return fast readers of plain lines, where the layout is one for them."""
    if not PlainRows.can_read(settings):
        return []
    # One of several waits for its lines to be used while the others read.
    readers = threads + 1 if threads > 1 else 1
    return [PlainRows(settings, parse_stamps, TABLE_BYTES // readers) for _ in range(readers)]


def file_batches(
    rows: CsvRows,
    settings: ExportSettings,
    parse_stamps: StampParser,
    batch_bytes: int,
    plain: Sequence[PlainRows] = (),
) -> Iterator[Batch]:
    """Yield the readings of one of its files."""
    of_day = settings.time_of_day_column
    names = [*key_columns(settings), settings.time_column, settings.energy_column, *([of_day] if of_day else [])]
    positions = [rows.position(name) for name in names]
    if len(set(positions)) < len(positions):
        plain = ()
    for batch in rows.batches(positions, batch_bytes, plain):
        if isinstance(batch, Batch):
            yield batch
            continue
        columns = dict(zip(names, batch.fields, strict=True))
        others = rows_of_other_registers(columns, settings)
        rejects = Rejects(settings, (len(batch.fields[0].values),), batch.header_repeated, others)
        stamp = columns[settings.time_column]
        by_number = settings.numbers_rows or settings.hours_rows
        if of_day and not by_number:
            stamp = replace(stamp, values=_joined(stamp.values, columns[of_day].values, settings.missing_words))
        stamp_us, stamps_are_utc = parse_stamps(stamp.without(others), rejects)
        if by_number:
            number, again = interval_numbers(columns[of_day].without(others), settings, rejects)
            day_us = np.where(number >= 0, stamp_us, NO_STAMP)
            if settings.numbers_rows:
                stamp_us, stamps_are_utc = elapsed_us(day_us, number, settings), True
            else:
                stamp_us, stamps_are_utc = _hours_us(day_us, number, again, settings), again
        written = columns[settings.energy_column].without(others)
        energy = numbers(written, settings.missing_words, rejects, notation=settings.notation)
        yield Batch(
            first_row=batch.fields[0].first_row,
            stamp_us=stamp_us,
            stamps_are_utc=stamps_are_utc,
            energy=in_unit(energy, columns, settings),
            **keys(columns, settings, rejects, rows.member.meter_id),
            unreadable=rejects.marks,
            left_out=batch.left_out,
        )


def _hours_us(day_us: np.ndarray, number: np.ndarray, again: np.ndarray, settings: ExportSettings) -> np.ndarray:
    """Return the starts of hours of the clock, the first of a day is number 1: on the local clock, and as UTC of
    those that are marked as the second of their name.
    """
    local_us = np.where(day_us == NO_STAMP, NO_STAMP, day_us + (number - 1) * settings.interval_us)
    return np.where(again, clock_time_us(day_us, number, again, settings), local_us)


def _joined(days: pa.Array, times: pa.Array, missing_words: tuple[str, ...]) -> pa.Array:
    """Return dates and times of day as stamps, null where one of them is missing."""
    missing = pa.array(missing_words, pa.string())
    parts = [pc.utf8_trim_whitespace(texts) for texts in (days, times)]
    parts = [pc.if_else(pc.is_in(texts, missing), None, texts) for texts in parts]
    return pc.binary_join_element_wise(*parts, " ")


def lcl_batches(
    path: str | Path, settings: ExportSettings, *, batch_bytes: int = BATCH_BYTES, threads: int = 1
) -> Iterator[Batch]:
    """Yield the readings of a Low Carbon London CSV; see :class:`~.interface.Format`."""
    settings = replace(
        settings,
        delimiter=",",
        meter_column=METER_COLUMN,
        circuit_column=None,
        unit_column=None,
        time_format=ISO8601,
        decimal=".",
        thousands=None,
    )
    parse_stamps = StampParser(settings.time_format, settings.missing_words)

    def read(rows: CsvRows) -> Iterator[Batch]:
        columns = {
            "time_column": _whichever(rows, TIME_COLUMNS),
            "energy_column": _whichever(rows, ENERGY_COLUMNS),
        }
        described = replace(settings, **columns)
        plain = plain_rows(described, parse_stamps, threads)
        return file_batches(rows, described, parse_stamps, batch_bytes, plain)

    return csv_batches(path, settings, read)


def _whichever(rows: CsvRows, names: tuple[str, ...]) -> str:
    for name in names:
        if name in rows.header:
            return name
    raise rows.missing_column(" or ".join(names), "set export.format to the layout the file has")
