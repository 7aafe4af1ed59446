"""From the columns of a sample to settings: which column is what, in which layout, in which unit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyarrow as pa

from meterdp.core.errors import InputError
from meterdp.exports.guess.table import Column, Table
from meterdp.exports.numerals import PLAIN, Notation
from meterdp.exports.readers.cer import CODE_PATTERN
from meterdp.exports.readers.lcl_csv import ENERGY_COLUMNS, METER_COLUMN, TIME_COLUMNS
from meterdp.exports.readers.wide_csv import numbered_columns, times_of_day_us
from meterdp.exports.settings import CER_ZONE, HALF_HOUR_MINUTES

_MINUTE_US = 60_000_000
_MONTH = r"\d{4}[-/.]\d{1,2}|\d{1,2}[-/.]\d{4}|[A-Za-z]{3,9}[- ]\d{2,4}"
_JOINED = 500
# Columns that are times or numbers of intervals from here on make a day a row.
_FEWEST_INTERVALS = 20
_PER_DAY = (24, 48, 72, 96, 144, 288)

# Words in names of columns, German ones among them.
_METER = (
    r"meter|nmi|mpan|lclid|esiid|ean|obis|customer|household|home|account|device|serial|premise|site|house"
    r"|\bid\b|_id|id$|zähler"
)
_ENERGY = (
    r"kwh|wh\b|energy|consumption|usage|use\b|reading|value|import|delivered|load|demand|power|kw"
    r"|verbrauch|bezug|wert"
)
_TIME = r"time|date|stamp|start|begin|from|interval|period|zeit|datum|von"
_START, _END = r"start|begin|from|von", r"end|until|to$|bis|finish"
_CIRCUIT = r"circuit|feeder|transformer|substation"
_UNIT = r"unit|uom|einheit"
_OTHER_NUMBER = (
    r"temp|price|cost|tariff|volt|current|amp|kvar|export|generation|solar|pv|latitude|longitude|factor|status"
    r"|quality|flag|code"
)
_UNIT_WORD = re.compile(r"(?<![A-Za-z])(?:([kKmM]?[wW][hH])|(kW|KW|kw|W))(?![A-Za-z])")
_UNITS = {"kwh": "kWh", "mwh": "MWh", "wh": "Wh", "kw": "kW", "w": "W"}


@dataclass
class Layout:
    """Settings of an export as far as its first rows tell.

    Parameters
    ----------
    settings : dict
        Keys of the section ``export``.
    said : list of str
        What was found and why, in words, without an entry of the file.
    to_check : list of str
        What the file leaves open.
    """

    settings: dict = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    to_check: list[str] = field(default_factory=list)


def guess_layout(path, table: Table, *, several_files: bool) -> Layout:
    """Return the settings that read a CSV of this structure.

    Parameters
    ----------
    path : path-like
        For messages.
    table : Table
    several_files : bool
        Whether the export is a folder or archive of several files.

    Raises
    ------
    InputError
        If no column holds time stamps or none holds readings.
    """
    out = Layout()
    if not table.header:
        _day_codes(path, table, out)
        return out
    if METER_COLUMN in table.header and {*TIME_COLUMNS} & {*table.header} and {*ENERGY_COLUMNS} & {*table.header}:
        out.settings = {"format": "lcl_csv", "interval_minutes": HALF_HOUR_MINUTES, "time_zone": "Europe/London"}
        out.said.append("the columns are those of Low Carbon London")
        return out
    if table.delimiter != ",":
        out.settings["delimiter"] = table.delimiter
    if table.skip_rows:
        out.settings["skip_rows"] = table.skip_rows
        out.said.append(f"{table.skip_rows} lines stand above the header")
    if table.units_row:
        out.settings["skip_rows_after_header"] = 1
        out.said.append("a line of units stands under the header")
    for guess in (_days, _meters, _long):
        if guess(path, table, out, several_files):
            _unit(table, out)
            return out
    raise InputError(
        f"has no column of time stamps in a format we know; its columns are {_names(table)}",
        file=path,
        remedy="give export.time_format in strptime notation, and name the columns",
    )


def _names(table: Table) -> str:
    if len(table.header) > 12:
        return f"{len(table.header)} in number"
    return ", ".join(repr(name) for name in table.header)


def _day_codes(path, table: Table, out: Layout) -> None:
    """Three fields without a header, the second of five digits: the day codes of the Irish trial."""
    columns = table.columns
    if (
        table.delimiter == " "
        and len(columns) == 3
        and all(re.fullmatch(CODE_PATTERN, word) for word in columns[1].words)
    ):
        out.settings = {"format": "cer", "time_zone": CER_ZONE, "interval_minutes": HALF_HOUR_MINUTES}
        out.said.append("three fields without a header, the second a day code: the layout of the Irish trial (CER)")
        return
    raise InputError(
        "has no header",
        file=path,
        row=1,
        remedy="write the column names into the first row, e.g. meter_id,interval_start,kwh",
    )


def _days(path, table: Table, out: Layout, several_files: bool) -> bool:
    """A row per meter and day."""
    times = times_of_day_us(table.header, ends=False)
    if len(times) < _FEWEST_INTERVALS:
        times = {}
    per_day, numbers = next(
        ((n, found) for n in _PER_DAY if (found := numbered_columns(table.header, n, n // 24))), (0, {})
    )
    if not times and not numbers:
        return False
    intervals = set(times or numbers)
    others = [c for i, c in enumerate(table.columns) if i not in intervals]
    date = _best(others, _TIME, lambda c: bool(c.time_formats))
    if date is None:
        raise InputError(
            "has a column per interval but none of dates in a format we know",
            file=path,
            remedy="give export.date_column and export.time_format",
        )
    out.settings |= {"format": "wide_csv", "wide_layout": "days", "date_column": date.name}
    _time_format(date, out)
    _meter([c for c in others if c is not date], out, several_files)
    _notation([c for i, c in enumerate(table.columns) if i in intervals], out)
    if times:
        order = sorted(times.values())
        step = int(np.median(np.diff(order)))
        out.settings["interval_minutes"] = step // _MINUTE_US
        if next(iter(times.values())) == step:
            out.settings["stamp"] = "end"
            out.said.append("the first column of a day is not 00:00 but one interval later: times are ends")
    else:
        out.settings["wide_columns"] = "numbers"
        out.settings["interval_minutes"] = 24 * 60 // per_day
    return True


def _meters(path, table: Table, out: Layout, several_files: bool) -> bool:
    """A row per stamp and a column per meter."""
    stamps = [c for c in table.columns if c.is_stamp]
    rest = [c for c in table.columns if not c.is_stamp]
    if len(stamps) != 1 or len(rest) < 2 or not all(c.is_number or not c.words for c in rest):
        return False
    named = [c for c in rest if re.search(f"{_ENERGY}|{_OTHER_NUMBER}|{_METER}", c.name, re.IGNORECASE)]
    # Names of meters differ in their numbers only; names of quantities do not.
    stems = {re.sub(r"\d+", "", c.name) for c in rest}
    if named and len(stems) > 1:
        return False
    stamp = stamps[0]
    out.settings |= {"format": "wide_csv", "wide_layout": "meters", "time_column": stamp.name}
    _time_format(stamp, out)
    _notation(rest, out)
    out.said.append(f"a column per meter: {len(rest)} of them")
    return True


def _long(path, table: Table, out: Layout, several_files: bool) -> bool:
    """A row per reading."""
    stamps = [c for c in table.columns if c.is_stamp]
    if not stamps:
        dates = [c for c in table.columns if c.is_date]
        times = [c for c in table.columns if c.is_time]
        if dates and times:
            stamps = [_joined(dates[0], times[0], out)]
        elif dates or any(re.fullmatch(_MONTH, w) for c in table.columns for w in c.words[:1]):
            raise InputError(
                "has a date per row and no time of day: daily or monthly sums, not an interval export",
                file=path,
                remedy="ask for the readings of every quarter, half or whole hour",
            )
        else:
            return False
    stamp = _best(stamps, _START, lambda c: True) or stamps[0]
    if stamp.name != "interval_start":
        out.settings["time_column"] = stamp.name
    _time_format(stamp, out)
    if (
        len(stamps) == 1
        and re.search(_END, stamp.name, re.IGNORECASE)
        and not re.search(_START, stamp.name, re.IGNORECASE)
    ):
        out.settings["stamp"] = "end"
        out.said.append("the column of stamps is called after the ends of intervals")
    taken = {c.name for c in stamps} | {out.settings.get("time_of_day_column")}
    rest = [c for c in table.columns if c.name not in taken]
    meter = _meter(rest, out, several_files)
    numbers = [c for c in rest if c is not meter and c.is_number]
    energy = _best(numbers, _ENERGY, lambda c: not re.search(_OTHER_NUMBER, c.name, re.IGNORECASE))
    if energy is None and len(numbers) == 1:
        energy = numbers[0]
    if energy is None:
        named = ", ".join(repr(c.name) for c in numbers) or "none"
        raise InputError(
            f"has no column that is clearly the energy; columns of numbers: {named}",
            file=path,
            remedy="name it in export.energy_column",
        )
    if energy.name != "kwh":
        out.settings["energy_column"] = energy.name
    others = [c for c in numbers if c is not energy and re.search(_ENERGY, c.name, re.IGNORECASE)]
    if others:
        out.to_check.append(
            f"readings are taken from '{energy.name}'; '{others[0].name}' could be meant, too (export.energy_column)"
        )
    _notation([energy], out)
    circuit = _best(rest, _CIRCUIT, lambda c: c not in (meter, energy) and re.search(_CIRCUIT, c.name, re.IGNORECASE))
    if circuit is not None:
        out.settings["circuit_column"] = circuit.name
    unit = _best(rest, _UNIT, lambda c: all(w.lower() in _UNITS for w in c.words) and bool(c.words))
    if unit is not None:
        out.settings["unit_column"] = unit.name
    return True


def _joined(day: Column, time: Column, out: Layout) -> Column:
    """Return date and time of day as one column of stamps."""
    out.settings["time_of_day_column"] = time.name
    words = tuple(f"{d} {t}" for d, t in zip(day.words * len(time.words), time.words * len(day.words), strict=True))
    return Column(day.name, words[:_JOINED])


def _best(columns: Iterable[Column], names: str, allowed: Callable[[Column], object]) -> Column | None:
    """Return the first column whose name fits, or else the first that is allowed at all."""
    columns = [c for c in columns if allowed(c)]
    named = [c for c in columns if re.search(names, c.name, re.IGNORECASE)]
    return (named or columns or [None])[0]


def _meter(columns: list[Column], out: Layout, several_files: bool) -> Column | None:
    """Find the column of meter ids; without one every file is a meter."""
    named = [
        c
        for c in columns
        if re.search(_METER, c.name, re.IGNORECASE)
        and not re.search(rf"{_CIRCUIT}|{_UNIT}|{_OTHER_NUMBER}|type|model", c.name, re.IGNORECASE)
        # Readings change from row to row; "meter reading" is not the name of a meter.
        and not (c.is_number and any("." in w or "," in w for w in c.words))
        and not re.search(r"kwh|reading|usage|consumption|value", c.name, re.IGNORECASE)
    ]
    texts = [
        c
        for c in columns
        if c.words
        and not c.is_number
        and not c.time_formats
        and not c.is_time
        and not re.search(f"{_UNIT}|{_CIRCUIT}|{_OTHER_NUMBER}|type|note|comment", c.name, re.IGNORECASE)
        and not all(w.lower() in _UNITS for w in c.words)
    ]
    meter = (named or ([] if several_files else texts) or [None])[0]
    if meter is None:
        out.settings["meter_column"] = None
        out.said.append("no column names a meter: every file is one meter, called like the file")
    elif meter.name != "meter_id":
        out.settings["meter_column"] = meter.name
    if len(named) > 1:
        out.to_check.append(
            f"meters are told apart by '{named[0].name}'; '{named[1].name}' could be meant, too (export.meter_column)"
        )
    return meter


def _time_format(column: Column, out: Layout) -> None:
    formats = column.time_formats
    chosen = formats[0]
    if len(formats) > 1:
        chosen = _most_regular(column.words, formats)
        out.to_check.append(
            f"stamps fit {' and '.join(formats)}; {chosen} puts them in the more regular order (export.time_format)"
        )
    if chosen != "%Y-%m-%d %H:%M":
        out.settings["time_format"] = chosen


def _most_regular(words: tuple[str, ...], formats: tuple[str, ...]) -> str:
    """Return the format under which steps between neighbours are most often the same."""

    def regularity(time_format: str) -> float:
        given = pd.to_datetime(list(words), format=time_format, errors="coerce")
        if given.isna().any():
            return 0.0
        steps = np.diff(given.to_numpy())
        _, counts = np.unique(steps, return_counts=True)
        # Of formats that make most steps alike the one that jumps least: months for days go back and forth.
        return counts.max(initial=0) / max(1, len(steps)) - len(counts) / max(1, len(steps) + 1)

    return max(formats, key=regularity)


def _notation(columns: list[Column], out: Layout) -> None:
    """Find the notation in which all readings are numbers."""
    filled = [c for c in columns if c.words]
    if not filled:
        return
    common = [n for n in filled[0].notations if all(n in c.notations for c in filled)]
    if not common:
        out.to_check.append("some readings are no numbers, or are written in several ways (export.missing_words)")
        return
    chosen = common[0]
    if chosen != PLAIN and Notation(",") in common and Notation(".", ",") in common:
        words = [w for c in filled for w in c.words]
        chosen = min((Notation(","), Notation(".", ",")), key=lambda notation: _spread(words, notation))
        out.to_check.append(
            "a comma may be the decimal mark or stand between thousands (export.decimal, export.thousands)"
        )
    if chosen.decimal != ".":
        out.settings["decimal"] = chosen.decimal
    if chosen.thousands is not None:
        out.settings["thousands"] = chosen.thousands


def _spread(words: list[str], notation: Notation) -> float:
    """Return how many orders of magnitude the numbers differ by: more if marks are taken for others."""
    values = np.abs(notation.plain(pa.array(words)).cast(pa.float64()).to_numpy())
    return float(np.log(values[values > 0]).std()) if (values > 0).any() else 0.0


def _unit(table: Table, out: Layout) -> None:
    """Take the unit from a column of units, the name of the readings' column or the lines above."""
    if "unit_column" in out.settings:
        column = next(c for c in table.columns if c.name == out.settings["unit_column"])
        words = {_UNITS[w.lower()] for w in column.words}
        where = "the column of units"
    else:
        energy = out.settings.get("energy_column", "kwh")
        named = [name for name in table.header if name == energy]
        words, where = _units_in(named), "the name of the column of readings"
        if not words:
            words, where = _units_in([table.above]), "the lines above the readings"
    if len(words) == 1:
        unit = words.pop()
        out.said.append(f"the unit is {unit}: {where} says so")
        if unit != "kWh":
            out.settings["unit"] = unit
    else:
        out.settings["unit"] = None  # left to the size of the readings


def _units_in(texts: list[str]) -> set[str]:
    found = set()
    for text in texts:
        for energy, power in _UNIT_WORD.findall(text):
            found.add(_UNITS.get((energy or power).lower()))
    return found - {None}
