"""Low Carbon London: the long half-hourly CSV of UK Power Networks in each of its published header styles.

Its columns, unit and stamps are known, so no column setting is needed. Odd stamps, padded numbers, the word Null and
repeated rows are left to the common rules, which count them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from meterdp.ingest.batch import BATCH_BYTES, Batch
from meterdp.ingest.fields import StampParser
from meterdp.ingest.readers import long_csv
from meterdp.ingest.readers.csv_rows import CsvRows, csv_batches
from meterdp.ingest.settings import ISO8601, ExportSettings

METER_COLUMN = "LCLid"
TIME_COLUMNS = ("DateTime", "tstp")
ENERGY_COLUMNS = ("KWH/hh (per half hour)", "energy(kWh/hh)")


def batches(
    path: str | Path, settings: ExportSettings, *, batch_bytes: int = BATCH_BYTES, threads: int = 1
) -> Iterator[Batch]:
    """Yield the readings of a Low Carbon London CSV; see :class:`meterdp.ingest.readers.interface.Reader`."""
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
        plain = long_csv.plain_rows(described, parse_stamps, threads)
        return long_csv.file_batches(rows, described, parse_stamps, batch_bytes, plain)

    return csv_batches(path, settings, read)


def _whichever(rows: CsvRows, names: tuple[str, ...]) -> str:
    for name in names:
        if name in rows.header:
            return name
    raise rows.refuse_header(
        f"is missing from the header; the header has {', '.join(repr(n) for n in rows.header)}",
        "set export.format to the layout the file has",
        " or ".join(names),
    )
