"""NEM12: the interval metering data of AEMO's Meter Data File Format (Australia), in kWh per household.

A household is a NMI. Its reading is the sum of its consumption registers (suffixes E1, E2, ...; energy delivered to
the customer), less its generation registers (B1, ...) where ``export.flow`` is net; reactive and other registers are
counted, not read. The registers a sum needs are those that the NMI configuration of the day's records (200, field 3)
names and those that are there: a register that is missing on a day leaves its sums missing, it is never a zero. The
same register and day sent again later in the file supersedes, reading by reading.

Days run from 00:00 to 24:00 in market time, UTC+10 without summer time, whatever zone the households live in
(``export.time_zone``); ``export.stamp_time_zone`` has no say. Shorter intervals than ``export.interval_minutes`` are
summed if they divide it and all are there.

What a broken row can do: a row belongs to the NMI of the 200 record above it, so the format lets a household whose
200 record is gone add its days to the household above. A row that cannot be read ends its block: the rows up to the
next 200 record belong to nobody and are counted. The blocks of a NMI may stand anywhere in the file, and are held
until the last of them: memory is that of one NMI where they stand together.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from string import ascii_uppercase, digits

import numpy as np

from meterdp.core.regular import empty
from meterdp.core.stamps import DAY_US, MINUTE_US
from meterdp.errors import InputError
from meterdp.ingest.batch import BATCH_BYTES, NO_STAMP, Batch, nothing_but
from meterdp.ingest.fields import number_words
from meterdp.ingest.lines import INNER_DELIMITER, SafeLines, separator_after
from meterdp.ingest.members import Member
from meterdp.ingest.settings import PLAIN, ExportSettings
from meterdp.ingest.streams import Limit, file_by_file, open_bytes
from meterdp.ingest.sums import Batches, Held, Parts, nothing_left

MARKET_OFFSET_HOURS = 10
LONGEST_ROW_BYTES = 1 << 16
# kWh per unit of measure, as numerator and denominator.
UNITS = {"kwh": (1, 1), "wh": (1, 1000), "mwh": (1000, 1)}
SIGNS = {"consumption": {"E": 1}, "net": {"E": 1, "B": -1}}
INTERVAL_MINUTES = (5, 10, 15, 30, 60)

_SUFFIX = re.compile(r"[A-Z][0-9A-Z]")
_REGISTERS = [letter + other for letter in ascii_uppercase for other in digits + ascii_uppercase]
_NO_REGISTER = "?"  # behind a letter: one that has no readings that can be used
_QUALITY = re.compile(r"[AEFNSV](?:\d\d)?")
_NUMBER = re.compile(PLAIN.pattern, re.ASCII)
_VARIES, _NO_READING = map(ord, "VN")
_DATE = re.compile(r"\d{8}", re.ASCII)
_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?\s*\"?100\"?\s*,\s*\"?(NEM1[23])\b", re.IGNORECASE)


def version(head: bytes) -> str | None:
    """Return "NEM12" or "NEM13" from the first bytes of an export, None if it is neither."""
    match = _HEADER.match(head)
    return match[1].decode().upper() if match else None


def batches(
    path: str | Path,
    settings: ExportSettings,
    *,
    batch_bytes: int = BATCH_BYTES,
    limit: Limit | None = None,
    listed: Container[str] | None = None,
) -> Iterator[Batch]:
    """Yield the households of NEM12 files, each once its last block is read; see :class:`~.interface.Format`."""
    return file_by_file(path, settings, lambda member: _file_batches(member, settings, batch_bytes, limit, listed))


def _file_batches(
    member: Member, settings: ExportSettings, batch_bytes: int, limit: Limit | None, listed: Container[str] | None
) -> Iterator[Batch]:
    separator = _check_header(member)
    if settings.bad_rows != "refuse":
        separator = b"\n"  # whatever the first row starts with

    def rows(kind: str = "") -> Iterator[tuple[int, list[str] | None]]:
        return _rows(member, separator, batch_bytes, limit, kind)

    last_block: dict[str, int] = {}
    nmi = ""
    for row, fields in rows("200"):
        if fields[0] == "200" and fields[1:]:
            nmi = fields[1].strip()
            if listed is None or nmi in listed:
                last_block[nmi] = row
    cut = limit is not None and member.label in limit.cut
    if cut and len(last_block) > 1:
        del last_block[nmi]
    file = _File(settings, last_block, Batches(member.label, settings, batch_bytes), listed, cut=cut)
    for row, fields in rows():
        yield from file.take(row, fields)
    yield from file.end()


def _check_header(member: Member) -> bytes:
    """Return what ends the lines of the file, once its header record is clear."""
    head = b""
    with open_bytes(member) as stream:
        while not re.search(rb"[\r\n].", head, re.DOTALL) and len(head) <= LONGEST_ROW_BYTES:
            more = stream.read(LONGEST_ROW_BYTES)
            if not more:
                break
            head += more
    if not head.strip():
        raise empty(member.label)
    kind = version(head)
    if kind == "NEM13":
        raise InputError(
            "is NEM13, which holds accumulated register values and no interval readings",
            file=member.label,
            row=1,
            hint="ask the data provider for the NEM12 file of the meters",
        )
    if kind is None or head[:1] in b"\r\n":
        raise InputError(
            "has no header record (100,NEM12,...) in its first row",
            file=member.label,
            row=1,
            hint="export the file again, whole, or set export.format to what it is",
        )
    return separator_after(head[len(re.split(rb"[\r\n]", head, maxsplit=1)[0]) :])


def _rows(
    member: Member, separator: bytes, batch_bytes: int, limit: Limit | None, kind: str
) -> Iterator[tuple[int, list[str] | None]]:
    """Yield number and fields of the rows after the first that start like ``kind``, None for one that is no text."""
    lines = SafeLines(",", separator, LONGEST_ROW_BYTES, batch_bytes)
    with open_bytes(member) as stream:
        for block in lines.blocks(stream if limit is None else limit.start_of(stream, member.label)):
            malformed = {row for row, _ in block.malformed}
            texts = iter(block.text.decode().split("\n"))
            for row in range(block.first_row, block.first_row + block.row_count):
                if row in malformed:
                    if not kind:
                        yield row, None
                    continue
                text = next(texts)
                if kind and not text.lstrip().startswith(kind):
                    continue
                fields = text.split(",")
                fields[0] = fields[0].strip()
                if block.inner_delimiters:
                    fields = [field.replace(INNER_DELIMITER, ",") for field in fields]
                yield row, fields


@dataclass
class _Block:
    """A 200 record; ``problem`` is the reason for which its readings cannot be read."""

    nmi: str
    row: int
    suffix: str
    configured: frozenset[str]
    sign: int = 0
    kwh_per_unit: tuple[int, int] = (1, 1)
    length_us: int = DAY_US
    problem: str | None = None


@dataclass
class _Day:
    """A 300 record that can be read; ``quality`` holds a letter's code per interval, V where it is not known yet."""

    block: _Block
    row: int
    start_us: int
    value: np.ndarray
    unreadable: np.ndarray
    quality: np.ndarray


class _Household:
    """What the blocks of one NMI have brought so far."""

    def __init__(self, settings: ExportSettings):
        self.held = Held(settings)
        self.needed: dict[int, set[str]] = {}  # by the start of the day
        self.undeclared = False


class _File:
    """The records of a file in order, household by household."""

    def __init__(
        self,
        settings: ExportSettings,
        last_block: dict[str, int],
        out: Batches,
        listed: Container[str] | None,
        *,
        cut: bool,
    ):
        self._settings, self._last_block, self._out, self._cut = settings, last_block, out, cut
        self._listed = listed
        self._households: dict[str, _Household] = {}
        self._block: _Block | None = None
        self._day: _Day | None = None
        self._any_reading = self._ended = False

    def take(self, row: int, fields: list[str] | None) -> Iterator[Batch]:
        """Take one row, and yield what is complete with it."""
        kind = fields[0] if fields else None
        if kind == "400":
            self._event(row, fields)
            return
        if kind == "500" or (fields and not any(field.strip() for field in fields)):
            return
        self._close_day()
        if kind == "300":
            self._interval_day(row, fields)
            return
        yield from self._close_block()
        if kind == "200":
            self._block = self._details(row, fields)
        elif kind == "900":
            self._ended = True
        elif kind != "100" or len(fields) < 2 or fields[1].strip().upper() != "NEM12":
            self._out.reject("row_malformed", row, None, "is not a NEM12 record", "export the file again", 1)

    def end(self) -> Iterator[Batch]:
        """Yield the rest, and refuse a file that is cut short or holds nothing to read, or count it if cut short."""
        self._close_day()
        yield from self._close_block()
        yield from self._out.rest()
        if self._cut:  # by us
            return
        if not self._ended:
            if self._out.refuse:
                hint = "copy or export it again"
                raise InputError("has no end record (900): it is cut short", file=self._out.path, hint=hint)
            yield nothing_but({"file_unreadable": 1}, "")
        if self._out.refuse and not self._out.sums:
            raise nothing_left(self._out.path, self._out.became) if self._any_reading else empty(self._out.path)

    def _details(self, row: int, fields: list[str]) -> _Block | None:
        """Read a 200 record."""
        fields = [field.strip() for field in (*fields, *[""] * 9)]
        nmi, suffix, unit, minutes = fields[1], fields[4].upper(), fields[7].lower(), fields[8]
        pairs = fields[2].upper()
        configured = frozenset(_SUFFIX.findall(pairs)) if re.fullmatch(rf"(?:{_SUFFIX.pattern})+", pairs) else ()
        block = _Block(nmi, row, suffix, frozenset(configured))
        if not nmi:
            self._out.reject("meter_missing", row, "NMI", "is empty", "give every block its NMI", 0)
            block.problem = "meter_missing"
            return block
        if self._listed is not None and nmi not in self._listed:
            block.problem = "meter_not_listed"
            return block
        household = self._households.setdefault(nmi, _Household(self._settings))
        household.undeclared |= not configured
        if not _SUFFIX.fullmatch(suffix):
            problem = "row_malformed", "NMISuffix", "is not a letter and a digit", "write e.g. E1"
        elif suffix[0] not in SIGNS[self._settings.flow]:
            block.problem = "other_register"
            return block
        elif unit not in UNITS:
            problem = "unit_differs", "UOM", "is not kWh, Wh or MWh", "correct the unit of the register"
        elif minutes not in map(str, INTERVAL_MINUTES):
            allowed = ", ".join(map(str, INTERVAL_MINUTES))
            problem = "row_malformed", "IntervalLength", f"is not one of {allowed} minutes", "correct the record"
        else:
            block.sign, block.kwh_per_unit = SIGNS[self._settings.flow][suffix[0]], UNITS[unit]
            block.length_us = int(minutes) * MINUTE_US
            return block
        block.problem, *details = problem
        self._out.reject(block.problem, row, *details, 0)
        return block

    def _interval_day(self, row: int, fields: list[str]) -> None:
        """Read a 300 record."""
        self._any_reading = True
        block, value = self._block, None
        count = DAY_US // block.length_us if block is not None else 0
        if 2 + count < len(fields) and _QUALITY.fullmatch(_at(fields, 2 + count)):
            value = _numbers(fields[2 : 2 + count], self._settings.missing_words)
        # A quality is no number, so the first one stands behind the numbers.
        cells = _cells(fields) if value is None else count
        if block is None:
            self._out.reject(
                "row_malformed", row, None, "has no 200 record above it", "export it again", max(1, cells)
            )
            return
        start_us = _day_start_us(fields[1]) if len(fields) > 1 else None
        if block.nmi in self._households and start_us is not None and self._may_count(start_us):
            needed = self._households[block.nmi].needed.setdefault(start_us, set())
            suffix = block.suffix if _SUFFIX.fullmatch(block.suffix) else block.suffix[:1] + _NO_REGISTER
            needed |= {name for name in (suffix, *block.configured) if name[:1] in SIGNS[self._settings.flow]}
        if block.problem:
            self._out.set_aside(block.problem, max(1, cells))
            return
        if cells != count or not _QUALITY.fullmatch(_at(fields, 2 + count)):
            problem = f"has {cells} values where the interval length of its 200 record asks for {count}"
            if cells in (count, len(fields) - 2) and cells >= count:
                problem = f"has no quality behind the {count} values its 200 record asks for"
            self._out.reject("row_malformed", row, None, problem, "export the day again", max(1, cells))
            return
        if start_us is None:
            hint = "write it as YYYYMMDD"
            self._out.reject("stamp_unreadable", row, "IntervalDate", "is not a date", hint, count)
            return
        unreadable = np.zeros(count, bool)
        if value is None:
            value, unreadable = _values(fields[2 : 2 + count], self._settings.missing_words)
        if unreadable.any():
            name = f"IntervalValue{np.flatnonzero(unreadable)[0] + 1}"
            hint = "correct it, or add the word to export.missing_words"
            self._out.reject("value_unreadable", row, name, "is not a number", hint, int(unreadable.sum()))
        quality = np.full(count, ord(_at(fields, 2 + count)[0]), np.uint8)
        self._day = _Day(block, row, start_us, value, unreadable, quality)

    def _may_count(self, start_us: int) -> bool:
        """Whether an interval of a day may touch the public period, if there is one."""
        if self._settings.period_us is None:
            return True
        begin, end = self._settings.period_us
        return begin - 2 * DAY_US < start_us < end + DAY_US

    def _event(self, row: int, fields: list[str]) -> None:
        """Read a 400 record: the quality of a range of intervals of the day above."""
        day = self._day
        if day is None:
            if self._block is None or not self._block.problem:
                self._out.reject("row_malformed", row, None, "has no 300 record above it", "export the file again", 0)
            return
        ends, quality = [_at(fields, i) for i in (1, 2)], _at(fields, 3)
        count = len(day.value)
        numbered = all(end.isascii() and end.isdigit() and len(end) < 5 for end in ends)
        first, last = map(int, ends) if numbered else (0, 0)
        if not 1 <= first <= last <= count or not _QUALITY.fullmatch(quality) or quality[0] == "V":
            self._out.reject(
                "quality_unknown", row, None, "names no range of its day, or no quality", "correct it", 0
            )
            day.quality[:] = _VARIES
            self._keep_day()
            return
        day.quality[first - 1 : last] = ord(quality[0])

    def _close_day(self) -> None:
        day = self._day
        if day is None:
            return
        if (day.quality == _VARIES).any():
            hint = "export the day with its 400 records"
            problem = "has a quality that varies (V) and is not given"
            self._out.reject("quality_unknown", day.row, None, problem, hint, 0)
        self._keep_day()

    def _keep_day(self) -> None:
        """Add the readings of the day to its household."""
        day, self._day = self._day, None
        block, readable = day.block, ~day.unreadable
        unknown = readable & (day.quality == _VARIES)
        if unknown.any():
            self._out.set_aside("quality_unknown", int(unknown.sum()))
        numerator, denominator = block.kwh_per_unit
        value = np.where(day.quality == _NO_READING, np.nan, day.value * (block.sign * numerator) / denominator)
        index = np.arange(len(value))
        piece = Parts(
            register=np.full(len(value), _REGISTERS.index(block.suffix)),
            start_us=day.start_us + index * block.length_us,
            length_us=np.full(len(value), block.length_us),
            kwh=value,
            row=np.full(len(value), day.row),
        )
        known = readable & ~unknown
        self._households[block.nmi].held.add(piece if known.all() else piece[known])

    def _close_block(self) -> Iterator[Batch]:
        """End the block, and with its last one the household."""
        block, self._block = self._block, None
        if block is None or not block.nmi or self._last_block.get(block.nmi) != block.row:
            return
        household = self._households.pop(block.nmi)
        suffixes = {_REGISTERS[number] for number in household.held.registers}
        if household.undeclared:
            for needed in household.needed.values():
                needed |= suffixes
        suffixes = sorted(suffixes.union(*household.needed.values()))
        number = {suffix: i for i, suffix in enumerate(suffixes)}
        renumbered = np.array([number.get(suffix, 0) for suffix in _REGISTERS])
        # In front of the days, which may all lie outside the public period, one that nothing lies in.
        days = np.array([NO_STAMP, *sorted(household.needed)])
        need = [[s in household.needed.get(d, ()) for s in suffixes] for d in days.tolist()]
        need = np.array(need, bool).reshape(len(days), len(suffixes))

        def of_day(at: np.ndarray) -> np.ndarray:
            """Return the rows of ``need`` of the days that instants lie in, the first of them for no day."""
            day = np.searchsorted(days, at, side="right") - 1
            return need[np.where(at < days[day] + DAY_US, day, 0)]

        def required(starts_us: np.ndarray) -> np.ndarray:
            return of_day(starts_us) | of_day(starts_us + self._settings.interval_us - 1)

        yield from self._out.add(block.nmi, *household.held.sums(required, renumbered.__getitem__))


def _at(fields: list[str], position: int) -> str:
    """Return a field without blanks and in capitals, or nothing where the row is too short."""
    return fields[position].strip().upper() if position < len(fields) else ""


def _cells(fields: list[str]) -> int:
    """Return how many fields of a 300 record stand between its date and its quality."""
    for position in range(2, len(fields)):
        if _QUALITY.fullmatch(_at(fields, position)):
            return position - 2
    return len(fields) - 2


def _day_start_us(text: str) -> int | None:
    """Return the UTC start of a day in market time, None if the text is no date."""
    text = text.strip()
    if not _DATE.fullmatch(text):
        return None
    try:
        day = date(int(text[:4]), int(text[4:6]), int(text[6:]))
    except ValueError:
        return None
    return (day.toordinal() - date(1970, 1, 1).toordinal()) * DAY_US - MARKET_OFFSET_HOURS * 60 * MINUTE_US


def _numbers(cells: list[str], missing_words: tuple[str, ...]) -> np.ndarray | None:
    """Return (n,) readings where all of them are finite numbers and none may mean a missing one, else None."""
    joined = "".join(cells)
    if not joined.isascii() or "_" in joined or number_words(missing_words):
        return None
    try:
        value = np.array(list(map(float, cells)))
    except ValueError:
        return None
    return value if np.isfinite(value).all() else None


def _values(cells: list[str], missing_words: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return (n,) readings, NaN where missing, and (n,) bool where there is something else than a number.

    An empty cell is missing, whatever the words for a missing entry are.
    """
    texts = [cell.strip() for cell in cells]
    missing = [not text or text in missing_words for text in texts]
    number = [_NUMBER.fullmatch(text) is not None for text in texts]
    value = [float(t) if n and not m else np.nan for t, n, m in zip(texts, number, missing, strict=True)]
    return np.array(value), ~np.array(number) & ~np.array(missing)
