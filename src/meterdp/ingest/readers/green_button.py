"""Green Button: interval readings as ESPI XML (NAESB REQ.21), in kWh per household.

A household is a usage point; its meter id is the usage point's link up to its own id, e.g.
``https://.../RetailCustomer/5/UsagePoint/1``. An entry belongs to the household that its own links (``self``, ``up``)
name, and a block of readings to the meter reading they name, ``.../UsagePoint/1/MeterReading/2``; no other entry can
claim it. The related links of a meter reading say which reading type gives its unit, power of ten and direction of
flow, a type of its own household or one of nobody's; entries may stand in any order. A household's reading is the
energy delivered to the customer (flow forward), less the energy received (reverse) where ``export.flow`` is net, or
its net register if it has one. Two meter readings of one household and flow are one register: where they overlap the
later one counts, as in overlapping blocks. Starts are seconds since 1970, UTC; ``export.time_zone`` has no say.
Shorter readings than ``export.interval_minutes`` are summed if they divide it and all are there.

The file is read as a stream, once for its links and once for its readings. It is cut into entries before it is
parsed, and each is parsed alone: what is wrong within one, XML that is not well-formed, elements nested deep or
megabytes long, costs that entry, and what is wrong between entries, which is nobody's, costs nothing where bad rows
are left out. An entry is held until it ends and a household until its last block. No document type is read, so that
nothing is expanded or fetched.

Reading types of nobody's are shared: who rewrites one rewrites the unit of all who link to it.
"""

from __future__ import annotations

import codecs
import re
from array import array
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

import numpy as np

from meterdp.core.regular import empty
from meterdp.errors import InputError
from meterdp.ingest.batch import BATCH_BYTES, NO_STAMP, Batch
from meterdp.ingest.members import Member
from meterdp.ingest.settings import PLAIN, ExportSettings
from meterdp.ingest.streams import Limit, file_by_file, open_bytes
from meterdp.ingest.sums import ONE_FEED, Batches, Held, Parts, nothing_left

# Codes of ESPI: unit of measure, commodity and service category, accumulation behaviour and flow direction.
WATT_HOURS = "72"
GAS_UNITS, GAS_COMMODITY, ELECTRICITY_KINDS, GAS_KIND = ("42", "119", "169"), "7", (None, "", "0"), "1"
INTERVAL_BEHAVIOURS = (None, "", "0", "4")
FLOWS = {None: "forward", "": "forward", "0": "forward", "1": "forward", "4": "net", "19": "reverse"}
SIGNS = {"consumption": {"forward": 1}, "net": {"forward": 1, "reverse": -1}}
NET_REGISTER = {"net": 1}

DEEPEST, LONGEST_TOKEN_BYTES, LONGEST_TEXT, LONGEST_LINK = 64, 1 << 22, 256, 4096
# Of an entry, of an entry and kind, and of a household.
MOST_READINGS, MOST_LINKS, MOST_METER_READINGS = 1 << 20, 16, 256
_SHORTEST_DAY_US = 23 * 3600 * 1_000_000
_LARGEST_POWER = 15
_CHUNK_BYTES = 1 << 18
_OBJECTS = ("UsagePoint", "MeterReading", "ReadingType", "IntervalBlock")
_USAGE_POINT = re.compile(r"(?:.*?/)?UsagePoint/[^/?#]+")
_METER_READING = re.compile(r"(?:.*?/)?UsagePoint/[^/?#]+/MeterReading/[^/?#]+")
_OWN_LINKS, _RELATED = ("self", "up"), "related"
_BLOCKS = "/IntervalBlock"
_SECONDS = re.compile(r"([+-]?\d{1,12})(?:\.(\d*))?", re.ASCII)
_NUMBER = re.compile(PLAIN.pattern, re.ASCII)
_MEANING = ("accumulationBehaviour", "commodity", "flowDirection", "intervalLength", "powerOfTenMultiplier", "uom")

# Where an entry begins and ends, also in a comment: what an entry leaves open must not swallow those behind it.
_PREFIX = rb"(?:[\w.-]{1,40}:)?"
_EDGE = re.compile(
    rb"<(?:(?P<close>/%bentry\s{0,40}>)|%bentry(?:(?:\s[^<>]{0,99})?/>|(?P<open>(?=[\s>]))))" % ((_PREFIX,) * 2)
)
_LONGEST_EDGE = 160
_LEAF = re.compile(rb"<%bIntervalReading[\s>/]" % _PREFIX)
_ENCODING = re.compile(rb"\s*<\?xml\s[^>]*?encoding\s*=\s*[\"']([\w.-]{1,40})[\"']")
_AS_UTF_8 = ("utf-8", "us-ascii", "ascii")
_ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "iso-8859-1", "windows-1252")
_MALFORMED = "is not well-formed XML", "export it again, or set export.format to what it is"


def looks_like(head: bytes) -> bool:
    """Whether an export whose unpacked bytes start with ``head`` is Green Button XML."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return text.startswith(b"<") and b"naesb.org/espi" in text


def names_gas(head: bytes) -> bool:
    """Whether the first bytes of a Green Button file name gas, by service category, commodity or unit."""
    codes = {"commodity": GAS_COMMODITY, "uom": "|".join(GAS_UNITS), r"ServiceCategory>\s*<[^>]*kind": GAS_KIND}
    return any(re.search(rf"{name}>\s*(?:{code})\s*<".encode(), head) for name, code in codes.items())


def batches(
    path: str | Path,
    settings: ExportSettings,
    *,
    batch_bytes: int = BATCH_BYTES,
    limit: Limit | None = None,
    listed: Container[str] | None = None,
) -> Iterator[Batch]:
    """Yield the households of feeds, each once its last block is read; see :class:`~.interface.Format`."""
    return file_by_file(path, settings, lambda member: _file_batches(member, settings, batch_bytes, limit, listed))


def _file_batches(
    member: Member, settings: ExportSettings, batch_bytes: int, limit: Limit | None, listed: Container[str] | None
) -> Iterator[Batch]:
    # What is within a limit is kept, so that it is parsed once.
    kept = None if limit is None else list(_entries(member, settings, limit))
    cut = limit is not None and member.label in limit.cut
    links = _Links(member.label, settings, _entries(member, settings) if kept is None else kept, listed, cut=cut)
    file = _File(settings, links, Batches(member.label, settings, batch_bytes), cut=cut)
    for number, entry in enumerate(_entries(member, settings) if kept is None else kept):
        yield from file.take(number, entry)
    yield from file.end()


# What is wrong with a reading: the reason, the field, and what a message says of it.
_PROBLEMS = (
    None,
    ("stamp_missing", "start", ""),
    ("stamp_unreadable", "start", "is not a number of seconds"),
    ("stamp_unreadable", "duration", "is not a number of seconds"),
    ("value_unreadable", "value", "is not a number"),
)
_UNSAID_US = -1  # the duration that the reading type gives


@dataclass
class _Reading:
    """The texts of a reading; a row per reading is kept of what they say."""

    row: int
    start: str = ""
    duration: str = ""
    value: str = ""

    def said(self, missing_words: tuple[str, ...]) -> tuple[int, int, int, float, int]:
        """Return row, start, length, value and the number of the problem."""
        start_us = _microseconds(self.start)
        length_us = _microseconds(self.duration) if self.duration else _UNSAID_US
        missing = not self.value or self.value in missing_words
        number = None if missing else _NUMBER.fullmatch(self.value)
        problem = 0
        if not self.start:
            problem = 1
        elif start_us == NO_STAMP:
            problem = 2
        elif length_us == NO_STAMP:
            problem = 3
        elif not missing and number is None:
            problem = 4
        return self.row, start_us, length_us, float(self.value) if number else np.nan, problem


class _Readings:
    """The readings of an entry, 33 bytes each."""

    def __init__(self):
        self._columns = tuple(map(array, "qqqdb"))

    def __len__(self) -> int:
        return len(self._columns[0])

    def add(self, *said) -> None:
        for column, value in zip(self._columns, said, strict=True):
            column.append(value)

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Return row, start, length, value and problem, (n,) each."""
        return tuple(np.array(column, column.typecode) for column in self._columns)


@dataclass
class _Entry:
    """What one entry of the feed holds; ``malformed`` counts the readings of one that cannot be parsed."""

    row: int
    links: dict[str, list[str]] = field(default_factory=dict)
    objects: set[str] = field(default_factory=set)
    reading_type: dict[str, str] = field(default_factory=dict)
    service_kind: str | None = None
    readings: _Readings = field(default_factory=_Readings)
    malformed: int = 0

    @property
    def own_link(self) -> str:
        return self.links.get("self", [""])[0]

    @property
    def households(self) -> set[str]:
        """The usage points that its own links name; it belongs to one, or to nobody."""
        return self._named(_USAGE_POINT)

    @property
    def meter_readings(self) -> set[str]:
        """The meter readings that its own links name."""
        return self._named(_METER_READING)

    def _named(self, pattern: re.Pattern) -> set[str]:
        matches = (pattern.match(href) for rel in _OWN_LINKS for href in self.links.get(rel, []))
        return {match[0] for match in matches if match}


class _Malformed(Exception):
    """What is wrong with an entry, and what to do."""


class _Parser:
    """Handlers that turn the elements of an entry, or what stands outside of all, into what it holds."""

    def __init__(self, row: int, missing_words: tuple[str, ...]):
        self.entry = _Entry(row)
        self.problem: tuple[str, str] | None = None
        self.skipped_rows = 0  # that were not given to this parser
        self.entries = 0  # it has seen
        self._missing_words = missing_words
        self._row, self._fed, self._deep, self._lost = row, 0, 0, 0
        self._elements: list[str] = []
        self._readings: list[_Reading] = []
        self._text = ""
        # Prefixes are declared outside of an entry; what follows them says enough.
        self._expat = expat.ParserCreate("utf-8")
        self._expat.buffer_text = True
        self._expat.StartElementHandler, self._expat.EndElementHandler = self._start, self._end
        self._expat.CharacterDataHandler = self._characters
        self._expat.StartDoctypeDeclHandler = self._expat.EntityDeclHandler = self._document_type
        self._expat.ExternalEntityRefHandler = self._document_type

    @property
    def row(self) -> int:
        """The row of the file it is at."""
        return self._row + self.skipped_rows + self._expat.CurrentLineNumber - 1

    def feed(self, data: bytes, *, last: bool = False) -> None:
        """Parse more, or count the readings in it where that is of no use any more."""
        if self.problem is not None:
            self._lost += sum(1 for _ in _LEAF.finditer(data))
            return
        begun = self._begun
        try:
            self._expat.Parse(data, last)
            self._fed += len(data)
            if self._fed - self._expat.CurrentByteIndex > LONGEST_TOKEN_BYTES:
                raise _Malformed("holds an element that is too long", "export it again")
            if len(self.entry.readings) > MOST_READINGS:
                raise _Malformed(f"holds more than {MOST_READINGS:,} readings", "export shorter blocks")
        except _Malformed as error:
            self.spoil(*error.args)
        except expat.ExpatError:
            self.spoil(*_MALFORMED)
        if self.problem is not None:
            self._lost = begun + sum(1 for _ in _LEAF.finditer(data))

    def spoil(self, problem: str, hint: str) -> None:
        """Give up what is parsed."""
        if self.problem is None:
            self.problem, self._lost = (problem, hint), self._begun

    @property
    def _begun(self) -> int:
        return len(self.entry.readings) + len(self._readings)

    def end(self) -> _Entry:
        """Return what there was; its readings are counted where it cannot be parsed."""
        if self.problem is None:
            return self.entry
        return _Entry(self.entry.row, malformed=max(1, self._lost))

    def _document_type(self, *_) -> None:
        problem = "declares a document type or an entity, which no Green Button file needs"
        raise _Malformed(problem, "export it again")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if len(self._elements) >= DEEPEST:
            raise _Malformed(f"has elements nested deeper than {DEEPEST}", "export it again")
        self._elements.append(name)
        self._text = ""
        self.entries += name == "entry"
        if name == "link":
            self._link(attributes.get("rel", ""), attributes.get("href", "").strip().rstrip("/"))
        elif name in _OBJECTS:
            self.entry.objects.add(name)
        elif name == "IntervalReading":
            self._readings.append(_Reading(self.row))

    def _link(self, rel: str, href: str) -> None:
        if not 0 < len(href) <= LONGEST_LINK or (rel == _RELATED and _BLOCKS in href):
            return
        if rel in _OWN_LINKS or rel == _RELATED:
            hrefs = self.entry.links.setdefault(rel, [])
            if len(hrefs) <= MOST_LINKS:
                hrefs.append(href)

    def _characters(self, text: str) -> None:
        self._text += text[: LONGEST_TEXT + 1 - len(self._text)]

    def _end(self, name: str) -> None:
        name = self._elements.pop()
        # What was cut off must not be read as something shorter.
        text, self._text = self._text.strip() if len(self._text) <= LONGEST_TEXT else "too long", ""
        parent = self._elements[-1] if self._elements else ""
        if name == "IntervalReading":
            self.entry.readings.add(*self._readings.pop().said(self._missing_words))
        elif self._readings:
            inside = "timePeriod" if name in ("start", "duration") else "IntervalReading"
            if name in ("start", "duration", "value") and parent == inside:
                setattr(self._readings[-1], name, text)
        elif parent == "ReadingType" and name in _MEANING:
            self.entry.reading_type[name] = text
        elif parent == "ServiceCategory" and name == "kind":
            self.entry.service_kind = text


def _entries(member: Member, settings: ExportSettings, limit: Limit | None = None) -> Iterator[_Entry]:
    """Yield the entries of a feed, and last what stands outside of them, in bounded memory except for one entry."""
    refuse, missing_words = settings.bad_rows == "refuse", settings.missing_words

    def ended(parser: _Parser) -> _Entry:
        if parser.problem is not None and refuse:
            problem, hint = parser.problem
            raise InputError(problem, file=member.label, row=parser.row, hint=hint)
        return parser.end()

    outside, entry, row, given = _Parser(1, missing_words), None, 1, 0
    with open_bytes(member) as whole:
        stream = whole if limit is None else limit.start_of(whole, member.label)
        for edge, data in _pieces(_utf8(stream, member.label)):
            if edge == "open":
                if entry is not None:  # without an end
                    entry.spoil(*_MALFORMED)
                    yield ended(entry)
                entry = _Parser(row, missing_words)
            (outside if entry is None else entry).feed(data, last=edge == "close" and entry is not None)
            rows = data.count(b"\n")
            row += rows
            if entry is not None:
                outside.skipped_rows += rows
                if edge == "open":
                    outside.feed(b"<entry/>")
                    given += 1
                if edge == "close" or (refuse and entry.problem is not None):
                    yield ended(entry)
                    entry = None
            elif refuse and outside.problem is not None:
                ended(outside)
    if limit is not None and member.label in limit.cut:
        return
    if entry is not None:
        entry.spoil(*_MALFORMED)
        yield ended(entry)
    outside.feed(b"", last=True)
    if outside.entries < given:
        outside.spoil("has an entry in a comment", "take the comment out")
    outside.entry.links.clear()  # of the feed
    yield ended(outside)


def _utf8(stream, label: str) -> Iterator[bytes]:
    """Yield the bytes of a feed as UTF-8."""
    head = stream.read(_CHUNK_BYTES)
    declared = _ENCODING.match(head.removeprefix(codecs.BOM_UTF8))
    encoding = declared[1].decode().lower() if declared else "utf-8"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif head[1:2] == b"\0" or head[:1] == b"\0":
        encoding = "utf-16-le" if head[1:2] == b"\0" else "utf-16-be"
    decoder = None
    if encoding in _ENCODINGS:
        decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    start = head.removeprefix(codecs.BOM_UTF8) if decoder is None else decoder.decode(head).encode()
    # What a feed begins with is no entry's.
    if (decoder is None and encoding not in _AS_UTF_8) or not start.lstrip().startswith(b"<"):
        raise InputError(_MALFORMED[0], file=label, row=1, hint=_MALFORMED[1])
    yield start
    while chunk := stream.read(_CHUNK_BYTES):
        yield chunk if decoder is None else decoder.decode(chunk).encode()


def _pieces(chunks: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield pieces of a feed that cut no tag's name: "open" starts an entry, "close" ends one, "" does neither."""
    rest = b""
    for chunk in chunks:
        data = rest + chunk
        end = data.rfind(b"<", max(0, len(data) - _LONGEST_EDGE))
        end = len(data) if end < 0 else end
        yield from _whole_pieces(data[:end])
        rest = data[end:]
    yield from _whole_pieces(rest)


def _whole_pieces(data: bytes) -> Iterator[tuple[str, bytes]]:
    at, opens = 0, ""
    for edge in _EDGE.finditer(data):
        if edge["open"] is not None:
            if edge.start() > at:
                yield opens, data[at : edge.start()]
            at, opens = edge.start(), "open"
        elif edge["close"] is not None:
            if opens:
                yield opens, data[at : edge.start()]
                at, opens = edge.start(), ""
            yield "close", data[at : edge.end()]
            at = edge.end()
        else:  # an empty one
            if edge.start() > at:
                yield opens, data[at : edge.start()]
            at, opens = edge.end(), ""
    if at < len(data):
        yield opens, data[at:]


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


class _Household:
    """What the entries of one household say about its meter readings."""

    def __init__(self):
        self.kinds: set[str | None] = set()
        self.related: dict[str, set[str]] = {}
        self.unclear: set[str] = set()  # meter readings that relate to too much
        self.last = -1  # the last entry with readings
        self.flows: set[str] = set()


class _Links:
    """What the entries of a feed say about each other: households, their meter readings, and reading types."""

    def __init__(
        self,
        path: str,
        settings: ExportSettings,
        entries: Iterable[_Entry],
        listed: Container[str] | None,
        *,
        cut: bool,
    ):
        self._path, self._refuse, self._listed = path, settings.bad_rows == "refuse", listed
        self._flow = settings.flow
        # By the household whose it is, or nobody's, and its link.
        self._types: dict[tuple[str, str], _Meaning | None] = {}
        self.households: dict[str, _Household] = {}
        for number, entry in enumerate(entries):
            self._take(number, entry)
        last = {name: household.last for name, household in self.households.items() if household.last >= 0}
        if cut and len(last) > 1:
            self.households[max(last, key=last.get)].last = -1
        for name, household in self.households.items():
            meanings = (self.meaning(name, link) for link in household.related)
            household.flows = {meaning.flow for meaning in meanings if meaning is not None and meaning.flow}

    def _take(self, number: int, entry: _Entry) -> None:
        name = self.household(entry)
        if name is None:
            return
        own = entry.own_link
        if "ReadingType" in entry.objects and own and (not name or self.is_listed(name)):
            meaning = _meaning(entry.reading_type)
            # Two that differ leave open which is meant.
            known = self._types.get((name, own), meaning)
            self._types[name, own] = meaning if known == meaning else None
        if not name or not self.is_listed(name):
            return
        household = self.households.setdefault(name, _Household())
        if entry.readings:
            household.last = number
        if "UsagePoint" in entry.objects:
            self._agree(entry, "usage point", household.kinds, {entry.service_kind})
            household.kinds.add(entry.service_kind)
        if "MeterReading" in entry.objects and own and len(household.related) < MOST_METER_READINGS:
            related = household.related.setdefault(own, set())
            self._agree(entry, "meter reading", related, set(entry.links.get(_RELATED, [])))
            related.update(entry.links.get(_RELATED, []))
            if len(related) > MOST_LINKS:
                household.unclear.add(own)
                related.clear()

    def _agree(self, entry: _Entry, what: str, before: set, now: set) -> None:
        if self._refuse and before and before != now:
            problem = f"is the second entry of one {what}, and says otherwise"
            raise self._error(entry, problem, "leave the one that is right")

    def _error(self, entry: _Entry, problem: str, hint: str) -> InputError:
        return InputError(problem, file=self._path, row=entry.row, field="entry", hint=hint)

    def is_listed(self, household: str) -> bool:
        """Whether a household is on the list of meters, or there is none."""
        return self._listed is None or household in self._listed

    def household(self, entry: _Entry) -> str | None:
        """Return the usage point that an entry belongs to, nothing if to nobody, None if its own links contradict."""
        if max(len(entry.households), len(entry.meter_readings)) > 1:
            if self._refuse:
                problem = "has links (self, up) of two usage points or two meter readings"
                raise self._error(entry, problem, "correct its links")
            return None
        return next(iter(entry.households), "")

    def meaning(self, household: str, link: str) -> _Meaning | None:
        """Return what the readings of a meter reading mean, None where no reading type or more than one says it."""
        known = self.households[household]
        if GAS_KIND in known.kinds:
            return _Meaning(otherwise="gas")
        if len(known.kinds) > 1 or not known.kinds <= set(ELECTRICITY_KINDS):
            return _Meaning(otherwise="another commodity than electricity")
        if link in known.unclear:
            return None
        types = [(whose, href) for href in known.related.get(link, ()) for whose in (household, "")]
        named = {self._types[key] for key in types if key in self._types}
        return named.pop() if len(named) == 1 else None

    def signs(self, household: str) -> dict[str, int]:
        """Return the flows that make a household's reading, and their signs."""
        if self._flow == "net" and "net" in self.households[household].flows:
            return NET_REGISTER
        return SIGNS[self._flow]


class _File:
    """The entries of a feed in order, household by household."""

    def __init__(self, settings: ExportSettings, links: _Links, out: Batches, *, cut: bool):
        self._settings, self._links, self._out, self._cut = settings, links, out, cut
        self._held: dict[str, Held] = {}
        self._otherwise: Counter = Counter()
        self._any_reading = self._any_energy = False
        self._shortest_us = np.inf

    def take(self, number: int, entry: _Entry) -> Iterator[Batch]:
        """Take one entry, and yield what is complete with it."""
        if entry.malformed:
            self._out.set_aside("row_malformed", entry.malformed)
        if not entry.readings:
            return
        self._any_reading = True
        household = self._links.household(entry)
        if not household or not self._links.is_listed(household):
            self._out.set_aside("meter_not_listed" if household else "meter_missing", len(entry.readings))
            return
        held = self._held.setdefault(household, Held(self._settings))
        piece = self._piece(household, entry)
        if piece is not None:
            held.add(piece)
        if self._links.households[household].last == number:
            yield from self._close(household)

    def end(self) -> Iterator[Batch]:
        """Yield the rest, or refuse a file that holds nothing to read."""
        yield from self._out.rest()
        if self._cut or not self._out.refuse or self._out.sums:
            return
        if not self._any_reading:
            raise empty(self._out.path)
        if not self._any_energy and self._otherwise:
            raise InputError(
                f"holds {self._otherwise.most_common(1)[0][0]}, and no interval readings of electricity",
                file=self._out.path,
                hint="ask the utility for the electricity intervals of the usage points",
            )
        if self._any_energy and self._shortest_us >= _SHORTEST_DAY_US:
            raise InputError(
                "holds daily or longer sums, which are not an interval export",
                file=self._out.path,
                hint="ask the utility for hourly or shorter intervals",
            )
        raise nothing_left(self._out.path, self._out.became)

    def _piece(self, household: str, entry: _Entry) -> Parts | None:
        """Return the readings of one entry, None if they are not among those that make the household's reading."""
        meaning = self._links.meaning(household, next(iter(entry.meter_readings), ""))
        row, start_us, length_us, value, problem = entry.readings.arrays()
        if meaning is None and self._cut:  # it may stand further on
            self._out.set_aside("reading_type_missing", len(row))
            return None
        if meaning is None:
            problem = "has no reading type that gives its unit, or more than one"
            self._out.reject("reading_type_missing", row[0], "IntervalReading", problem, ONE_FEED, len(row))
            return None
        signs = self._links.signs(household)
        if meaning.otherwise or meaning.flow not in signs:
            self._otherwise[meaning.otherwise or "a flow that is not export.flow"] += len(row)
            self._out.set_aside("other_register", len(row))
            return None
        self._any_energy = True
        for number in np.unique(problem[problem > 0]).tolist():
            reason, name, what = _PROBLEMS[number]
            rows = row[problem == number]
            if what:
                self._out.reject(reason, rows[0], name, what, "correct it, or export it again", len(rows))
            else:
                self._out.set_aside(reason, len(rows))
        good = problem == 0
        length_us = np.where(length_us == _UNSAID_US, meaning.interval_us, length_us)[good]
        self._shortest_us = min(self._shortest_us, length_us.min(initial=np.iinfo(np.int64).max))
        kwh, shift = value[good] * signs[meaning.flow], meaning.power - 3
        return Parts(
            register=np.full(len(kwh), list(signs).index(meaning.flow)),
            start_us=start_us[good],
            length_us=length_us,
            kwh=kwh * 10.0**shift if shift > 0 else kwh / 10.0**-shift,
            row=row[good],
        )

    def _close(self, household: str) -> Iterator[Batch]:
        flows = self._links.households[household].flows
        need = np.array([flow in flows for flow in self._links.signs(household)])

        def required(starts_us: np.ndarray) -> np.ndarray:
            return np.tile(need, (len(starts_us), 1))

        yield from self._out.add(household, *self._held.pop(household).sums(required))


def _microseconds(text: str) -> int:
    """Return seconds, perhaps with decimals, as microseconds; ``NO_STAMP`` if they cannot be read."""
    match = _SECONDS.fullmatch(text)
    if match is None:
        return NO_STAMP
    fraction = int(f"{match[2] or '':0<6}"[:6])
    return int(match[1]) * 1_000_000 + (-fraction if text.startswith("-") else fraction)
