"""How an export is written: the public settings every reader works from.

They mirror the ``export`` section of the configuration. A value no reader can work with is refused on construction,
so the readers need not check again.

How numbers are written: the mark before decimals and the one between thousands.

A number that does not fit the setting is never read as another one: thousands must stand in groups of three behind a
digit that is not 0, and a mark that is not set is no part of a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from functools import cache
from zoneinfo import ZoneInfo

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from meterdp.core.stamps import zone_hint
from meterdp.errors import InputError
from meterdp.ingest.shapes import SPREADSHEET, UNIX

DECIMALS = (".", ",")
# Windows' names take in those of ISO 8859, of which they are a little more.
ENCODINGS = (
    "utf-8",
    "utf-16",
    "windows-1252",
    "windows-1250",
    "windows-1251",
    "windows-1253",
    "windows-1254",
    "cp932",
    "shift_jis",
    "gb18030",
    "big5",
    "euc_kr",
)
# What stands for a mark: blanks that do not break a line and a typographic apostrophe are the same marks.
_WRITTEN_AS = {",": ",", ".": r"\.", " ": "[ \u00a0\u2009\u202f]", "'": "['\u2019]"}
THOUSANDS = tuple(_WRITTEN_AS)


@dataclass(frozen=True)
class Notation:
    decimal: str = "."
    thousands: str | None = None

    @property
    def pattern(self) -> str:
        """Regular expression of a whole number in this notation."""
        mark, digits = _WRITTEN_AS[self.decimal], r"\d+"
        if self.thousands is not None:
            digits = rf"(?:[1-9]\d{{0,2}}(?:{_WRITTEN_AS[self.thousands]}\d{{3}})+|\d+)"
        number = rf"(?:(?:{digits}(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?"
        return rf"^[+-]?{number}|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|[nN][aA][nN])$"

    def plain(self, texts: pa.Array) -> pa.Array:
        """Return texts that match :attr:`pattern` as pyarrow reads numbers."""
        if self.thousands is not None:
            texts = pc.replace_substring_regex(texts, _WRITTEN_AS[self.thousands], "")
        return texts if self.decimal == "." else pc.replace_substring(texts, self.decimal, ".")


PLAIN = Notation()


NOTATIONS = tuple(Notation(d, t) for t in (None, *THOUSANDS) for d in DECIMALS if d != t)


def notations_that_fit(texts: Iterable[str]) -> list[Notation]:
    """Return the notations in which every text is a number, those without a thousands separator first.

    "1,234" is a number with a decimal comma and one with a comma between thousands: both are returned.
    """
    texts = [text.strip() for text in texts]
    together, fitting = "".join(texts), []
    for notation in NOTATIONS:
        # Without its mark between thousands anywhere, a notation is the one without such a mark.
        bare = Notation(notation.decimal)
        if notation != bare and not re.search(_WRITTEN_AS[notation.thousands], together):
            fits = bare in fitting
        else:
            pattern = re.compile(notation.pattern, re.ASCII)
            fits = all(pattern.search(text) for text in texts)
        if fits:
            fitting.append(notation)
    return fitting


def settings_that_fit(text: str, current: Notation = PLAIN) -> str:
    """Return words that name the fewest changes of ``current`` under which ``text`` is a number, empty if none do."""

    def fits(decimal, thousands):
        return re.search(Notation(decimal, thousands).pattern, text.strip(), re.ASCII) is not None

    fitting = []
    for decimal in DECIMALS:
        for thousands in (None, *THOUSANDS):
            if thousands == decimal or not fits(decimal, thousands):
                continue
            if thousands not in (None, current.thousands) and fits(decimal, None):
                continue  # a mark the text does not have
            changes = [f'export.decimal to "{decimal}"'] if decimal != current.decimal else []
            if thousands != current.thousands:
                changes.append("export.thousands to " + ("null" if thousands is None else f'"{thousands}"'))
            fitting.append(changes)
    fewest = min(map(len, fitting), default=0)
    return " or ".join(" and ".join(changes) for changes in fitting if len(changes) == fewest > 0)


STAMPS = ("start", "end")
WIDE_LAYOUTS = ("days", "meters")
FLOWS = ("consumption", "net")
BAD_ROWS = ("refuse", "missing")
CONFLICTING_ROWS = ("last", "missing")
# A stray stamp (a meter's clock after a reset) must not stretch the grid of every household over decades.
LONGEST_EXPORT_DAYS = 20 * 366
WIDE_COLUMNS = ("times", "numbers")
# How a time format ends that has no more than the hour behind a date.
HOUR = " %H"
# Without a header: the first bytes of a file are a meter's, so its name says whether it is packed.
HEADERLESS = ("cer",)
# Half-hourly energy by definition.
HALF_HOURLY = ("lcl_csv", "cer")
HALF_HOUR_MINUTES = 30
CER_ZONE = "Europe/Dublin"
# Formats whose files say themselves what unit and stamp a reading has, and which of two counts.
SELF_DESCRIBED = {
    name: {"unit": "kWh", "stamp": "start", "conflicting_rows": "last"} for name in ("nem12", "green_button")
}

# kWh in an interval of m minutes = reading * numerator / denominator; two integers keep 123 Wh at exactly 0.123 kWh.
UNITS = {
    "kWh": lambda minutes: (1, 1),
    "Wh": lambda minutes: (1, 1000),
    "MWh": lambda minutes: (1000, 1),
    "kW": lambda minutes: (minutes, 60),
    "W": lambda minutes: (minutes, 60 * 1000),
}
UNIT_NAMED = {unit.lower(): unit for unit in UNITS}
# Units of what a meter measures beside energy: reactive and apparent energy and power, volts, amperes.
_NOT_OF_ENERGY = re.compile(r"[km]?(?:varh?|vah?|qh|v|a)|hz", re.IGNORECASE)


def measures_no_energy(unit: str) -> bool:
    """Whether a text names a unit of something else than energy and real power."""
    return _NOT_OF_ENERGY.fullmatch(unit) is not None


def conversion(text: str, unit: str, minutes: int) -> tuple[int, int] | None:
    """Return numerator and denominator that make numbers in the unit a text names numbers in ``unit``, of intervals
    of so many minutes; None if it names no unit.
    """
    named = UNIT_NAMED.get(text.lower())
    if named is None:
        return None
    factor = Fraction(*UNITS[named](minutes)) / Fraction(*UNITS[unit](minutes))
    return factor.numerator, factor.denominator


@dataclass(frozen=True, kw_only=True)
class ExportSettings:
    """The public description of an export, with the keys of config/README.md; refuses values not offered there."""

    format: str = "long_csv"  # a name in ``readers.interface.READERS``, which refuses what it does not know
    meter_column: str | None = "meter_id"  # None if every file is of one meter and called after it
    time_column: str = "interval_start"
    energy_column: str = "kwh"
    # Where time_column has the date alone; time_format is that of both with a blank between, or of the date alone if
    # this column counts the intervals of a day. An hour alone may be 24, and have a mark if the clock repeats it: 3A.
    time_of_day_column: str | None = None
    circuit_column: str | None = None
    unit_column: str | None = None
    # Of several registers, flows or states of a reading those rows are read that have one of these entries in every
    # one of these columns.
    keep_rows: Mapping[str, tuple[str, ...]] | None = None
    # In the layout "days" the part before the first blank or T is that of the date column.
    time_format: str = "%Y-%m-%d %H:%M"
    unit: str = "kWh"  # kW and W are mean power over the interval
    time_zone: str = "UTC"  # of stamps without an offset
    stamp: str = "start"
    interval_minutes: int = 15  # divides an hour, so that clock changes fall between intervals
    shortest_interval_minutes: int | None = None  # of readings that are added up to intervals
    # Compared without surrounding blanks.
    missing_words: tuple[str, ...] = ("", "Null", "NULL", "null", "NA", "NaN", "nan")
    encoding: str = "utf-8"  # of text in rows
    delimiter: str = ","
    wide_layout: str = "days"
    wide_columns: str = "times"  # named by times of day, or numbered by what has passed since local midnight
    skip_rows: int = 0
    skip_rows_after_header: int = 0
    decimal: str = "."
    thousands: str | None = None
    date_column: str = "date"
    # Energy delivered to the customer, or that minus the energy received, where formats tell them apart.
    flow: str = "consumption"
    period_us: tuple[int, int] | None = None  # UTC start and end of the public period, microseconds since 1970
    # With a public list of meters "missing": whether a run succeeds must not depend on a record
    bad_rows: str = "refuse"
    conflicting_rows: str = "last"
    max_unusable_share: float = 1.0
    typical_daily_kwh: tuple[float, float] = (0.0, float("inf"))  # of the median meter

    def __post_init__(self):
        for name, allowed in (
            ("encoding", ENCODINGS),
            ("unit", tuple(UNITS)),
            ("stamp", STAMPS),
            ("wide_layout", WIDE_LAYOUTS),
            ("wide_columns", WIDE_COLUMNS),
            ("decimal", DECIMALS),
            ("thousands", (None, *THOUSANDS)),
            ("bad_rows", BAD_ROWS),
            ("conflicting_rows", CONFLICTING_ROWS),
            ("flow", FLOWS),
        ):
            if getattr(self, name) not in allowed:
                _refuse(name, "is not a known choice", f"give one of {', '.join(map(str, allowed))}")
        if not isinstance(self.interval_minutes, int) or self.interval_minutes < 1 or 60 % self.interval_minutes:
            _refuse("interval_minutes", "does not divide an hour", "give the length of an interval, e.g. 15")
        self._check_shortest()
        if not isinstance(self.delimiter, str) or len(self.delimiter) != 1:
            _refuse("delimiter", "is not one character", "give the character between two fields, e.g. ','")
        for name in ("skip_rows", "skip_rows_after_header"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 0:
                _refuse(name, "is not a number of lines", "give 0 or how many lines to skip")
        if self.thousands == self.decimal:
            _refuse("thousands", "is the same as export.decimal", "give two different marks")
        if self.format != "long_csv" and self.time_of_day_column is not None:
            _refuse("time_of_day_column", f"does not go with {self.format}", "leave it out")
        if self.hours_rows and self.interval_minutes != 60:
            _refuse("interval_minutes", "does not fit an hour alone (export.time_format)", "set it to 60")
        if self.keep_rows is not None and self.format not in ("long_csv", "wide_csv", "parquet"):
            _refuse("keep_rows", f"does not go with {self.format}", "leave it out")
        of_readings = {self.time_column, self.time_of_day_column, self.date_column, self.energy_column}
        if of_readings & {*(self.keep_rows or ())}:
            _refuse("keep_rows", "names a column of stamps or readings", "name columns of registers, flows or states")
        if self.format in ("parquet", *SELF_DESCRIBED) and self.encoding != "utf-8":
            _refuse("encoding", f"does not go with {self.format}, where the file says it", "leave it out")
        if self.format == "parquet" and self.meter_column is None:
            _refuse("meter_column", "is missing, which a Parquet file needs", "name the column with the meter id")
        _check_zone(self.time_zone)
        _check_time_format(self.time_format)
        if self.format in HALF_HOURLY and (self.interval_minutes, self.unit) != (HALF_HOUR_MINUTES, "kWh"):
            _refuse(
                "interval_minutes",
                f"does not fit {self.format}, which is half-hourly and in kWh",
                f"set interval_minutes to {HALF_HOUR_MINUTES} and unit to kWh",
            )
        if self.format == "cer" and self.time_zone != CER_ZONE:
            _refuse("time_zone", "does not fit cer, whose days are Irish", f"set time_zone to {CER_ZONE}")
        for name, only in SELF_DESCRIBED.get(self.format, {}).items():
            if getattr(self, name) != only:
                _refuse(name, f"does not go with {self.format}, where the file says it", "leave it out")
        if self.format == "wide_csv" and self.wide_layout == "meters":
            for name in ("circuit_column", "unit_column", "keep_rows"):
                if getattr(self, name) is not None:
                    _refuse(name, "cannot be read from a column per meter", "leave it out")

    @property
    def has_other_columns(self) -> bool:
        """Whether rows may have columns beside meter, stamp and readings, such as registers or units."""
        of_days = self.format == "wide_csv" and self.wide_layout == "days"
        return of_days or self.format in ("long_csv", "parquet")

    @property
    def adds_up(self) -> bool:
        """Whether readings of shorter intervals can be added up: every row has a stamp, and all the same unit."""
        by_stamp = self.format in ("long_csv", "parquet") and not (self.numbers_rows or self.hours_rows)
        return by_stamp and self.unit_column is None

    def _check_shortest(self) -> None:
        name, shortest = "shortest_interval_minutes", self.shortest_interval_minutes
        if shortest is None:
            return
        divides = isinstance(shortest, int) and shortest > 0 and self.interval_minutes % shortest == 0
        if not divides or shortest == self.interval_minutes:
            _refuse(
                name, "must be shorter than export.interval_minutes and divide it", "give another interval, or none"
            )
        if self.unit_column is not None:
            hint = "keep the rows of one unit with export.keep_rows, and name it in export.unit"
            _refuse(name, "does not go with export.unit_column", hint)
        if self.format in SELF_DESCRIBED:
            _refuse(name, f"is not needed: {self.format} says which intervals are parts", "leave it out")
        if not self.adds_up:
            _refuse(name, "needs a stamp in every row", "leave it out")

    @classmethod
    def from_config(cls, mapping: Mapping) -> ExportSettings:
        """Make settings from the ``export`` section of the configuration.

        ``stamp_time_zone`` goes before ``time_zone`` where it is given, ``first_day`` and ``last_day`` (local days,
        both inclusive) make the period, a list of ``meters`` makes bad rows missing values and needs a period,
        ``path`` is not a setting of the format, and the Low Carbon London and Irish layouts are half-hourly unless
        something else is asked for. Raises ``InputError`` for a key there is no setting for, or a value that is not
        allowed.
        """
        elsewhere = ("path", "meters", "stamp_time_zone", "weekend", "first_day", "last_day", "incremental")
        values = {key: value for key, value in mapping.items() if key not in elsewhere}
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            _refuse(unknown[0], "is not a setting of an export", "see config/README.md for the keys that exist")
        values["time_zone"] = mapping.get("stamp_time_zone") or mapping.get("time_zone") or "UTC"
        values["period_us"] = _period_us(mapping)
        if mapping.get("meters") is not None:
            if values["period_us"] is None:
                _refuse("meters", "needs a public period", "give export.first_day and export.last_day")
            if mapping.get("format") == "wide_csv" and mapping.get("wide_layout") == "meters":
                _refuse(
                    "meters",
                    "cannot be used with a column per meter, where one bad cell spoils the row for all meters",
                    "export a row per reading, or per meter and day",
                )
            values["bad_rows"] = "missing"
        for name in {"missing_words", "typical_daily_kwh"} & set(values):
            values[name] = tuple(values[name])
        if values.get("keep_rows") is not None:
            values["keep_rows"] = {column: tuple(entries) for column, entries in values["keep_rows"].items()}
        if values.get("format") in HALF_HOURLY:
            values.setdefault("interval_minutes", HALF_HOUR_MINUTES)
        if values.get("format") in SELF_DESCRIBED and mapping.get("stamp_time_zone"):
            _refuse("stamp_time_zone", "does not go with a format that says it itself", "leave it out")
        return cls(**values)

    @property
    def packed_by_name(self) -> bool:
        """Whether the name of a file says that it is packed, and not its first bytes."""
        return self.format in HEADERLESS

    @property
    def notation(self) -> Notation:
        return Notation(self.decimal, self.thousands)

    @property
    def counts_intervals(self) -> bool:
        """Whether the file counts the intervals of a day and names no times, so that no stamp tells its clock."""
        return self.format == "cer" or self.wide_columns == "numbers" or self.numbers_rows

    @property
    def numbers_rows(self) -> bool:
        """Whether a column of a long CSV counts the intervals of a day from 1 on."""
        return self.time_of_day_column is not None and re.search("%[HIcX]", self.time_format) is None

    @property
    def hours_rows(self) -> bool:
        """Whether a column of a long CSV is the hour of the clock alone."""
        return self.time_of_day_column is not None and self.time_format.endswith(HOUR)

    @property
    def stamps_are_ends(self) -> bool:
        """Whether the stamps that a reader finds are ends of intervals; of an hour alone it finds the start."""
        return self.stamp == "end" and not self.hours_rows

    @property
    def interval_us(self) -> int:
        return self.interval_minutes * 60_000_000

    @property
    def parts(self) -> int:
        """How many of the shortest intervals make one."""
        return self.interval_minutes // (self.shortest_interval_minutes or self.interval_minutes)

    @property
    def step_us(self) -> int:
        """The shortest interval that readings are of."""
        return self.interval_us // self.parts

    @property
    def is_power(self) -> bool:
        return self.unit in ("kW", "W")

    @property
    def kwh_per_unit(self) -> tuple[int, int]:
        """Numerator and denominator of the factor that turns a reading into kWh per interval; power is that of a part
        as of the whole, so the mean of parts counts.
        """
        return UNITS[self.unit](self.interval_minutes)


def _period_us(mapping: Mapping) -> tuple[int, int] | None:
    """Return the period from local midnight of the first day to the one after the last day."""
    days = [mapping.get(key) for key in ("first_day", "last_day")]
    if days == [None, None]:
        return None
    if None in days or days[1] < days[0]:
        _refuse("last_day", "does not form a period with export.first_day", "give both days, in order, or neither")
    zone = ZoneInfo(mapping.get("time_zone") or "UTC")
    first, last = (date.fromisoformat(day) for day in days)
    if (last - first).days >= LONGEST_EXPORT_DAYS:
        _refuse(
            "last_day", f"is more than {LONGEST_EXPORT_DAYS // 366} years after export.first_day", "split the export"
        )
    edges = [datetime.combine(day, time(), zone) for day in (first, last + timedelta(days=1))]
    return tuple(int(edge.timestamp()) * 1_000_000 for edge in edges)


def _refuse(name: str, problem: str, hint: str) -> None:
    raise InputError(problem, field=f"export.{name}", hint=hint)


def _check_zone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError):
        raise InputError(
            "is not a known time zone",
            field="export.time_zone",
            hint=zone_hint(name),
        ) from None


@cache
def _check_time_format(time_format: str) -> None:
    if time_format == SPREADSHEET or time_format in UNIX:
        return
    try:
        pd.to_datetime(["1"], format=time_format, errors="coerce")
    except (ValueError, TypeError):
        raise InputError(
            "is not a strptime format",
            field="export.time_format",
            hint="write e.g. '%Y-%m-%d %H:%M', ISO8601, spreadsheet, unix_s or unix_ms",
        ) from None
