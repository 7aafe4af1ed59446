"""What the rows of an export measure: registers, flows and units that tell several rows per meter and interval apart,
states that mark a reading as not measured, and columns beside those that are read that change what numbers mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np
import pyarrow as pa

from meterdp.errors import InputError
from meterdp.ingest.inference.table import MISSING, Column, best, entries_in, has_digit, repeats, samples_of
from meterdp.ingest.inference.words import METER, PART_OF_METER, REGISTER, UNIT
from meterdp.ingest.readers.wide_csv import interval_columns, times_not_read, times_of_day_us
from meterdp.ingest.settings import UNIT_NAMED, ExportSettings, measures_no_energy

# Share of rows that changes of clocks and repetitions explain.
SELDOM = 0.02
_MOST_REPEATED = 0.1
# Of a column that says how a reading came about: entries at most, rows of one at least, and shares of zeros.
_MOST_NAMED, _CODE_CHARACTERS = 8, 2  # of columns that are not read, and of entries that are shown
_MOST_STATES, _FEWEST_OF_STATE, _NEARLY_ALL, _HALF = 20, 20, 0.9, 0.5
# Entries that surely mean the energy a home takes from the grid in all tariffs; they are the only ones proposed.
_ALL = (
    r"(?:(?:k?wh|active|energy)[ _-]*)*(?:imp(?:ort(?:ed)?)?|consumption|usage|del(?:ivered|ivery)?|bezug|verbruik"
    r"|verbrauch|forbruk|forbrug|förbrukning|kulutus|consumo|consommation|prelievo|afname|順潮流|a\+|\+a)"
    r"(?:[ _-]*(?:energy|k?wh))*"
)
_CONSUMPTION = re.compile(rf"(?:\d-\d+:)?1\.(?:8|9|29)\.0(?:\*255)?|e1|k?wh|{_ALL}", re.IGNORECASE)
# ... and in one tariff.
_IN_A_TARIFF = re.compile(
    rf"(?:\d-\d+:)?1\.(?:8|9|29)\.[1-4](?:\*255)?|{_ALL}[ _-]*(?:(?:tariff?|tarief|t)?[ _-]*[1-4]|day|night|dag|nacht"
    r"|tag|jour|nuit|hoog|laag|high|low|(?:off)?[ -]?peak|h[pct]|nt|giorno|notte|punta|llano|valle|piek|dal)",
    re.IGNORECASE,
)
# An entry that names a register of feed-in and cannot be much else: "solar" may say whose home it is.
_FED_IN = re.compile(
    r"(?:\d-\d+:)?2\.(?:8|9|29)\.\d(?:\*255)?|a-|exp|(?:energy |grid )?export|fee?d.?in|injection|injeção|inyección"
    r"|immissione|immessa|(?:netz)?einspeisung|rücklieferung|rückspeisung|teruglevering|invoeding|inmatning|innmating",
    re.IGNORECASE,
)
# A phase or a tariff in the name of a column.
_PART = re.compile(r"(?<![^\W_])(?:phase|ph|line|tariff|[lt])?[ _-]?[abc1-4rst](?![^\W_])", re.IGNORECASE)
# Of a column whose numbers readings are multiplied by.
_FACTOR = re.compile(
    r"mult|ct.?ratio|meter.?constant|(?:meter|transf\w*|wandler).?faktor|(?:ct|meter|transf\w*).?factor|fattore|^k$",
    re.IGNORECASE,
)
# Entries of a column are shown unless they may be ids.
_SHOWN_ENTRY = re.compile(r"(?!.*\d{3}(?<!\*255)).{1,20}")


@dataclass(frozen=True)
class Rows:
    """The rows of a sample, and what distinguishes them."""

    key: list[Column]  # of stamps, and of meters unless every file is of one
    others: list[Column]
    energy: Column

    def kept(self, column: Column | None = None, allowed: Callable[[str], bool] = bool) -> Rows:
        """Return the rows with a number and an entry of a column that is allowed."""
        of = (column or self.energy).entries
        at = [i for i, entry in enumerate(self.energy.entries) if has_digit(entry) and allowed(of[i])]

        def some(c: Column) -> Column:
            entries = tuple(c.entries[i] for i in at)
            present = set(entries)
            return Column(c.name, tuple(word for word in c.tokens if word in present), entries)

        return Rows([some(c) for c in self.key], [some(c) for c in self.others], some(self.energy))

    @cached_property
    def repeated(self) -> float:
        """Share of rows of a meter and interval that is there before."""
        return repeats(self.key)

    def distinguished_by(self) -> Column | None:
        """Return the column that distinguishes several rows of a meter and interval, if there are such rows."""
        if not self.repeated:
            return None
        possible = (c for c in self.others if 2 <= len(c.tokens) <= 20 and c.name not in {k.name for k in self.key})
        return next((c for c in possible if _more(repeats([*self.key, c])) < _more(self.repeated) / 2), None)


def _more(repeated: float) -> float:
    """Return how many more rows there are for each that is not repeated."""
    return repeated / (1 - repeated)


class SeveralRowsError(InputError):
    """Several rows per meter and interval, and nothing says which of them are the consumption."""


@dataclass
class Kept:
    """Which rows of an export are those of the energy that a home takes."""

    settings: dict = field(default_factory=dict)  # unit_column and keep_rows, where they are needed
    to_check: list[str] = field(default_factory=list)
    not_measured: list[str] = field(default_factory=list)  # what may be zero because it was not measured
    lacking: dict[str, list[str]] = field(default_factory=dict)  # entries to keep that no row has, by column
    row_count: int = 0  # of so many, the first rows of some files
    registers: dict[str, set[str]] = field(default_factory=dict)  # entries of columns of which some are chosen here

    @property
    def remarks(self) -> list[str]:
        """What is odd, whatever the settings are."""
        lacking = ((name, ", ".join(map(repr, entries))) for name, entries in self.lacking.items() if entries)
        words = (
            f"none of the {self.row_count:,} rows that were looked at has {those} in '{name}' (export.keep_rows): "
            "correct it if it is misspelt, leave it if it is rare"
            for name, those in lacking
        )
        return [*self.not_measured, *words]

    @property
    def chosen(self) -> Iterator[str]:
        """Say which rows of registers were chosen."""
        for name, entries in self.registers.items():
            read = self.settings["keep_rows"][name]
            others = sorted(entries.difference(read))
            shown = f" ({', '.join(others)})" if _entries_of(Column(name, tuple(others))) else ""
            yield (
                f"rows of the register{'s' if len(read) > 1 else ''} {' and '.join(map(repr, read))} are read, others"
                f"{shown} not, by '{name}' (export.keep_rows)"
            )

    def add(self, other: Kept) -> None:
        """Add what more files of the export say."""
        keep = {**other.settings.get("keep_rows", {}), **self.settings.get("keep_rows", {})}
        self.settings = {**other.settings, **self.settings, **({"keep_rows": keep} if keep else {})}
        for name in ("to_check", "not_measured"):
            setattr(self, name, list(dict.fromkeys([*getattr(self, name), *getattr(other, name)])))
        self.lacking = {
            name: [entry for entry in entries if entry in other.lacking.get(name, ())]
            for name, entries in self.lacking.items()
        }
        self.row_count += other.row_count
        for name, entries in other.registers.items():
            self.registers[name] = entries | self.registers.get(name, set())


def kept_rows(path, rows: Rows, given: Mapping) -> Kept:
    """Choose, of several rows per meter and interval, those of energy a home takes: registers, flows or quantities.

    A column of units tells energy from what is none, and ``given`` may name entries to keep. Raises ``InputError``
    where no entry, or more than one, surely means the consumption.
    """
    present = {column.name: {*column.entries} for column in rows.others}
    rows, out = rows.kept(), Kept(row_count=len(rows.energy.entries))
    unit = _unit_column(rows.others)
    if unit is not None:
        out.settings["unit_column"] = unit.name
        rows = rows.kept(unit, lambda entry: not measures_no_energy(entry))
    keep = _wanted(given.get("keep_rows"))
    found = {column.name: column for column in rows.others if unit is None or column.name != unit.name}
    for name, entries in keep.items():
        if name in found and (lacking := [e for e in entries if e not in present[name]]):
            out.lacking[name] = lacking
    keep = {name: entries for name, entries in keep.items() if name in found and {*entries} & {*found[name].entries}}
    for name, entries in keep.items():
        rows = rows.kept(next(c for c in rows.others if c.name == name), entries.__contains__)
    while (column := rows.distinguished_by()) is not None:
        surely = [entry for entry in column.tokens if _is_all_consumption(entry, column.tokens)]
        if len(surely) != 1:
            surely = _in_tariffs(rows, column)
        if not surely or column.name in keep:
            _refuse_several(path, rows, column, out)
            break
        keep[column.name], out.registers[column.name] = surely, {*column.tokens}
        rows = rows.kept(column, surely.__contains__)
    if keep:
        out.settings["keep_rows"] = keep
    out.not_measured = _not_measured(rows)
    return out


def _wanted(keep_rows) -> dict[str, list[str]]:
    """Return the entries to keep as far as a setting that is perhaps not in order says so: one may stand alone."""
    named = keep_rows.items() if isinstance(keep_rows, Mapping) else ()
    lists = {name: [entries] if isinstance(entries, str) else entries for name, entries in named}
    return {
        name: [entry for entry in entries if isinstance(entry, str)]
        for name, entries in lists.items()
        if isinstance(entries, list | tuple)
    }


def _refuse_several(path, rows: Rows, column: Column, out: Kept) -> None:
    """Refuse several rows per meter and interval of which none is sure to be all; a few are only to be checked.

    None of the entries is an example, as it might be feed-in.
    """
    hint = (
        f"add export: {{keep_rows: {{{column.name}: [entry to keep]}}}}, with the entry or entries of consumption, "
        "to your configuration or a new one, and check again with it for the other settings; or add up those that "
        "are parts of the consumption"
    )
    if rows.repeated >= _MOST_REPEATED:
        raise SeveralRowsError(
            f"has several rows per meter and interval, distinguished by this column{_entries_of(column)}: registers, "
            "flows or quantities",
            file=path,
            field=column.name,
            hint=hint,
        )
    if rows.repeated >= SELDOM:
        out.to_check.append(
            f"'{column.name}' distinguishes several rows per meter and interval: if these are registers or flows, "
            f"{hint}"
        )


def _not_measured(rows: Rows) -> list[str]:
    """Say which entries of a column nearly always stand beside a zero, in meters whose other rows rarely have one."""
    zero = np.array([re.search("[1-9]", entry) is None for entry in rows.energy.entries], bool)
    meters = np.array(rows.key[1].entries if len(rows.key) > 1 else [""] * len(zero), object)
    said = []
    for column in rows.others:
        entries = np.array(column.entries, object)
        different = sorted({*column.entries})
        if not 2 <= len(different) <= _MOST_STATES or column.name in {key.name for key in rows.key}:
            continue
        states = []
        for entry in different:
            of = entries == entry
            if zero[of].mean() <= _NEARLY_ALL:
                continue
            mixed = np.isin(meters, list({*meters[of]} & {*meters[~of]}))
            of, others = of & mixed, ~of & mixed
            if of.sum() >= _FEWEST_OF_STATE and zero[others].mean() < _HALF:
                states.append(entry)
        if states:
            shown = f" {' and '.join(map(repr, states))}" if _entries_of(column) else ""
            said.append(
                f"rows in which '{column.name}' has the entry{shown} are nearly all zero, while other rows of the "
                "same meters are not: if they stand for missing readings, keep only the others (export.keep_rows); "
                "in a power cut, zero is right"
            )
    return said


def _in_tariffs(rows: Rows, column: Column) -> list[str]:
    """Return the entries that mean consumption in one tariff each, if there are several, never at the same time."""
    found = [entry for entry in column.tokens if _IN_A_TARIFF.fullmatch(entry)]
    apart = len(found) > 1 and rows.kept(column, found.__contains__).repeated <= SELDOM
    return found if apart else []  # energy at the same time would have to be added


def _is_all_consumption(entry: str, entries: Iterable[str]) -> bool:
    """Whether an entry surely means all a home takes; not E1 beside E2, nor "import" beside "import T2"."""
    if _CONSUMPTION.fullmatch(entry) is None:
        return False
    entry = entry.lower()
    part = re.escape(entry) + r"\W.*" if entry.isalpha() else r"e\d" if entry == "e1" else "(?!)"
    return not any(re.fullmatch(part, other.lower()) for other in entries if other.lower() != entry)


def _entries_of(column: Column) -> str:
    """Return the entries of a column in brackets, except where they may be ids."""
    shown = all(_SHOWN_ENTRY.fullmatch(entry) for entry in column.tokens)
    own = re.search(f"{PART_OF_METER}|{UNIT}", column.name, re.IGNORECASE)
    if not shown or (not own and re.search(METER, column.name, re.IGNORECASE)):
        return ""
    return f" ({', '.join(sorted(column.tokens))})"


def _unit_column(columns: Iterable[Column]) -> Column | None:
    """Return the column whose entries are units of energy, or of power, and perhaps of what is neither."""
    units = [c for c in columns if _has_units(c)]
    return best(units, UNIT, lambda c: True)


def _has_units(column: Column) -> bool:
    known = [w for w in column.tokens if w.lower() in UNIT_NAMED]
    if not known or not all(w.lower() in UNIT_NAMED or measures_no_energy(w) for w in column.tokens):
        return False
    # "W" may as well be a flag, for winter or for a true value ("wahr").
    return re.search(UNIT, column.name, re.IGNORECASE) is not None or any(len(w) > 1 for w in known)


def kept_feed_in(keep_rows: Mapping | None) -> Iterator[str]:
    """Say which entries that rows are kept for look like energy that homes feed in."""
    for column, entries in _wanted(keep_rows or {}).items():
        for entry in entries:
            if _FED_IN.fullmatch(entry):
                yield (
                    f"rows with '{entry}' in '{column}' look like energy fed in, but report and releases call "
                    "readings energy used (export.keep_rows)"
                )


def not_read(path, settings: ExportSettings) -> Iterator[InputError]:
    """Yield what the first rows hold beside the columns that are read, if it changes what numbers or hours mean."""
    if not settings.has_other_columns:
        return
    of_days = settings.format == "wide_csv"
    try:
        table, *others = samples_of(path)
    except InputError:
        return
    if settings.unit_column is None:
        of_files = (_units_not_read(path, one.columns, settings) for one in (table, *others))
        yield from islice((error for error in of_files if error is not None), 1)
    for column in columns_beside(path, settings) if any(map(_FACTOR.search, table.header)) else ():
        if _FACTOR.search(column.name) and _multiplies(column):
            yield InputError(
                f"holds factors{_entries_of(column)}, and readings are not multiplied by them",
                file=path,
                field=column.name,
                hint="multiply the readings first, or rename the column if that has been done",
            )
    parts = [] if of_days else parts_of(settings.energy_column, table.header)
    if parts:
        yield InputError(
            f"looks like one of several phases or tariffs, which must be added: {', '.join(map(repr, parts))}",
            file=path,
            field=settings.energy_column,
            hint="write a column with their sum and name it in export.energy_column, or rename the column if it is "
            "the whole energy of the meter",
        )
    times = times_of_day_us(table.header, ends=False)
    for name in times_not_read(table.header, times) if of_days else ():
        yield InputError(
            "looks like one more interval and is not read",
            file=path,
            field=name,
            hint="rename it, or number the columns; if it is for the hour that the clock repeats, give it that "
            "hour's name with an X after the number: HE01, HE02, HE02X",
        )


def columns_beside(path, settings: ExportSettings) -> list[Column]:
    """Return the columns of the first rows of files that the settings neither name nor take for intervals."""
    if not settings.has_other_columns:
        return []
    of_days = settings.format == "wide_csv"
    names = (settings.meter_column, settings.circuit_column, settings.unit_column, settings.energy_column)
    stamps = (settings.time_column, settings.time_of_day_column, settings.date_column)
    known, found = {*names, *stamps, *(settings.keep_rows or ())}, {}
    with suppress(InputError):
        for table in samples_of(path):
            of_day = interval_columns(table.header, settings) if of_days else ()
            for at, column in enumerate(table.columns):
                if column.name not in known and at not in of_day:
                    before = found.get(column.name, Column(column.name, ()))
                    tokens = tuple(dict.fromkeys(before.tokens + column.tokens))
                    found[column.name] = Column(column.name, tokens, before.entries + column.entries)
    few = [name for name, column in found.items() if len(column.tokens) <= _MOST_STATES]
    if few and settings.format != "parquet":
        for name, entries in entries_in(path, settings, few).items():
            tokens = dict.fromkeys(word for word in entries if word.lower() not in MISSING)
            found[name] = Column(name, tuple(tokens), tuple(entries))
    return list(found.values())


def columns_not_read(path, settings: ExportSettings) -> list[str]:
    """Say which columns with a few different entries are not read: one may say that a reading does not count."""
    said = []
    for column in columns_beside(path, settings):
        empty = bool({*column.entries} & MISSING)
        shown = _entries_of(column)
        if shown and 2 <= len(column.tokens) + empty <= _MOST_STATES and not column.is_stamp:
            # Longer ones may be names of customers, where there are few, but of registers.
            codes = all(len(entry) <= _CODE_CHARACTERS for entry in column.tokens)
            codes |= re.search(REGISTER, column.name, re.IGNORECASE) is not None
            said.append(f"'{column.name}'" + codes * f"{shown[:-1]}{', or empty' * empty})")
    if not said:
        return []
    more = f" and {len(said) - _MOST_NAMED} more" if len(said) > _MOST_NAMED else ""
    return [
        f"not read: {', '.join(said[:_MOST_NAMED])}{more}; if one of these marks readings as missing, estimated or "
        "not consumption, name the rows that count (export.keep_rows)"
    ]


def _multiplies(column: Column) -> bool:
    """Whether all entries are numbers of one or more, and not all of them are one."""
    if not column.is_number:
        return False
    tokens = [word for word in column.tokens if has_digit(word)]
    factors = np.array(column.notations[0].plain(pa.array(tokens, pa.string())).to_pylist(), float)
    return factors.min(initial=1) >= 1 and factors.max(initial=1) > 1


def _units_not_read(path, columns: list[Column], settings: ExportSettings) -> InputError | None:
    """Return an error if there are units in a column that is not read, and other ones than that of the settings."""
    kept = np.ones(len(columns[0].entries), bool)
    for column in columns:
        if column.name in (settings.keep_rows or ()):
            kept &= [entry in settings.keep_rows[column.name] for entry in column.entries]
    odd = None
    for column in filter(_has_units, columns):
        entries = {entry for entry, read in zip(column.entries, kept, strict=True) if read}
        units = {UNIT_NAMED.get(e.lower()) for e in entries if e.lower() not in MISSING}
        if units == {settings.unit}:
            return None  # that of the readings
        if any(unit is not None for unit in units):
            odd = odd or column
    if odd is None:
        return None
    return InputError(
        f"names units{_entries_of(odd)}, and all numbers would be read in {settings.unit}",
        file=path,
        field=odd.name,
        hint="name it in export.unit_column, and its entry for the readings in export.unit: then numbers are "
        "converted, and rows of other quantities are left out",
    )


def parts_of(name: str, header: list[str]) -> list[str]:
    """Return the columns that differ from one of readings by the phase or tariff they name alone, and it."""

    def stem(other: str) -> str | None:
        stems, found = _PART.subn("", other)
        return stems.strip(" _-").lower() if found == 1 else None

    alike = [other for other in header if stem(other) is not None and stem(other) == stem(name)]
    return alike if len(alike) > 1 else []
