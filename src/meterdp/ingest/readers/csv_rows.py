"""The rows of a CSV as batches of text, streamed through pyarrow on one core.

A row is a physical line, blank ones included, so that a row number in a message is the line a text editor shows.
Fields may be quoted but may not hold line breaks.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import cycle

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from meterdp.core.regular import empty
from meterdp.errors import InputError
from meterdp.ingest.batch import BATCH_BYTES, Batch
from meterdp.ingest.fields import Field
from meterdp.ingest.lines import (
    INNER_DELIMITER,
    NO_UTF8,
    NO_UTF8_HINT,
    OLD_MAC,
    OLD_MAC_HINT,
    Block,
    Piece,
    SafeLines,
    separator_after,
)
from meterdp.ingest.members import Member
from meterdp.ingest.readers.plain_rows import PlainRows, Scan
from meterdp.ingest.settings import ExportSettings
from meterdp.ingest.streams import file_by_file, open_text

# No row is longer, unless the header is a sixteenth of it.
LONGEST_ROW_BYTES = 1 << 16
LONGEST_HEADER_BYTES = 1 << 20  # where it may be that of one meter's file
_HEADER_WITHIN = 20  # rows, where it is not in that of the settings
# Of a header: a reading, a date, or what an id may be.
_LIKE_DATA = re.compile(r"\d{4}|^-?\d+[.,]\d+$")
_RAGGED = "has more or fewer fields than the header"
_OF_25_HOURS = (
    "; if days of 25 hours have more values, number the intervals of such a day in the header from 1 on "
    "(export.wide_columns: numbers) and fill up all other rows with empty fields"
)


@dataclass(frozen=True)
class Rows:
    """A batch of rows of one file."""

    fields: list[Field]  # the columns asked for, n entries each; null in a repeated header
    left_out: int  # rows that could not be split into fields and are not among the n
    # (n,) bool, rows that are the header once more; None where there is none.
    header_repeated: np.ndarray | None = None


def csv_batches(
    path,
    settings: ExportSettings,
    read: Callable[[CsvRows], Iterator[Batch]],
    names: Sequence[str] | None = None,
) -> Iterator[Batch]:
    """Yield the batches of the CSV files of an export, of one layout each, in order of their names; ``read`` reads
    one.

    ``names`` are the columns of files without a header. Raises ``InputError`` if there is no file that can be read,
    or if bad rows are refused and none of them holds a row.
    """
    any_row = False

    def read_file(member: Member) -> Iterator[Batch]:
        nonlocal any_row
        if member.place and not member.size_bytes:
            return  # a meter without a reading, where every file is of one
        rows = CsvRows(member, settings, names)
        yield from read(rows)
        any_row |= rows.any_row

    yield from file_by_file(path, settings, read_file)
    if not any_row and settings.bad_rows == "refuse" and not isinstance(path, Member):
        raise empty(path)


class CsvRows:
    """A CSV with a header, or with the column ``names``; raises ``InputError`` if there is no header that can be
    read.
    """

    def __init__(self, member: Member, settings: ExportSettings, names: Sequence[str] | None = None):
        self.member, self.any_row = member, False
        self._delimiter, self._refuse_bad_rows = settings.delimiter, settings.bad_rows == "refuse"
        self._encoding = settings.encoding
        self.header_row = settings.skip_rows + 1
        # A column per meter makes a long header, and is nobody's own.
        wide = settings.format == "wide_csv" and settings.wide_layout == "meters"
        self._of_days = settings.format == "wide_csv" and not wide
        longest = None if wide or self._refuse_bad_rows else LONGEST_HEADER_BYTES
        line = b""
        if names is None or self._refuse_bad_rows:
            line = _header_line(member, settings.encoding, settings.skip_rows, longest, needed=names is None)
        self._header_bytes = len(line) if names is None else 0
        self._lines_before = settings.skip_rows + (names is None) * (1 + settings.skip_rows_after_header)
        self._has_header = names is None
        if names is not None:
            self.header = list(names)
            return
        try:
            names = next(csv.reader([line.decode("utf-8-sig")], delimiter=self._delimiter), [])
        except (UnicodeDecodeError, csv.Error):
            raise InputError(NO_UTF8, file=member.label, row=self.header_row, hint=NO_UTF8_HINT) from None
        self.header = [name.strip() for name in names]

    def refuse_header(self, problem: str, hint: str, field: str | None = None) -> InputError:
        return InputError(problem, file=self.member.label, row=self.header_row, field=field, hint=hint)

    def position(self, name: str, *, header_is_public: bool = True) -> int:
        """Return where the column ``name`` stands; raises ``InputError`` if it is missing or there more than once.

        The other column names are listed unless they are meter ids (``header_is_public``) or may be.
        """
        count = self.header.count(name)
        if count == 1:
            return self.header.index(name)
        if count:
            raise self.refuse_header("is in the header more than once", "rename one", name)
        hint = "name the column in the configuration, or check export.delimiter and export.skip_rows"
        raise self.missing_column(name, hint, listed=header_is_public)

    def missing_column(self, name: str, hint: str, *, listed: bool = True) -> InputError:
        """Return the refusal of a file without a column; a row of data in the place of the header is not quoted."""
        if (row := self._row_with(name)) is not None:
            hint = f"set export.skip_rows to {row - 1}"
            if self.member.place:
                hint = f"delete the rows above the headers, or {hint} if all files have as many"
            return self.refuse_header(
                f"is not in this row but in row {row}, which seems to be the header", hint, name
            )
        if any(_LIKE_DATA.search(entry) for entry in self.header):
            what = "is missing from the header, which looks like a row of data or of meter ids"
        else:
            names = f"; the header has {', '.join(map(repr, self.header))}" if listed else ""
            what = f"is missing from the header{names}"
        return self.refuse_header(what, hint, name)

    def _row_with(self, name: str) -> int | None:
        """Return which of the first rows has a field that is the name of a column, if one has."""
        with suppress(InputError, csv.Error), open_text(self.member, self._encoding) as stream:
            lines = stream.read(LONGEST_HEADER_BYTES).decode("utf-8-sig", "replace").split("\n")[:_HEADER_WITHIN]
            for row, line in enumerate(lines, start=1):
                if name in map(str.strip, next(csv.reader([line], delimiter=self._delimiter), [])):
                    return row
        return None

    def batches(
        self,
        positions: Iterable[int],
        batch_bytes: int = BATCH_BYTES,
        plain: Sequence[PlainRows] = (),
    ) -> Iterator[Rows | Batch]:
        """Yield batches of rows, the columns at ``positions`` as text, in that order.

        ``plain`` are readers of plain lines, as many as may be at work at once; what they can read they yield
        instead. Raises ``InputError`` if the file is damaged, or if it holds a row that cannot be split into as many
        fields as the header has and bad rows are refused.
        """
        positions = list(positions)
        longest = max(LONGEST_ROW_BYTES, 16 * self._header_bytes)
        lines = SafeLines(self._delimiter, b"\n", longest, batch_bytes)
        roles = plain[0].roles(self.header) if plain else None
        row = self._lines_before + 1

        def scan(piece: Piece, reader: PlainRows | None) -> Scan | None:
            if reader is None or not piece.lines or not lines.may_be_plain(piece.lines):
                return None
            return reader.scan(piece.lines, longest, roles)

        with open_text(self.member, self._encoding) as stream:
            for piece, reader, found in _scanned_ahead(scan, lines.pieces(stream, self._lines_before), plain):
                self.any_row = True
                batch = None if found is None else reader.batch(found, row, self.member.meter_id)
                if batch is not None:
                    yield batch
                    row += len(batch.meter)
                    piece = replace(piece, lines=b"")
                for block in lines.blocks_of(piece, row):
                    yield self._rows(block, positions)
                    row += block.row_count

    def _rows(self, block: Block, positions: list[int]) -> Rows:
        """Split a block into fields."""
        file = self.member.label
        columns, ragged = self._split(block, positions)
        left_out = sorted([*block.malformed, *((row, _RAGGED) for row in ragged)])
        if left_out and self._refuse_bad_rows:
            row, problem = left_out[0]
            hint = "correct the row, or check export.delimiter" + _OF_25_HOURS * self._of_days
            hint = NO_UTF8_HINT if problem == NO_UTF8 else hint
            raise InputError(problem, file=file, row=row, hint=hint)
        if len(columns[0]) + len(left_out) != block.row_count:
            raise InputError(
                "has lines that are lost when it is split into rows",
                file=file,
                hint="report this file's layout as a bug of meterdp",
            )
        repeated = self._repeats_of_header(block, columns, positions)
        if repeated is not None:
            columns = [pc.if_else(pa.array(repeated), None, column) for column in columns]
        fields = [
            Field(column, file, self.header[p], block.first_row) for column, p in zip(columns, positions, strict=True)
        ]
        return Rows(fields, len(left_out), repeated)

    def _repeats_of_header(self, block: Block, columns: list[pa.Array], positions: list[int]) -> np.ndarray | None:
        """Return which rows hold the column names, as files that were put together by hand do; None for none."""
        names = [self.header[p] for p in positions]
        longest = max(names, key=len, default="").replace(self._delimiter, INNER_DELIMITER)
        if not self._has_header or not longest or longest.encode() not in block.text:
            return None
        repeated = np.ones(len(columns[0]), bool)
        for name, column in zip(names, columns, strict=True):
            if not repeated.any():
                return None
            same = pc.equal(pc.utf8_trim_whitespace(column), name).fill_null(False)
            repeated &= same.to_numpy(zero_copy_only=False)
        return repeated if repeated.any() else None

    def _split(self, block: Block, positions: list[int]) -> tuple[list[pa.Array], list[int]]:
        """Return the columns at ``positions`` and the rows of the file with too many or too few fields."""
        if not block.text:
            return [pa.array([], pa.string())] * len(positions), []
        names = [str(i) for i in range(len(self.header))]
        wanted = [names[p] for p in positions]
        left_out = {row for row, _ in block.malformed}
        ragged: list[int] = []

        def note_ragged(row) -> str:
            ragged.append(row.number)
            return "skip"

        table = pyarrow.csv.read_csv(
            pa.BufferReader(block.text),
            pyarrow.csv.ReadOptions(use_threads=False, block_size=len(block.text) + 1, column_names=names),
            pyarrow.csv.ParseOptions(
                delimiter=self._delimiter,
                quote_char=False,
                ignore_empty_lines=False,
                invalid_row_handler=note_ragged,
            ),
            pyarrow.csv.ConvertOptions(
                check_utf8=False, column_types=dict.fromkeys(wanted, pa.string()), include_columns=wanted
            ),
        )
        columns = [table.column(i).combine_chunks() for i in range(len(positions))]
        if block.inner_delimiters:
            columns = [pc.replace_substring(column, INNER_DELIMITER, self._delimiter) for column in columns]
        if ragged:
            # pyarrow counts the lines it was given, from 1 on.
            given = [row for row in range(block.first_row, block.first_row + block.row_count) if row not in left_out]
            ragged = [given[number - 1] for number in ragged]
        return columns, ragged


def _scanned_ahead(scan: Callable, pieces: Iterator[Piece], plain: Sequence[PlainRows]) -> Iterator[tuple]:
    """Yield every piece with a reader of plain lines, and what ``scan`` finds in it by that reader, or None.

    A reader is given its next piece when the caller is done with its last one, so it is never at work twice.
    """
    if len(plain) < 2:
        for piece in pieces:
            reader = plain[0] if plain else None
            yield piece, reader, scan(piece, reader)
        return
    waiting: deque[tuple] = deque()
    with ThreadPoolExecutor(len(plain) - 1) as pool:
        for piece, reader in zip(pieces, cycle(plain), strict=False):
            if len(waiting) == len(plain):
                first, its_reader, found = waiting.popleft()
                yield first, its_reader, found.result()
            waiting.append((piece, reader, pool.submit(scan, piece, reader)))
        for piece, reader, found in waiting:
            yield piece, reader, found.result()


def _header_line(member: Member, encoding: str, skip_rows: int, longest: int | None, *, needed: bool) -> bytes:
    """Return the header, without what ends it.

    Raises ``InputError`` if it is needed and there is none, if it and the lines before it are longer than ``longest``
    bytes, or if lines end in a carriage return alone, judged by the end of the first line.
    """
    start, separator = b"", b"\n"
    with open_text(member, encoding) as stream:
        while True:
            more = stream.read(max(1 << 16, len(start)))  # twice as much each time: a file may be one line
            start += more
            # One more byte tells a lone carriage return from the first half of a Windows line end.
            end = re.search(rb"[\r\n].", start, re.DOTALL)
            if end:
                separator = separator_after(start[end.start() :])
            if not more or (end and start.count(separator, 0, -1) > skip_rows):
                break
            if longest is not None and len(start) > longest:
                hint = "write the column names into one row"
                raise InputError("has a header that is too long", file=member.label, row=skip_rows + 1, hint=hint)
    if separator == b"\r":
        raise InputError(OLD_MAC, file=member.label, hint=OLD_MAC_HINT)
    separator = b"\n"
    lines = start.split(separator, skip_rows + 1)
    line = re.split(rb"[\r\n]", lines[skip_rows], maxsplit=1)[0] if len(lines) > skip_rows else b""
    if needed and not line.strip():
        if not line and len(lines) <= skip_rows + 1:
            raise empty(member.label)
        raise InputError(
            "has no header",
            file=member.label,
            row=skip_rows + 1,
            hint="write the column names into the first row, or check export.skip_rows",
        )
    return line
