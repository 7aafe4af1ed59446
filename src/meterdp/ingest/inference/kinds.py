"""What kind of file an export is, by its first bytes; what we do not read is named for what it is.

What is odd about the first readings but no reason to refuse them: other intervals, rows that contradict others.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from meterdp.errors import InputError
from meterdp.ingest.batch import NO_CODE
from meterdp.ingest.clock import LAST_MARK, Clock
from meterdp.ingest.dense import CONFLICTING_ROWS, SUPERSEDED_BY_LATER_ROW
from meterdp.ingest.inference.trial import Trial
from meterdp.ingest.inference.zone import CLOCKS, local_changes
from meterdp.ingest.members import ZIP_STARTS
from meterdp.ingest.readers import green_button, nem12
from meterdp.ingest.streams import DAMAGE, files_of, open_bytes

# Bytes of the start of a file that everything is guessed from.
HEAD_BYTES = 1 << 20
_SHEET = "save the sheet with one reading per row as CSV UTF-8"
# First bytes, what they mean, and what to do.
_OTHERS = (
    (b"\xd0\xcf\x11\xe0", "is an Excel workbook of the old kind (.xls)", _SHEET),
    (b"%PDF", "is a PDF", "ask for the readings as CSV"),
    (b"{\\rtf", "is a text document", "save it as plain text"),
    (b"\xff\xfe", "is UTF-16 text", "save the export as UTF-8"),
    (b"\xfe\xff", "is UTF-16 text", "save the export as UTF-8"),
    (b"7z\xbc\xaf", "is a 7z archive", "unpack it, or pack it as zip or gzip"),
    (b"Rar!", "is a RAR archive", "unpack it, or pack it as zip or gzip"),
    (b"BZh", "is compressed by bzip2", "unpack it, or pack it as zip or gzip"),
    (b"\x28\xb5\x2f\xfd", "is compressed by zstd", "unpack it, or pack it as zip or gzip"),
    (b"\xfd7zXZ", "is compressed by xz", "unpack it, or pack it as zip or gzip"),
    (b"SQLite format 3", "is an SQLite database", "write the table of readings as CSV or Parquet"),
)
_SHEETS = ("xl/workbook.xml", "xl/workbook.bin", "content.xml")


def kind_of(path) -> tuple[str, bytes]:
    """Return "csv" (any text in rows), "parquet", "nem12" or "green_button", and the first ``HEAD_BYTES`` of the
    (first) file, unpacked; none for Parquet.

    Raises ``InputError`` if the file is missing, empty or damaged, or is something that holds no readings we can
    read.
    """
    path = Path(path)
    _refuse_workbooks(path)
    with open_bytes(files_of(path)[0]) as stream:
        head = stream.read(HEAD_BYTES)
    for start, problem, hint in _OTHERS:
        if head.startswith(start):
            raise InputError(problem, file=path, hint=hint)
    if head.startswith(b"PAR1"):
        return "parquet", b""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if nem12.version(head) == "NEM13":
        raise InputError(
            "is NEM13: register readings months apart, not an interval export",
            file=path,
            hint="ask for NEM12 interval data",
        )
    if re.match(rb"HDR,(ICPHH|ICPMM|EIEP)", text):
        raise InputError(
            "is a New Zealand EIEP file, which numbers the trading periods of a day",
            file=path,
            hint="write a row per reading: meter, time stamp and energy",
        )
    if nem12.looks_like(head):
        return "nem12", head
    if green_button.looks_like(head):
        if green_button.names_gas(head):
            raise InputError("is Green Button XML of gas", file=path, hint="ask for the electricity of these homes")
        return "green_button", head
    if text.startswith(b"<"):
        page = re.match(rb"<(!doctype\s+)?html", text, re.IGNORECASE)
        what = "is a web page" if page else "is XML, but not of Green Button"
        raise InputError(what, file=path, hint="ask for the readings as CSV, Parquet, NEM12 or Green Button XML")
    if text[:1] in (b"{", b"["):
        raise InputError("is JSON", file=path, hint="write the readings as CSV, one reading per row")
    if b"\0" in head[:4096]:
        raise InputError("is no text", file=path, hint="give a CSV, Parquet, NEM12 or Green Button XML file")
    return "csv", head


def _refuse_workbooks(path: Path) -> None:
    """Excel and LibreOffice workbooks are zip files with known names inside."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        if file.read(4) not in ZIP_STARTS:
            return
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except DAMAGE:
        return
    if names & set(_SHEETS):
        raise InputError("is a spreadsheet, whatever its name says", file=path, hint=_SHEET)


_FEWEST_GAPS = 20
_NEAR_HOURS = 3
# Of the rows that contradict another: so many near a change of clocks, and the rest is a correction now and then.
_NEARLY_ALL = 0.9
_MOST_DAYS = 4
_HOUR_US = 3_600_000_000


def remarks(trial: Trial, time_zone: str | None) -> list[str]:
    """Return what somebody who knows the export should look at, as sentences; ``time_zone`` is that of the homes."""
    return [*_other_intervals(trial), *_hours_that_contradict(trial, time_zone)]


def _other_intervals(trial: Trial) -> Iterator[str]:
    usual = np.array([_usual_gap(row) for row in trial.energy_kwh])
    judged = usual[usual > 0]
    minutes, own = trial.settings.interval_minutes, int((judged == 1).sum())
    lengths, counts = np.unique(judged[judged > 1], return_counts=True)
    if not own or not len(lengths):  # all alike is a matter of the settings
        return
    others = ", ".join(f"{n:,} every {gap * minutes:,}" for gap, n in zip(lengths, counts, strict=True))
    yield (
        f"of {len(judged):,} meters, {own:,} have a reading every {minutes} minutes and {others}: a study leaves the "
        "others out, as most of their readings are missing; export them apart, or all at the longest interval"
    )


def _usual_gap(row: np.ndarray) -> int:
    """Return how many intervals the readings of a meter are nearly always apart, 0 where they do not tell."""
    gaps = np.diff(np.flatnonzero(~np.isnan(row)))
    if len(gaps) < _FEWEST_GAPS:
        return 0
    values, counts = np.unique(gaps, return_counts=True)
    return int(values[counts.argmax()]) if counts.max() >= _NEARLY_ALL * len(gaps) else 0


def _hours_that_contradict(trial: Trial, time_zone: str | None) -> Iterator[str]:
    if not trial.counts[[SUPERSEDED_BY_LATER_ROW, CONFLICTING_ROWS]].any():
        return
    hour = _contradicting_hours(trial)
    for zone in dict.fromkeys(zone for zone in (time_zone, trial.settings.time_zone, *CLOCKS) if zone):
        changes = local_changes(zone, hour)
        if not len(changes):
            continue
        near = (np.abs(hour[:, None] - changes) <= _NEAR_HOURS).any(axis=1)
        if near.mean() < _NEARLY_ALL:
            continue
        days = np.unique(hour[near].astype("datetime64[h]").astype("datetime64[D]")).astype(str)
        of_day = hour[near] % 24
        more = f" and {len(days) - _MOST_DAYS} more days" if len(days) > _MOST_DAYS else ""
        yield (
            f"{'all' if near.all() else 'nearly all'} of {len(hour):,} rows that contradict another row of the same "
            f"meter and interval lie between {of_day.min():02d}:00 and {of_day.max() + 1:02d}:00 on "
            f"{', '.join(days[:_MOST_DAYS])}{more}, when clocks of {zone} change: the export may have moved stamps "
            "there (export.stamp_time_zone, export.conflicting_rows)"
        )
        return


def _contradicting_hours(trial: Trial) -> np.ndarray:
    """Return the hour (since 1970, by the stamps) of every row with another reading than the row before it."""
    clock, index = Clock(trial.settings, descending=trial.survey.runs_backwards), {}
    parts = []
    for batch in trial.batches:
        number = np.array([index.setdefault(name, len(index)) for name in batch.meter_ids] + [NO_CODE])
        meter = number[batch.meter]
        starts = clock.interval_starts(meter, batch)
        good = (meter >= 0) & (starts > LAST_MARK) & np.isfinite(batch.energy)
        parts.append([values[good] for values in (meter, starts, batch.energy, batch.stamp_us // _HOUR_US)])
    meter, starts, energy, hour = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((starts, meter))
    same = (np.diff(meter[order]) == 0) & (np.diff(starts[order]) == 0)
    return hour[order][1:][same & (np.diff(energy[order]) != 0)]
