"""Green Button: interval readings as ESPI XML (NAESB REQ.21), in kWh per household.

A household is a usage point; its meter id is the usage point's link up to its own id, e.g.
``https://.../RetailCustomer/5/UsagePoint/1``. The links of the entries say which meter reading a block of readings
belongs to and which reading type gives its unit, power of ten and direction of flow; they may stand anywhere in the
file. A household's reading is the energy delivered to the customer (flow forward), less the energy received (reverse)
where ``export.flow`` is net, or its net register if it has one. Two meter readings of one household and flow are one
register: where they overlap the later one counts, as in overlapping blocks. Starts are seconds since 1970, UTC;
``export.time_zone`` has no say. Shorter readings than ``export.interval_minutes`` are summed if they divide it and
all are there.

The file is read as a stream, once for its links and once for its readings. An entry is held until it ends and a
household until its last block. Document types and entities are refused, so that nothing is expanded or fetched.

What a broken entry can do: an entry belongs to the household its links name, and all else that is wrong with it or a
reading in it stays there. But XML that is not well-formed cannot be read past the fault, so it ends the run even with
a public list of meters, and reading types are shared: who rewrites one rewrites the unit of all who link to it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from xml.parsers import expat

import numpy as np

from meterdp.core.errors import InputError
from meterdp.exports.batch import BATCH_BYTES, NO_STAMP, Batch
from meterdp.exports.members import Member
from meterdp.exports.numerals import PLAIN
from meterdp.exports.settings import ExportSettings
from meterdp.exports.streams import Limit, empty, files_of, open_bytes
from meterdp.exports.sums import Batches, Parts, nothing_left, sums

# Codes of ESPI: unit of measure, commodity and service category, accumulation behaviour and flow direction.
WATT_HOURS = "72"
GAS_UNITS, GAS_COMMODITY, ELECTRICITY_KINDS, GAS_KIND = ("42", "119", "169"), "7", (None, "", "0"), "1"
INTERVAL_BEHAVIOURS = (None, "", "0", "4")
FLOWS = {None: "forward", "": "forward", "0": "forward", "1": "forward", "4": "net", "19": "reverse"}
SIGNS = {"consumption": {"forward": 1}, "net": {"forward": 1, "reverse": -1}}
NET_REGISTER = {"net": 1}

DEEPEST, LONGEST_TOKEN_BYTES, LONGEST_TEXT, LONGEST_LINK = 64, 1 << 24, 256, 4096
_SHORTEST_DAY_US = 23 * 3600 * 1_000_000
_LARGEST_POWER = 15
_CHUNK_BYTES = 1 << 18
_OBJECTS = ("UsagePoint", "MeterReading", "ReadingType", "IntervalBlock")
_USAGE_POINT = re.compile(r"(?:.*?/)?UsagePoint/[^/?#]+")
_BLOCKS = "/IntervalBlock"
_SECONDS = re.compile(r"([+-]?\d{1,12})(?:\.(\d*))?", re.ASCII)
_NUMBER = re.compile(PLAIN.pattern, re.ASCII)
_MEANING = ("accumulationBehaviour", "commodity", "flowDirection", "intervalLength", "powerOfTenMultiplier", "uom")


def looks_like(head: bytes) -> bool:
    """Whether an export whose unpacked bytes start with ``head`` is Green Button XML."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return text.startswith(b"<") and b"naesb.org/espi" in text


def names_gas(head: bytes) -> bool:
    """Whether the first bytes of a Green Button file name gas, by service category, commodity or unit."""
    codes = {"commodity": GAS_COMMODITY, "uom": "|".join(GAS_UNITS), r"ServiceCategory>\s*<[^>]*kind": GAS_KIND}
    return any(re.search(rf"{name}>\s*(?:{code})\s*<".encode(), head) for name, code in codes.items())


def batches(
    path: str | Path, settings: ExportSettings, *, batch_bytes: int = BATCH_BYTES, limit: Limit | None = None
) -> Iterator[Batch]:
    """Yield the households of feeds, each once its last block is read; see :class:`~.interface.Reader`."""
    for member in files_of(path):
        found = _file_batches(member, settings, batch_bytes, limit)
        yield from (replace(batch, place=member.place) for batch in found)


def _file_batches(member: Member, settings: ExportSettings, batch_bytes: int, limit: Limit | None) -> Iterator[Batch]:
    # What is within a limit is kept, so that it is parsed once.
    kept = None if limit is None else list(_entries(member, limit))
    cut = limit is not None and member.label in limit.cut
    links = _Links(settings.flow, _entries(member) if kept is None else kept, cut=cut)
    file = _File(member.label, settings, links, Batches(batch_bytes), cut=cut)
    for number, entry in enumerate(_entries(member) if kept is None else kept):
        yield from file.take(number, entry)
    yield from file.end()


@dataclass
class _Reading:
    row: int
    start: str = ""
    duration: str = ""
    value: str = ""


@dataclass
class _Entry:
    """What one entry of the feed holds."""

    row: int
    links: dict[str, list[str]] = field(default_factory=dict)
    objects: set[str] = field(default_factory=set)
    reading_type: dict[str, str] = field(default_factory=dict)
    service_kind: str | None = None
    readings: list[_Reading] = field(default_factory=list)

    @property
    def own_link(self) -> str:
        return self.links.get("self", [""])[0]

    @property
    def meter_reading(self) -> str:
        """The link of the meter reading its blocks belong to, as far as the entry says."""
        hrefs = [*self.links.get("up", []), *self.links.get("self", [])]
        return next((_of_block(href) for href in hrefs if _BLOCKS in href), (hrefs or [""])[0])


class _Parser:
    """Handlers that turn the elements of a file into entries; readings outside of any make an entry of their own."""

    def __init__(self, path: str):
        self.done: list[_Entry] = []
        self._path = path
        self._elements: list[str] = []
        self._entry = _Entry(1)
        self._readings: list[_Reading] = []
        self._text = ""
        self.expat = expat.ParserCreate(namespace_separator=" ")
        self.expat.buffer_text = True
        self.expat.StartElementHandler, self.expat.EndElementHandler = self._start, self._end
        self.expat.CharacterDataHandler = self._characters
        self.expat.StartDoctypeDeclHandler = self.expat.EntityDeclHandler = self._document_type
        self.expat.ExternalEntityRefHandler = self._document_type

    def refuse(self, problem: str, remedy: str = "export it again") -> InputError:
        return InputError(problem, file=self._path, row=self.expat.CurrentLineNumber, remedy=remedy)

    def _document_type(self, *_) -> None:
        raise self.refuse("declares a document type or an entity, which no Green Button file needs")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(" ")[2]
        if len(self._elements) >= DEEPEST:
            raise self.refuse(f"has elements nested deeper than {DEEPEST}")
        self._elements.append(name)
        self._text = ""
        if name == "entry":
            self._flush()
        elif name == "link":
            href = attributes.get("href", "").strip().rstrip("/")
            if 0 < len(href) <= LONGEST_LINK:
                self._entry.links.setdefault(attributes.get("rel", ""), []).append(href)
        elif name in _OBJECTS:
            self._entry.objects.add(name)
        elif name == "IntervalReading":
            self._readings.append(_Reading(self.expat.CurrentLineNumber))

    def _characters(self, text: str) -> None:
        self._text += text[: LONGEST_TEXT + 1 - len(self._text)]

    def _end(self, name: str) -> None:
        name = self._elements.pop()
        # What was cut off must not be read as something shorter.
        text, self._text = self._text.strip() if len(self._text) <= LONGEST_TEXT else "too long", ""
        parent = self._elements[-1] if self._elements else ""
        if name == "entry":
            self._flush()
        elif name == "IntervalReading":
            self._entry.readings.append(self._readings.pop())
        elif self._readings:
            inside = "timePeriod" if name in ("start", "duration") else "IntervalReading"
            if name in ("start", "duration", "value") and parent == inside:
                setattr(self._readings[-1], name, text)
        elif parent == "ReadingType" and name in _MEANING:
            self._entry.reading_type[name] = text
        elif parent == "ServiceCategory" and name == "kind":
            self._entry.service_kind = text

    def _flush(self) -> None:
        if self._entry.objects or self._entry.readings:
            self.done.append(self._entry)
        self._entry = _Entry(self.expat.CurrentLineNumber)

    def end(self) -> None:
        """End the file."""
        self.expat.Parse(b"", True)
        self._flush()


def _entries(member: Member, limit: Limit | None = None) -> Iterator[_Entry]:
    """Yield the entries of a feed that hold something of Green Button, in bounded memory but for one entry."""
    parser, fed = _Parser(member.label), 0
    try:
        with open_bytes(member) as whole:
            stream = whole if limit is None else limit.start_of(whole, member.label)
            while chunk := stream.read(_CHUNK_BYTES):
                parser.expat.Parse(chunk, False)
                fed += len(chunk)
                if fed - parser.expat.CurrentByteIndex > LONGEST_TOKEN_BYTES:
                    raise parser.refuse("holds an element that is too long")
                yield from parser.done
                parser.done.clear()
        if limit is None or member.label not in limit.cut:
            parser.end()
            yield from parser.done
    except InputError:
        raise
    except (expat.ExpatError, LookupError, ValueError):
        raise parser.refuse("is not well-formed XML", "export it again, or set export.format to what it is") from None


@dataclass(frozen=True)
class _Meaning:
    """What a reading type says: the register, the power of ten of a watt-hour, or why its readings are not used."""

    flow: str | None = None
    power: int = 0
    interval_us: int = 0
    otherwise: str | None = None


def _meaning(said: dict[str, str]) -> _Meaning | None:
    """Return what a reading type means, None if it names no unit or no power of ten that can be read."""
    power = said.get("powerOfTenMultiplier") or "0"
    if not said.get("uom") or not re.fullmatch(r"[+-]?\d{1,2}", power, re.ASCII) or abs(int(power)) > _LARGEST_POWER:
        return None
    if said["uom"] in GAS_UNITS or said.get("commodity") == GAS_COMMODITY:
        return _Meaning(otherwise="gas")
    if said["uom"] != WATT_HOURS:
        return _Meaning(otherwise="another quantity than energy")
    if said.get("accumulationBehaviour") not in INTERVAL_BEHAVIOURS:
        return _Meaning(otherwise="register values, not the energy of intervals")
    length = said.get("intervalLength", "")
    interval_us = int(length) * 1_000_000 if re.fullmatch(r"\d{1,9}", length, re.ASCII) else 0
    return _Meaning(FLOWS.get(said.get("flowDirection")), int(power), interval_us)


class _Links:
    """How usage points, meter readings, reading types and blocks of a feed hang together."""

    def __init__(self, flow: str, entries: Iterable[_Entry], *, cut: bool):
        self._types: dict[str, _Meaning | None] = {}
        self._related: dict[str, list[str]] = {}  # of a meter reading
        self._up: dict[str, list[str]] = {}
        self._of_blocks: dict[str, str] = {}  # from what a meter reading relates to, to the meter reading
        self._usage_points: dict[str, str] = {}  # from the links of a usage point to its own
        self._kinds: dict[str, str | None] = {}
        last: dict[str, int] = {}
        for number, entry in enumerate(entries):
            own, related = entry.own_link, entry.links.get("related", [])
            if entry.readings:
                last[entry.meter_reading] = number
            if not own:
                continue  # nothing can refer to it
            if "ReadingType" in entry.objects:
                meaning = _meaning(entry.reading_type)
                # Two that differ leave open which is meant.
                self._types[own] = meaning if self._types.get(own, meaning) == meaning else None
            if "MeterReading" in entry.objects:
                self._related.setdefault(own, []).extend(related)
                self._up.setdefault(own, []).extend(entry.links.get("up", []))
                self._of_blocks.update((_of_block(href), own) for href in related)
            if "UsagePoint" in entry.objects:
                self._usage_points.update(dict.fromkeys((own, *related), own))
                self._kinds[_cut(own) or own] = entry.service_kind
        self._last: dict[str, int] = {}
        for link, number in last.items():
            household = self.household(link)
            self._last[household] = max(self._last.get(household, 0), number)
        if cut and len(self._last) > 1:
            del self._last[max(self._last, key=self._last.get)]
        flows: dict[str, set[str]] = {}
        for link in self._related:
            meaning = self.meaning(link)
            if meaning is not None and meaning.flow:
                flows.setdefault(self.household(link), set()).add(meaning.flow)
        self._flow, self._flows = flow, flows
        self.household, self.meaning = cache(self.household), cache(self.meaning)

    def _own(self, link: str) -> str:
        return link if link in self._related else self._of_blocks.get(link, link)

    def household(self, link: str) -> str:
        """Return the usage point of a meter reading, nothing if no link names one."""
        own = self._own(link)
        for href in (own, link, *self._up.get(own, []), *self._related.get(own, [])):
            if _cut(href):
                return _cut(href)
        for href in (own, *self._up.get(own, []), *self._related.get(own, [])):
            if href in self._usage_points:
                return self._usage_points[href]
        return ""

    def meaning(self, link: str) -> _Meaning | None:
        """Return what the readings of a meter reading mean, None where no reading type or more than one says it."""
        if self._kinds.get(self.household(link)) == GAS_KIND:
            return _Meaning(otherwise="gas")
        if self._kinds.get(self.household(link)) not in ELECTRICITY_KINDS:
            return _Meaning(otherwise="another commodity than electricity")
        named = {self._types[href] for href in self._related.get(self._own(link), []) if href in self._types}
        return named.pop() if len(named) == 1 else None

    def signs(self, household: str) -> dict[str, int]:
        """Return the flows that make a household's reading, and their signs."""
        if self._flow == "net" and "net" in self._flows.get(household, ()):
            return NET_REGISTER
        return SIGNS[self._flow]

    def needed(self, household: str) -> set[str]:
        """Return the flows a household has among those that make its reading."""
        return self._flows.get(household, set()) & set(self.signs(household))

    def is_last(self, household: str, number: int) -> bool:
        """Whether an entry is the last that holds readings of a household."""
        return self._last.get(household) == number


def _of_block(href: str) -> str:
    """Return the meter reading in the link of a block or of blocks; other links stay as they are."""
    return href.partition(_BLOCKS)[0] or href


def _cut(href: str) -> str:
    """Return a link up to the id of its usage point, nothing if it names none."""
    match = _USAGE_POINT.match(href)
    return match[0] if match else ""


class _File:
    """The entries of a feed in order, household by household."""

    def __init__(self, path: Path, settings: ExportSettings, links: _Links, out: Batches, *, cut: bool):
        self._path, self._settings, self._links, self._out, self._cut = path, settings, links, out, cut
        self._refuse = settings.bad_rows == "refuse"
        self._pieces: dict[str, list[Parts]] = {}
        self._otherwise: Counter = Counter()
        self._any_reading = self._any_energy = False
        self._shortest_us = np.inf

    def take(self, number: int, entry: _Entry) -> Iterator[Batch]:
        """Take one entry, and yield what is complete with it."""
        if not entry.readings:
            return
        self._any_reading = True
        household = self._links.household(entry.meter_reading)
        if not household:
            self._out.set_aside("meter_missing", len(entry.readings))
            return
        pieces = self._pieces.setdefault(household, [])
        piece = self._piece(household, entry)
        if piece is not None:
            pieces.append(piece)
        if self._links.is_last(household, number):
            yield from self._close(household)

    def end(self) -> Iterator[Batch]:
        """Yield the rest, or refuse a file that holds nothing to read."""
        yield from self._out.rest()
        if self._cut or not self._refuse or self._out.sums:
            return
        if not self._any_reading:
            raise empty(self._path)
        if not self._any_energy and self._otherwise:
            raise InputError(
                f"holds {self._otherwise.most_common(1)[0][0]}, and no interval readings of electricity",
                file=self._path,
                remedy="ask the utility for the electricity intervals of the usage points",
            )
        if self._any_energy and self._shortest_us >= _SHORTEST_DAY_US:
            raise InputError(
                "holds daily or longer sums, which are no interval export",
                file=self._path,
                remedy="ask the utility for hourly or shorter intervals",
            )
        raise nothing_left(self._path, self._out.became)

    def _reject(self, reason: str, row: int, name: str, problem: str, remedy: str) -> None:
        if self._refuse:
            raise InputError(problem, file=self._path, row=row, field=name, remedy=remedy)
        self._out.set_aside(reason, 1)

    def _piece(self, household: str, entry: _Entry) -> Parts | None:
        """Return the readings of one entry, None if they are not among those that make the household's reading."""
        meaning = self._links.meaning(entry.meter_reading)
        if meaning is None and self._cut:  # it may stand further on
            self._out.set_aside("reading_type_missing", len(entry.readings))
            return None
        if meaning is None:
            for reading in entry.readings:
                self._reject(
                    "reading_type_missing",
                    reading.row,
                    "IntervalReading",
                    "has no reading type that gives its unit, or more than one",
                    "export usage points, meter readings, reading types and interval blocks as one feed",
                )
            return None
        signs = self._links.signs(household)
        if meaning.otherwise or meaning.flow not in signs:
            self._otherwise[meaning.otherwise or "a flow that is not export.flow"] += len(entry.readings)
            self._out.set_aside("other_register", len(entry.readings))
            return None
        self._any_energy = True
        found = [self._read(reading, meaning) for reading in entry.readings]
        start_us, length_us, value, row = zip(*filter(None, found), strict=True) if any(found) else ([],) * 4
        length_us = np.array(length_us, np.int64)
        self._shortest_us = min(self._shortest_us, length_us.min(initial=np.iinfo(np.int64).max))
        kwh, shift = np.array(value, float) * signs[meaning.flow], meaning.power - 3
        return Parts(
            register=np.full(len(row), list(signs).index(meaning.flow)),
            start_us=np.array(start_us, np.int64),
            length_us=length_us,
            kwh=kwh * 10.0**shift if shift > 0 else kwh / 10.0**-shift,
            row=np.array(row, np.int64),
        )

    def _read(self, reading: _Reading, meaning: _Meaning) -> tuple[int, int, float, int] | None:
        """Return start, length, value and row of a reading, None where it is counted as unreadable."""
        if not reading.start:
            self._out.set_aside("stamp_missing", 1)
            return None
        start_us = _microseconds(reading.start)
        length_us = _microseconds(reading.duration) if reading.duration else meaning.interval_us
        for name, us in (("start", start_us), ("duration", length_us)):
            if us == NO_STAMP:
                remedy = "correct it, or export it again"
                self._reject("stamp_unreadable", reading.row, name, "is not a number of seconds", remedy)
                return None
        text = reading.value
        if not text or text in self._settings.missing_words:
            return start_us, length_us, np.nan, reading.row
        if not _NUMBER.fullmatch(text):
            remedy = "correct it, or export it again"
            self._reject("value_unreadable", reading.row, "value", "is not a number", remedy)
            return None
        return start_us, length_us, float(text), reading.row

    def _close(self, household: str) -> Iterator[Batch]:
        signs, needed = self._links.signs(household), self._links.needed(household)
        need = np.array([flow in needed for flow in signs])

        def required(starts_us: np.ndarray) -> np.ndarray:
            return np.tile(need, (len(starts_us), 1))

        parts = Parts.together(self._pieces.pop(household))
        yield from self._out.add(household, *sums(parts, required, self._settings))


def _microseconds(text: str) -> int:
    """Return seconds, perhaps with decimals, as microseconds; ``NO_STAMP`` if they cannot be read."""
    match = _SECONDS.fullmatch(text)
    if match is None:
        return NO_STAMP
    fraction = int(f"{match[2] or '':0<6}"[:6])
    return int(match[1]) * 1_000_000 + (-fraction if text.startswith("-") else fraction)
