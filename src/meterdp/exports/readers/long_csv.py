"""Long CSV: a row per reading with meter, stamp and energy, and if wanted circuit and unit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from meterdp.exports.batch import BATCH_BYTES, Batch
from meterdp.exports.fields import StampParser, key_columns, keys, numbers
from meterdp.exports.readers.csv_rows import CsvRows
from meterdp.exports.settings import ExportSettings


def batches(path: str | Path, settings: ExportSettings, *, batch_bytes: int = BATCH_BYTES) -> Iterator[Batch]:
    """Yield the readings of a long CSV in the order of the file; see `exports.readers.interface`."""
    rows = CsvRows(path, settings.delimiter)
    names = [*key_columns(settings), settings.time_column, settings.energy_column]
    parse_stamps = StampParser(settings.time_format, settings.missing_words)
    for fields in rows.batches([rows.position(name) for name in names], batch_bytes):
        columns = dict(zip(names, fields, strict=True))
        stamp_us = parse_stamps(columns[settings.time_column])
        yield Batch(
            first_row=fields[0].first_row,
            stamp_us=stamp_us,
            stamps_are_utc=parse_stamps.stamps_are_utc,
            energy=numbers(columns[settings.energy_column], settings.missing_words),
            **keys(columns, settings),
        )
