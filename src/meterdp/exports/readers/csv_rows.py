"""The rows of a CSV as record batches of text, streamed through pyarrow on one core.

Blank lines count as rows, so that a row number in a message is the line a text editor shows. Fields may be quoted
but may not hold line breaks.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from meterdp.core.errors import InputError
from meterdp.exports.batch import BATCH_BYTES
from meterdp.exports.fields import Field
from meterdp.exports.streams import empty, open_bytes

HEADER_ROW = 1


class CsvRows:
    """A CSV with a header.

    Parameters
    ----------
    path : path-like
        Plain, gzip or a zip with one member.
    delimiter : str
        Character between two fields.

    Raises
    ------
    InputError
        If there is no header that can be read.
    """

    def __init__(self, path, delimiter: str):
        self.path = Path(path)
        self._delimiter = delimiter
        line = _first_line(self.path)
        self._header_bytes = len(line)
        try:
            text = line.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise _not_utf8(self.path, HEADER_ROW) from None
        self.header = [name.strip() for name in next(csv.reader([text], delimiter=delimiter), [])]

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

    def batches(self, positions: Iterable[int], batch_bytes: int = BATCH_BYTES) -> Iterator[list[Field]]:
        """Yield batches of rows, the columns at ``positions`` as text, in that order.

        Raises
        ------
        InputError
            If a row has too many or too few fields, is not UTF-8, or the file is damaged or holds no row.
        """
        positions = list(positions)
        names = [str(i) for i in range(len(self.header))]
        wanted = [names[p] for p in positions]
        ragged: list[int] = []

        def note_ragged(row) -> str:
            ragged.append(row.number)
            return "error"

        row = HEADER_ROW + 1
        with open_bytes(self.path) as stream:
            try:
                reader = pyarrow.csv.open_csv(
                    stream,
                    # A block must hold the header, and a row of a wide export is about as long as its header.
                    pyarrow.csv.ReadOptions(
                        use_threads=False,
                        block_size=max(batch_bytes, 4 * self._header_bytes),
                        column_names=names,
                        skip_rows=HEADER_ROW,
                    ),
                    pyarrow.csv.ParseOptions(
                        delimiter=self._delimiter, ignore_empty_lines=False, invalid_row_handler=note_ragged
                    ),
                    pyarrow.csv.ConvertOptions(
                        column_types=dict.fromkeys(wanted, pa.string()), include_columns=wanted
                    ),
                )
                for batch in reader:
                    yield [Field(batch.column(i), self.path, self.header[p], row) for i, p in enumerate(positions)]
                    row += batch.num_rows
            except pa.ArrowInvalid as error:
                # pyarrow's message quotes the row, so it must not be chained.
                raise self._explain(str(error), ragged) from None
        if row == HEADER_ROW + 1:
            raise empty(self.path)

    def _explain(self, message: str, ragged: list[int]) -> InputError:
        if "Empty CSV" in message or "Could not skip" in message:
            return empty(self.path)
        if ragged:
            return InputError(
                "has more or fewer fields than the header",
                file=self.path,
                row=ragged[0],
                remedy="correct the row, or check export.delimiter",
            )
        number = re.search(r"Row #(\d+)", message)
        if "UTF8" in message:
            return _not_utf8(self.path, int(number[1]) if number else None)
        return InputError(
            "cannot be split into rows",
            file=self.path,
            row=int(number[1]) if number else None,
            remedy="check export.delimiter, quotes and line ends",
        )


def _first_line(path: Path) -> bytes:
    line = b""
    with open_bytes(path) as stream:
        while not re.search(rb"[\r\n]", line):
            more = stream.read(1 << 16)
            if not more:
                break
            line += more
    line = re.split(rb"[\r\n]", line, maxsplit=1)[0]
    if not line.strip():
        raise (
            empty(path)
            if not line
            else InputError(
                "has no header", file=path, row=HEADER_ROW, remedy="write the column names into the first row"
            )
        )
    return line


def _not_utf8(path: Path, row: int | None) -> InputError:
    return InputError("is not UTF-8 text", file=path, row=row, remedy="save the export as UTF-8")
