"""The public list of meters: who is in a study, said outside the readings.

With it the number of households is public: a listed meter without rows keeps its place, a meter that is not listed is
left out and its rows are counted.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from meterdp.core.parquet import atomic_path
from meterdp.core.regular import check_file
from meterdp.errors import InputError
from meterdp.ingest.batch import plain_id
from meterdp.ingest.inference.words import METER_FIRST, POINT, STATION
from meterdp.privacy.meter_lists import plain_name

METER_COLUMN, CIRCUIT_COLUMN = "meter_id", "circuit"
# As British networks name them in their open data.
SUBSTATION_COLUMN, FEEDER_COLUMN = "secondary_substation_id", "lv_feeder_id"
# What spreadsheets and programs that take ids for numbers make of them.
SCIENTIFIC = re.compile(r"\d(?:[.,]\d+)?[eE]\+\d+")
_TOO_LONG = re.compile(r"\d{16,}")
AS_TEXT = (
    "a spreadsheet or program that reads ids as numbers rounds them, to something like 1.23E+17 or to 15 digits: "
    "export them again as text"
)
# The expected error of a release holds if this share of the listed meters has usable readings; the others count as a
# public default.
USABLE = 0.95
# Share of its readings that a meter needs in the days of feeder totals and group forecasts; with fewer it is as one
# without any.
LEAST_READ = 0.5
# Of a column that may name feeders; what has fewer to an entry, such as an account or an address, does not.
_METERS_PER_FEEDER = 5
# Pairs of names that a sentence holds.
_NAMED = 3
_ONCE = "write every meter once, each in its own row"
_OPTIONAL = (CIRCUIT_COLUMN, SUBSTATION_COLUMN, FEEDER_COLUMN)


@dataclass(frozen=True)
class MeterList:
    """The meters of a study in ascending order."""

    circuit_of: Mapping[str, str | None]  # None where the list names none
    # Secondary substation and low-voltage feeder, of a list with a column of either.
    feeder_of: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    # What further columns of the list say, by column and meter, such as a tariff; public like the rest.
    said_of: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    meter_column: str = METER_COLUMN  # as the file calls it

    @cached_property
    def meter_ids(self) -> list[str]:
        return sorted(self.circuit_of)

    @property
    def columns(self) -> dict[str, dict[str, str | None]]:
        """What the list says of every meter, by column; circuits and feeders are columns, too."""
        found = {CIRCUIT_COLUMN: self.circuit_of, **self.said_of}
        for at, column in enumerate((SUBSTATION_COLUMN, FEEDER_COLUMN)):
            found[column] = {meter: names[at] for meter, names in self.feeder_of.items()}
        return {column: said for column, said in found.items() if any(said.values())}

    @property
    def like_feeders(self) -> list[str]:
        """Further columns that may name feeders, those that are named after stations first."""
        entries = {column: len({*said.values()} - {""}) for column, said in self.said_of.items()}
        found = [name for name, of in entries.items() if 2 <= of <= len(self.circuit_of) / _METERS_PER_FEEDER]
        return sorted(found, key=lambda name: re.search(STATION, name, re.IGNORECASE) is None)

    @property
    def to_check(self) -> Iterator[str]:
        """Say of every column that makes groups which of its entries may be one that is spelt in two ways."""
        for column, said in self.columns.items():
            count = Counter(filter(None, said.values()))
            if 2 * len(count) > len(said) or not (pairs := spelt_alike(count)):
                continue
            each = "; ".join(f"'{a}' ({count[a]:,} meters) and '{b}' ({count[b]:,})" for a, b in pairs[:_NAMED])
            more = f"; and {len(pairs) - _NAMED} more pairs" if len(pairs) > _NAMED else ""
            yield f"entries of {column} on the list of meters that hardly differ: {each}{more}; are they the same?"

    @property
    def table(self):
        """The columns of the table ``meters`` that follow from the list: household and circuit."""
        import pyarrow as pa  # plans of Snakemake read lists without it

        circuits = [self.circuit_of[meter] for meter in self.meter_ids]
        household = pa.array(range(len(circuits)), pa.int32())
        return pa.table({"household": household, "circuit": pa.array(circuits, pa.string())})


def read_meter_list(path) -> MeterList:
    """Read a CSV with a column ``meter_id`` and, if circuits or feeders are public, columns that name them.

    Without that column the only one whose name says that it is of meters, such as ``Zählpunkt``, names them. Further
    columns, such as a tariff, are public as well. The file is in UTF-8, in UTF-16 with a mark or, as spreadsheets
    often save it, in Windows-1252; commas, semicolons or tabs separate its columns.

    Raises ``InputError`` if it has no such column, a row without a meter, a meter in two rows that differ or none at
    all.
    """
    path = check_file(path)
    return parse_meter_list(path.read_bytes(), path)


@lru_cache(maxsize=4)
def digest_of_meters(meter_list: bytes, groups: tuple[str | None, ...] = ()) -> str:
    """Return SHA-256 of who is on a list, and of the group of each; another order or column is no other list."""
    meters = parse_meter_list(meter_list).meter_ids
    if not groups:
        return digest_of_names(meters)
    return hashlib.sha256(json.dumps([meters, groups]).encode()).hexdigest()


def digest_of_names(meters: Iterable[str]) -> str:
    """Return SHA-256 of names of meters in any order."""
    return hashlib.sha256("\n".join(sorted(meters)).encode()).hexdigest()


def plain_list(meter_list: bytes) -> bytes:
    """Return a list with commas, line feeds and no byte order mark, as releases were once named by it."""
    lines = _text(meter_list).splitlines()
    if _delimiter(lines) == ",":
        return "".join(f"{line}\n" for line in lines).encode()
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(csv.reader(lines, strict=True, delimiter=_delimiter(lines)))
    return out.getvalue().encode()


def rounded(meter: str) -> set[str]:
    """Return what an id becomes where it is taken for a number: of 15 digits as in spreadsheets, or of 64 bits."""
    return {meter[:15].ljust(len(meter), "0"), str(int(float(meter)))} if _TOO_LONG.fullmatch(meter) else set()


# A release asks for its list many times, which takes seconds for a million meters.
@lru_cache(maxsize=2)
def parse_meter_list(data: bytes, path="list of meters") -> MeterList:
    """Return the list that the bytes of a file hold; raises as :func:`read_meter_list`."""
    try:
        lines = _text(data).splitlines()
        rows = list(csv.reader(lines, strict=True, delimiter=_delimiter(lines)))
    except (UnicodeDecodeError, csv.Error):
        raise InputError("is not a CSV file", file=path, hint="save the list as CSV UTF-8") from None
    header = [name.strip() for name in rows[0]] if rows else []
    meter_columns = [METER_COLUMN] if METER_COLUMN in header else _of_meters(header)
    if "" in header or len(set(header)) < len(header):
        wrong = "has a column without a name" if "" in header else "names a column twice"
        raise InputError(wrong, file=path, row=1, hint="give each column of the header a name of its own")
    if len(meter_columns) != 1:
        either = f", which may be those of {' or '.join(map(repr, meter_columns))}" if meter_columns else ""
        raise InputError(
            f"is not a list of meters: no column of its header is {METER_COLUMN}",
            file=path,
            row=1,
            hint=f"write {METER_COLUMN} above the ids that the export uses{either}",
        )
    meter_column = meter_columns[0]
    circuit_of: dict[str, str | None] = {}
    feeder_of: dict[str, tuple[str | None, str | None]] = {}
    said_of: dict[str, dict[str, str]] = {name: {} for name in header if name not in (meter_column, *_OPTIONAL)}
    has_feeders = not {SUBSTATION_COLUMN, FEEDER_COLUMN}.isdisjoint(header)
    row_of: dict[str, list[str]] = {}
    known: set[str] = set()
    for number, row in enumerate(rows[1:], start=2):
        if not any(row):
            continue
        fields = dict(zip(header, map(str.strip, row), strict=False))
        meter = plain_id(fields.get(meter_column, ""))
        if meter in circuit_of:
            blurred = SCIENTIFIC.fullmatch(meter) is not None or meter in rounded(meter)
            if row_of[meter] == row and not blurred:
                continue
            differs = "" if row_of[meter] == row else ", with other entries"
            hint = f"{_ONCE}; {AS_TEXT}" if blurred else _ONCE
            raise InputError(f"lists a meter a second time{differs}", file=path, row=number, hint=hint)
        if not meter or len(row) != len(header):
            raise InputError("does not name exactly one meter", file=path, row=number, hint=_ONCE)
        if (name := plain_name(meter)) in known:
            problem = "lists a meter a second time, in other capitals, with other blanks or in full width"
            raise InputError(problem, file=path, row=number, hint=f"{_ONCE}, and give different meters different ids")
        known.add(name)
        row_of[meter] = row
        circuit_of[meter] = fields.get(CIRCUIT_COLUMN) or None
        for name, said in said_of.items():
            said[meter] = fields[name]
        if has_feeders:
            feeder_of[meter] = fields.get(SUBSTATION_COLUMN) or None, fields.get(FEEDER_COLUMN) or None
    if not circuit_of:
        raise InputError("lists no meter", file=path, hint="write one meter per line")
    return MeterList(circuit_of, feeder_of, said_of, meter_column)


def spelt_alike(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of names that are the same except for case, accents, punctuation or one letter of a longer word.

    One letter is left out, added, another one, or two are swapped; digits and short words tell names apart.
    """
    first_with: dict[str, str] = {}
    found = []
    for name in sorted(names):
        letters = "".join(c for c in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(c))
        plain = " ".join(re.findall(r"[^\W_]+", letters))
        at = [i for word in re.finditer(r"[^\W\d_]{5,}", plain) for i in range(*word.span())]
        keys = {plain, *(plain[:i] + plain[i + 1 :] for i in at)}
        found += sorted({(first_with[key], name) for key in keys & first_with.keys()})
        first_with = dict.fromkeys(keys, name) | first_with
    return found


def _of_meters(header: Sequence[str]) -> list[str]:
    """Return the columns whose names say that they are of meters; none without a header or of mixed separators."""
    named = [name for name in header if not re.search(r"\d{3}|[;,\t]", name)]
    for words in (POINT, METER_FIRST):
        if found := [name for name in named if re.search(words, name, re.IGNORECASE)]:
            return found
    return []


def _text(data: bytes) -> str:
    """Return the text of a list, however a spreadsheet saved it; any bytes but a few are Windows-1252."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252")


def _delimiter(lines: Sequence[str]) -> str:
    """Return what separates the fields: a semicolon where spreadsheets write decimal commas, or a tab."""
    return next((mark for mark in (",", ";", "\t") if lines and mark in lines[0]), ",")


def write_meter_list(meter_list: MeterList, path) -> None:
    """Write a list that :func:`read_meter_list` reads as the same."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(meter_list_bytes(meter_list))


def meter_list_bytes(meter_list: MeterList) -> bytes:
    """Return a list as a file that :func:`read_meter_list` reads as the same."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([METER_COLUMN, CIRCUIT_COLUMN])
    writer.writerows((meter, meter_list.circuit_of[meter] or "") for meter in meter_list.meter_ids)
    return out.getvalue().encode()
