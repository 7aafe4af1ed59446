"""Turn the columns of one batch from text into codes, stamps and numbers, and say which row does not fit.

A bad field is refused with file, row and column; its content never enters the message. Where bad rows count as
missing values it is marked instead, and what a field is read as depends on its text alone, not on other rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from meterdp.core.stamps import DAY_US
from meterdp.errors import InputError
from meterdp.ingest.batch import (
    HEADER_REPEATED,
    NO_CODE,
    NO_STAMP,
    OTHER_REGISTER,
    STAMP_UNREADABLE,
    UNIT_DIFFERS,
    VALUE_UNREADABLE,
)
from meterdp.ingest.members import files_before
from meterdp.ingest.settings import (
    HOUR,
    PLAIN,
    ExportSettings,
    Notation,
    conversion,
    measures_no_energy,
    settings_that_fit,
)
from meterdp.ingest.shapes import (
    ISO8601,
    SPREADSHEET,
    UNIX,
    alike,
    ends_of_days,
    formats_that_fit,
    serial_seconds,
    shape_of,
    unix_microseconds,
)

# An offset or Z behind a time of day; a date alone ends in "-31" and has no time.
_OFFSET = r"[T ].*(?:[Zz]|[+-][\d:]+)$"
_FINE = re.compile(r"([.,]\d{6})\d+")
# What is wrong with files that have stamps with and without an offset, and what to do.
MIXED_OFFSETS = "has a UTC offset where other rows have none, or vice versa", "write all stamps the same way"
# Distinct stamps that cannot be read are looked at together, up to this many, for a format that fits them all.
_LOOKED_AT = 1000
LONGEST_STAMP = 256
# What stands behind the name of an hour if it is the second one of that name, when the clock is set back.
REPEATED = r"[ _-]?(?:[A-Za-z]{1,3}|[*'])"
NUMBER_OF_DAY = re.compile(rf"0*(\d{{1,3}})({REPEATED})?", re.ASCII)


@dataclass(frozen=True)
class Field:
    """One column of one batch, and where it stands for messages."""

    values: pa.Array  # n entries, text unless a reader says otherwise
    file: object
    name: str  # of the column, or a description where the column name is a meter id
    first_row: int  # row of the file of entry 0

    def refuse(self, entry: int, problem: str, hint: str) -> InputError:
        return InputError(problem, file=self.file, row=self.first_row + int(entry), field=self.name, hint=hint)

    def without(self, entries: np.ndarray | None) -> Field:
        """Return the column with nothing in some of its entries, (n,) bool; None for none of them."""
        if entries is None:
            return self
        return replace(self, values=self.values.take(pa.array(np.arange(len(entries)), mask=entries)))


def codes(field: Field, missing_words: tuple[str, ...]) -> tuple[list[str], np.ndarray]:
    """Return the texts that occur in a column without surrounding blanks, and (n,) int32 codes into them.

    Missing entries have the code ``NO_CODE``.
    """
    texts, code = _encode(field)
    present = np.array([word not in missing_words for word in texts], dtype=bool)
    number = np.where(present, np.cumsum(present) - 1, NO_CODE).astype(np.int32)
    return [word for word, here in zip(texts, present, strict=True) if here], _look_up(number, code, NO_CODE)


class Rejects:
    """What becomes of fields that cannot be read: the first is refused, or all are marked.

    ``shape`` is that of the readings of the batch, rows first, and of the int8 ``marks``, which are those of
    ``Batch.unreadable``; the first mark a reading gets stays. ``other_register`` (n,) bool are rows in which nothing
    is looked at.
    """

    def __init__(
        self,
        settings: ExportSettings,
        shape: tuple[int, ...],
        header_repeated: np.ndarray | None = None,
        other_register: np.ndarray | None = None,
    ):
        self._refuse = settings.bad_rows == "refuse"
        self.marks = np.zeros(shape, np.int8)
        self.other_register = other_register
        if other_register is not None:
            self.marks[other_register] = OTHER_REGISTER
        if header_repeated is not None:
            self.marks[header_repeated] = HEADER_REPEATED

    @property
    def tolerant(self) -> bool:
        return not self._refuse

    def reject(self, mark: int, field: Field, entries: np.ndarray, problem: str, hint: str, column=...) -> None:
        """Mark ``entries`` of a column of fields, or raise the first of them as an error."""
        if not len(entries):
            return
        if self._refuse:
            raise field.refuse(entries[0], problem, hint)
        chosen = self.marks[:, column]
        chosen[entries] = np.where(chosen[entries] == 0, mark, chosen[entries])


def numbers(
    field: Field, missing_words: tuple[str, ...], rejects: Rejects, column=..., notation: Notation = PLAIN
) -> np.ndarray:
    """Return a text column as (n,) float64, NaN where a missing word or nothing stands.

    What is not a number is rejected: refused by its row, or marked in a ``column`` of the marks where a row has
    several readings.
    """
    plainly = _plain_numbers(field.values, missing_words) if notation == PLAIN else None
    if plainly is not None:
        return plainly
    texts = pc.utf8_trim_whitespace(field.values)
    texts = pc.if_else(pc.is_in(texts, pa.array(missing_words, pa.string())), None, texts)
    bad: list[int] = []
    written = texts
    if rejects.tolerant or notation != PLAIN:
        shaped = pc.match_substring_regex(texts, notation.pattern).fill_null(True)
        bad = np.flatnonzero(~shaped.to_numpy(zero_copy_only=False)).tolist()
        texts = notation.plain(pc.if_else(shaped, texts, None))
    while True:
        try:
            parsed = texts.cast(pa.float64())
            break
        except pa.ArrowInvalid:
            at = _first_not_a_number(texts)
            bad.append(at)
            if not rejects.tolerant:
                break
            texts = pc.if_else(pa.array(np.arange(len(texts)) == at), None, texts)
    rejects.reject(
        VALUE_UNREADABLE,
        field,
        bad,
        "is not a number",
        _hint_for_number(written, bad, rejects, notation),
        column,
    )
    return parsed.to_numpy(zero_copy_only=False)


def _plain_numbers(texts: pa.Array, missing_words: tuple[str, ...]) -> np.ndarray | None:
    """Return (n,) numbers where every text is a finite one without blanks and may not mean a missing one, else None.

    What pyarrow reads as a finite number is one by :attr:`Notation.pattern`.
    """
    if texts.null_count or number_words(missing_words):
        return None
    try:
        parsed = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    return parsed if np.isfinite(parsed).all() else None


@cache
def number_words(missing_words: tuple[str, ...]) -> tuple[float, ...]:
    """Return the finite numbers among the words for a missing reading, such as -999."""
    texts = (word.strip() for word in missing_words)
    values = (float(text) for text in texts if re.search(PLAIN.pattern, text, re.ASCII))
    return tuple(value for value in values if np.isfinite(value))


def _hint_for_number(texts: pa.Array, bad: list[int], rejects: Rejects, notation: Notation) -> str:
    hint = "correct it, or add the word to export.missing_words"
    if not bad or rejects.tolerant:
        return hint
    fitting = settings_that_fit(texts[bad[0]].as_py(), notation)
    if not fitting:
        return hint
    return f"set {fitting}" + (", whichever the utility means" if " or " in fitting else "")


def _first_not_a_number(texts: pa.Array) -> int:
    """Halve the range that holds the first entry pyarrow cannot cast."""
    good, bad = 0, len(texts)  # texts[:good] can be cast, texts[:bad] cannot
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            texts.slice(good, middle - good).cast(pa.float64())
            good = middle
        except pa.ArrowInvalid:
            bad = middle
    return good


def conversions(units: list[str], settings: ExportSettings) -> np.ndarray:
    """Return (w, 2) numerators and denominators to ``settings.unit`` from the units that texts name, else NaN."""
    factors = (conversion(text, settings.unit, settings.interval_minutes) for text in units)
    return np.array([factor or (np.nan, 1) for factor in factors], float).reshape(-1, 2)


def converted(energy: np.ndarray, per_unit: np.ndarray) -> np.ndarray:
    """Return readings, (n,) or (n, columns), times the (n, 2) numerators over denominators of their rows."""
    if (per_unit == 1).all():
        return energy
    numerator, denominator = per_unit.T if energy.ndim == 1 else per_unit.T[:, :, None]
    with np.errstate(over="ignore"):
        return energy * numerator / denominator


def in_unit(energy: np.ndarray, columns: Mapping[str, Field], settings: ExportSettings) -> np.ndarray:
    """Return the readings of rows, (n,) or (n, columns), in ``settings.unit``; NaN where a row names no such unit."""
    if settings.unit_column is None:
        return energy
    texts, code = _encode(columns[settings.unit_column])
    return converted(energy, np.append(conversions(texts, settings), [[np.nan, 1]], axis=0)[code])


def _require_unit(field: Field, settings: ExportSettings, meter: np.ndarray, rejects: Rejects) -> None:
    """Reject rows with a meter whose unit cannot be converted to ``settings.unit``."""
    texts, code = _encode(field)
    other = _look_up(np.isnan(conversions(texts, settings)[:, 0]), code, True)
    if rejects.other_register is not None:
        other &= ~rejects.other_register
    rejects.reject(
        UNIT_DIFFERS,
        field,
        np.flatnonzero(other & (meter != NO_CODE)),
        f"names no unit that can be converted to {settings.unit}",
        "correct it, export.unit or export.unit_column, or keep rows of one quantity by export.keep_rows",
    )


def key_columns(settings: ExportSettings) -> list[str]:
    """Return the columns that say whose and what reading a row is: meter, and circuit, unit and register if any."""
    names = (settings.meter_column, settings.circuit_column, settings.unit_column, *(settings.keep_rows or ()))
    return list(dict.fromkeys(name for name in names if name is not None))


def rows_of_other_registers(columns: Mapping[str, Field], settings: ExportSettings) -> np.ndarray | None:
    """Return which rows are not among ``settings.keep_rows``, or of a unit that measures no energy, (n,) bool; None
    if there are no columns that say so.
    """
    others = None
    for name in filtering_columns(settings):
        texts, code = _encode(columns[name])
        of_column = left_out([*texts, ""], name, settings)[code]  # null is an empty entry, by the last code
        others = of_column if others is None else others | of_column
    return others


def filtering_columns(settings: ExportSettings) -> list[str]:
    """Return the columns whose entries decide whether a row is read at all."""
    names = (settings.unit_column, *(settings.keep_rows or ()))
    return list(dict.fromkeys(name for name in names if name is not None))


def left_out(texts: Sequence[str], column: str, settings: ExportSettings) -> np.ndarray:
    """Return of entries of a column, without surrounding blanks, whether they leave out their rows, (w,) bool."""
    kept = (settings.keep_rows or {}).get(column)
    no_energy = column == settings.unit_column
    return np.array(
        [(kept is not None and word not in kept) or (no_energy and measures_no_energy(word)) for word in texts], bool
    )


def keys(columns: Mapping[str, Field], settings: ExportSettings, rejects: Rejects, file_meter: str = "") -> dict:
    """Return the ``meter`` and ``circuit`` fields of a :class:`Batch`; without a column for meters all is of
    ``file_meter``.

    A row that names a meter and a unit that cannot be converted to ``settings.unit`` is rejected.
    """
    if settings.meter_column is None:
        meter_ids, meter = [file_meter], np.zeros(len(rejects.marks), np.int32)
    else:
        meter_ids, meter = codes(columns[settings.meter_column], settings.missing_words)
    if settings.unit_column is not None:
        _require_unit(columns[settings.unit_column], settings, meter, rejects)
    if settings.circuit_column is None:
        return {"meter_ids": meter_ids, "meter": meter}
    circuits, circuit = codes(columns[settings.circuit_column], settings.missing_words)
    return {"meter_ids": meter_ids, "meter": meter, "circuits": circuits, "circuit": circuit}


def interval_numbers(field: Field, settings: ExportSettings, rejects: Rejects) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of intervals of a day, (n,) int64 from 1 on, -1 where there is none, and (n,) bool whether an
    hour of the clock has the mark of the second one of its name.

    Of hours that name the ends of intervals, 0 is number 0. Rejects what is no such number.
    """
    first, last = (1, 24) if settings.stamp == "end" else (0, 23)
    texts, code = _encode(field)
    found = [NUMBER_OF_DAY.fullmatch(word) for word in texts]
    if settings.hours_rows:
        found = [m if m and int(m[1]) <= last else None for m in found]
        problem, hint = (
            f"is not an hour of the day, {first} to {last}",
            "write the hour, with a letter for the second one of its name (3A), or correct export.stamp",
        )
    else:
        found = [m if m and m[2] is None and int(m[1]) > 0 else None for m in found]
        problem, hint = (
            "is not the number of an interval of the day",
            f"count the intervals of each day from 1 on; for hours by the clock, also 3A, {hours_hint(settings)}",
        )
    bad = [m is None and word not in settings.missing_words for m, word in zip(found, texts, strict=True)]
    entries = np.flatnonzero(_look_up(np.array(bad, bool), code, False))
    rejects.reject(STAMP_UNREADABLE, field, entries, problem, hint)
    shift = 1 - first if settings.hours_rows else 0
    number = np.array([-1 if m is None else int(m[1]) + shift for m in found], int)
    again = np.array([m is not None and m[2] is not None for m in found], bool)
    return _look_up(number, code, -1), _look_up(again, code, False)


def hours_hint(settings: ExportSettings) -> str:
    """Return how numbers of hours are read by the clock, where they are counted from midnight."""
    return f"set export.time_format to '{settings.time_format}{HOUR}' and export.stamp to end"


class StampParser:
    """Parse stamps by one format; where bad rows are refused, either all or none of a file carry an offset.

    Distinct texts are parsed once a batch, because an export repeats the same stamps for every meter.
    """

    def __init__(self, time_format: str, missing_words: tuple[str, ...]):
        self._format, self._missing_words = time_format, missing_words
        # "%z" is an offset; a literal Z at the end says UTC, "%Z" would be a name.
        utc = "%z" in time_format or re.search(r"(?<!%)Z$", time_format) is not None
        self._by_format = utc or time_format in UNIX
        self._carries_offset: bool | None = None

    def __call__(self, field: Field, rejects: Rejects) -> tuple[np.ndarray, np.ndarray]:
        """Return stamps, (n,) int64 microseconds since 1970 or ``NO_STAMP``, and whether they carry an offset and so
        are UTC.

        Rejects what is not in the format, and where bad rows are refused what carries an offset if others do not.
        """
        texts, code = _encode(field)
        stamp_us, present, carries = self.read_words(texts)
        if self._format == ISO8601 and not rejects.tolerant:
            self._check_offsets(field, present, carries, code, rejects)
        unreadable = np.flatnonzero(_look_up(present & (stamp_us == NO_STAMP), code, False))
        if unreadable.size and not rejects.tolerant:
            first = code[unreadable[0]]
            others = np.flatnonzero(present & (stamp_us == NO_STAMP))[:_LOOKED_AT]
            raise _not_in_format(field, unreadable[0], texts[first], [texts[i] for i in others], self._format)
        rejects.reject(STAMP_UNREADABLE, field, unreadable, "", "")
        return _look_up(stamp_us, code, NO_STAMP), _look_up(carries, code, False)

    def read_words(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return stamps of w texts without surrounding blanks as above, (w,) bool whether a text is no missing word,
        and (w,) bool whether it is UTC.
        """
        present = np.array([word not in self._missing_words for word in texts], dtype=bool)
        carries = np.full(len(texts), self._by_format)
        if self._format == ISO8601:
            carries = pc.match_substring_regex(pa.array(texts, pa.string()), _OFFSET).to_numpy(zero_copy_only=False)
        stamp_us = np.full(len(texts), NO_STAMP)
        # pandas reads "now" and "today" as the time of the run, and takes its time for a long text.
        dated = (len(word) <= LONGEST_STAMP and any(c.isdigit() for c in word) for word in texts)
        readable = present & np.fromiter(dated, bool, len(texts))
        some = np.flatnonzero(readable)
        if some.size and self._format == SPREADSHEET:
            seconds, bad = serial_seconds([texts[i] for i in some])
            stamp_us[some] = np.where(bad, NO_STAMP, seconds * 1_000_000)
        elif some.size and self._format in UNIX:
            counts, bad = unix_microseconds([texts[i] for i in some], self._format)
            stamp_us[some] = np.where(bad, NO_STAMP, counts)
        elif some.size:
            # One stamp with nanoseconds would make pandas keep all of them in nanoseconds, for fewer years; without
            # utc=True one with another offset than the rest is an error. A stamp without one stays as it is.
            stamps = (texts[i] for i in some)
            fine = [_FINE.sub(r"\1", t) if "." in t or "," in t else t for t in stamps]
            cut, next_day = ends_of_days(fine, self._format)
            parsed = pd.to_datetime(cut, format=self._format, errors="coerce", utc=True, cache=False)  # no word twice
            parsed_us = parsed.tz_localize(None).as_unit("us").asi8
            stamp_us[some] = np.where(next_day & (parsed_us != NO_STAMP), parsed_us + DAY_US, parsed_us)
        return stamp_us, present, carries

    def all_alike(self, is_utc: np.ndarray) -> bool:
        """Whether stamps carry an offset or none as all others before them, (w,) bool; the first set the rule."""
        if self._carries_offset is None and is_utc.size:
            self._carries_offset = bool(is_utc[0])
        return self._format != ISO8601 or bool((is_utc == self._carries_offset).all())

    def _check_offsets(self, field: Field, present, carries, code: np.ndarray, rejects: Rejects) -> None:
        given = np.flatnonzero(_look_up(present, code, False))
        if self._carries_offset is None and given.size:
            self._carries_offset = bool(carries[code[given[0]]])
        rejects.reject(
            STAMP_UNREADABLE,
            field,
            given[carries[code[given]] != self._carries_offset] if given.size else given,
            *MIXED_OFFSETS,
        )


def _not_in_format(field: Field, entry: int, word: str, others: list[str], time_format: str) -> InputError:
    """Return the error for a stamp: its shape, and what would read it and the others."""
    fitting = formats_that_fit(others) or formats_that_fit([word])
    hint, before = "correct the stamp or the setting", files_before(str(field.file))
    if fitting:
        formats = " or ".join(map(repr, fitting))
        hint = f"set export.time_format to {formats}"
        if before and not any(alike(known, time_format) for known in fitting):
            files = "the file before it has" if before == 1 else f"files 1 to {before} have"
            hint = f"{formats} would read it, but {files} another format: bring all to one"
        hint += ", whichever the utility means" if len(fitting) > 1 else ""
    return field.refuse(
        entry, f"is not in the format of export.time_format: it is of the shape {shape_of(word)!r}", hint
    )


def _encode(field: Field) -> tuple[list[str], np.ndarray]:
    """Return distinct texts without surrounding blanks and (n,) int64 codes, ``NO_CODE`` for null."""
    encoded = field.values if pa.types.is_dictionary(field.values.type) else field.values.dictionary_encode()
    texts = pc.utf8_trim_whitespace(encoded.dictionary.cast(pa.string())).to_pylist()
    return texts, encoded.indices.cast(pa.int64()).fill_null(NO_CODE).to_numpy()


def _look_up(per_word: np.ndarray, code: np.ndarray, missing) -> np.ndarray:
    """Return ``per_word[code]`` with ``missing`` where there is no code."""
    return np.append(per_word, np.array([missing], per_word.dtype))[code]
