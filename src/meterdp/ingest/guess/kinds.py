"""What kind of file an export is, by its first bytes; what we do not read is named for what it is."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from meterdp.errors import InputError
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
    """Return the kind of an export and the bytes it starts with.

    Returns
    -------
    kind : {"csv", "parquet", "nem12", "green_button"}
        Where "csv" is any text in rows.
    head : bytes
        The first ``HEAD_BYTES`` of the (first) file, unpacked; empty for Parquet.

    Raises
    ------
    InputError
        If the file is missing, empty or damaged, or is something that holds no readings we can read.
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
    """Excel and LibreOffice workbooks are zip files with names of their own inside."""
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
