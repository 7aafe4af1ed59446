"""Low Carbon London: the long half-hourly CSV of UK Power Networks in each of its published header styles.

Its columns, unit and stamps are known, so no column setting is needed. Odd stamps, padded numbers, the word Null and
repeated rows are left to the common rules, which count them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from meterdp.core.errors import InputError
from meterdp.exports.batch import BATCH_BYTES, Batch
from meterdp.exports.readers import long_csv
from meterdp.exports.readers.csv_rows import HEADER_ROW, CsvRows
from meterdp.exports.settings import ISO8601, ExportSettings

METER_COLUMN = "LCLid"
TIME_COLUMNS = ("DateTime", "tstp")
ENERGY_COLUMNS = ("KWH/hh (per half hour)", "energy(kWh/hh)")


def batches(path: str | Path, settings: ExportSettings, *, batch_bytes: int = BATCH_BYTES) -> Iterator[Batch]:
    """Yield the readings of a Low Carbon London CSV; see :class:`meterdp.exports.readers.interface.Reader`."""
    settings = replace(settings, delimiter=",", circuit_column=None, unit_column=None, time_format=ISO8601)
    rows = CsvRows(path, settings)
    settings = replace(
        settings,
        meter_column=METER_COLUMN,
        time_column=_whichever(rows, TIME_COLUMNS),
        energy_column=_whichever(rows, ENERGY_COLUMNS),
    )
    return long_csv.batches(path, settings, batch_bytes=batch_bytes)


def _whichever(rows: CsvRows, names: tuple[str, ...]) -> str:
    for name in names:
        if name in rows.header:
            return name
    raise InputError(
        f"is missing from the header; the header has {', '.join(repr(n) for n in rows.header)}",
        file=rows.path,
        row=HEADER_ROW,
        field=" or ".join(names),
        remedy="set export.format to the layout the file has",
    )
