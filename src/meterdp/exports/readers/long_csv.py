"""Long CSV: a row per reading with meter, stamp and energy, and if wanted circuit and unit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from meterdp.exports.batch import BATCH_BYTES, Batch
from meterdp.exports.fields import Rejects, StampParser, key_columns, keys, numbers
from meterdp.exports.readers.csv_rows import CsvRows, csv_files
from meterdp.exports.settings import ExportSettings


def batches(path: str | Path, settings: ExportSettings, *, batch_bytes: int = BATCH_BYTES) -> Iterator[Batch]:
    """Yield the readings of a long CSV in the order of the file; see `exports.readers.interface`."""
    parse_stamps = StampParser(settings.time_format, settings.missing_words)
    for rows in csv_files(path, settings):
        yield from file_batches(rows, settings, parse_stamps, batch_bytes)


def file_batches(
    rows: CsvRows, settings: ExportSettings, parse_stamps: StampParser, batch_bytes: int
) -> Iterator[Batch]:
    """Yield the readings of one of its files."""
    names = [*key_columns(settings), settings.time_column, settings.energy_column]
    for batch in rows.batches([rows.position(name) for name in names], batch_bytes):
        columns = dict(zip(names, batch.fields, strict=True))
        rejects = Rejects(settings, (len(batch.fields[0].values),), batch.header_repeated)
        stamp_us, stamps_are_utc = parse_stamps(columns[settings.time_column], rejects)
        yield Batch(
            first_row=batch.fields[0].first_row,
            stamp_us=stamp_us,
            stamps_are_utc=stamps_are_utc,
            energy=numbers(
                columns[settings.energy_column], settings.missing_words, rejects, notation=settings.notation
            ),
            **keys(columns, settings, rejects, rows.member.meter_id),
            unreadable=rejects.marks,
            left_out=batch.left_out,
            place=rows.member.place,
        )
