"""How much households use, when, how high they peak together, and which classes cause the peak of all.

Everything is of the cleaned readings of the households that the quality rules kept, clipped to the public bounds as
for all that follows; at the lower bound of a plain log they count as zero. Households come in batches, so that memory
does not grow with their number; only those in the groups of the coincidence are limited. Nothing is protected: all of
it is internal, never released.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np

from meterdp.consumption.tables import (
    CLASS_LOAD,
    COINCIDENCE,
    CONSUMPTION_QUANTILES,
    EXAMPLE_HOUSEHOLDS,
    GROUP_PROFILES,
    GROUP_USE,
    PEAK_HOURS,
    TOTAL_LOAD,
)
from meterdp.core.log_scale import LogScale
from meterdp.core.noise import fixed_uniforms
from meterdp.profiles.grid import Calendar
from meterdp.profiles.together import group_peaks

# Households of a group that peaks together; groups of a size share no household. Beside them stand single households.
GROUP_SIZES = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
GROUPS = 20
# Shares of the households of which quantiles are kept: enough for a histogram.
SHARES = np.linspace(0, 1, 501)
EXAMPLES = 6
# Share that should have been read, of an example over the period and of a group when its load is highest.
READ = 0.8
PEAK_SHARE = 0.01
# A column of the list of meters with more entries makes no groups.
_MOST_ENTRIES = 50
# Of a kilowatt. The largest sum of a million households is far below 2^53.
_MILLIWATTS = 1e6

# Households (h,), their power (h, T) kW with NaN where nothing was read, and the calendar of the T intervals.
Batch = tuple[np.ndarray, np.ndarray, Calendar]
Rows = dict[str, Sequence]


def power_batches(log_load: Iterable[Iterable[Batch]], scale: LogScale) -> Iterator[Batch]:
    """Yield the power of the households of parts of the table ``log_load``, as they are read."""
    for part in log_load:
        for household, log_kwh, calendar in part:
            yield household, scale.reading_kwh(log_kwh) * 60 / calendar.interval_minutes, calendar


@dataclass
class Consumption:
    """What is known of the households added so far: of each by itself, and of groups of them.

    ``households`` (N,) are all that will be added; ``component`` (N,) is the class of each, 0 for none; ``said`` is
    what the public list of meters says of each (N,), by column.
    """

    households: np.ndarray
    component: np.ndarray
    said: Mapping[str, np.ndarray] = field(default_factory=dict)
    # How many meters the list has with an entry, by column and entry.
    listed: Mapping[tuple[str, str], int] = field(default_factory=dict)
    calendar: Calendar | None = None
    _parts: list[dict[str, np.ndarray]] = field(default_factory=list)

    def __post_init__(self):
        order = fixed_uniforms("groups of a study", (len(self.households),)).argsort().argsort()
        self.sizes = [size for size in GROUP_SIZES if size < len(self.households)]
        members, self.classes = [np.ones(len(self.households), bool)], np.unique(self.component)
        members += [self.component == number for number in self.classes]
        for size in self.sizes:
            members += [order // size == group for group in range(min(len(order) // size, GROUPS))]
        self.entries = [
            (column, entry)
            for column, said in self.said.items()
            for entry in sorted({*said.tolist(), *(e for c, e in self.listed if c == column)} - {""}, key=_by_numbers)
        ]
        members += [self.said[column] == entry for column, entry in self.entries]
        # Of all, of every class, of the groups of every size, and of every entry of the list, (G, N).
        self._members = np.array(members)

    def add(self, household: np.ndarray, power_kw: np.ndarray, calendar: Calendar) -> None:
        """Add the power (h, T) of some households."""
        if self.calendar is None:
            self.calendar = calendar
            shape = len(self._members), calendar.slot_count
            self._sum, self._count = np.zeros(shape), np.zeros(shape, np.int32)
        read, whole = np.isfinite(power_kw), _whole_milliwatts(power_kw)
        weights = self._members[:, np.searchsorted(self.households, household)]
        some = weights.any(axis=1)
        self._sum[some] += weights[some].astype(float) @ whole
        self._count[some] += np.rint(weights[some].astype(np.float32) @ read.astype(np.float32)).astype(np.int32)
        self._parts.append(_of_each(household, power_kw, calendar))

    @property
    def each(self) -> dict[str, np.ndarray]:
        """Numbers of every household that was read, in the order in which they came."""
        return {name: np.concatenate([part[name] for part in self._parts]) for name in self._parts[0]}

    @property
    def mean_kw(self) -> np.ndarray:
        """Mean power of all households and of every class, (1 + K, T), NaN where nobody was read."""
        return self._mean_kw(slice(0, 1 + len(self.classes)))

    @property
    def entry_kw(self) -> np.ndarray:
        """The same of the households of every entry of the list."""
        return self._mean_kw(self._of_entries)

    @property
    def entry_count(self) -> np.ndarray:
        """How many of these were read in every interval."""
        return self._count[self._of_entries]

    @property
    def _of_entries(self) -> slice:
        return slice(len(self._members) - len(self.entries), None)

    def _mean_kw(self, groups: slice) -> np.ndarray:
        total, count = self._sum[groups] / _MILLIWATTS, self._count[groups]
        return np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)

    def group_peaks_kw(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield every size and the peaks of the groups of that size, kW per household; first every household's, last
        that of all.
        """
        first = 1 + len(self.classes)
        if len(self.households) > 1:
            yield 1, self.each["peak_kw"]
        for size in self.sizes:
            groups = slice(first, first + min(len(self.households) // size, GROUPS))
            yield size, _peaks(self._sum[groups], self._count[groups], size)
            first = groups.stop
        yield len(self.households), _peaks(self._sum[:1], self._count[:1], len(self.households))


def _by_numbers(entry: str) -> list[str | int]:
    """Return a key by which numbers in text count as numbers: 3 kVA before 12 kVA."""
    return [int(part) if at % 2 else part for at, part in enumerate(re.split(r"(\d+)", entry))]


def _whole_milliwatts(power_kw: np.ndarray) -> np.ndarray:
    """Return power in whole milliwatts, 0 where nothing was read: sums of them are exact, in whatever order."""
    return np.rint(np.where(np.isfinite(power_kw), power_kw, 0.0) * _MILLIWATTS)


def _of_each(household: np.ndarray, power_kw: np.ndarray, calendar: Calendar) -> dict[str, np.ndarray]:
    """Return numbers of households that were read at all: mean, largest reading, and the hours of both peaks."""
    read = np.isfinite(power_kw)
    some = read.any(axis=1)
    household, power_kw, read = household[some], power_kw[some], read[some]
    hour = calendar.minute_of_day // 60
    of_hour = (hour[:, None] == np.arange(24)).astype(float)
    total, count = _whole_milliwatts(power_kw) @ of_hour / _MILLIWATTS, read.astype(float) @ of_hour
    by_hour = np.divide(total, count, out=np.full(total.shape, -np.inf), where=count > 0)
    largest = np.where(read, power_kw, -np.inf).argmax(axis=1)
    return {
        "household": household,
        "read_share": read.mean(axis=1),
        "mean_kw": total.sum(axis=1) / count.sum(axis=1),
        "peak_kw": power_kw[np.arange(len(power_kw)), largest],
        "highest_mean_hour": by_hour.argmax(axis=1),
        "largest_reading_hour": hour[largest],
    }


def _peaks(total: np.ndarray, count: np.ndarray, size: int) -> np.ndarray:
    peaks = group_peaks(total / _MILLIWATTS, count, size)
    return peaks[np.isfinite(peaks)]


def most_entries(meters: int) -> int:
    """Return how many entries a column of a list may have to make groups; an address has one for every meter."""
    return max(10, min(_MOST_ENTRIES, meters // 2))


def groups_of(columns: Mapping[str, Mapping[str, str | None]], meter_ids: Sequence[str]) -> dict[str, np.ndarray]:
    """Return what the columns of a list say of some meters, (N,) by column; of columns that make a few groups of its
    meters.
    """
    said = {
        column: np.array([of.get(meter) or "" for meter in meter_ids], dtype=str) for column, of in columns.items()
    }
    entries = {column: {*of.values()} - {None, ""} for column, of in columns.items()}
    return {
        column: of for column, of in said.items() if 1 < len(entries[column]) <= most_entries(len(columns[column]))
    }


def listed_of(columns: Mapping[str, Mapping[str, str | None]]) -> Counter[tuple[str, str]]:
    """Return how many meters a list has with an entry, by column and entry."""
    return Counter((column, entry) for column, of in columns.items() for entry in of.values() if entry)


# --- rows of the tables ---------------------------------------------------------------------------------------------


def study_rows(found: Consumption) -> dict[str, Rows]:
    """Return the columns of every table but that of the examples, by its name; none where nobody was read."""
    if found.calendar is None:
        return {
            table.name: {name: [] for name in table.schema.names}
            for table in (
                *(TOTAL_LOAD, CONSUMPTION_QUANTILES, PEAK_HOURS),
                *(CLASS_LOAD, GROUP_USE, GROUP_PROFILES, COINCIDENCE),
            )
        }
    return {
        TOTAL_LOAD.name: _total_load(found),
        CONSUMPTION_QUANTILES.name: _quantiles(found.each),
        PEAK_HOURS.name: _peak_hours(found.each),
        CLASS_LOAD.name: _class_load(found),
        GROUP_USE.name: _group_use(found),
        GROUP_PROFILES.name: _group_profiles(found),
        COINCIDENCE.name: _coincidence(found),
    }


def _when(calendar: Calendar) -> Rows:
    days = {int(day): (date(1970, 1, 1) + timedelta(days=int(day))).isoformat() for day in set(calendar.local_day)}
    return {
        "interval_start_utc": calendar.start_utc,
        "day_local": [days[day] for day in calendar.local_day.tolist()],
        "minute_of_day_local": calendar.minute_of_day,
    }


def _total_load(found: Consumption) -> Rows:
    return _when(found.calendar) | {
        "weekend": found.calendar.is_weekend,
        "household_count": found._count[0],
        "mean_kw": _nullable(found.mean_kw[0]),
    }


def _quantiles(each: dict[str, np.ndarray]) -> Rows:
    values = {"daily_kwh": 24 * each["mean_kw"], "peak_kw": each["peak_kw"]}
    return {
        "statistic": np.repeat(list(values), len(SHARES)),
        "mean": np.repeat([value.mean() for value in values.values()], len(SHARES)),
        "household_share": np.tile(SHARES, len(values)),
        "value": np.concatenate([np.quantile(value, SHARES) for value in values.values()]),
        "household_count": np.full(len(values) * len(SHARES), len(each["mean_kw"])),
    }


def _peak_hours(each: dict[str, np.ndarray]) -> Rows:
    hours = each["highest_mean_hour"], each["largest_reading_hour"]
    highest, largest = (np.bincount(hour, minlength=24) / len(hour) for hour in hours)
    return {"hour_of_day_local": np.arange(24), "highest_mean_share": highest, "largest_reading_share": largest}


def _class_load(found: Consumption) -> Rows:
    _, *of_class = found.mean_kw
    most = _highest(found)
    read = [component for component, kw in zip(found.classes, of_class, strict=True) if np.isfinite(kw[most]).any()]
    kw = {component: of_class[list(found.classes).index(component)] for component in read}
    return {
        "component": read,
        "household_count": [int((found.component == component).sum()) for component in read],
        "mean_kw": [float(np.nanmean(kw[component])) for component in read],
        "at_peak_kw": [float(np.nanmean(kw[component][most])) for component in read],
        "weekend_ratio": [_weekend_ratio(kw[component], found.calendar) for component in read],
    }


def _weekend_ratio(kw: np.ndarray, calendar: Calendar) -> float | None:
    weekend, known = calendar.is_weekend, np.isfinite(kw)
    if not (known & weekend).any() or not kw[known & ~weekend].any():
        return None
    return float(kw[known & weekend].mean() / kw[known & ~weekend].mean())


def _highest(found: Consumption) -> np.ndarray:
    """Return the intervals with the highest load of all."""
    all_kw = found.mean_kw[0]
    known = np.flatnonzero(np.isfinite(all_kw))
    return known[np.argsort(-all_kw[known], kind="stable")[: max(1, round(PEAK_SHARE * len(known)))]]


def _group_use(found: Consumption) -> Rows:
    most, each = _highest(found), found.each
    minutes, slot = np.unique(found.calendar.minute_of_day, return_inverse=True)
    at = np.searchsorted(found.households, each["household"])
    rows = []
    for (column, entry), kw, read in zip(found.entries, found.entry_kw, found.entry_count, strict=True):
        own = found.said[column][at] == entry
        read_of, listed = int(own.sum()), found.listed.get((column, entry))
        left_out = 0 if listed is None else listed - read_of
        row = {"list_column": column, "entry": entry, "household_count": read_of, "left_out_count": left_out}
        if not own.any():
            rows.append(dict.fromkeys(GROUP_USE.schema.names) | row)
        if not np.isfinite(kw[most]).any():
            continue
        known = np.isfinite(kw)
        count = np.bincount(slot[known], minlength=len(minutes))
        most_read = known & (read >= READ * own.sum())
        highest = np.where(most_read if most_read.any() else known, kw, -np.inf).argmax()
        by_slot = np.bincount(slot[known], kw[known], len(minutes)) / np.maximum(count, 1)
        rows.append(
            row
            | {
                "median_kw": float(np.median(each["mean_kw"][own])),
                "mean_kw": float(kw[known].mean()),
                "at_peak_kw": float(np.nanmean(kw[most])),
                "peak_minute_of_day_local": int(minutes[by_slot.argmax()]),
                "highest_kw": float(kw[highest]),
                "highest_day_local": str(found.calendar.local_day[highest].astype("datetime64[D]")),
            }
        )
    return {name: [row[name] for row in rows] for name in GROUP_USE.schema.names}


def _group_profiles(found: Consumption) -> Rows:
    months = found.calendar.local_day.astype("datetime64[D]").astype("datetime64[M]").astype(int) % 12
    cell, cells = 24 * months + found.calendar.minute_of_day // 60, 24 * 12
    parts = []
    for (column, entry), kw in zip(found.entries, found.entry_kw, strict=True):
        known = np.isfinite(kw)
        total, count = np.bincount(cell[known], kw[known], cells), np.bincount(cell[known], minlength=cells)
        there = np.flatnonzero(count)
        named = (np.full(len(there), word, dtype=object) for word in (column, entry))
        parts.append((*named, there // 24 + 1, there % 24, count[there], total[there] / count[there]))
    columns = map(np.concatenate, zip(*parts, strict=True)) if parts else ([] for _ in GROUP_PROFILES.schema.names)
    return dict(zip(GROUP_PROFILES.schema.names, columns, strict=True))


def _coincidence(found: Consumption) -> Rows:
    groups = [(size, peaks) for size, peaks in found.group_peaks_kw() if len(peaks)]
    return {
        "home_count": [size for size, _ in groups],
        "group_count": [len(peaks) for _, peaks in groups],
        "peak_kw": [float(peaks.mean()) for _, peaks in groups],
        "lowest_kw": [float(peaks.min()) for _, peaks in groups],
        "highest_kw": [float(peaks.max()) for _, peaks in groups],
    }


def examples_of(each: dict[str, np.ndarray]) -> np.ndarray:
    """Return which households are shown, ascending by mean power; of those read most of the time, if enough are."""
    read = each["read_share"] >= READ
    some = np.flatnonzero(read) if read.sum() >= EXAMPLES else np.arange(len(read))
    ranked = some[np.argsort(each["mean_kw"][some], kind="stable")]
    middles = ((np.arange(EXAMPLES) + 0.5) * len(ranked) / EXAMPLES).astype(int)
    return each["household"][ranked[np.unique(middles)]]


def example_rows(shown: np.ndarray, batches: Iterable[Batch]) -> Rows:
    """Return the columns of the table ``example_households`` from the batches, gone through again."""
    power, when = {}, None
    for household, power_kw, calendar in batches:
        when = when or _when(calendar)
        power |= {one: kw for one, kw in zip(household.tolist(), power_kw, strict=True) if one in shown}
    if when is None:
        return {name: [] for name in EXAMPLE_HOUSEHOLDS.schema.names}
    slots = len(when["interval_start_utc"])
    return {
        "home": np.repeat(np.arange(1, len(shown) + 1), slots),
        **{name: np.tile(column, len(shown)) for name, column in when.items()},
        "power_kw": _nullable(np.concatenate([power[int(one)] for one in shown])),
    }


def _nullable(values: np.ndarray) -> np.ma.MaskedArray:
    return np.ma.masked_invalid(values)
