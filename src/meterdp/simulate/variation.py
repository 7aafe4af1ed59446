"""Other utilities: the simulator with other public parameters, and hourly loads of its households without any mess.

What a public library of classes is fitted to, and what it is tried on: see ``tools/make_library.py`` and
``benchmarks/small_exports.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from meterdp.simulate.fleet import Fleet
from meterdp.simulate.load import LoadModel
from meterdp.simulate.parameters import HouseholdType, SimulationParameters
from meterdp.simulate.period import Period


@dataclass(frozen=True)
class Variation:
    """How another utility differs from the parameters given.

    Parameters
    ----------
    level_log : float
        Added to the log load of all types.
    later_h : float
        Hours by which everybody's day runs later.
    households : sequence of int
        Households per type; only their proportions matter.
    shape_spread, noise_spread, level_spread : float
        Factors on how much daily shapes, noise and levels differ.
    """

    level_log: float
    later_h: float
    households: Sequence[int]
    shape_spread: float
    noise_spread: float
    level_spread: float

    def of(self, parameters: SimulationParameters) -> SimulationParameters:
        """Return the parameters of the other utility."""
        kinds = zip(parameters.household_types, self.households, strict=True)
        return replace(parameters, household_types=tuple(self._type(kind, count) for kind, count in kinds))

    def _type(self, kind: HouseholdType, households: int) -> HouseholdType:
        modes = tuple(
            replace(
                mode,
                bumps=tuple(((hour + self.later_h) % 24, weight) for hour, weight in mode.bumps),
                household_spread_log=self.shape_spread * mode.household_spread_log,
                day_spread_log=self.shape_spread * mode.day_spread_log,
            )
            for mode in kind.deviation_modes
        )
        return replace(
            kind,
            households=households,
            weekday_log_kwh=self._curve(kind.weekday_log_kwh),
            weekend_log_kwh=self._curve(kind.weekend_log_kwh),
            level_spread_log=self.level_spread * kind.level_spread_log,
            noise_spread_log=tuple(self.noise_spread * s for s in kind.noise_spread_log),
            deviation_modes=modes,
        )

    def _curve(self, log_kwh: tuple[float, ...]) -> tuple[float, ...]:
        hours = np.arange(24)
        return tuple(np.interp(hours - self.later_h, hours, log_kwh, period=24) + self.level_log)


def hourly_log_kwh(
    parameters: SimulationParameters,
    seed: int,
    households: int,
    first_day: date,
    days: int,
    clip_kwh: tuple[float, float],
) -> np.ndarray:
    """Return hourly log energies of simulated households, (households, 24 days) float64, log kWh.

    Parameters
    ----------
    parameters : SimulationParameters
    seed, households : int
    first_day : date
        No day on which the clock changes may be among them.
    days : int
    clip_kwh : (float, float)
        Public bounds of the energy of an hour.
    """
    period = Period(first_day, days, parameters.time_zone, parameters.interval_minutes)
    fleet = Fleet(parameters.household_types, households, 1, seed)
    model = LoadModel(parameters, period, seed)
    energy = np.stack([model.energy(fleet.kind(i), i) for i in range(households)])
    return np.log(np.clip(energy.reshape(households, 24 * days, -1).sum(axis=2), *clip_kwh))
