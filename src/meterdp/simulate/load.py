"""The load of synthetic households, before anything goes wrong on the way to the export.

log load = level + daily shape of the type + smooth household and day deviations + weather + ARMA(5, 5) noise, with
base load and switched appliances on top; over a year also seasons, vacations and changes of tenancy
(``meterdp.simulate.year``). So half-day hourly profiles are close to Gaussian in the log for each type
(Liu et al., section V-C) and the remainder after a seasonal mean is close to a Gaussian ARMA process (Ramakrishna et
al., section V-B). Household ``i`` depends on the seed and on ``i`` alone, not on how many others there are.

Beside it stand one plain household for experiments that need a season and nothing else, and other utilities: the
simulator with other public parameters, which ``tools/make_prior_mixture.py`` fits a prior mixture to and
``benchmarks/utilities.py`` tries it on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property

import numpy as np
from scipy.signal import lfilter

from meterdp.core.noise import keyed_generator
from meterdp.simulate.fleet import Fleet, Period
from meterdp.simulate.parameters import (
    Appliance,
    DeviationMode,
    HouseholdType,
    NoiseComponent,
    SeasonalChange,
    SimulationParameters,
)
from meterdp.simulate.year import DAYS_PER_YEAR, Habits, days_away, following, later_habits, winter_and_summer

# After this many time constants a filter has forgotten that it started at zero (to exp(-10) of its state).
_BURN_IN_TIME_CONSTANTS = 10


def autoregressive_noise(
    rng: np.random.Generator, count: int, decay_slots: float, period_slots: float | None
) -> np.ndarray:
    """Draw a stationary Gaussian AR(1), or AR(2) with complex roots, of variance one, (count,).

    The modulus of the roots is exp(-1 / ``decay_slots``), the period of an AR(2) at least two slots.
    """
    modulus = np.exp(-1 / decay_slots)
    if period_slots is None:
        phi_1, phi_2 = modulus, 0.0
    else:
        phi_1, phi_2 = 2 * modulus * np.cos(2 * np.pi / period_slots), -(modulus**2)
    # Variance of an AR(2) with unit innovations, from its Yule-Walker equations.
    variance = (1 - phi_2) / ((1 + phi_2) * ((1 - phi_2) ** 2 - phi_1**2))
    burn_in = int(np.ceil(_BURN_IN_TIME_CONSTANTS * decay_slots))
    innovations = rng.standard_normal(burn_in + count) / np.sqrt(variance)
    return lfilter([1.0], [1.0, -phi_1, -phi_2], innovations)[burn_in:]


def _log_noise(
    rng: np.random.Generator, components: tuple[NoiseComponent, ...], spread_log: float, period: Period
) -> np.ndarray:
    """Sum of the components, (T,), with standard deviation ``spread_log`` and mean one after the exponential."""
    noise = np.zeros(period.slot_count)
    for component in components:
        if component.decay_h is None:
            part = rng.standard_normal(period.slot_count)
        else:
            decay_slots = rng.uniform(*component.decay_h) / period.hours_per_slot
            period_slots = rng.uniform(*component.period_h) / period.hours_per_slot if component.period_h else None
            part = autoregressive_noise(rng, period.slot_count, decay_slots, period_slots)
        noise += np.sqrt(component.share) * part
    return spread_log * noise - spread_log**2 / 2


def _around_the_clock(hours: np.ndarray) -> np.ndarray:
    """Map differences of hours to [-12, 12)."""
    return (hours + 12) % 24 - 12


def _bump_shape(mode: DeviationMode | SeasonalChange, hours: np.ndarray) -> np.ndarray:
    """Sum of the bumps at ``hours``, of the same shape."""
    return sum(
        weight * np.exp(-0.5 * (_around_the_clock(hours - hour) / mode.width_h) ** 2) for hour, weight in mode.bumps
    )


def _hourly_curve(log_kwh: tuple[float, ...], hours: np.ndarray) -> np.ndarray:
    """Interpolate 24 values at the middles of the hours, round the clock."""
    return np.interp(hours, np.arange(24) + 0.5, log_kwh, period=24)


def switched_energy(
    rng: np.random.Generator, appliances: tuple[Appliance, ...], period: Period, at_home: np.ndarray | None = None
) -> np.ndarray:
    """Draw the energy of switched appliances, (T,) kWh; only of automatic ones where not ``at_home``, (T,) bool."""
    hours_on = np.zeros(period.slot_count)
    energy = np.zeros(period.slot_count)
    for appliance in appliances:
        owned = rng.random() < appliance.owned_share
        power_kw = rng.uniform(*appliance.power_kw)
        uses = rng.poisson(appliance.uses_per_day * period.days)
        day = rng.integers(period.days, size=uses)
        hour = rng.normal(appliance.start_hour, appliance.start_spread_h, size=uses)
        slots = rng.uniform(*appliance.duration_h, size=uses) / period.hours_per_slot
        if not owned or not uses:
            continue
        begin = period.first_slot_of_day[day] + hour / period.hours_per_slot
        touched = np.floor(begin).astype(int)[:, None] + np.arange(int(np.ceil(slots.max())) + 1)
        share = np.clip(np.minimum((begin + slots)[:, None], touched + 1) - np.maximum(begin[:, None], touched), 0, 1)
        inside = (touched >= 0) & (touched < period.slot_count)
        hours_on[:] = 0
        np.add.at(hours_on, touched[inside], share[inside] * period.hours_per_slot)
        if at_home is not None and not appliance.automatic:
            hours_on *= at_home
        energy += power_kw * hours_on
    return energy


@dataclass(frozen=True)
class LoadModel:
    """Loads of all households of one simulation."""

    parameters: SimulationParameters
    period: Period
    seed: int

    @cached_property
    def _hours(self) -> np.ndarray:
        """Local hour of the middle of the intervals of a day, (S,)."""
        return (np.arange(self.period.slots_per_day) + 0.5) * self.period.hours_per_slot

    @cached_property
    def _effect_day(self) -> np.ndarray:
        """Day of each interval for day effects, (T,) int in [0, D]: it begins at ``day_start_hour``, 0 is the eve."""
        by_clock = self._hours[self.period.slot_of_day] >= self.parameters.day_start_hour
        return self.period.day_index + by_clock

    @cached_property
    def _weekend(self) -> np.ndarray:
        return self.period.weekend(self.period.days + 1, first=-1)

    @cached_property
    def _weather(self) -> np.ndarray:
        """Weather index of the eve and every day, (D + 1,), AR(1) of variance one, the same for all households."""
        phi = self.parameters.weather_persistence
        shocks = keyed_generator(self.seed, "weather").standard_normal(self.period.days + 1)
        shocks[1:] *= np.sqrt(1 - phi**2)
        return lfilter([1.0], [1.0, -phi], shocks)

    @cached_property
    def _winter_and_summer(self) -> np.ndarray:
        """How much heating and cooling the eve and every day need, (2, D + 1)."""
        return winter_and_summer(self.parameters.seasons, self.period.day_of_year(-1), self._weather)

    def log_day_shapes(self, kind: HouseholdType, household: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the smooth log load of every day of one household, (D + 1, S) log kWh per hour; row 0 is the eve.

        ``rng`` draws the first habits and what changes from day to day; seasons and later habits have streams of
        their own.
        """
        days = self.period.days + 1
        level, shift = rng.normal(0, kind.level_spread_log), rng.normal(0, kind.shift_spread_h)
        daily_level = rng.normal(0, kind.day_spread_log, size=days) + kind.weather_log * self._weather
        sizes, daily_sizes = [], []
        for mode in kind.deviation_modes:
            sizes.append(rng.normal(0, mode.household_spread_log))
            daily_sizes.append(rng.normal(0, mode.day_spread_log, size=days))
        shapes = self._shapes(kind, Habits(level, shift, tuple(sizes)), daily_level, daily_sizes)
        for day, habits in later_habits(kind, self.parameters.tenancies, self.period.days, self.seed, household):
            shapes[day + 1 :] = self._shapes(kind, habits, daily_level, daily_sizes)[day + 1 :]
        if self._winter_and_summer.any():
            factors = following(kind, self.seed, household)[:, None] * self._winter_and_summer
            for factor, change in zip(factors, (kind.winter, kind.summer), strict=True):
                shapes += factor[:, None] * (change.level_log + _bump_shape(change, self._hours))
        return shapes

    def _shapes(
        self, kind: HouseholdType, habits: Habits, daily_level: np.ndarray, daily_sizes: list[np.ndarray]
    ) -> np.ndarray:
        """Return the smooth log load of a household that has these habits throughout, (D + 1, S) log kWh per hour."""
        hours = self._hours - habits.shift_h
        typical = np.where(
            self._weekend[:, None],
            _hourly_curve(kind.weekend_log_kwh, hours),
            _hourly_curve(kind.weekday_log_kwh, hours),
        )
        shapes = typical + habits.level_log + daily_level[:, None]
        for mode, size, daily in zip(kind.deviation_modes, habits.mode_log, daily_sizes, strict=True):
            shapes += (size + daily)[:, None] * _bump_shape(mode, self._hours)
        return shapes

    def days_away(self, kind: HouseholdType, household: int) -> np.ndarray:
        """Say on which local days a household is away, (D,) bool."""
        rules = self.parameters
        return days_away(kind, rules.vacations, rules.seasons, self.period, self.seed, household)

    def energy(self, kind: HouseholdType, household: int) -> np.ndarray:
        """Draw the energy one household uses, (T,) kWh per interval, positive."""
        rng = keyed_generator(self.seed, "load", household)
        log_kw = self.log_day_shapes(kind, household, rng)[self._effect_day, self.period.slot_of_day]
        noise = _log_noise(rng, self.parameters.noise, rng.uniform(*kind.noise_spread_log), self.period)
        away = self.days_away(kind, household)[self.period.day_index]
        if away.any():
            standby = keyed_generator(self.seed, "standby", household)
            log_kw[away] = np.log(standby.uniform(*self.parameters.vacations.standby_kw))
        smooth_kw = np.exp(log_kw + noise)
        base_kw = rng.uniform(*kind.base_load_kw)
        switched = switched_energy(rng, kind.appliances, self.period, ~away)
        return (smooth_kw + base_kw) * self.period.hours_per_slot + switched

    def resolution_wh(self, kind: HouseholdType, household: int) -> int:
        coarse = keyed_generator(self.seed, "meter", household).random() < kind.coarse_meter_share
        return self.parameters.coarse_resolution_wh if coarse else self.parameters.fine_resolution_wh


_OVEN = Appliance("oven", 1.0, 0.8, (0.4, 1.0), (0.3, 0.8), 18.0, 1.0)


def one_household(period: Period, seed: int, household: int) -> np.ndarray:
    """Return the energy of one household, kWh per interval: daily and weekly shape, AR(1) log noise, an oven."""
    stream = keyed_generator(seed, "one household", household)
    hour = period.slot_of_day * period.hours_per_slot
    weekend = period.weekend(period.days)[period.day_index]
    shape = -1.0 + 0.5 * np.cos(2 * np.pi * (hour - 19) / 24) + 0.2 * weekend * np.cos(2 * np.pi * (hour - 12) / 24)
    smooth_kw = np.exp(shape + 0.5 * autoregressive_noise(stream, period.slot_count, 8.0, None))
    return smooth_kw * period.hours_per_slot + switched_energy(stream, (_OVEN,), period)


@dataclass(frozen=True)
class Variation:
    """How another utility differs from the parameters given.

    ``level_log`` is added to the log load of all types, everybody's day runs ``later_h`` hours later, of the
    households per type only the proportions matter, and the spreads are factors on how much daily shapes, noise and
    levels differ. ``season`` is a factor on how much load changes with the seasons, which come ``season_later_days``
    days later: 182.6 on the other hemisphere.
    """

    level_log: float
    later_h: float
    households: Sequence[int]
    shape_spread: float
    noise_spread: float
    level_spread: float
    season: float = 1.0
    season_later_days: float = 0.0

    def of(self, parameters: SimulationParameters) -> SimulationParameters:
        """Return the parameters of the other utility."""
        kinds = zip(parameters.household_types, self.households, strict=True)
        seasons = parameters.seasons
        coldest_day = (seasons.coldest_day + self.season_later_days) % DAYS_PER_YEAR
        return replace(
            parameters,
            seasons=replace(seasons, coldest_day=coldest_day),
            household_types=tuple(self._type(kind, count) for kind, count in kinds),
        )

    def _type(self, kind: HouseholdType, households: int) -> HouseholdType:
        modes = tuple(
            replace(
                mode,
                bumps=self._later(mode.bumps),
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
            winter=self._seasonal(kind.winter),
            summer=self._seasonal(kind.summer),
        )

    def _later(self, bumps: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
        return tuple(((hour + self.later_h) % 24, weight) for hour, weight in bumps)

    def _seasonal(self, change: SeasonalChange) -> SeasonalChange:
        bumps = tuple((hour, self.season * weight) for hour, weight in self._later(change.bumps))
        return replace(change, level_log=self.season * change.level_log, bumps=bumps)

    def _curve(self, log_kwh: tuple[float, ...]) -> tuple[float, ...]:
        hours = np.arange(24)
        return tuple(np.interp(hours - self.later_h, hours, log_kwh, period=24) + self.level_log)


def simulated_kwh(
    parameters: SimulationParameters, seed: int, households: int, first_day: date, days: int
) -> np.ndarray:
    """Return the energy of simulated households in every interval, (households, T) kWh.

    Intervals are those of ``parameters.interval_minutes``. They are regular in UTC, so a local day on which the clock
    changes has more or fewer of them (:class:`meterdp.simulate.fleet.Period` says which is which).
    """
    period = Period(first_day, days, parameters.time_zone, parameters.interval_minutes)
    fleet = Fleet(parameters.household_types, households, 1, seed)
    model = LoadModel(parameters, period, seed)
    energy_kwh = np.empty((households, period.slot_count))
    for household in range(households):
        energy_kwh[household] = model.energy(fleet.kind(household), household)
    return energy_kwh


def hourly_log_kwh(
    parameters: SimulationParameters,
    seed: int,
    households: int,
    first_day: date,
    days: int,
    clip_kwh: tuple[float, float],
) -> np.ndarray:
    """Return hourly log energies of simulated households within public bounds, (households, 24 days) log kWh.

    No day on which the clock changes may be among them.
    """
    energy = simulated_kwh(parameters, seed, households, first_day, days)
    return np.log(np.clip(energy.reshape(households, 24 * days, -1).sum(axis=2), *clip_kwh))
