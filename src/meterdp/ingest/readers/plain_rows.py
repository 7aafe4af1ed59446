"""Blocks of plain lines of a long CSV as batches, without a text in Python for every field.

What a field means is decided once for every distinct text, by the functions of :mod:`meterdp.ingest.fields` that
also read the other lines. A block that holds anything they would not accept is not read here at all, so that what is
refused, and in which words, does not depend on this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meterdp.ingest.batch import NO_CODE, NO_STAMP, OTHER_REGISTER, STAMP_UNREADABLE, Batch, Names, Seen
from meterdp.ingest.fields import (
    Field,
    Rejects,
    StampParser,
    conversions,
    converted,
    filtering_columns,
    key_columns,
    left_out,
    numbers,
)
from meterdp.ingest.plain_lines import NOT_PLAIN, NUMBER, PADDING, SKIPPED, Words, count_lines, read_plain
from meterdp.ingest.settings import ExportSettings

_DELIMITERS = ",;\t|"
# Tables of all readers of an export that grow beyond this are started again: stamps that hardly repeat, or are long.
TABLE_BYTES = 128 << 20
_BYTES_PER_WORD = 100  # beside its text: of the tables, and as a text in Python


@dataclass(frozen=True)
class Scan:
    """What :func:`read_plain` finds in n lines."""

    codes: Mapping[str, np.ndarray]  # (n,) int32 numbers of the texts, per column
    energy: np.ndarray  # (n,) float64, NaN in odd lines
    odd_row: np.ndarray  # (m,) int32, lines whose number is none at first sight
    odd_code: np.ndarray  # (m,) int32, the number of that text


class PlainRows:
    """Read blocks of plain lines; keeps what it has learnt about texts from block to block and from file to file.

    The parser is shared with the reader of the other lines, because all or none of a file's stamps carry an offset.
    ``table_bytes`` is about what its tables may take.
    """

    def __init__(self, settings: ExportSettings, parse_stamps: StampParser, table_bytes: int = TABLE_BYTES):
        self._settings, self._parse_stamps, self._table_bytes = settings, parse_stamps, table_bytes
        self._texts = [*key_columns(settings), settings.time_column]
        self._missing_numbers = _missing_numbers(settings)
        self._skips_rows = bool(filtering_columns(settings))
        self._forget()

    @staticmethod
    def can_read(settings: ExportSettings) -> bool:
        """Whether the layout is one whose lines may be plain."""
        energy = settings.energy_column
        return (
            settings.time_of_day_column is None
            and not {settings.meter_column, settings.circuit_column} & {*filtering_columns(settings)}
            and settings.thousands is None
            and settings.delimiter in _DELIMITERS
            and settings.delimiter != settings.decimal
            # So that a header in mid-file is no number, and its line not plain.
            and energy not in settings.missing_words
            and not any(c.isdigit() for c in energy)
            and energy.lower().strip("+-") not in ("", "inf", "infinity", "nan")
        )

    def _forget(self) -> None:
        self._words = Words(len(self._texts) + 1)
        self._names = {
            name: _Names(self._settings.missing_words)
            for name in (self._settings.meter_column, self._settings.circuit_column)
            if name is not None
        }
        self._left_out = {name: np.empty(0, bool) for name in filtering_columns(self._settings)}
        self._per_unit = np.empty((0, 2))
        self._stamp_us, self._is_utc = np.empty(0, np.int64), np.empty(0, bool)
        self._stamp_unreadable = np.empty(0, bool)
        self._odd_values = np.empty(0)
        self._odd_unreadable, self._odd_is_name = np.empty(0, bool), np.empty(0, bool)

    def roles(self, header: list[str]) -> np.ndarray:
        """Return (F,) what the fields of a line are, for :func:`read_plain`; each column wanted is there once."""
        roles = np.full(len(header), SKIPPED)
        for number, name in enumerate(self._texts):
            roles[header.index(name)] = number
        roles[header.index(self._settings.energy_column)] = NUMBER
        return roles

    def scan(self, lines: bytes, longest: int, roles: np.ndarray) -> Scan | None:
        """Find the fields of whole lines of valid text; None if one is not plain or longer than ``longest`` bytes.

        This is the part that may run beside other readers.
        """
        settings = self._settings
        if self._words.text_bytes + _BYTES_PER_WORD * self._words.total > self._table_bytes:
            self._forget()
        text = np.frombuffer(lines + bytes(PADDING), np.uint8)
        rows = count_lines(text)
        codes = np.empty((len(self._texts), rows), np.int32)
        energy, odd_row, odd_code = np.empty(rows), np.empty(rows, np.int32), np.empty(rows, np.int32)
        marks = [ord(c) for c in (settings.delimiter, settings.decimal)]
        tables = self._words.arrays(rows, len(lines))
        odd = read_plain(text, len(lines), *marks, roles, longest, *tables, codes, energy, odd_row, odd_code)
        if odd == NOT_PLAIN:
            # Some of what was met may be no text of a row, so nothing of it is kept.
            self._forget()
            return None
        return Scan(dict(zip(self._texts, codes, strict=True)), energy, odd_row[:odd], odd_code[:odd])

    def batch(self, scan: Scan, first_row: int, file_meter: str) -> Batch | None:
        """Return the readings of what was scanned last, or None if one of them cannot be accepted.

        They are of ``file_meter`` if there is no column for it.
        """
        batch = self._batch(scan, first_row, file_meter) if self._learn() else None
        if batch is None:
            self._forget()
        return batch

    def _batch(self, scan: Scan, first_row: int, file_meter: str) -> Batch | None:
        settings, rows = self._settings, len(scan.energy)
        others = self._rows_of_other_registers(scan)
        if others is not None:
            if self._odd_is_name[scan.odd_code].any():
                return None  # a header in mid-file
            scan.energy[others] = np.nan
        if any((scan.energy == number).any() for number in self._missing_numbers):
            return None  # whether it is written like the missing word, its text says
        if len(scan.odd_row):
            row, code = scan.odd_row, scan.odd_code
            if others is not None:
                row, code = row[~others[row]], code[~others[row]]
            if self._odd_unreadable[code].any():
                return None
            scan.energy[row] = self._odd_values[code]
        stamp = scan.codes[settings.time_column]
        unreadable, stamp_us = np.zeros(rows, np.int8), self._stamp_us[stamp]
        if self._stamp_unreadable.any():
            unreadable[self._stamp_unreadable[stamp]] = STAMP_UNREADABLE
        if others is not None:
            stamp_us[others], unreadable[others] = NO_STAMP, OTHER_REGISTER
        if self._skips_rows and settings.bad_rows == "refuse":
            if not self._parse_stamps.all_alike(self._is_utc[stamp[stamp_us != NO_STAMP]]):
                return None
        if settings.meter_column is None:
            keys = {"meter_ids": [file_meter], "meter": np.zeros(rows, np.int32)}
        else:
            names = self._names[settings.meter_column]
            keys = {"meter_ids": names.seen(), "meter": names.numbers(scan.codes[settings.meter_column])}
        energy = scan.energy
        if settings.unit_column is not None:
            per_unit = self._per_unit[scan.codes[settings.unit_column]]
            differs = np.isnan(per_unit[:, 0]) & (keys["meter"] != NO_CODE)
            if (differs if others is None else differs & ~others).any():
                return None
            energy = converted(energy, per_unit)
        if settings.circuit_column is not None:
            names = self._names[settings.circuit_column]
            keys |= {"circuits": names.seen(), "circuit": names.numbers(scan.codes[settings.circuit_column])}
        one_kind = len(self._is_utc) and (self._is_utc == self._is_utc[0]).all()
        return Batch(
            first_row=first_row,
            stamp_us=stamp_us,
            stamps_are_utc=bool(self._is_utc[0]) if one_kind else self._is_utc[stamp],
            energy=energy,
            **keys,
            unreadable=unreadable,
        )

    def _rows_of_other_registers(self, scan: Scan) -> np.ndarray | None:
        """Return which rows are not kept or of no energy, (n,) bool; None if there are none."""
        others = np.zeros(len(scan.energy), bool)
        for name, of_column in self._left_out.items():
            if of_column.any():
                others |= of_column[scan.codes[name]]
        return others if others.any() else None

    def _learn(self) -> bool:
        """Find out what new texts mean; return whether the file may go on like this."""
        settings = self._settings
        for number, name in enumerate(self._texts):
            if name in self._names:
                names = self._names[name]
                names.add(self._new(number, names.known))
            elif name in self._left_out:
                entries = self._new(number, len(self._left_out[name]))
                self._left_out[name] = np.append(self._left_out[name], left_out(entries, name, settings))
                if name == settings.unit_column:
                    self._per_unit = np.append(self._per_unit, conversions(entries, settings), axis=0)
            elif (stamps := self._new(number, len(self._stamp_us))) and not self._learn_stamps(stamps):
                return False
        odd = self._new(len(self._texts), len(self._odd_values))
        if odd:
            rejects = Rejects(replace(settings, bad_rows="missing"), (len(odd),))
            field = Field(pa.array(odd, pa.string()), "", settings.energy_column, 0)
            values = numbers(field, settings.missing_words, rejects, notation=settings.notation)
            self._odd_values = np.append(self._odd_values, values)
            self._odd_unreadable = np.append(self._odd_unreadable, rejects.marks != 0)
            self._odd_is_name = np.append(self._odd_is_name, [text == settings.energy_column for text in odd])
        return True

    def _learn_stamps(self, stamps: list[str]) -> bool:
        stamp_us, present, is_utc = self._parse_stamps.read_words(stamps)
        unreadable = present & (stamp_us == NO_STAMP)
        if self._settings.bad_rows == "refuse":
            # Of rows of several registers only those that are wanted must be alike, which is seen row by row.
            alike = self._skips_rows or self._parse_stamps.all_alike(is_utc[present])
            if unreadable.any() or not alike:
                return False
        self._stamp_us = np.append(self._stamp_us, stamp_us)
        self._is_utc = np.append(self._is_utc, is_utc)
        self._stamp_unreadable = np.append(self._stamp_unreadable, unreadable)
        return True

    def _new(self, column: int, known: int) -> list[str]:
        """Return the texts of a column from number ``known`` on, without surrounding blanks."""
        if known == self._words.count(column):
            return []
        texts = pa.array(self._words.texts(column, known), pa.binary()).cast(pa.string())
        return pc.utf8_trim_whitespace(texts).to_pylist()


def _missing_numbers(settings: ExportSettings) -> list[float]:
    """Return the missing words that are numbers at first sight, such as -999."""
    words = pa.array(settings.missing_words, pa.string())
    field = Field(words, "", settings.energy_column, 0)
    rejects = Rejects(replace(settings, bad_rows="missing"), (len(words),))
    values = numbers(field, (), rejects, notation=settings.notation)
    return values[np.isfinite(values)].tolist()


class _Names:
    """Ids among the texts of a column, and which of them a text is."""

    def __init__(self, missing_words: Sequence[str]):
        self._missing_words = missing_words
        self._names = Names()
        self._number = np.empty(0, np.int32)

    @property
    def known(self) -> int:
        return len(self._number)

    def add(self, texts: list[str]) -> None:
        if not texts:
            return
        present = np.array([text not in self._missing_words for text in texts])
        number = np.where(present, len(self._names) + np.cumsum(present) - 1, NO_CODE)
        self._number = np.append(self._number, number.astype(np.int32))
        self._names += [text for text, here in zip(texts, present, strict=True) if here]

    def seen(self) -> Seen:
        return Seen(self._names, len(self._names))

    def numbers(self, codes: np.ndarray) -> np.ndarray:
        """Return which id a text is, ``NO_CODE`` for a missing word, from (n,) numbers of texts."""
        return codes if len(self._names) == self.known else self._number[codes]
