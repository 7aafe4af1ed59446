"""Where the records of the group forecast come from: the public list of households, and their hours of a window.

List and window are functions of the meters of the export and of the configuration, never of a reading
(docs/proofs/group_forecast.md, 1): all meters, or the first ``release.forecast_households`` of the fixed order of
:mod:`meterdp.forecasting.select`; the last days of the period. A household that a quality rule leaves out of a study
stays on the list there, without usable readings; a release asks no such rule (:mod:`meterdp.profiles.shard`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from meterdp.core.log_scale import LogScale
from meterdp.errors import InputError
from meterdp.forecasting.select import choose_households, circuits_of
from meterdp.groupforecast.mechanism import ForecastRecords
from meterdp.groupforecast.plan import HOURS, WINDOW_DAYS, GroupPublic, cells_of, prior_shape
from meterdp.profiles.dense import read_log_load
from meterdp.profiles.grid import LocalTime

# What a study compares, whatever its files hold.
STUDIED = {
    # Of more listed households so many, by their fixed order: what a forecast of so many costs.
    "households": 3000,
    "epsilons": (0.5, 1, 2, 4, 8),
    "delta": 1e-5,
    # Errors are averaged over so many.
    "draws": 20,
}
# Days at the end of the readings that a study judges forecasts on, at most a third of all.
HELD_OUT_DAYS = 7

# What a household takes in an hour where the configuration has no positive number for it, kWh.
LEVEL_KWH = 0.5


@dataclass(frozen=True)
class Hours:
    """Local hours of whole days: (N, T) kWh of the listed households, NaN where not read, and the cells (T,) 0..47.

    ``first_day`` is the first of them, days since 1970.
    """

    kwh: np.ndarray
    cell: np.ndarray
    first_day: int

    def days(self, part: slice) -> Hours:
        """Return a part of the days."""
        first, last, _ = part.indices(len(self.cell) // HOURS)
        at = slice(first * HOURS, last * HOURS)
        return Hours(self.kwh[:, at], self.cell[at], self.first_day + first)


def read_hours(paths: Iterable, household: np.ndarray, config: Mapping, first_day: int, last_day: int) -> Hours:
    """Return the hours of public days, of the listed households (N,) ascending, from parts of ``log_load``."""
    from meterdp.groupforecast.records import hourly  # loads numba: a plan does without

    local = LocalTime.of(config["export"])
    scale = LogScale.of_interval(config["profiles"], local.interval_minutes)
    out = np.full((len(household), (last_day - first_day + 1) * HOURS), np.nan)
    for path in paths:
        load = read_log_load([path], household, local)
        if load.household.size:
            kwh = hourly(load.log_kwh, load.calendar, scale, first_day, last_day)
            out[np.searchsorted(household, load.household)] = kwh
    return Hours(out, cells_of(first_day, last_day - first_day + 1, local.weekend), first_day)


def read_last_hours(paths: Sequence, household: np.ndarray, config: Mapping) -> Hours:
    """Return the hours of the last whole days of the readings, as many as a study needs; no days without readings."""
    local = LocalTime.of(config["export"])
    calendars = (read_log_load([path], household[:1], local).calendar for path in paths)
    calendar = next((c for c in calendars if c is not None), None)
    if calendar is None:
        return Hours(np.empty((len(household), 0)), np.empty(0, int), 0)
    days, count = np.unique(calendar.local_day, return_counts=True)
    last = int(days[count >= calendar.slots_per_day - calendar.slots_per_hour].max(initial=days[0]))
    first = max(int(days[0]), last - WINDOW_DAYS - HELD_OUT_DAYS + 1)
    return read_hours(paths, household, config, first, last)


def split(hours: Hours, public_shape: np.ndarray) -> tuple[ForecastRecords, Hours]:
    """Return the records of the days before the last ones, and the last ones, on which forecasts are judged."""
    from meterdp.groupforecast.records import household_records

    days = len(hours.cell) // HOURS
    last = min(HELD_OUT_DAYS, max(days // 3, 1))
    before = hours.days(slice(max(days - last - WINDOW_DAYS, 0), days - last))
    return household_records(before.kwh, before.cell, public_shape), hours.days(slice(days - last, days))


def group_public(
    config: Mapping,
    households: int,
    circuit: tuple[int, ...] | None,
    grid: float,
    epsilon: float | None = None,
    delta: float | None = None,
) -> GroupPublic:
    """Return the public settings of the group forecast of so many listed households; a configuration's epsilon and
    delta by default. ``circuit`` is the public circuit of each if they are the groups.
    """
    release, default_kwh = config["release"], config["profiles"]["default_kwh_per_hour"]
    return GroupPublic(
        epsilon=release["forecast_epsilon"] if epsilon is None else epsilon,
        delta=release["delta"] if delta is None else delta,
        records=households,
        # Of net load it may be zero or below, and says nothing of what a household takes.
        level_kwh=default_kwh if default_kwh > 0 else LEVEL_KWH,
        high_kwh=config["profiles"]["clip_kwh_per_hour"][1],
        shape=tuple(prior_shape().tolist()),
        groups="one" if circuit is None else "circuit",
        circuit=circuit,
        grid=grid,
    )


def public_list(meters: pa.Table, households: int | None) -> tuple[np.ndarray, tuple[int, ...] | None]:
    """Return who gets a file, whatever the readings: the first so many of the fixed order, or all.

    These are dense indices (N,) int32, ascending, and the circuit 0..G-1 of each, or None if one is not named.
    """
    every = meters["household"].to_numpy()
    listed = choose_households(every, every.size if households is None else households)
    circuit = circuits_of(meters, listed)
    return listed, None if circuit is None else tuple(circuit.tolist())


def no_circuits(field: str) -> InputError:
    return InputError(
        "asks for circuits, but not every meter's circuit is known",
        file="config",
        field=field,
        hint="give the list of meters (export.meters) a column named circuit with an entry for every meter, name the "
        "column of the export (export.circuit_column), or use 'one'",
    )
