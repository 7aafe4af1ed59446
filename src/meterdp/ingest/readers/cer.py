"""The Irish smart-metering trial: electricity files of the CER as the Irish Social Science Data Archive gives them.

A row is a meter, a code of five digits and the energy of half an hour in kWh, apart by blanks and without a header.
Digits 1 to 3 of the code count days, 1 being 2009-01-01; digits 4 and 5 count half-hours, 1 being 00:00 to 00:30.
That is all the description says; those who have worked with the files agree about the days on which the clock
changes. When it is set back, the second count goes on to 50. When it is set forward, 1 is followed by 4: it counts
by the local time at which a half-hour ends, so that 2 and 3 (01:00 and 01:30) are skipped with the hour. Other
numbers are counted as local times that do not exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meterdp.core.stamps import DAY_US
from meterdp.ingest.batch import BATCH_BYTES, NO_STAMP, STAMP_UNREADABLE, Batch
from meterdp.ingest.clock import elapsed_us, midnights_us
from meterdp.ingest.fields import Field, Rejects, keys, numbers
from meterdp.ingest.readers.csv_rows import CsvRows, csv_batches
from meterdp.ingest.settings import ExportSettings

METER, CODE, ENERGY = COLUMNS = ("meter", "day and time code", "kWh")
_DAY_0 = np.datetime64("2008-12-31", "us").astype(np.int64)
# On the day the clock is set forward.
_SKIPPED = (2, 3)
_TOO_MANY = 99
# A day is three digits, not 000, and has at most 50 half-hours.
CODE_PATTERN = r"^(?:[1-9]\d\d|0[1-9]\d|00[1-9])(?:0[1-9]|[1-4]\d|50)$"


def batches(path: str | Path, settings: ExportSettings, *, batch_bytes: int = BATCH_BYTES) -> Iterator[Batch]:
    """Yield the readings of the trial; see :class:`~.interface.Format`."""
    settings = replace(
        settings,
        delimiter=" ",
        meter_column=METER,
        circuit_column=None,
        unit_column=None,
        skip_rows=0,
        skip_rows_after_header=0,
        decimal=".",
        thousands=None,
    )

    def read(rows: CsvRows) -> Iterator[Batch]:
        for batch in rows.batches(range(len(COLUMNS)), batch_bytes):
            columns = dict(zip(COLUMNS, batch.fields, strict=True))
            rejects = Rejects(settings, (len(columns[CODE].values),))
            yield Batch(
                first_row=columns[CODE].first_row,
                stamp_us=_stamps(columns[CODE], settings, rejects),
                stamps_are_utc=True,
                energy=numbers(columns[ENERGY], settings.missing_words, rejects),
                **keys(columns, settings, rejects),
                unreadable=rejects.marks,
                left_out=batch.left_out,
            )

    return csv_batches(path, settings, read, COLUMNS)


def _stamps(field: Field, settings: ExportSettings, rejects: Rejects) -> np.ndarray:
    """Return the UTC stamp of every code, (n,) int64, ``NO_STAMP`` where there is none."""
    texts = pc.utf8_trim_whitespace(field.values)
    missing = pc.is_in(texts, pa.array(settings.missing_words, pa.string())).to_numpy(zero_copy_only=False)
    good = pc.match_substring_regex(texts, CODE_PATTERN).fill_null(False)
    known = good.to_numpy(zero_copy_only=False)
    rejects.reject(
        STAMP_UNREADABLE,
        field,
        np.flatnonzero(~known & ~missing & texts.is_valid().to_numpy(zero_copy_only=False)),
        "is not a day from 001 on and a half-hour from 01 to 50",
        "correct the code, or set export.format to what the file is",
    )
    code = pc.if_else(good, texts, "00000").cast(pa.int64()).to_numpy()
    day_us = np.where(known, _DAY_0 + code // 100 * DAY_US, NO_STAMP)
    return elapsed_us(day_us, _since_midnight(day_us, code % 100, settings.time_zone), settings)


def _since_midnight(day_us: np.ndarray, number: np.ndarray, time_zone: str) -> np.ndarray:
    """Return half-hours since local midnight from the count of the files, one too many where that is skipped."""
    local_us = np.where(day_us == NO_STAMP, _DAY_0, day_us)
    length_us = midnights_us(local_us + DAY_US, time_zone) - midnights_us(local_us, time_zone)
    forward = length_us < DAY_US
    skipped = forward & np.isin(number, _SKIPPED)
    return np.where(skipped, _TOO_MANY, np.where(forward & (number > max(_SKIPPED)), number - len(_SKIPPED), number))
