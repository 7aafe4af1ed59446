"""What kind of file an export is, by its first bytes; what we do not read is named for what it is.

The structure of a CSV from its first rows: what separates fields, where the header is, what the columns hold.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice, pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from meterdp.errors import InputError
from meterdp.ingest.lines import NO_UTF8, NO_UTF8_HINT, OLD_MAC, OLD_MAC_HINT
from meterdp.ingest.members import ZIP_STARTS
from meterdp.ingest.readers import green_button, nem12, parquet
from meterdp.ingest.settings import ENCODINGS, ExportSettings, Notation, notations_that_fit
from meterdp.ingest.shapes import SPREADSHEET, UNIX, formats_that_fit, serial_seconds
from meterdp.ingest.streams import DAMAGE, files_of, open_bytes, open_text

# Bytes of the start of a file that everything is guessed from; of how many more files, and so much of each, what
# tells rows apart.
HEAD_BYTES = 1 << 20
_MORE_FILES, _MORE_BYTES = 11, 1 << 17
# In how much of all files entries of columns are looked for that are not read.
_ENTRIES_BYTES = 1 << 26
_SHEET = "save each sheet as CSV UTF-8, with one reading per row, and several into one folder"
_UNPACK = "unpack it, or pack it as zip or gzip"
# What the first bytes look like, what they mean, and what to do.
_OTHERS = (
    (rb"\xd0\xcf\x11\xe0", "is an Excel workbook of the old kind (.xls)", _SHEET),
    (rb"%PDF", "is a PDF", "ask for the readings as CSV"),
    (rb"\{\\rtf", "is a text document", "save it as plain text"),
    (rb"7z\xbc\xaf", "is a 7z archive", _UNPACK),
    (rb"Rar!", "is a RAR archive", _UNPACK),
    (rb"BZh", "is compressed by bzip2", _UNPACK),
    (rb"\x28\xb5\x2f\xfd", "is compressed by zstd", _UNPACK),
    (rb"\xfd7zXZ", "is compressed by xz", _UNPACK),
    (rb"SQLite format 3", "is an SQLite database", "write the table of readings as CSV or Parquet"),
    (
        rb"(?:\xef\xbb\xbf)?\s*HDR,(ICPHH|ICPMM|EIEP)",
        "is a New Zealand EIEP file, which numbers the trading periods of a day",
        "write a row per reading: meter, time stamp and energy",
    ),
    (rb"(?:\xef\xbb\xbf)?\s*[{\[]", "is JSON", "write the readings as CSV, one reading per row"),
)
_SHEETS = ("xl/workbook.xml", "xl/workbook.bin", "content.xml")

# In order of preference: a decimal comma makes a comma look like a separator, too.
DELIMITERS = (";", "\t", "|", ",", " ")
# Rows that are looked at, and distinct entries of a column that are tried as stamps.
_LINES, _TRIED = 30_000, 2_000
_PARQUET_ROWS = 4000
_HEADER_WITHIN = 30
_TIME_OF_DAY = re.compile(r"\d{1,2}:\d{2}(:\d{2})?( ?[AaPp][Mm])?")
# Share of distinct entries of a column that may be of another kind than the rest.
_MOST_ODD = 0.1
# The shortest interval there is.
_STEP_SECONDS = 300
# Numbers that no format of stamps reads.
_PLAIN_NUMBER = re.compile(r"-?\d{0,4}(?:[.,]\d*)?", re.ASCII)
_UNIX_NAME = r"unix|epoch|time|date|stamp|start|begin|from|zeit|\bts\b"
_DIGIT = re.compile(r"\d")
_DATED = r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}|\d:\d\d:\d\d|^\d{8,14}$"
_UNITS_ROW = r"[-()\[\] ]*([kKmM]?[wW][hH]?|text|string|number|(local )?(date)?(time)?|utc|[ymdhs:/. -]*)[)\] ]*"
MISSING = {
    "", "null", "na", "n/a", "n.a.", "nan", "-", "--", "---", "none", "#n/a", "missing", "offline", "error",
    "no data",
    "no read", "?", "*", "..", "...", "nil", "void", "empty", "invalid",
}  # fmt: skip


def kind_of(path) -> tuple[str, bytes]:
    """Return "csv" (any text in rows), "parquet", "nem12" or "green_button", and the first ``HEAD_BYTES`` of the
    (first) file, unpacked; none for Parquet.

    Raises ``InputError`` if the file is missing, empty or damaged, or is something that holds no readings we can
    read.
    """
    path = Path(path)
    head = head_of(path)
    if head.startswith(b"PAR1"):
        return "parquet", b""
    raw, (text, encoding) = head, decoded(head)
    head = text.encode() if encoding == "utf-16" else head
    version = nem12.version(head)
    if version == "NEM13":
        problem = "is NEM13: register readings months apart, not an interval export"
        raise InputError(problem, file=path, hint="ask for NEM12 interval data")
    if version == "NEM12":
        return "nem12", head
    if green_button.looks_like(head):
        if green_button.names_gas(head):
            raise InputError("is Green Button XML of gas", file=path, hint="ask for the electricity of these homes")
        return "green_button", head
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"<"):
        page = re.match(rb"<(!doctype\s+)?html", text, re.IGNORECASE)
        what = "is a web page" if page else "is XML, but not of Green Button"
        raise InputError(what, file=path, hint="ask for the readings as CSV, Parquet, NEM12 or Green Button XML")
    if b"\0" in head[:4096]:
        raise InputError("is not text", file=path, hint="give a CSV, Parquet, NEM12 or Green Button XML file")
    return "csv", raw


def head_of(path: Path) -> bytes:
    """Return the first ``HEAD_BYTES`` of the first file, unpacked; raises as :func:`kind_of` for files that say
    themselves what else they are.
    """
    _refuse_workbooks(path)
    with open_bytes(files_of(path)[0]) as stream:
        head = stream.read(HEAD_BYTES)
    for start, problem, hint in _OTHERS:
        if re.match(start, head):
            raise InputError(problem, file=path, hint=hint)
    return head


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
        raise InputError("is a spreadsheet", file=path, hint=_SHEET)


@dataclass(frozen=True, eq=False)
class Column:
    """One column of the sample."""

    name: str  # its header, or its number where there is none
    tokens: tuple[str, ...]  # distinct entries in order of appearance, missing ones left out
    entries: tuple[str, ...] = ()  # all in the order of the rows

    @cached_property
    def time_formats(self) -> tuple[str, ...]:
        """Formats of time stamps that fit every entry, or all but a few of another shape."""
        tokens = self.tokens[:_TRIED]
        if sum(_PLAIN_NUMBER.fullmatch(word) is not None for word in tokens) > _MOST_ODD * len(tokens):
            return ()
        tokens = _of_usual_shape(tokens)
        # Most columns hold no stamps, which a few entries tell.
        found = formats_that_fit(tokens) if formats_that_fit(tokens[:3]) else []
        # Ids of ten digits look the same.
        ids = set(found) & set(UNIX) and not re.search(_UNIX_NAME, self.name, re.IGNORECASE)
        # A register of some years looks like days since 1899, of which few are on the clock.
        return () if ids or (found == [SPREADSHEET] and not _on_the_clock(tokens)) else tuple(found)

    @cached_property
    def notations(self) -> tuple[Notation, ...]:
        """Notations in which every entry is a number, except a few without a digit; the likeliest first."""
        tokens = [word for word in self.tokens if has_digit(word)]
        return tuple(notations_that_fit(tokens)) if len(tokens) > (1 - _MOST_ODD) * len(self.tokens) else ()

    @property
    def words_for_missing(self) -> set[str]:
        """Entries without a digit: among numbers they can only stand for a missing one."""
        return {entry for entry in {*self.entries} if not has_digit(entry)}

    @cached_property
    def counts_rows(self) -> bool:
        """Whether the entries number the rows."""
        first = self.entries[:_TRIED]
        if len(first) < 3 or not all(entry.isdecimal() and len(entry) < 10 for entry in first):
            return False
        return all(int(after) == int(entry) + 1 for entry, after in pairwise(first))

    @property
    def is_stamp(self) -> bool:
        if self.time_formats == (SPREADSHEET,):
            # Serial numbers of one day after another have decimals; whole numbers are ids or readings.
            return all("." in word or "," in word for word in self.tokens[1:]) and len(self.tokens) > 2
        return bool(self.time_formats) and not self.is_date

    @property
    def is_date(self) -> bool:
        return bool(self.time_formats) and all("%" in f and not re.search("%[HI]", f) for f in self.time_formats)

    @property
    def is_time(self) -> bool:
        return bool(self.tokens) and all(_TIME_OF_DAY.fullmatch(word) for word in self.tokens)

    @property
    def is_number(self) -> bool:
        return bool(self.notations)


def _on_the_clock(tokens: Sequence[str]) -> bool:
    """Whether serial numbers are nearly all within a tenth of the shortest interval of a full one."""
    seconds, _ = serial_seconds(tokens)
    off = (seconds + _STEP_SECONDS // 10) % _STEP_SECONDS <= 2 * (_STEP_SECONDS // 10)
    return off.mean() > 1 - _MOST_ODD


@dataclass(frozen=True)
class Table:
    """The rows of the start of a CSV."""

    encoding: str
    delimiter: str
    skip_rows: int  # lines before the header
    header: list[str]  # empty if the file has none
    units_row: bool  # whether a line with units instead of readings follows the header
    # As wide as the header, in order, without surrounding blanks; repeated headers are left out.
    rows: list[list[str]]
    above: str  # the text of what stands before the first row of readings
    # From the first row that is mostly filled to the first below it with a number: line of the file and fields.
    rows_of_text: Sequence[tuple[int, list[str]]] = ()

    @cached_property
    def columns(self) -> list[Column]:
        names = self.header or [str(i + 1) for i in range(len(self.rows[0]))]
        found = []
        for name, entries in zip(names, zip(*self.rows, strict=False), strict=False):
            tokens = [word for word in dict.fromkeys(entries) if word.lower() not in MISSING]
            found.append(Column(name, tuple(tokens), entries))
        return found


def samples_of(path) -> Iterator[Table]:
    """Yield the starts of files of an export as tables: of the first, and of some of the others that can be read."""
    kind, head = kind_of(path)
    yield sample_of(path, kind, head)
    others = files_of(path)[1:] if kind == "csv" else []
    for member in others[:: -(-len(others) // _MORE_FILES)] if others else ():
        with suppress(InputError), open_bytes(member) as stream:
            yield read_table(member.label, stream.read(_MORE_BYTES))


def entries_in(path, settings: ExportSettings, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the different entries of columns in the first rows of some files of a CSV, more than a sample has."""
    files = files_of(path)
    files = files[:: -(-len(files) // (1 + _MORE_FILES))]
    found: dict[str, dict[str, None]] = {name: {} for name in names}
    for member in files:
        with (
            suppress(InputError, pa.ArrowException, UnicodeDecodeError),
            open_text(member, settings.encoding) as stream,
        ):
            text = stream.read(_ENTRIES_BYTES // len(files)).decode("utf-8", "replace").encode()
            rows = pyarrow.csv.read_csv(
                pa.BufferReader(text[: text.rfind(b"\n") + 1 or len(text)]),
                pyarrow.csv.ReadOptions(
                    use_threads=False,
                    skip_rows=settings.skip_rows,
                    skip_rows_after_names=settings.skip_rows_after_header,
                ),
                pyarrow.csv.ParseOptions(delimiter=settings.delimiter, invalid_row_handler=lambda row: "skip"),
                pyarrow.csv.ConvertOptions(include_columns=names, column_types=dict.fromkeys(names, pa.string())),
            )
            for name in names:
                found[name] |= dict.fromkeys(word.strip() for word in pc.unique(rows[name]).to_pylist())
    return {name: list(entries) for name, entries in found.items()}


def some_rows(path, rows: Mapping[str, Sequence[int]]) -> Iterator[Table]:
    """Yield rows of files of an export as tables, by the place of the file; its first line is row 1."""
    for member in files_of(path):
        if wanted := set(rows.get(member.place, ())):
            with open_bytes(member) as stream:
                start = read_table(member.label, stream.read(_MORE_BYTES))
            above = start.skip_rows + 1
            with open_text(member, start.encoding) as stream:
                # An unpacked stream of pyarrow has no lines.
                lines = enumerate(islice(io.BufferedReader(stream, 1 << 20), max(wanted)), start=1)
                text = b"".join(line for row, line in lines if row <= above or row in wanted)
            yield read_table(member.label, text)


def decoded(head: bytes) -> tuple[str, str | None]:
    """Return the text of the whole lines among some bytes, and its encoding: "ascii" if that is enough; cp932 of
    Japanese, or of Windows' for alphabets the first in which most of what is not ASCII is letters; None where most
    lines are UTF-8 and some are not.
    """
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return head[: len(head) // 2 * 2].decode("utf-16", "replace"), "utf-16"
    whole = head[: head.rfind(b"\n") + 1 or len(head)]
    with suppress(UnicodeDecodeError):
        return whole.decode("utf-8-sig"), "ascii" if whole.isascii() else "utf-8"
    beyond = b"\n".join(line for line in whole.split(b"\n") if not line.isascii())
    lines = beyond.decode("utf-8", "replace").split("\n")
    if sum("\ufffd" in line for line in lines) <= len(lines) / 2:
        return whole.decode("utf-8-sig", "replace"), None
    if _is_japanese(beyond):
        return whole.decode("cp932", "replace"), "cp932"

    def letters(encoding: str) -> int:
        return sum(map(str.isalpha, beyond.decode(encoding, "replace")))

    encoding = max((name for name in ENCODINGS if name.startswith("windows")), key=letters)
    return whole.decode(encoding, "replace"), encoding


def _is_japanese(text: bytes) -> bool:
    """Whether bytes are runs of Shift-JIS, most characters of which begin with a byte from 0x81 to 0x9F.

    Few letters of other encodings are there; that of one and the ASCII after it look like a character alone.
    """
    try:
        runs = re.findall(r"[^\x00-\x7f]+", codecs.getincrementaldecoder("cp932")().decode(text))
    except UnicodeDecodeError:
        return False
    together = "".join(run for run in runs if len(run) > 1)
    first = [character.encode("cp932")[0] for character in together]
    usual, rare = sum(0x81 <= byte <= 0x9F for byte in first), sum(byte >= 0xE0 for byte in first)
    return usual > 3 * rare and 2 * len(together) > sum(map(len, runs))


@lru_cache(maxsize=1 + _MORE_FILES)  # a check asks several times about the same files
def read_table(label, head: bytes) -> Table:
    """Return the structure of a CSV from the bytes it starts with; ``label`` is what messages call it.

    Raises ``InputError`` if they are no text, or not in rows of at least two fields.
    """
    text, encoding = decoded(head)
    if encoding is None:
        raise InputError(NO_UTF8, file=label, hint=NO_UTF8_HINT)
    if "\r" in text and "\n" not in text:
        raise InputError(OLD_MAC, file=label, hint=OLD_MAC_HINT)
    lines = text.splitlines()[:_LINES]
    delimiter, width = _delimiter(label, lines)
    split = [[field.strip() for field in row] for row in _split(lines, delimiter)]
    at = _header_at(split, width)
    header = split[at]
    below = [row for row in split[at + 1 :] if len(row) == width and row != header]
    if not below:
        raise InputError("holds no row under its header", file=label, hint="export the readings again")
    if not _is_header(header, below):
        return Table(encoding, delimiter, at, [], False, [header, *below], "")
    units_row = len(below) > 1 and not _digits(below[0]) and _digits(below[1])
    above = "\n".join([*lines[: at + 1], *([delimiter.join(below[0])] if units_row else [])])
    return Table(encoding, delimiter, at, header, units_row, below[units_row:], above, _rows_of_text(split, width))


def sample_of(path, kind: str, head: bytes) -> Table:
    """Return the start of a CSV or a Parquet file, which are the first results of :func:`kind_of`, as a table."""
    if kind != "parquet":
        return read_table(files_of(path)[0].label, head)
    records = parquet.first_records(path, _PARQUET_ROWS)
    if records is None:
        raise InputError("holds no readings", file=path, hint="export the readings again")
    columns = [_text(records.column(i)) for i in range(records.num_columns)]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return Table("utf-8", ",", 0, list(records.schema.names), False, rows, "")


def _text(column: pa.Array) -> list[str]:
    if pa.types.is_timestamp(column.type):
        stamps = column.cast(pa.timestamp("us", column.type.tz)).to_pylist()
        return ["" if v is None else v.isoformat(" ", "seconds") for v in stamps]
    return ["" if v is None else str(v).strip() for v in column.to_pylist()]


def _split(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    try:
        if not any('"' in line for line in lines):  # so that no line can run on into the next
            return list(csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == " "))
    except csv.Error:
        pass
    out = []
    for line in lines:
        try:
            out.append(next(csv.reader([line], delimiter=delimiter, skipinitialspace=delimiter == " "), []))
        except csv.Error:
            out.append([])
    return out


def _delimiter(label, lines: Sequence[str]) -> tuple[str, int]:
    """Return what separates fields and the number of fields most rows have."""
    best, found = 0.0, None
    some = [line for line in lines[:300] if line.strip()]
    for delimiter in DELIMITERS:
        widths = Counter(len(row) for row in _split(some, delimiter))
        width, count = widths.most_common(1)[0] if widths else (0, 0)
        share = count / len(some) if some else 0.0
        if width >= 2 and share > best + 0.15:
            best, found = share, (delimiter, width)
    if found is None:
        raise InputError(
            "has rows of one field only" if some else "holds no rows",
            file=label,
            hint="write one reading per row: meter, time stamp and energy, separated by commas",
        )
    return found


def _header_at(split: list[list[str]], width: int) -> int:
    """Return the row that names the columns of the readings below; the first that is mostly filled if none does."""
    filled = _filled(split, width)
    naming: list[int] = []
    for at in filled:
        dated = any(re.search(_DATED, field) for field in split[at])
        if not dated and _is_header(split[at], [row for row in split[at + 1 : at + 300] if len(row) == width]):
            naming.append(at)
        elif naming:
            break
    if not naming:
        return filled[0] if filled else 0
    # A title as wide as the table looks like a header, and so does a line of units under it.
    units = len(naming) > 1 and all(re.fullmatch(_UNITS_ROW, field, re.IGNORECASE) for field in split[naming[-1]])
    return naming[-1 - units]


def _filled(split: list[list[str]], width: int) -> list[int]:
    """Return which of the first rows have every column and are mostly filled."""
    wide = [at for at, row in enumerate(split[:_HEADER_WITHIN]) if len(row) == width]
    return [at for at in wide if sum(field != "" for field in split[at]) >= max(1, width / 2)]


def _rows_of_text(split: list[list[str]], width: int) -> list[tuple[int, list[str]]]:
    """Return :attr:`Table.rows_of_text`; none if no number follows."""
    filled = _filled(split, width)
    for n, at in enumerate(filled[1:], start=1):
        if any(Column("", (field,)).is_number for field in split[at]):
            return [(line + 1, split[line]) for line in filled[:n]]
    return []


def has_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None


def _of_usual_shape(tokens: Sequence[str]) -> list[str]:
    """Return the entries that look like most others if nearly all do, else all."""
    if not tokens:
        return []
    shapes = [re.sub(r"\d+", "0", re.sub(r"[^\W\d_]+", "a", word)) for word in tokens]
    usual, count = Counter(shapes).most_common(1)[0]
    enough = count >= (1 - _MOST_ODD) * len(tokens)
    return [word for word, shape in zip(tokens, shapes, strict=True) if shape == usual] if enough else list(tokens)


def _is_header(row: list[str], below: list[list[str]]) -> bool:
    """Whether a row is text in some column in which the others hold stamps or numbers."""
    for i, name in enumerate(row):
        tokens = tuple(dict.fromkeys(r[i] for r in below[1:200] if r[i].lower() not in MISSING))
        if not tokens:
            continue
        column, own = Column("", tokens), Column("", (name,))
        if own.is_number or own.is_time or not (column.is_number or column.time_formats):
            continue
        if not own.time_formats:
            return True
    return False


def _digits(row: list[str]) -> bool:
    return any(map(has_digit, row))


def repeats(columns: Iterable[Column]) -> float:
    """Return the share of rows whose entries in these columns have been there before."""
    rows = list(zip(*(c.entries for c in columns), strict=True))
    return 1 - len(set(rows)) / max(1, len(rows))


def best(columns: Iterable[Column], names: str, allowed: Callable[[Column], object]) -> Column | None:
    """Return the first column whose name fits, or else the first that is allowed at all."""
    columns = [c for c in columns if allowed(c)]
    named = [c for c in columns if re.search(names, c.name, re.IGNORECASE)]
    return (named or columns or [None])[0]
