"""The rows of a CSV as batches of text, streamed through pyarrow on one core.

A row is a physical line, blank ones included, so that a row number in a message is the line a text editor shows.
Fields may be quoted but may not hold line breaks.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from meterdp.core.errors import InputError
from meterdp.exports.batch import BATCH_BYTES
from meterdp.exports.fields import Field
from meterdp.exports.lines import INNER_DELIMITER, Block, SafeLines, separator_after
from meterdp.exports.settings import ExportSettings
from meterdp.exports.streams import empty, open_bytes

HEADER_ROW = 1
# No row is longer, unless the header is a sixteenth of it.
LONGEST_ROW_BYTES = 1 << 16
_RAGGED = "has more or fewer fields than the header"


@dataclass(frozen=True)
class Rows:
    """A batch of rows: the columns asked for, and how many rows could not be split into fields and are not in it."""

    fields: list[Field]
    left_out: int


class CsvRows:
    """A CSV with a header.

    Parameters
    ----------
    path : path-like
        Plain, gzip or a zip with one member.
    settings : ExportSettings
        Delimiter, and what to do about bad rows.

    Raises
    ------
    InputError
        If there is no header that can be read.
    """

    def __init__(self, path, settings: ExportSettings):
        self.path = Path(path)
        self._delimiter, self._refuse_bad_rows = settings.delimiter, settings.bad_rows == "refuse"
        line, self._separator = _first_line(self.path)
        if not self._refuse_bad_rows:
            self._separator = b"\n"  # whatever the first row starts with
        self._header_bytes = len(line)
        try:
            text = line.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise _not_utf8(self.path, HEADER_ROW) from None
        self.header = [name.strip() for name in next(csv.reader([text], delimiter=self._delimiter), [])]

    def position(self, name: str, *, header_is_public: bool = True) -> int:
        """Return where the column ``name`` stands.

        Parameters
        ----------
        name : str
            Column name.
        header_is_public : bool
            Whether the other column names may be listed; not where they are meter ids.

        Raises
        ------
        InputError
            If it is missing or there more than once.
        """
        count = self.header.count(name)
        if count == 1:
            return self.header.index(name)
        if count:
            raise InputError(
                "is in the header more than once", file=self.path, row=HEADER_ROW, field=name, remedy="rename one"
            )
        listed = f"; the header has {', '.join(repr(n) for n in self.header)}" if header_is_public else ""
        raise InputError(
            f"is missing from the header{listed}",
            file=self.path,
            row=HEADER_ROW,
            field=name,
            remedy="name the column in the configuration, or check export.delimiter",
        )

    def batches(self, positions: Iterable[int], batch_bytes: int = BATCH_BYTES) -> Iterator[Rows]:
        """Yield batches of rows, the columns at ``positions`` as text, in that order.

        Raises
        ------
        InputError
            If the file is damaged, or if it holds no row or one that cannot be split into as many fields as the
            header has and bad rows are refused.
        """
        positions = list(positions)
        lines = SafeLines(
            self._delimiter,
            self._separator,
            max(LONGEST_ROW_BYTES, 16 * self._header_bytes),
            batch_bytes,
        )
        any_row = False
        with open_bytes(self.path) as stream:
            for block in lines.blocks(stream, HEADER_ROW + 1):
                any_row = True
                columns, ragged = self._split(block, positions)
                left_out = sorted([*block.malformed, *((row, _RAGGED) for row in ragged)])
                if left_out and self._refuse_bad_rows:
                    row, problem = left_out[0]
                    raise InputError(
                        problem, file=self.path, row=row, remedy="correct the row, or check export.delimiter"
                    )
                if len(columns[0]) + len(left_out) != block.row_count:
                    raise InputError(
                        "has lines that are lost when it is split into rows",
                        file=self.path,
                        remedy="report this file's layout as a bug of meterdp",
                    )
                fields = [
                    Field(column, self.path, self.header[p], block.first_row)
                    for column, p in zip(columns, positions, strict=True)
                ]
                yield Rows(fields, len(left_out))
        if not any_row and self._refuse_bad_rows:
            raise empty(self.path)

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


def _first_line(path: Path) -> tuple[bytes, bytes]:
    """Return the header and what ends the lines of the file."""
    start = b""
    with open_bytes(path) as stream:
        # One more byte tells a lone carriage return from the first half of a Windows line end.
        while not re.search(rb"[\r\n].", start, re.DOTALL):
            more = stream.read(1 << 16)
            if not more:
                break
            start += more
    line = re.split(rb"[\r\n]", start, maxsplit=1)[0]
    if not line.strip():
        raise (
            empty(path)
            if not line
            else InputError(
                "has no header", file=path, row=HEADER_ROW, remedy="write the column names into the first row"
            )
        )
    return line, separator_after(start[len(line) :])


def _not_utf8(path: Path, row: int | None) -> InputError:
    return InputError("is not UTF-8 text", file=path, row=row, remedy="save the export as UTF-8")
