"""The profile vector of a household: d hourly log energies, of one of its days by default.

The day is the working day whose energy is nearest to the mean of the household's working days: a day as it happened,
peaks included, of the energy to expect (config/README.md). It follows from the household's own readings and from
the calendar alone. The half-day of one date is that of Liu et al. (section V-C).

Every record is clipped to public bounds. A household without a valid vector keeps its place with a public default
record, because dropping it would make the number of records private (docs/proofs/sound.md, 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from meterdp.core.log_scale import LogScale
from meterdp.errors import InputError
from meterdp.profiles.constants import VECTOR
from meterdp.profiles.grid import Calendar

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True)
class VectorRules:
    """How a profile vector is built; see config/README.md, section profiles."""

    vector: str
    date: str
    start_hour: int
    hours: int
    clip_kwh_per_hour: tuple[float, float]
    max_floor_share: float
    default_kwh_per_hour: float
    log_scale: Mapping = field(default_factory=dict)

    @classmethod
    def from_config(cls, config: Mapping) -> VectorRules:
        """Take the section ``profiles`` of the configuration."""
        config, names = {**VECTOR, **config}, cls.__dataclass_fields__
        return cls(**{n: tuple(config[n]) if n == "clip_kwh_per_hour" else config[n] for n in names if n in config})

    @property
    def scale(self) -> LogScale:
        """The public scale of hourly energies."""
        return LogScale(*self.clip_kwh_per_hour).of_kind(self.log_scale)

    @property
    def default_record(self) -> np.ndarray:
        """Public record of a household without a valid vector, (d,) log kWh."""
        return np.full(self.hours, self.scale.log(self.default_kwh_per_hour))


def hourly_energy(energy_kwh: np.ndarray, first_slot: int, hours: int, slots_per_hour: int) -> np.ndarray:
    """Return hourly energies (H, hours) of (H, T) kWh from ``first_slot`` on.

    An hour with at least half of its intervals counts at the mean of those there are; otherwise it is NaN, as is an
    hour outside the readings.
    """
    slots = first_slot + np.arange(hours * slots_per_hour)
    inside = (slots >= 0) & (slots < energy_kwh.shape[1])
    taken = np.full((len(energy_kwh), slots.size), np.nan)
    taken[:, inside] = energy_kwh[:, slots[inside]]
    taken = taken.reshape(len(energy_kwh), hours, slots_per_hour)
    count = np.isfinite(taken).sum(axis=2)
    enough = 2 * count >= slots_per_hour
    return np.where(enough, np.nansum(taken, axis=2) / np.maximum(count, 1) * slots_per_hour, np.nan)


def _typical_day(usable_kwh: np.ndarray, calendar: Calendar, rules: VectorRules) -> np.ndarray:
    """Return hourly energies (H, d) of the household's own working day that is nearest to its mean in energy.

    Days with all hours count, of the energy within the public bounds; NaN where there is none. The first of days that
    are as near.
    """
    first = [calendar.slot_at(day, rules.start_hour) for day in calendar.days if calendar.is_working_day(day)]
    slots = calendar.slots_per_hour
    first = [slot for slot in first if slot >= 0 and slot + rules.hours * slots <= calendar.slot_count]
    if not first:
        raise InputError(
            f"is 'typical_day', but no {rules.hours} hours of a working day are all in the export's period",
            file="config",
            field="profiles.vector",
            hint=f"take a period with a whole day from {calendar.weekend.working_days}, or 'mean'",
        )
    hourly = np.stack([hourly_energy(usable_kwh, slot, rules.hours, slots) for slot in first], axis=1)
    energy = np.clip(hourly, *rules.scale.bounds_kwh).sum(axis=2)
    whole = np.isfinite(energy)
    mean = np.where(whole, energy, 0).sum(axis=1) / np.maximum(whole.sum(axis=1), 1)
    nearest = np.where(whole, np.abs(energy - mean[:, None]), np.inf).argmin(axis=1)
    return np.where(whole.any(axis=1)[:, None], hourly[np.arange(len(hourly)), nearest], np.nan)


def _days(rules: VectorRules, calendar: Calendar) -> list[date]:
    if rules.vector == "mean":
        return calendar.days
    day = calendar.middle_day if rules.date == "auto" else date.fromisoformat(rules.date)
    first = calendar.slot_at(day, rules.start_hour)
    if first < 0 or first + rules.hours * calendar.slots_per_hour > calendar.slot_count:
        raise InputError(
            f"asks for {rules.hours} hours that are not all in the export's period",
            file="config",
            field="profiles.date",
            hint="choose a day inside the period or 'auto'",
        )
    return [day]


def _mean_log(usable_kwh: np.ndarray, calendar: Calendar, rules: VectorRules) -> np.ndarray:
    """Return the means (H, d) of the clipped log energies there are of the days of the rules."""
    total = np.zeros((len(usable_kwh), rules.hours))
    count = np.zeros_like(total)
    for day in _days(rules, calendar):
        energy = hourly_energy(
            usable_kwh, calendar.slot_at(day, rules.start_hour), rules.hours, calendar.slots_per_hour
        )
        logged = rules.scale.clipped_log(energy)
        total += np.nan_to_num(logged)
        count += np.isfinite(logged)
    with np.errstate(invalid="ignore"):
        return total / np.where(count > 0, count, np.nan)


def profile_vectors(
    usable_kwh: np.ndarray, kept: np.ndarray, calendar: Calendar, rules: VectorRules
) -> tuple[np.ndarray, np.ndarray]:
    """Return the profile vector of every household, (H, d) clipped log energy per hour, and which are valid, (H,).

    Readings are (H, T) kWh after the quality rules, NaN where missing; ``kept`` marks the households these keep. A
    vector that is not valid is the public default record. InputError if the half-day, or every working day, lies
    outside the export's period.
    """
    if len(usable_kwh) == 0:
        return np.empty((0, rules.hours)), np.empty(0, dtype=bool)
    scale = rules.scale
    if rules.vector == "typical_day":
        log_kwh = scale.clipped_log(_typical_day(usable_kwh, calendar, rules))
    else:
        log_kwh = _mean_log(usable_kwh, calendar, rules)
    at_floor = (log_kwh <= scale.bounds_log_kwh.low).mean(axis=1)
    valid = kept & np.isfinite(log_kwh).all(axis=1) & (at_floor <= rules.max_floor_share)
    return np.where(valid[:, None], log_kwh, rules.default_record), valid


def scale_of(hours: pd.DataFrame) -> LogScale:
    """Return the scale of hourly energies that table ``profile_hours`` says, without bounds."""
    return LogScale(offset_kwh=float(hours["offset_kwh"].iloc[0]), scale_kwh=float(hours["scale_kwh"].iloc[0]))


def hour_rows(rules: VectorRules) -> dict[str, list]:
    """Columns of the table ``profile_hours``."""
    hours = [(rules.start_hour + j) % 24 for j in range(rules.hours)]
    scale = rules.scale
    low, high = scale.bounds_log_kwh
    return {
        "entry": list(range(rules.hours)),
        "hour_of_day_local": hours,
        "label": [f"{h:02d}:00-{(h + 1) % 24:02d}:00" for h in hours],
        "low_log_kwh": [low] * rules.hours,
        "high_log_kwh": [high] * rules.hours,
        "offset_kwh": [float(scale.offset_kwh)] * rules.hours,
        "scale_kwh": [float(scale.scale_kwh)] * rules.hours,
    }


@dataclass(frozen=True)
class Records:
    """Profile vectors of all households of an export, (N, d) log kWh; the public default record where not valid."""

    household: np.ndarray
    log_kwh: np.ndarray
    valid: np.ndarray

    @classmethod
    def from_table(cls, profiles: pa.Table) -> Records:
        """Take the columns of the table ``profiles``."""
        household = profiles["household"].to_numpy()
        log_kwh = profiles["log_kwh"].combine_chunks().flatten().to_numpy().reshape(len(household), -1)
        return cls(household, log_kwh, profiles["valid"].to_numpy(zero_copy_only=False))
