"""Public parameters of the simulator: who the households are, how they use energy, and what goes wrong on the way.

The default file ``resources/simulator.yaml`` says what every number means. Nothing here is estimated from real
readings; shares of household types follow Table I of Liu et al.

How a simulated export is written, as the section ``export`` of a configuration.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

import yaml

from meterdp.simulate.fields import (
    Place,
    build,
    choice,
    curve,
    day,
    flag,
    hours_and_weights,
    names,
    number,
    section,
    sections,
    span,
    text,
    whole,
    words,
)


@dataclass(frozen=True)
class NoiseComponent:
    """One stationary part of the log noise: white (no decay), AR(1) (no period) or AR(2) with complex roots."""

    name: Annotated[str, text]
    share: Annotated[float, number(0, 1)]
    decay_h: Annotated[tuple[float, float] | None, span(0.01, 1000, optional=True)]
    period_h: Annotated[tuple[float, float] | None, span(0.5, optional=True)]


@dataclass(frozen=True)
class DeviationMode:
    """A smooth direction in which the daily shapes of one type differ: Gaussian bumps with signed weights."""

    bumps: Annotated[tuple[tuple[float, float], ...], hours_and_weights]
    width_h: Annotated[float, number(0.25, 24)]
    household_spread_log: Annotated[float, number(0)]
    day_spread_log: Annotated[float, number(0)]


@dataclass(frozen=True)
class Appliance:
    """Switched load on top of the smooth one."""

    name: Annotated[str, text]
    owned_share: Annotated[float, number(0, 1)]
    uses_per_day: Annotated[float, number(0)]
    power_kw: Annotated[tuple[float, float], span()]
    duration_h: Annotated[tuple[float, float], span(0.05, 24)]
    start_hour: Annotated[float, number(0, 24)]
    start_spread_h: Annotated[float, number(0, 12)]
    automatic: Annotated[bool, flag] = False


@dataclass(frozen=True)
class SeasonalChange:
    """What the middle of a season adds to the log load of a type: a level, and Gaussian bumps over the day."""

    level_log: Annotated[float, number()]
    bumps: Annotated[tuple[tuple[float, float], ...], hours_and_weights]
    width_h: Annotated[float, number(0.25, 24)]


@dataclass(frozen=True)
class HouseholdType:
    """One type of customer; shapes are hourly, local time, in log kWh per hour."""

    name: Annotated[str, text]
    households: Annotated[int, whole(1)]
    circuit_evenness: Annotated[float, number(0.01)]
    weekday_log_kwh: Annotated[tuple[float, ...], curve(24)]
    weekend_log_kwh: Annotated[tuple[float, ...], curve(24)]
    level_spread_log: Annotated[float, number(0)]
    shift_spread_h: Annotated[float, number(0, 6)]
    day_spread_log: Annotated[float, number(0)]
    weather_log: Annotated[float, number()]
    noise_spread_log: Annotated[tuple[float, float], span()]
    base_load_kw: Annotated[tuple[float, float], span()]
    coarse_meter_share: Annotated[float, number(0, 1)]
    deviation_modes: Annotated[tuple[DeviationMode, ...], sections(DeviationMode, may_be_empty=True)]
    appliances: Annotated[tuple[Appliance, ...], sections(Appliance, may_be_empty=True)]
    winter: Annotated[SeasonalChange, section(SeasonalChange)]
    summer: Annotated[SeasonalChange, section(SeasonalChange)]
    season_spread: Annotated[float, number(0)]
    vacations_per_year: Annotated[float, number(0, 50)]
    moves_per_year: Annotated[float, number(0, 12)]


@dataclass(frozen=True)
class Seasons:
    """When winter and, half a year later, summer are, and how much they depend on the weather."""

    coldest_day: Annotated[float, number(0, 366)]
    length_days: Annotated[float, number(1, 182)]
    weather: Annotated[float, number(0)]


@dataclass(frozen=True)
class Vacations:
    """How long households are away, when, and what the home draws meanwhile."""

    days: Annotated[tuple[float, float], span(1, 120)]
    turn_of_year_share: Annotated[float, number(0, 1)]
    standby_kw: Annotated[tuple[float, float], span(0.001)]


@dataclass(frozen=True)
class Tenancies:
    """How many days are without a move: from the first day on, and after each move."""

    at_least_days: Annotated[int, whole(1)]


@dataclass(frozen=True)
class Fault:
    """What hits one in so many meters of some types of households."""

    one_in: Annotated[int, whole()]
    types: Annotated[tuple[str, ...], names]


@dataclass(frozen=True)
class MissingRows(Fault):
    """Rows that are absent here and there."""

    row_share: Annotated[tuple[float, float], span(0, 1)]


@dataclass(frozen=True)
class MissingBlock(Fault):
    """Rows of some hours on end that are absent."""

    hours: Annotated[tuple[float, float], span()]


@dataclass(frozen=True)
class MissingWords(Fault):
    """Rows that are there with a word, or nothing, in place of a number."""

    rows: Annotated[tuple[float, float], span(1)]
    words: Annotated[tuple[str, ...], words]


@dataclass(frozen=True)
class DuplicateRows(Fault):
    """Rows written twice, one after the other."""

    rows: Annotated[tuple[float, float], span(1)]


@dataclass(frozen=True)
class ResentDay(Fault):
    """A day sent first with preliminary values and again, revised, at the end of the file."""

    first_factor: Annotated[tuple[float, float], span()]


@dataclass(frozen=True)
class AllZero(Fault):
    """A vacant home that uses nothing."""


@dataclass(frozen=True)
class MostlyZero(Fault):
    """A home that is used for one stay and is zero otherwise."""

    occupied_share: Annotated[tuple[float, float], span(0, 1)]


@dataclass(frozen=True)
class StuckMeter(Fault):
    """A meter that repeats one non-zero reading for days."""

    days: Annotated[tuple[float, float], span()]


@dataclass(frozen=True)
class UnitSlip(Fault):
    """A meter that reports another unit for some days."""

    days: Annotated[tuple[float, float], span()]
    factor: Annotated[float, number(0)]


@dataclass(frozen=True)
class FeedIn(Fault):
    """Solar generation beyond the own use: negative readings around solar noon."""

    peak_kw: Annotated[tuple[float, float], span()]
    solar_noon_utc_h: Annotated[float, number(0, 24)]
    daylight_h: Annotated[float, number(1, 24)]
    clearness: Annotated[tuple[float, float], span(0, 1)]


@dataclass(frozen=True)
class Outage:
    """A circuit without power for some hours, reported as zeros or not reported."""

    period_share: Annotated[float, number(0, 1)]
    start_hour: Annotated[float, number(0, 24)]
    hours: Annotated[float, number(0)]
    rows: Annotated[str, choice("zero", "missing")]


@dataclass(frozen=True)
class DataQuality:
    """Everything that makes an export look like a real one."""

    all_zero: Annotated[AllZero, section(AllZero)]
    mostly_zero: Annotated[MostlyZero, section(MostlyZero)]
    stuck_meter: Annotated[StuckMeter, section(StuckMeter)]
    unit_slip: Annotated[UnitSlip, section(UnitSlip)]
    feed_in: Annotated[FeedIn, section(FeedIn)]
    missing_rows: Annotated[MissingRows, section(MissingRows)]
    missing_block: Annotated[MissingBlock, section(MissingBlock)]
    missing_words: Annotated[MissingWords, section(MissingWords)]
    duplicate_rows: Annotated[DuplicateRows, section(DuplicateRows)]
    resent_day: Annotated[ResentDay, section(ResentDay)]
    outages: Annotated[tuple[Outage, ...], sections(Outage, may_be_empty=True)]


@dataclass(frozen=True)
class SimulationParameters:
    """All parameters of the simulator; see ``resources/simulator.yaml`` for each."""

    circuits: Annotated[int, whole(1)]
    days: Annotated[int, whole(1)]
    start_date: Annotated[date, day]
    time_zone: Annotated[str, text]
    interval_minutes: Annotated[int, whole(1)]
    day_start_hour: Annotated[float, number(0, 12)]
    weather_persistence: Annotated[float, number(0, 0.999)]
    fine_resolution_wh: Annotated[int, whole(1)]
    coarse_resolution_wh: Annotated[int, whole(1)]
    seasons: Annotated[Seasons, section(Seasons)]
    vacations: Annotated[Vacations, section(Vacations)]
    tenancies: Annotated[Tenancies, section(Tenancies)]
    noise: Annotated[tuple[NoiseComponent, ...], sections(NoiseComponent)]
    household_types: Annotated[tuple[HouseholdType, ...], sections(HouseholdType)]
    data_quality: Annotated[DataQuality, section(DataQuality)]

    @classmethod
    def from_yaml(cls, path) -> SimulationParameters:
        """Read and validate a YAML file laid out like ``resources/simulator.yaml``."""
        place = Place(Path(path))
        try:
            raw = yaml.safe_load(place.file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            raise place.refuse("is not a readable YAML file", "give the path of a file like simulator.yaml") from None
        parameters = build(cls, raw, place)
        _check_across_keys(parameters, place)
        return parameters

    @property
    def households(self) -> int:
        """Number of households of a full run."""
        return sum(kind.households for kind in self.household_types)


def _check_across_keys(parameters: SimulationParameters, place: Place) -> None:
    try:
        ZoneInfo(parameters.time_zone)
    except (KeyError, ValueError, OSError):
        raise place.at("time_zone").refuse("is not a known time zone", "give an IANA name") from None
    if 60 % parameters.interval_minutes:
        raise place.at("interval_minutes").refuse("does not divide an hour", "give for example 5, 15, 30 or 60")
    if abs(sum(c.share for c in parameters.noise) - 1) > 1e-9:
        raise place.at("noise").refuse("has shares that do not add up to one", "change a share")
    for component in parameters.noise:
        if component.period_h and not component.decay_h:
            raise place.at("noise").refuse("has a component with a period but no decay", "give decay_h")
        if component.period_h and component.period_h[0] * 60 < 2 * parameters.interval_minutes:
            raise place.at("noise").refuse("has a period below two intervals", "give a longer period_h")
    known = [kind.name for kind in parameters.household_types]
    if len(set(known)) < len(known):
        raise place.at("household_types").refuse("uses a name twice", "rename one of the types")
    for kind, rule in vars(parameters.data_quality).items():
        if isinstance(rule, Fault) and not set(rule.types) <= set(known):
            types = place.at("data_quality").at(kind).at("types")
            raise types.refuse("names a household type that does not exist", f"choose from {', '.join(known)}")


_LAYOUT = {
    "format": "long_csv",
    "meter_column": "meter_id",
    "time_column": "interval_start",
    "time_of_day_column": None,
    "energy_column": "kwh",
    "circuit_column": "circuit",
    "unit_column": None,
    "keep_rows": None,
    "encoding": "utf-8",
    "delimiter": ",",
    "skip_rows": 0,
    "skip_rows_after_header": 0,
    "decimal": ".",
    "thousands": None,
    "time_format": "%Y-%m-%d %H:%M",
    "time_zone": "America/Los_Angeles",
    "stamp_time_zone": None,
    "stamp": "start",
    "unit": "kWh",
    "interval_minutes": 15,
    "shortest_interval_minutes": None,
}


# What a simulated household uses a day, about: a public number, as all that the simulation goes by.
TYPICAL_DAILY_KWH = 30.0


# First local day: a Monday two weeks before summer time ends, so that a study of four weeks has a change of clocks.
START_DATE = "2025-10-20"


def simulated_export(start_date: str, days: int) -> dict:
    """Return the section ``export`` that describes a simulated export of ``days`` days from ``start_date`` on."""
    last_day = date.fromisoformat(start_date) + timedelta(days=days - 1)
    return {**_LAYOUT, "first_day": start_date, "last_day": last_day.isoformat()}


def describe_simulated(config: MutableMapping) -> None:
    """Put into a configuration without an export what describes the one that is simulated."""
    config["export"] |= simulated_export(START_DATE, config["simulate"]["days"])
    if config["release"]["feeder_typical_daily_kwh"] is None:
        config["release"]["feeder_typical_daily_kwh"] = TYPICAL_DAILY_KWH
