"""From the columns of a sample to settings: which column is what, in which layout, in which unit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from meterdp.core.stamps import MINUTE_US
from meterdp.errors import InputError
from meterdp.ingest.batch import NO_STAMP
from meterdp.ingest.fields import NUMBER_OF_DAY, StampParser
from meterdp.ingest.findings import ONLY_RISES
from meterdp.ingest.inference.quantities import SELDOM, Kept, Rows, kept_rows, parts_of
from meterdp.ingest.inference.table import MISSING, Column, Table, best, has_digit, repeats
from meterdp.ingest.inference.words import (
    ALSO_POINT,
    CIRCUIT,
    CONSUMER,
    CONSUMER_ID,
    COUNTER,
    END,
    ENERGY,
    FEED_IN,
    METER,
    METER_FIRST,
    METER_NEXT,
    NOT_ACTIVE,
    NOT_OF_READING,
    OTHER_NUMBER,
    PART_OF_METER,
    POINT,
    START,
    TIME,
    UNIT,
    UTC_NAME,
)
from meterdp.ingest.inference.zone import CLOCKS, Offsets, hours_by_clock, set_back_on
from meterdp.ingest.readers.cer import CODE_PATTERN
from meterdp.ingest.readers.long_csv import ENERGY_COLUMNS, METER_COLUMN, TIME_COLUMNS
from meterdp.ingest.readers.wide_csv import named_twice, numbered_columns, repeated_columns, times_of_day_us
from meterdp.ingest.settings import (
    CER_ZONE,
    HALF_HOUR_MINUTES,
    HOUR,
    PLAIN,
    UNIT_NAMED,
    ExportSettings,
    Notation,
    measures_no_energy,
)

_MONTH = r"\d{4}[-/.]\d{1,2}|\d{1,2}[-/.]\d{4}|[A-Za-z]{3,9}[- ]\d{2,4}"
_JOINED = 500
_CODE_OF_HOME = rf"(?:{POINT}|{METER_FIRST}|customer|household|home|account|premise)[\W_]*code"
# Steps between readings of meters that tell whether these are registers.
_FEWEST_STEPS = 19
# Share of the rows of a meter with another entry than the row before, of a column that says what the meter is.
_MOST_CHANGES = 0.01
# Columns that are times or numbers of intervals from here on make a day a row.
_FEWEST_INTERVALS = 20
_INTERVAL_NAME = r"\D{0,3}(\d{1,2}[:.h]?\d\d)|\d{1,2}(:\d\d)? ?[AaPp][Mm]"
_PER_DAY = (24, 48, 72, 96, 144, 288)
_MOST_INTERVALS = 300  # of a day of 25 hours

_UNIT_WORD = re.compile(r"(?<![A-Za-z])(?:([kKmM]?[wW][hH])|(kW|KW|kw|W))(?![A-Za-z])")
# Written out, as in kilowatt_hours.
_WATT_HOURS = re.compile(r"(?<![A-Za-z])(kilo|mega|)[\W_]*watt[\W_]*hours?(?![A-Za-z])", re.IGNORECASE)
_IN_WATTS = re.compile(r"(?:power|load|leistung|potenza|potencia|puissance)_w$", re.IGNORECASE)
# How a sentence about the unit begins.
UNIT_SAID = "the unit is"
# How one ends that says that a column has numbers of intervals.
_COUNTS = "counts the intervals of a day"
# Why stamps are ends.
ENDS_SAID = (
    "the first column of a day is not 00:00 but one interval later: times are ends",
    "the column of stamps is named after the ends of intervals",
    "hours go by the clock, 24 is the last of every day: they are the ends of intervals",
)


@dataclass
class Layout:
    """Settings of an export as far as its first rows tell."""

    settings: dict = field(default_factory=dict)  # keys of the section ``export``
    said: list[str] = field(default_factory=list)  # what was found and why, without an entry of the file
    to_check: list[str] = field(default_factory=list)  # what the file leaves open
    other_formats: list[str] = field(default_factory=list)  # of stamps, that fit the first rows as well
    kept: Kept = field(default_factory=Kept)  # which rows are the consumption
    intervals: tuple[str, ...] = ()  # columns that may be energy and of which nothing says that they count up
    names: tuple[str, str] | None = None  # the column of meters, and another that may be it
    zones: tuple[str, ...] = ()  # one for every rule of clock changes that the days of 25 hours follow
    offsets: Offsets | None = None  # that the stamps of the first rows carry
    by_clock: bool | None = False  # whether hours are numbered by the clock; None if the first rows do not tell

    def tell_clock(self, other: Layout) -> None:
        """Let the first rows of another file tell whether hours are numbered by the clock."""
        column = "time_of_day_column"
        if self.by_clock is None and self.settings[column] == other.settings.get(column):
            self.by_clock = other.by_clock
            if other.by_clock:
                self.go_by_clock(other.zones)

    def tell_names(self, tables: Iterable[Table]) -> None:
        """Say that another column may name meters, and which, in some rows, has several entries to an entry of the
        other, as after an exchange of a meter or a move.
        """
        if self.names is None:
            return
        found = ({column.name: column.entries for column in table.columns} for table in tables)
        known = ([of[name] for name in self.names] for of in found if of.keys() >= {*self.names})
        pairs = {pair for entries in known for pair in zip(*entries, strict=True) if all(pair)}
        chosen, other = self.names
        said = (
            f"meters are distinguished by '{chosen}'; '{other}' is possible, too: use the one that stays with a home "
            "when meters are exchanged and tenants move (export.meter_column)"
        )
        few, many = sorted((0, 1), key=lambda at: len({pair[at] for pair in pairs}))
        if len({pair[few] for pair in pairs}) < len({pair[many] for pair in pairs}) == len(pairs):
            said += (
                f"; some entries of '{self.names[few]}' have several of '{self.names[many]}': if these are one "
                f"home, '{self.names[many]}' would split it into several, with separate budgets"
            )
        self.to_check.append(said)

    def with_intervals(self, found: Iterable[InputError], column: str) -> list[InputError]:
        """Name the column beside one of readings that is found to be a register."""
        other = next((name for name in self.intervals if name != column), None)
        hint = f"name '{other}' instead, if that is the consumption per interval"
        return [
            InputError(ONLY_RISES, file=error.file, field=error.field, hint=hint)
            if other is not None and error.problem == ONLY_RISES
            else error
            for error in found
        ]

    def go_by_clock(self, zones: tuple[str, ...]) -> None:
        """Take numbers of hours for those of the clock of one of some zones."""
        self.settings |= {"time_format": self.settings["time_format"] + HOUR, "stamp": "end"}
        self.said[:] = [sentence for sentence in self.said if not sentence.endswith(_COUNTS)]
        names = " or ".join(CLOCKS[zone] for zone in zones)
        self.said += [ENDS_SAID[2], f"hours are skipped or repeated when {names} clocks change"]
        self.by_clock, self.zones = True, zones


def infer_layout(path, table: Table, *, several_files: bool, given: Mapping | None = None) -> Layout:
    """Return the settings that read a CSV of this structure, one of several files or alone; ``given`` may name
    the rows to keep (``export.keep_rows``), and the column of meters where it is known from other rows.

    Raises ``InputError`` if no column holds time stamps or none holds readings.
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
        out.said.append(
            "1 line stands above the header"
            if table.skip_rows == 1
            else f"{table.skip_rows} lines stand above the header"
        )
    if table.units_row:
        out.settings["skip_rows_after_header"] = 1
        out.said.append("a line of units stands under the header")
    names = [name for name in table.header if name]
    if len({*names}) < len(names):
        _refuse_rows_of_text(path, table)
    for guess in (_days, _meters, _long):
        if guess(path, table, out, several_files, given or {}):
            _unit(table, out)
            return out
    _refuse_rows_of_text(path, table)
    raise InputError(
        f"has no column of time stamps in a format we know; its columns: {_names(table.header)}",
        file=path,
        hint="give export.time_format in strptime notation, and name the columns",
    )


def _refuse_rows_of_text(path, table: Table) -> None:
    """Say that of several rows above the readings one names the columns: that with the most names, and if it repeats
    some, the others say what these columns are.
    """
    if len(table.rows_of_text) < 3:
        return
    row, names = max(table.rows_of_text, key=lambda row: len({*row[1]}))
    if (twice := named_twice([name for name in names if name])) is not None:
        problem, hint = twice
        raise InputError(problem, file=path, row=row, hint=hint)
    begin, end = table.rows_of_text[0][0], table.rows_of_text[-1][0]
    raise InputError(
        f"rows {begin} to {end} hold no readings",
        file=path,
        hint="delete all of them except the one that names the columns, or point to it with export.skip_rows and "
        "export.skip_rows_after_header",
    )


def _names(names: list[str]) -> str:
    """Return the names of columns that are words we know; others may be meter ids."""
    known = f"{METER}|{ENERGY}|{TIME}|{START}|{END}|{UNIT}|{CIRCUIT}|{OTHER_NUMBER}"
    shown = [repr(n) for n in names if re.search(known, n, re.IGNORECASE) and not re.search(r"\d{3}", n)][:12]
    others = len(names) - len(shown)
    return ", ".join([*shown, *([f"{others} that are not shown"] if others else [])])


def _day_codes(path, table: Table, out: Layout) -> None:
    """Three fields without a header, the second of five digits: the day codes of the Irish trial."""
    columns = table.columns
    if (
        table.delimiter == " "
        and len(columns) == 3
        and all(re.fullmatch(CODE_PATTERN, word) for word in columns[1].tokens)
    ):
        out.settings = {"format": "cer", "time_zone": CER_ZONE, "interval_minutes": HALF_HOUR_MINUTES}
        out.said.append("three fields without a header, the second a day code: the layout of the Irish trial (CER)")
        return
    raise InputError(
        "has no header",
        file=path,
        row=1,
        hint="write the column names into the first row, e.g. meter_id,interval_start,kwh",
    )


def _days(path, table: Table, out: Layout, several_files: bool, given: Mapping) -> bool:
    """A row per meter and day."""
    times = times_of_day_us(table.header, ends=False)
    if len(times) < _FEWEST_INTERVALS:
        times = {}
    per_day, numbers = next(
        ((n, found) for n in _PER_DAY if (found := numbered_columns(table.header, n, n // 24))), (0, {})
    )
    if not times and not numbers:
        return False
    repeated = {} if times else repeated_columns(table.header, numbers)
    intervals = {*(times or numbers), *repeated}
    others = [c for i, c in enumerate(table.columns) if i not in intervals]
    date = best(others, TIME, lambda c: bool(c.time_formats))
    if date is None:
        raise InputError(
            "has a column per interval but none of dates in a format we know",
            file=path,
            hint="give export.date_column and export.time_format",
        )
    out.settings |= {"format": "wide_csv", "wide_layout": "days", "date_column": date.name}
    _time_format(date, out)
    rest = [c for c in others if c is not date and not c.counts_rows]
    meter = _named(given.get("meter_column"), rest) or _meter([date], rest, out, several_files)
    cells = [c for i, c in enumerate(table.columns) if i in intervals]
    rows = Rows([date, *([meter] if meter else [])], [c for c in others if c is not date], cells[len(cells) // 2])
    out.kept = kept_rows(path, rows, given)
    _notation(cells, out)
    if times:
        order = sorted(times.values())
        step = int(np.median(np.diff(order)))
        out.settings["interval_minutes"] = step // MINUTE_US
        if next(iter(times.values())) == step:
            out.settings["stamp"] = "end"
            out.said.append(ENDS_SAID[0])
    else:
        out.settings["wide_columns"] = "numbers"
        out.settings["interval_minutes"] = 24 * 60 // per_day
        longer = [position for position, number in numbers.items() if number > per_day]
        columns = [table.columns[position] for position in [*repeated, *longer]]
        cells = ((day, entry) for c in columns for day, entry in zip(date.entries, c.entries, strict=True))
        begin_us = None
        if repeated:
            begin_us = (min(repeated.values()) - 1) * out.settings["interval_minutes"] * MINUTE_US
            names = ", ".join(f"'{table.header[position]}'" for position in repeated)
            out.said.append(f"{names} is the hour that the clock repeats, so the others follow the clock, too")
        _days_of_25_hours({day for day, entry in cells if re.search("[1-9]", entry)}, begin_us, out)
    among = [table.header[p] for p in range(min(intervals), max(intervals)) if p not in intervals]
    if among:
        more = f" and {len(among) - 1} others are" if len(among) > 1 else " is"
        out.to_check.append(f"'{among[0]}'{more} not read, though among the columns of intervals")
    return True


def _days_of_25_hours(days: Iterable[str], begin_us: int | None, out: Layout) -> None:
    """Find zones by the days with a 25th hour, and by when it begins if that is known."""
    day_us, _, _ = StampParser(out.settings["time_format"], ()).read_words(sorted(days))
    out.zones = set_back_on(day_us, begin_us)
    if out.zones:
        names = " or ".join(CLOCKS[zone] for zone in out.zones)
        out.said.append(f"days of 25 hours are those on which {names} clocks are set back")


def _meters(path, table: Table, out: Layout, several_files: bool, given: Mapping) -> bool:
    """A row per stamp and a column per meter."""
    stamps = [c for c in table.columns if c.is_stamp]
    rest = [c for c in table.columns if not c.is_stamp]
    if len(stamps) != 1 or len(rest) < 2 or not all(c.is_number or not c.tokens for c in rest):
        return False
    # Names of meters differ in their numbers only; names of quantities do not. A stamp that returns has other meters.
    if len({re.sub(r"\d+", "", c.name) for c in rest}) > 1:
        named = [c for c in rest if re.search(f"{ENERGY}|{OTHER_NUMBER}|{METER_FIRST}", c.name, re.IGNORECASE)]
        if len(named) > len(rest) / 4 or any(c.counts_rows for c in rest) or repeats(stamps) > SELDOM:
            return False
        out.to_check.append("every column except the stamps is taken for a meter: remove those that are not")
    stamp = stamps[0]
    out.settings |= {"format": "wide_csv", "wide_layout": "meters", "time_column": stamp.name}
    _time_format(stamp, out)
    _offsets(stamp, out)
    _notation(rest, out)
    out.said.append(f"a column per meter: {len(rest)} of them")
    out.to_check.append(
        "a study can be made from a column per meter, but no release: for one, write a row per reading "
        "(docs/howto/export.md)"
    )
    return True


def _long(path, table: Table, out: Layout, several_files: bool, given: Mapping) -> bool:
    """A row per reading."""
    stamp, parts = _stamp(path, table, out)
    if stamp is None:
        return False
    if stamp.name != "interval_start":
        out.settings["time_column"] = stamp.name
    rest = [c for c in table.columns if c not in parts and not c.counts_rows]
    meter = _named(given.get("meter_column"), rest) or _meter(parts, rest, out, several_files)
    numbers = [c for c in rest if c is not meter and c.is_number]
    energy = _energy(numbers, meter)
    likely = [c for c in numbers if _is_energy(c)]
    out.intervals = tuple(c.name for c in likely if not _counts_up(c, numbers, meter))
    if energy is None:
        if not numbers:
            _refuse_rows_of_text(path, table)
        named = _names([c.name for c in numbers]) or "none"
        raise InputError(
            f"has no column that is clearly the energy; columns of numbers: {named}",
            file=path,
            hint="name it in export.energy_column",
        )
    if energy.name != "kwh":
        out.settings["energy_column"] = energy.name
    # Of homes without panels it may be empty, and of the first rows as a whole.
    empty = [c for c in rest if c is not meter and not c.tokens and re.search(ENERGY, c.name, re.IGNORECASE)]
    fed_in = [c for c in (*numbers, *empty) if re.search(FEED_IN, c.name, re.IGNORECASE)]
    others = [c for c in numbers if c not in (energy, *fed_in)]
    if _is_energy(energy):
        others = [c for c in others if re.search(ENERGY, c.name, re.IGNORECASE)]
    else:
        others = [c for c in others if not _stays(c, meter)]
    others = [c for c in others if not re.search(NOT_ACTIVE, c.name, re.IGNORECASE)]
    out.to_check += odd_column(energy.name, None)
    if fed_in and energy not in fed_in:
        out.to_check.append(
            f"'{fed_in[0].name}' looks like energy fed in, which is not read: for net load subtract it in the "
            "export, and name the column of the difference (export.energy_column)"
        )
    if others and not parts_of(energy.name, table.header):
        out.to_check.append(
            f"readings are taken from '{energy.name}'; '{others[0].name}' is possible, too (export.energy_column)"
        )
    rows = Rows([stamp, *([meter] if meter else [])], [c for c in rest if c is not energy], energy)
    out.kept = kept_rows(path, rows, given)
    _notation([energy], out)
    circuit = best(rest, CIRCUIT, lambda c: c not in (meter, energy) and re.search(CIRCUIT, c.name, re.IGNORECASE))
    if circuit is not None:
        out.settings["circuit_column"] = circuit.name
    return True


def _stamp(path, table: Table, out: Layout) -> tuple[Column | None, list[Column]]:
    """Return the column of stamps, put together where dates and times stand apart, and all columns of dates."""
    parts = [c for c in table.columns if c.is_stamp or c.is_date or c.is_time]
    parts = [c for c in parts if not c.counts_rows and not (c.is_number and re.search(METER, c.name, re.IGNORECASE))]
    _refuse_other_stamps(path, table)
    dates, times = ([c for c in parts if kind(c)] for kind in (lambda c: c.is_date, lambda c: c.is_time))
    stamps = [c for c in parts if c.is_stamp]
    joined = None
    if dates and times:
        of_day = best(times, START, lambda c: True)
        day = best(dates, START, lambda c: not re.search(NOT_OF_READING, c.name, re.IGNORECASE)) or dates[0]
        entries = tuple(f"{d} {t}" if d and t else "" for d, t in zip(day.entries, of_day.entries, strict=True))
        joined = Column(day.name, tuple(dict.fromkeys(e for e in entries if e)), entries)
        stamps = [*stamps, joined] if joined.time_formats else stamps
    # A date of processing changes seldom; an id or a reading may look like a date.
    most = max((len(c.tokens) for c in stamps), default=0)
    stamps = [c for c in stamps if len(c.tokens) >= most / 2]
    if not stamps:
        if dates and (number := _number_of_day(table)) is not None:
            day = best(dates, TIME, lambda c: not re.search(NOT_OF_READING, c.name, re.IGNORECASE)) or dates[0]
            return _numbered(day, number, out), [*parts, number]
        if dates or any(re.fullmatch(_MONTH, w) for c in table.columns for w in c.tokens[:1]):
            _refuse_dates(path, table)
        return None, []
    stamp = best(stamps, START, lambda c: not re.search(NOT_OF_READING, c.name, re.IGNORECASE)) or stamps[0]
    name = stamp.name
    if stamp is joined:
        out.settings["time_of_day_column"] = name = of_day.name
        name = f"{name} {day.name}"
    ends = re.search(END, name, re.IGNORECASE) and not re.search(START, name, re.IGNORECASE)
    if ends and (stamp is joined or len(stamps) == 1):
        out.settings["stamp"] = "end"
        out.said.append(ENDS_SAID[1])
    if stamp is joined and _ends_on_its_own_day(joined):
        raise InputError(
            "writes the end of a day as 00:00 of the same day, not of the next",
            file=path,
            field=of_day.name,
            hint="write the starts of the intervals, or the date of the next day",
        )
    if re.search(UTC_NAME, name, re.IGNORECASE):
        out.settings["stamp_time_zone"] = "UTC"
        out.said.append("the column of stamps is named after UTC")
    _time_format(stamp, out)
    _offsets(stamp, out)
    return stamp, parts


def _number_of_day(table: Table) -> Column | None:
    """Return the column that counts the intervals of a day from 1 on, if there is one."""
    for column in table.columns:
        found = [NUMBER_OF_DAY.fullmatch(word) for word in column.tokens]
        if len(found) < _FEWEST_INTERVALS or not all(m and 0 < int(m[1]) <= _MOST_INTERVALS for m in found):
            continue
        # Whose clock is set back, has one hour of that name.
        if sum(m[2] is not None for m in found) <= 1 and not column.counts_rows:
            return column
    return None


def _numbered(day: Column, number: Column, out: Layout) -> Column:
    """Take dates and numbers of intervals for stamps."""
    _time_format(day, out)
    found = {word: NUMBER_OF_DAY.fullmatch(word) for word in number.tokens}
    numbers = {word: int(m[1]) if m[2] is None else -int(m[1]) for word, m in found.items()}
    most = max(numbers.values())
    per_day = next(n for n in reversed(_PER_DAY) if n <= most or n == _PER_DAY[0])
    out.settings |= {"time_of_day_column": number.name, "interval_minutes": 24 * 60 // per_day}
    out.said.append(f"'{number.name}' {_COUNTS}")
    both = [(d, numbers[n]) for d, n in zip(day.entries, number.entries, strict=True) if d and n in numbers]
    by_clock = _by_clock(both, out) if per_day == _PER_DAY[0] else {}
    if zones := tuple(zone for zone, so in by_clock.items() if so):
        out.go_by_clock(zones)
    else:
        out.by_clock = False if by_clock or per_day > _PER_DAY[0] else None
        _days_of_25_hours({d for d, n in both if n > per_day}, None, out)
    entries = tuple(f"{d} {n}" if d and n else "" for d, n in zip(day.entries, number.entries, strict=True))
    return Column(day.name, tuple(dict.fromkeys(filter(None, entries))), entries)


def _by_clock(entries: list[tuple[str, int]], out: Layout) -> dict[str, bool]:
    """Return :func:`hours_by_clock` of days and numbers."""
    counts = Counter(entries)
    days = sorted({day for day, _ in counts})
    day_us, _, _ = StampParser(out.settings["time_format"], ()).read_words(days)
    found = {int(at): Counter() for at in day_us}
    at = dict(zip(days, day_us.tolist(), strict=True))
    for (day, number), count in counts.items():
        found[at[day]][number] += count
    return hours_by_clock(found)


def _ends_on_its_own_day(joined: Column) -> bool:
    """Whether 00:00 follows the other times of its date."""
    last, days = {}, {}
    for entry in joined.entries:
        day, _, time = entry.partition(" ")
        days.setdefault(day, time)
        last[day] = time
    midnights = [re.fullmatch(r"0?0:00(:00)?", last[day]) and days[day] == min(days.values()) for day in days if day]
    first = min((t for t in days.values() if t), default="")
    return len(midnights) > 2 and not re.match("0?0:00", first) and sum(map(bool, midnights)) > len(midnights) / 2


def _refuse_other_stamps(path, table: Table) -> None:
    """Say which way of writing time it is that we do not read."""
    for column in table.columns:
        tokens = column.tokens[:_JOINED]
        known = column.time_formats or column.is_time
        if not known and any(re.search(r"(^|[ T])24:00(:00)?$", w) for w in column.tokens):
            raise InputError(
                "writes the end of a day as 24:00",
                file=path,
                field=column.name,
                hint="write the starts of the intervals, or 00:00 of the next day",
            )
        two = r"(\d{1,4}[-./]\d{1,2}[-./]\d{1,4}[ T]\S.*?)(?:\s*[-–/]\s*|\s+[^\W\d]+\s+)\d.*\d"
        if len(tokens) > 2 and not column.time_formats and all(re.fullmatch(two, w) for w in tokens):
            raise InputError(
                "has the start and the end of an interval in one column",
                file=path,
                field=column.name,
                hint="write a column of starts",
            )


def _refuse_dates(path, table: Table) -> None:
    """A date and no time of day: sums of days, or intervals that are named in a way we do not read."""
    if len([n for n in table.header if re.match(_INTERVAL_NAME, n)]) >= _FEWEST_INTERVALS:
        raise InputError(
            "has a row per day, but names the columns of its intervals in a way we do not read",
            file=path,
            hint="name them after the times at which they begin, 00:00, 00:30 and so on, or if days of clock changes "
            "have more or fewer readings, 1, 2 and so on",
        )
    raise InputError(
        "has a date per row and no time of day: daily or monthly sums, not an interval export",
        file=path,
        hint="ask for quarter-hourly, half-hourly or hourly readings",
    )


def _energy(numbers: list[Column], meter: Column | None) -> Column | None:
    """Return the column of readings: by its name, and not one that only rises where there is another."""
    fitting = [c for c in numbers if not re.search(OTHER_NUMBER, c.name, re.IGNORECASE)]
    if not fitting:
        return numbers[0] if len(numbers) == 1 else None
    named = [c for c in fitting if _is_energy(c)]
    if not named:
        fitting = [c for c in fitting if not _stays(c, meter)] or fitting
        return min(fitting, key=lambda c: (_counts_up(c, numbers, meter), -len(c.tokens)))
    return min(named, key=lambda c: _counts_up(c, numbers, meter))


def _stays(column: Column, meter: Column | None) -> bool:
    """Whether the entry of a meter hardly ever changes, as that of its serial number, unless all are zero."""
    if meter is None or not any(re.search("[1-9]", word) for word in column.tokens):
        return False
    last: dict[str, str] = {}
    steps = changes = 0
    for of, entry in zip(meter.entries, column.entries, strict=True):
        if of in last:
            steps, changes = steps + 1, changes + (last[of] != entry)
        last[of] = entry
    return steps > 0 and changes <= _MOST_CHANGES * steps


def _is_energy(column: Column) -> bool:
    named, other = (re.search(words, column.name, re.IGNORECASE) for words in (ENERGY, OTHER_NUMBER))
    return bool(named and not other)


def _counts_up(column: Column, columns: list[Column], meter: Column | None) -> int:
    """Return 2 where values are those of a register, 1 where only the name says so, 0 otherwise."""
    if (rises := _only_rises(column, meter)) is not None:
        return 2 * rises
    name = re.sub(r"[\W_]*total[\W_]*", "", column.name, flags=re.IGNORECASE)
    beside = name != column.name and name in (c.name for c in columns)
    return int(beside or re.search(COUNTER, column.name, re.IGNORECASE) is not None)


def _only_rises(column: Column, meter: Column | None) -> bool | None:
    """Whether the entries of meters are those of a register; None where there are too few to tell."""
    of = meter.entries if meter is not None else ("",) * len(column.entries)
    known = set(column.tokens[:_JOINED])
    own: dict[str, list[str]] = {}
    for entry, name in zip(column.entries, of, strict=True):
        if entry in known:
            own.setdefault(name, []).append(entry)
    if not column.notations:
        return None
    steps = np.concatenate([np.diff(_values(entries, column.notations[0])) for entries in own.values()])
    if len(steps) < _FEWEST_STEPS:
        return None
    return bool((steps >= 0).mean() > 0.99 and (steps > 0).any())


def _named(name: str | None, columns: list[Column]) -> Column | None:
    return next((c for c in columns if c.name == name), None)


def _meter(stamps: list[Column], columns: list[Column], out: Layout, several_files: bool) -> Column | None:
    """Find the column of meter ids; without one every file is a meter.

    Where stamps return, it is a column that tells the rows of a stamp apart: that counts more than names do.
    """
    possible = [
        c
        for c in columns
        if c.tokens
        and (
            re.search(f"{POINT}|{CONSUMER_ID}", c.name, re.IGNORECASE)
            or not re.search(rf"{CIRCUIT}|{UNIT}|{OTHER_NUMBER}|type|model|note|comment", c.name, re.IGNORECASE)
        )
        and not (c.is_number and re.search(rf"kwh|usage|(?!{CONSUMER})consum", c.name, re.IGNORECASE))
        and not all(w.lower() in UNIT_NAMED for w in c.tokens)
        and not c.is_time
    ]
    # Readings change from row to row; "meter reading" is not the name of a meter.
    named = [
        c
        for names in (POINT, METER_FIRST, METER_NEXT)
        for c in possible
        if re.search(names, c.name, re.IGNORECASE) and not re.search("reading|value", c.name, re.IGNORECASE)
    ]
    named = [c for c in dict.fromkeys(named) if not (_changes(c) and c.is_number)]
    base, chosen = repeats(stamps), None
    if base > SELDOM:
        left = {c: repeats([*stamps, c]) for c in possible if not _changes(c)}
        whole = [c for c in left if not re.search(PART_OF_METER, c.name, re.IGNORECASE)]
        some = [c for c in named if c in whole] or [c for c in named if c in left] or whole
        some = [c for c in some if left[c] < 0.9 * base or c in named]
        best = min((left[c] for c in some), default=1.0)
        some = some if named else sorted(some, key=lambda c: len(c.tokens))
        chosen = next((c for c in some if left[c] <= best + SELDOM), None)
    elif named:
        chosen = named[0]
    elif not several_files:
        constant = [c for c in possible if len(c.tokens) == 1 and len(c.entries) > 1]
        ids = [c for c in constant if re.search(r"\d{4}", c.tokens[0])]
        texts = [c for c in constant if not c.is_number and not c.time_formats]
        chosen = (ids or texts or [None])[0]
    if chosen is None:
        out.settings["meter_column"] = None
        out.said.append("no column names a meter: every file is one meter, named after the file")
    elif chosen.name != "meter_id":
        out.settings["meter_column"] = chosen.name
    # Of a customer the id may be called a code, as may the state of a reading.
    of_home = f"{_CODE_OF_HOME}|{ALSO_POINT}"
    others = [*named, *(c for c in columns if re.search(of_home, c.name, re.IGNORECASE) and not _changes(c))]
    others = [c for c in others if c is not chosen and not re.search(PART_OF_METER, c.name, re.IGNORECASE)]
    other = next((c for c in sorted(others, key=lambda c: -len(c.tokens)) if len(c.tokens) > 1), None)
    if chosen is not None and other is not None:
        out.names = chosen.name, other.name
    return chosen


def _changes(column: Column) -> bool:
    """Whether many rows have different entries, as readings do, above all those with decimals, and ids do not."""
    decimals = column.is_number and any("." in word or "," in word for word in column.tokens)
    return len(column.tokens) > max(50, (0.05 if decimals else 0.5) * len(column.entries))


def _time_format(column: Column, out: Layout) -> None:
    formats = column.time_formats
    chosen = formats[0]
    if len(formats) > 1:
        chosen = _most_regular(column.tokens, formats)
        out.to_check.append(
            f"stamps fit {' and '.join(formats)}; {chosen} puts them in the more regular order (export.time_format)"
        )
        out.other_formats = [known for known in formats if known != chosen]
    if chosen != "%Y-%m-%d %H:%M":
        out.settings["time_format"] = chosen


def _offsets(stamp: Column, out: Layout) -> None:
    """Find the zones whose clock has the offsets that stamps carry, each of as many rows as it stands in."""
    words = list(stamp.entries)
    stamp_us, _, carries = StampParser(out.settings.get("time_format", ExportSettings.time_format), ()).read_words(
        words
    )
    if carries.any():
        out.offsets = Offsets.of(words, stamp_us)


def _most_regular(tokens: tuple[str, ...], formats: tuple[str, ...]) -> str:
    """Return the format under which steps between neighbours are most often the same."""

    def regularity(time_format: str) -> float:
        stamp_us, _, _ = StampParser(time_format, ()).read_words(list(tokens))
        if (stamp_us == NO_STAMP).any():
            return 0.0
        steps = np.diff(stamp_us)
        _, counts = np.unique(steps, return_counts=True)
        # Of formats that make most steps alike the one that jumps least: months for days go back and forth.
        return counts.max(initial=0) / max(1, len(steps)) - len(counts) / max(1, len(steps) + 1)

    return max(formats, key=regularity)


def _notation(columns: list[Column], out: Layout) -> None:
    """Find the notation in which all readings are numbers, and the words that stand for missing ones."""
    filled = [c for c in columns if c.tokens]
    usual = ExportSettings.missing_words
    missing = {word for c in filled if c.is_number for word in c.words_for_missing} - {*usual}
    # Only words everybody uses: others come from somebody's rows and have no place in public settings.
    more = sorted(word for word in missing if word.lower() in MISSING)
    if more:
        out.settings["missing_words"] = [*usual, *more]
    if missing:
        out.to_check.append(
            "some readings are words: list those that stand for a missing reading in export.missing_words"
        )
    if not filled:
        return
    common = [n for n in filled[0].notations if all(n in c.notations for c in filled)]
    if not common:
        out.to_check.append("some readings are not numbers, or are written in several ways (export.missing_words)")
        return
    chosen = common[0]
    if chosen != PLAIN and Notation(",") in common and Notation(".", ",") in common:
        tokens = [w for c in filled for w in c.tokens]
        chosen = min((Notation(","), Notation(".", ",")), key=lambda notation: _spread(tokens, notation))
        out.to_check.append(
            "a comma may be the decimal mark or stand between thousands (export.decimal, export.thousands)"
        )
    if chosen.decimal != ".":
        out.settings["decimal"] = chosen.decimal
    if chosen.thousands is not None:
        out.settings["thousands"] = chosen.thousands


def _spread(tokens: list[str], notation: Notation) -> float:
    """Return how many orders of magnitude the numbers differ by: more if marks are taken for others."""
    values = np.abs(_values(tokens, notation))
    positive = values[(values > 0) & np.isfinite(values)]
    return float(np.log(positive).std()) if positive.size else 0.0


def _values(tokens: list[str], notation: Notation) -> np.ndarray:
    """Return the numbers among words that are numbers in a notation, except some without a digit."""
    plain = notation.plain(pa.array([word for word in tokens if has_digit(word)], pa.string()))
    return np.array([float(text) for text in plain.to_pylist()])


def _unit(table: Table, out: Layout) -> None:
    """Take the unit from a column of units, the name of the readings' column or the lines above."""
    if "unit_column" in out.kept.settings:
        column = next(c for c in table.columns if c.name == out.kept.settings["unit_column"])
        read = out.kept.settings.get("keep_rows", {}).get(column.name, column.tokens)
        units = {UNIT_NAMED[w.lower()] for w in read if w.lower() in UNIT_NAMED}
        where = "the column of units"
        unit = "kWh" if "kWh" in units else min(units)
        if others := sorted(units - {unit}):
            out.said.append(f"rows in {', '.join(others)} are converted")
        if no_energy := sorted(w for w in column.tokens if measures_no_energy(w)):
            out.said.append(f"rows in {', '.join(no_energy)} are not energy and are left out")
        units = {unit}
    else:
        energy = out.settings.get("energy_column", "kwh")
        named = [name for name in table.header if name == energy]
        units, where = units_in(named), "the name of the readings' column"
        if not units:
            units, where = units_in([table.above]), "the lines above the readings"
    if len(units) == 1:
        unit = units.pop()
        out.said.append(f"{UNIT_SAID} {unit}, according to {where}")
        if unit != "kWh":
            out.settings["unit"] = unit
    else:
        out.settings["unit"] = None  # left to the size of the readings


def odd_column(name: str, unit: str | None) -> Iterator[str]:
    """Say that the name of the readings' column tells of energy other than what a home takes, or of another unit
    than that of settings.
    """
    for words, what in ((FEED_IN, "energy fed in"), (NOT_ACTIVE, "apparent or reactive energy, not kWh")):
        if re.search(words, name, re.IGNORECASE):
            yield f"readings are taken from '{name}', which looks like {what}"
    if unit is not None and (units := units_in([name])) and unit not in units:
        yield f"by its name, the column '{name}' is in {' or '.join(sorted(units))}, but export.unit is {unit}"


def units_in(texts: list[str]) -> set[str]:
    found = set()
    for text in texts:
        for energy, power in _UNIT_WORD.findall(text):
            found.add(UNIT_NAMED.get((energy or power).lower()))
        found |= {UNIT_NAMED.get(f"{prefix[:1]}wh".lower()) for prefix in _WATT_HOURS.findall(text)}
        found |= {"W"} if _IN_WATTS.search(text) else set()
    return found - {None}
