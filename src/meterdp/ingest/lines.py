"""Physical lines of a CSV, made safe to split: one line is one row, whatever stands in it.

Quotes are taken off here, line by line, so that an unbalanced one cannot swallow the lines behind it: with them
other meters' readings would go, and a record would depend on its neighbours. What becomes of a line depends on that
line and the header alone.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

# Stands for a delimiter inside a quoted field until the fields are apart.
INNER_DELIMITER = "\ue000"
OLD_MAC = "has lines that end in a carriage return alone, as on old Macs"
NO_UTF8 = "is not UTF-8 text"
NO_UTF8_HINT = "set export.encoding to that of the file, such as windows-1252 or cp932, or save the export as UTF-8"
OLD_MAC_HINT = "save the export with the line ends of Unix or Windows"
# pyarrow takes a byte-order mark off the first line it is given, whichever that is; so all lines lose theirs.
_MARKS = re.compile(rb"^(?:\xef\xbb\xbf)+", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """Consecutive whole lines."""

    first_row: int  # row of the file of the first line, malformed ones included
    text: bytes  # UTF-8 without quotes that mean anything; the well-formed lines, each ended by a line feed
    row_count: int  # lines, malformed ones included
    malformed: tuple[tuple[int, str], ...] = ()  # row of the file and what is wrong with it; not in ``text``
    inner_delimiters: bool = False  # whether ``INNER_DELIMITER`` occurs


@dataclass(frozen=True)
class Piece:
    """Consecutive whole lines as they are in the file, each ended by a line feed."""

    lines: bytes
    overlong: bool = False  # whether a line follows that is too long to be kept


def separator_after(following: bytes) -> bytes:
    """Return what ends the lines of a file, from the bytes behind its header: a line feed or a carriage return."""
    return b"\r" if following.startswith(b"\r") and not re.match(rb"\r+\n", following) else b"\n"


class SafeLines:
    """The lines behind the header of a CSV, if it has one.

    A line of more than ``longest_bytes`` is malformed. About ``block_bytes`` are looked at in one go; nothing depends
    on it.
    """

    def __init__(self, delimiter: str, separator: bytes, longest_bytes: int, block_bytes: int):
        self._delimiter, self._separator = delimiter, separator
        self.longest_bytes, self._block_bytes = longest_bytes, block_bytes

    def blocks(self, stream, lines_before: int = 1) -> Iterator[Block]:
        """Yield the lines of ``stream`` after the first ``lines_before``, which are the header and others to skip."""
        row = lines_before + 1
        for piece in self.pieces(stream, lines_before):
            for block in self.blocks_of(piece, row):
                yield block
                row += block.row_count

    def pieces(self, stream, lines_before: int = 1) -> Iterator[Piece]:
        """Yield the same lines as they are in the file."""
        row = 1
        for lines, overlong in self._whole_lines(stream, header=lines_before > 0):
            while lines and row <= lines_before:
                lines = lines[lines.index(b"\n") + 1 :]
                row += 1
            if row <= lines_before and overlong:
                row, overlong = row + 1, False
            if lines or overlong:
                yield Piece(lines, overlong)

    def blocks_of(self, piece: Piece, first_row: int) -> Iterator[Block]:
        """Yield the lines of a piece that starts at row ``first_row`` of the file."""
        if piece.lines:
            block = self._block(piece.lines, first_row)
            yield block
            first_row += block.row_count
        if piece.overlong:
            yield Block(first_row, b"", 1, ((first_row, "is too long for a row"),))

    def _whole_lines(self, stream, *, header: bool) -> Iterator[tuple[bytes, bool]]:
        """Yield bytes of whole lines, each ended by a line feed, and whether an overlong line follows them.

        The first line may be as long as it likes if it is a header: everything else is measured by it.
        """
        rest, skipping = b"", False
        while more := stream.read(self._block_bytes):
            if skipping:
                end = more.find(self._separator)
                if end < 0:
                    continue
                more, skipping = more[end + 1 :], False
            end = more.rfind(self._separator) + 1
            if end:
                lines, rest = rest + memoryview(more)[:end], more[end:]
            else:
                lines, rest = b"", rest + more
            skipping = len(rest) > self.longest_bytes + 1 and not (header and not lines)
            if lines or skipping:
                header = False
                yield self._one_ending(lines), skipping
            if skipping:
                rest = b""
        if rest:
            yield self._one_ending(rest + self._separator), False

    def _one_ending(self, lines: bytes) -> bytes:
        """End every line by a line feed and leave no other line end inside it."""
        if self._separator == b"\r":
            return lines.replace(b"\n", b" ").replace(b"\r", b"\n")
        if b"\r" in lines:
            lines = lines.replace(b"\r\n", b"\n").replace(b"\r", b" ")
        return lines

    def _block(self, lines: bytes, first_row: int) -> Block:
        count = lines.count(b"\n")
        plain, suspects = self._without_quotes(lines) if b'"' in lines else (lines, [])
        if INNER_DELIMITER.encode() in lines or not _is_utf8(lines) or self._has_overlong(lines):
            suspects = range(count)
        if not len(suspects):
            return Block(first_row, _unmarked(plain), count)
        originals, kept = lines.split(b"\n")[:-1], plain.split(b"\n")[:-1]
        malformed, inner = [], False
        for at in suspects:
            line = originals[at]
            fields, problem = self._fields(line)
            if problem:
                malformed.append((first_row + at, problem))
                continue
            apart = [field.replace(self._delimiter, INNER_DELIMITER) for field in fields]
            inner |= apart != fields
            kept[at] = self._delimiter.join(apart).encode()
        for row, _ in reversed(malformed):
            del kept[row - first_row]
        text = _unmarked(b"".join(line + b"\n" for line in kept))
        return Block(first_row, text, count, tuple(malformed), inner)

    def _without_quotes(self, lines: bytes) -> tuple[bytes, np.ndarray]:
        """Return all lines without quotes, and the numbers of those that have others than plain ones.

        Plain are two quotes around a whole field without delimiters and quotes inside.
        """
        text = np.frombuffer(lines, np.uint8)
        ends = text == ord("\n")
        border = ends | (text == ord(self._delimiter))
        quotes = np.flatnonzero(text == ord('"'))
        line, field = (np.cumsum(marks, dtype=np.int32)[quotes] for marks in (ends, border))
        number = np.arange(len(quotes))
        first_of_line = np.maximum.accumulate(np.where(np.diff(line, prepend=-1) > 0, number, 0))
        closes = (number - first_of_line) % 2 == 1
        after_border, before_border = border[quotes - 1] | (quotes == 0), border[quotes + 1]
        plain = np.where(closes, before_border & ~after_border, after_border & ~before_border)
        plain[1:] &= ~closes[1:] | (field[1:] == field[:-1])
        plain &= (np.bincount(line) % 2 == 0)[line]
        return text[text != ord('"')].tobytes(), np.unique(line[~plain])

    def _fields(self, line: bytes) -> tuple[list[str], str]:
        """Return the fields of one line, and what is wrong with it."""
        if len(line) > self.longest_bytes:
            return [], "is too long for a row"
        if not _is_utf8(line):
            return [], NO_UTF8
        if INNER_DELIMITER.encode() in line:
            return [], "holds a character that text does not have"
        if b'"' not in line:
            return line.decode().split(self._delimiter), ""
        try:
            return next(csv.reader([line.decode()], delimiter=self._delimiter, strict=True)), ""
        except csv.Error:
            return [], "has quotes that cannot be matched"

    def may_be_plain(self, lines: bytes) -> bool:
        """Whether lines are valid text without marks, so that all there is to do is to find the fields."""
        return lines.isascii() or (
            _is_utf8(lines) and INNER_DELIMITER.encode() not in lines and _unmarked(lines) is lines
        )

    def _has_overlong(self, lines: bytes) -> bool:
        if len(lines) <= self.longest_bytes:
            return False
        ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == ord("\n"))
        return bool((np.diff(ends, prepend=-1) - 1 > self.longest_bytes).any())


def _unmarked(text: bytes) -> bytes:
    """Take the byte-order marks off the starts of lines."""
    return _MARKS.sub(b"", text) if b"\xef\xbb\xbf" in text else text


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
