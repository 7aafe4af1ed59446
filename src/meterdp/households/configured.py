"""Public settings of vectors, and vectors of a shard, from the configuration and the public list of meters.

The period is that of ``export.first_day`` and ``export.last_day``, local midnight to local midnight; in a study
without them it is that of the readings, which is not public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import read_table
from meterdp.errors import InputError
from meterdp.households.common import BLOCKS, block_deviations
from meterdp.households.marginal import mean_bounds_kw
from meterdp.households.mechanism import HouseholdRecords, deviation_sum
from meterdp.households.tables import HOUSEHOLD_DEVIATIONS, HOUSEHOLD_VECTORS
from meterdp.households.vector import VectorSettings, household_vectors
from meterdp.privacy.noise import GRID
from meterdp.profiles.dense import log_load_batches
from meterdp.profiles.grid import Calendar, LocalTime


def settings_of(config: Mapping, readings: Calendar | None = None) -> VectorSettings:
    """Return the public settings of vectors; the calendar of the readings replaces a period that is not named."""
    export, (low_kwh, high_kwh) = config["export"], config["profiles"]["clip_kwh_per_hour"]
    calendar = readings
    if None not in (export["first_day"], export["last_day"]):
        calendar = calendar_of(*period_of(export), LocalTime.of(export))
    days = calendar.days
    return VectorSettings(
        calendar,
        days_off(config["release"]["household_holidays"], days[0], days[-1]),
        low_kwh < 0,
        mean_bounds_kw(config),
        typical_kw=config["profiles"]["default_kwh_per_hour"],
        # What is at a lower bound above zero counts as zero.
        reading_kw=(min(low_kwh, 0.0), high_kwh),
    )


def period_of(export: Mapping) -> tuple[date, date]:
    """Return the first and the last day of the public period."""
    return tuple(date.fromisoformat(str(export[key])) for key in ("first_day", "last_day"))


def calendar_of(first: date, last: date, local_time: LocalTime) -> Calendar:
    """Return the calendar of the intervals of whole local days."""
    zone = ZoneInfo(local_time.time_zone)
    start, end = (datetime.combine(day, time(), zone).astimezone(UTC) for day in (first, last + timedelta(days=1)))
    return local_time.calendar(start, int((end - start) / timedelta(minutes=local_time.interval_minutes)))


def days_off(country: str | None, first: date, last: date) -> tuple[date, ...]:
    """Return the public holidays of a country, ``CH`` or with a part of it ``CH-ZH``, among the days of a period.

    Raises InputError for a country that is not known.
    """
    if country is None:
        return ()
    import holidays  # some hundred milliseconds, for those who name a country

    name, _, part = country.partition("-")
    try:
        known = holidays.country_holidays(name, subdiv=part or None, years=range(first.year, last.year + 1))
    except NotImplementedError:
        raise InputError(
            f"is '{country}', of which no holidays are known",
            file="config",
            field="release.household_holidays",
            hint="write a country as in CH, or with a part as in CH-ZH, or null",
        ) from None
    return tuple(sorted(day for day in known if first <= day <= last))


def vectors_of_shard(path, config: Mapping) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the households (H,) of a part of ``log_load``, their vectors (H, d), and what their deviations add to
    what all homes do together, (days * blocks,), on the grid of a release.
    """
    export, parts, total = config["export"], [], np.zeros(0)
    settings = None
    for household, log_kwh, calendar in log_load_batches(path, LocalTime.of(export)):
        settings = settings or settings_of(config, calendar)
        vectors, deviations = vectors_of(log_kwh, calendar, settings, config)
        parts.append((household, vectors))
        total = deviation_sum(deviations, GRID) + (total if total.size else 0.0)
    if not parts:
        return np.empty(0, np.int32), np.empty((0, 0)), total
    return *map(np.concatenate, zip(*parts, strict=True)), total


def vectors_of(
    log_kwh: np.ndarray, calendar: Calendar, settings: VectorSettings, config: Mapping
) -> tuple[np.ndarray, np.ndarray]:
    """Return the vectors (H, d) and the deviations of blocks of days (H, days * blocks) of (H, T) log load.

    They are of the readings within the public period.
    """
    kwh = readings_of(log_kwh, calendar, settings.calendar, config)
    vectors = household_vectors(kwh, settings)
    return vectors, block_deviations(kwh, vectors, settings).reshape(len(vectors), -1)


def readings_of(log_kwh: np.ndarray, given: Calendar, calendar: Calendar, config: Mapping) -> np.ndarray:
    """Return log load (H, T) on its calendar as readings on that of a period, (H, T') kWh, NaN where none is."""
    scale = LogScale.of_interval(config["profiles"], calendar.interval_minutes)
    return _on(calendar, given, scale.reading_kwh(log_kwh))


def _on(calendar: Calendar, given: Calendar, kwh: np.ndarray) -> np.ndarray:
    """Return (H, T) readings of one calendar on another of the same interval, NaN where there are none."""
    out = np.full((len(kwh), calendar.slot_count), np.nan)
    first = round((given.start - calendar.start) / timedelta(minutes=calendar.interval_minutes))
    begin, end = max(first, 0), min(first + given.slot_count, calendar.slot_count)
    if begin < end:
        out[:, begin:end] = kwh[:, begin - first : end - first]
    return out


def records_of(vectors: Sequence, sums: Sequence, households: int, settings: VectorSettings) -> HouseholdRecords:
    """Return the records of all households of an export, from the parts of ``household_vectors`` and of
    ``household_deviations``.

    One that a quality rule leaves out is the public typical household.
    """
    out = np.tile(settings.typical, (households, 1))
    for path in vectors:
        table = read_table(path, HOUSEHOLD_VECTORS)
        if len(table):
            of_part = table["vector"].combine_chunks().flatten().to_numpy()
            out[table["household"].to_numpy()] = of_part.reshape(len(table), -1)
    total = np.zeros(settings.columns.day_count * BLOCKS)
    for path in sums:
        table = read_table(path, HOUSEHOLD_DEVIATIONS)
        if len(table):
            total += table["deviation_sum"].to_numpy()
    return HouseholdRecords(out, total)
