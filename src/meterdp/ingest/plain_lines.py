"""Plain lines of a long CSV, read in one compiled pass over their bytes.

Most exports repeat the same meters and stamps over and over, and hold numbers of a few digits. A word is first taken
for the one that followed its predecessor the last time, so that a field of an ordered export costs a comparison of
bytes; a number of few digits is a whole number over a power of ten, which rounds once and so gives the double that
every careful reader finds. Lines that are not plain - with more or fewer fields, too long, or with quotes that do not
go around a whole field without delimiters - are left to the reader of all lines.
"""

from __future__ import annotations

from itertools import pairwise

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

SKIPPED, NUMBER = -1, -2
NOT_PLAIN = -1
# Bytes behind a text that are read but never looked at.
PADDING = 8
_LINE_FEED, _QUOTE, _BLANK, _MINUS, _ZERO = (ord(c) for c in '\n" -0')
_FNV_START, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
# Digits of a whole number that never overflows, and up to where every whole number is a double.
_MOST_DIGITS, _LARGEST_EXACT = 18, 1 << 53
_POWERS_OF_TEN = 10.0 ** np.arange(_MOST_DIGITS + 1)
_EMPTY = -1


class Words:
    """Distinct byte strings of K columns, numbered per column in the order in which they come."""

    def __init__(self, columns: int):
        self._slots = np.full((columns, 1 << 10), _EMPTY, np.int32)
        self._hashes = np.zeros((columns, 1 << 8), np.uint64)
        self._ends = np.zeros((columns, (1 << 8) + 1), np.int64)  # word i is store[ends[i]:ends[i + 1]]
        self._next = np.zeros((columns, 1 << 8), np.int32)  # the word that followed a word the last time
        self._store = np.zeros((columns, 1 << 12), np.uint8)
        self._state = np.zeros((columns, 2), np.int64)  # how many words there are, and the last one seen

    def count(self, column: int) -> int:
        return int(self._state[column, 0])

    @property
    def total(self) -> int:
        return int(self._state[:, 0].sum())

    @property
    def text_bytes(self) -> int:
        return int(self._ends[np.arange(len(self._state)), self._state[:, 0]].sum())

    def texts(self, column: int, begin: int) -> list[bytes]:
        """Return the entries of a column from number ``begin`` on."""
        ends = self._ends[column, begin : self.count(column) + 1].tolist()
        whole = self._store[column, ends[0] : ends[-1]].tobytes()
        return [whole[a - ends[0] : b - ends[0]] for a, b in pairwise(ends)]

    def arrays(self, more_words: int, more_bytes: int) -> tuple[np.ndarray, ...]:
        """Return the arrays of the tables, with room for so many words and bytes more in every column."""
        counts = self._state[:, 0]
        most_words = int(counts.max()) + more_words
        size = int(self._ends[np.arange(len(counts)), counts].max()) + more_bytes + PADDING
        if most_words > self._hashes.shape[1]:
            room = max(most_words, 2 * self._hashes.shape[1])
            self._hashes, self._next = _longer(self._hashes, room), _longer(self._next, room)
            self._ends = _longer(self._ends, room + 1)
        if size > self._store.shape[1]:
            self._store = _longer(self._store, max(size, 2 * self._store.shape[1]))
        if 2 * most_words > self._slots.shape[1]:
            self._slots = np.full((len(counts), 1 << (2 * most_words - 1).bit_length()), _EMPTY, np.int32)
            for slots, hashes, count in zip(self._slots, self._hashes, counts, strict=True):
                _fill_slots(slots, hashes[:count])
        return self._slots, self._hashes, self._ends, self._next, self._store, self._state


def _longer(rows: np.ndarray, length: int) -> np.ndarray:
    out = np.zeros((len(rows), length), rows.dtype)
    out[:, : rows.shape[1]] = rows
    return out


@numba.njit(cache=True, nogil=True)
def _fill_slots(slots, hashes):
    mask = np.uint64(len(slots) - 1)
    for word in range(len(hashes)):
        at = hashes[word] & mask
        while slots[at] != _EMPTY:
            at = (at + np.uint64(1)) & mask
        slots[at] = word


def _load(width: int):
    """Return a compiled function that loads bytes of a contiguous uint8 array from any place, without checks."""

    @intrinsic
    def load(typing_context, array, at):
        def generate(context, builder, signature, arguments):
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            pointer = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(width).as_pointer())
            value = builder.load(pointer)
            value.align = 1
            return builder.zext(value, ir.IntType(64)) if width < 64 else value

        return types.int64(array, types.int64), generate

    return load


_byte, _eight_bytes = _load(8), _load(64)


@numba.njit(cache=True, nogil=True)
def _field_end(text, pos, delimiter):
    """Return where the next delimiter, line feed or quote is, from ``pos`` on."""
    byte = _byte(text, pos)
    while byte != delimiter and byte != _LINE_FEED and byte != _QUOTE:
        pos += 1
        byte = _byte(text, pos)
    return pos


@numba.njit(cache=True, nogil=True)
def _same(text, pos, store, at, size):
    """Whether ``size`` bytes are the same; ``at`` counts through all rows of the store."""
    while size >= 8:
        if _eight_bytes(text, pos) != _eight_bytes(store, at):
            return False
        pos, at, size = pos + 8, at + 8, size - 8
    # Little-endian: the first bytes are the lower ones. A shift by 64 would not be one by 0.
    return size == 0 or (_eight_bytes(text, pos) ^ _eight_bytes(store, at)) << (64 - 8 * size) == 0


@numba.njit(cache=True, nogil=True)
def _number_of_word(text, begin, end, column, slots, hashes, ends, following, store, state):
    """Return the number of the word ``text[begin:end]`` of a column, a new one if it is new."""
    value, size = _FNV_START, end - begin
    for i in range(begin, end):
        value = (value ^ np.uint64(text[i])) * _FNV_PRIME
    value ^= value >> np.uint64(29)
    mask = np.uint64(slots.shape[1] - 1)
    at = value & mask
    row = column * store.shape[1]
    while slots[column, at] != _EMPTY:
        word = np.int64(slots[column, at])
        same_size = ends[column, word + 1] - ends[column, word] == size
        if hashes[column, word] == value and same_size and _same(text, begin, store, row + ends[column, word], size):
            return word
        at = (at + np.uint64(1)) & mask
    word = state[column, 0]
    slots[column, at] = word
    hashes[column, word] = value
    for i in range(size):
        store[column, ends[column, word] + i] = text[begin + i]
    ends[column, word + 1] = ends[column, word] + size
    following[column, word] = word
    state[column, 0] = word + 1
    return word


@numba.njit(cache=True, nogil=True)
def count_lines(text):
    """Return how many line feeds there are, several times as fast as ``bytes.count``."""
    lines = 0
    for i in range(len(text)):
        lines += text[i] == _LINE_FEED
    return lines


@numba.njit(cache=True, nogil=True)
def read_plain(
    text,
    length,
    delimiter,
    decimal,
    roles,
    longest,
    slots,
    hashes,
    ends,
    following,
    store,
    state,
    codes,
    numbers,
    odd_line,
    odd_code,
):
    """Read whole lines, if all of them are plain; return how many are odd, ``NOT_PLAIN`` if one is not plain.

    Parameters
    ----------
    text : (b,) uint8
        ``length`` bytes of lines, each ended by a line feed, and ``PADDING`` bytes behind them.
    delimiter, decimal : int
        Bytes; no blank, minus or digit.
    roles : (F,) int64
        Of the fields of a line: ``SKIPPED``, ``NUMBER``, or which of the text columns it is.
    longest : int
        Bytes of the longest line.
    slots, hashes, ends, following, store, state : arrays
        :meth:`Words.arrays` of the K text columns, and last that of numbers that are none at first sight.
    codes, numbers : (K, n) int32, (n,) float64
        Filled with the numbers of the words, and with the numbers, NaN in odd lines.
    odd_line, odd_code : (n,) int32
        Filled with the lines whose number is none at first sight, and with the number of that word.
    """
    fields, odd_column = len(roles), len(codes)
    pos, line, odd = np.int64(0), 0, 0
    while pos < length:
        if line == len(numbers):
            return NOT_PLAIN
        line_begin = pos
        for field in range(fields):
            role = roles[field]
            quoted = _byte(text, pos) == _QUOTE
            pos += quoted
            begin = pos
            if role == NUMBER:
                byte = _byte(text, pos)
                while byte == _BLANK:
                    pos += 1
                    byte = _byte(text, pos)
                negative = byte == _MINUS
                if negative:
                    pos += 1
                    byte = _byte(text, pos)
                whole, first, point = np.int64(0), pos, np.int64(-1)
                while True:
                    digit = byte - _ZERO
                    if 0 <= digit <= 9:
                        whole = 10 * whole + digit  # overflows where there are too many digits, and is not used then
                    elif byte == decimal and point < 0:
                        point = pos
                    else:
                        break
                    pos += 1
                    byte = _byte(text, pos)
                digits, decimals = pos - first, np.int64(0)
                if point >= 0:
                    digits, decimals = digits - 1, pos - point - 1
                while byte == _BLANK:
                    pos += 1
                    byte = _byte(text, pos)
                at_end = byte == delimiter or byte == _LINE_FEED or byte == _QUOTE
                if at_end and 0 < digits <= _MOST_DIGITS and whole <= _LARGEST_EXACT:
                    value = whole / _POWERS_OF_TEN[decimals]
                    numbers[line] = -value if negative else value
                else:
                    pos = _field_end(text, pos, delimiter)
                    numbers[line] = np.nan
                    odd_line[odd] = line
                    odd_code[odd] = _number_of_word(
                        text, begin, pos, odd_column, slots, hashes, ends, following, store, state
                    )
                    odd += 1
            elif role == SKIPPED:
                pos = _field_end(text, pos, delimiter)
            else:
                before = state[role, 1]
                word = np.int64(following[role, before])
                at = ends[role, word]
                size = ends[role, word + 1] - at
                byte = np.int64(0)
                if state[role, 0] > 0 and _same(text, begin, store, role * store.shape[1] + at, size):
                    pos = begin + size
                    byte = _byte(text, pos)
                if byte != delimiter and byte != _LINE_FEED and byte != _QUOTE:
                    pos = _field_end(text, begin, delimiter)
                    word = _number_of_word(text, begin, pos, role, slots, hashes, ends, following, store, state)
                    following[role, before] = word
                state[role, 1] = word
                codes[role, line] = word
            # A quote ends what a quote began, and what stands within is one field without delimiters.
            if (_byte(text, pos) == _QUOTE) != quoted:
                return NOT_PLAIN
            pos += quoted
            byte = _byte(text, pos)
            if byte != (_LINE_FEED if field == fields - 1 else delimiter):
                return NOT_PLAIN
            pos += 1
        if pos - 1 - line_begin > longest:
            return NOT_PLAIN
        line += 1
    return odd
