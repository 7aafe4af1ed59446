"""Make the table of what released households are expected to be worth: ``python tools/make_household_plan.py``.

The release is tried on synthetic utilities: years of simulated homes with other levels, hours, seasons, shares of
the types and spreads than those of resources/simulator.yaml; in half of them some homes are second homes. What counts
is N mu / d, the households per entry of a vector in units of the noise. ``resources/household_plan.csv`` has for
every such number how far released households are off; no real reading is looked at. The homes of the simulator as it
is are the public guess. Takes some minutes.
"""

from __future__ import annotations

import csv
import math
import re
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from make_prior_mixture import RANGES, SHARE_CONCENTRATION

from meterdp.core.job import progress
from meterdp.core.noise import StudyNoise, keyed_generator
from meterdp.core.parquet import atomic_path
from meterdp.households.configured import calendar_of
from meterdp.households.mechanism import HouseholdRecords, Households, HouseholdsPublic, Population, directions_of
from meterdp.households.vector import VectorSettings, household_vectors
from meterdp.mechanisms.proven.marginals import LinearReference, pool_weights
from meterdp.mechanisms.proven.mechanism import Box
from meterdp.privacy import gaussian
from meterdp.profiles.grid import LocalTime
from meterdp.release.plan import USABLE
from meterdp.release.worth import HOUSEHOLD_COLUMNS, HOUSEHOLD_QUANTILES
from meterdp.simulate.load import Variation, simulated_kwh
from meterdp.simulate.parameters import SimulationParameters
from meterdp.simulate.year import with_second_homes

ROOT = Path(__file__).resolve().parents[1]
FIRST, LAST, MINUTES = date(2025, 1, 1), date(2025, 12, 31), 60
DAYS = [FIRST + timedelta(days=n) for n in range((LAST - FIRST).days + 1)]
SETTINGS = VectorSettings(calendar_of(FIRST, LAST, LocalTime(MINUTES, "UTC")))
BOX = Box(*(tuple(bound) for bound in SETTINGS.bounds.tolist()))
UTILITIES, HOMES, DRAWS = 40, 300, 3
SIGNALS = (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 256)
# So many records at most; with fewer than a signal has, the noise is less by as much.
MOST_RECORDS = 2000
SEASONS, HEMISPHERES, OFF_DAYS, MOST_EMPTY = (0.3, 2.0), (0.0, 182.6), 30.0, 0.3
SEED, EPSILON, DELTA = 3401, 1.0, 1e-5


def homes(parameters: SimulationParameters, number: int, empty: float = 0.0) -> np.ndarray:
    """Return the vectors of the homes of a utility, (HOMES, d), of which a share stand empty most of the year."""
    kwh = simulated_kwh(parameters, SEED + number, HOMES, FIRST, len(DAYS))
    kwh = with_second_homes(kwh, SETTINGS.columns.day, SETTINGS.hours, empty, SEED + number)
    return household_vectors(kwh, SETTINGS)


def share_empty(number: int) -> float:
    """Return which share of homes of a utility stands empty most of the year: none in every other utility."""
    return number % 2 * keyed_generator(SEED, "second homes of a utility", number).uniform(0, MOST_EMPTY)


def utility(parameters: SimulationParameters, number: int) -> SimulationParameters:
    """Return the parameters of a synthetic utility."""
    generator = keyed_generator(SEED, "utility of years", number)
    shares = np.array([kind.households for kind in parameters.household_types]) / parameters.households
    drawn = {name: generator.uniform(*limits) for name, limits in RANGES.items() if name != "noise_spread"}
    drawn["noise_spread"] = float(np.exp(generator.uniform(*np.log(RANGES["noise_spread"]))))
    own = np.maximum(1, 1e4 * generator.dirichlet(SHARE_CONCENTRATION * shares)).astype(int)
    later = HEMISPHERES[generator.integers(2)] + generator.uniform(-OFF_DAYS, OFF_DAYS)
    season = generator.uniform(*SEASONS)
    return Variation(households=tuple(own), season=season, season_later_days=later, **drawn).of(parameters)


def said_of(vectors: np.ndarray, weight: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Return what is asked of weighted households: quantiles of energy and of largest readings, the mean energy, that
    of each hour of the day and of each month, that of a month against the year, and that of days off against that of
    other days.
    """
    log_mean, highest = (vectors[:, SETTINGS.names.index(name)] for name in ("log_mean_kw", "highest"))
    mean_kw, peak_kw = np.exp(log_mean), np.exp(log_mean + highest)
    weight = np.ones(len(vectors)) if weight is None else weight

    def quantiles(values: np.ndarray) -> np.ndarray:
        order = values.argsort()
        below = np.cumsum(weight[order]) - weight[order] / 2
        return np.interp(HOUSEHOLD_QUANTILES, below / weight.sum(), values[order])

    share = weight / weight.sum()
    mean = np.array([share @ mean_kw])
    of, columns, off_share = share * mean_kw, SETTINGS.columns, SETTINGS.columns.is_off.mean()

    def named(pattern: str) -> np.ndarray:
        return vectors[:, [n for n, name in enumerate(SETTINGS.names) if re.fullmatch(pattern, name)]]

    day, off_day, waves = of @ named(r"day_(cos|sin)_\d"), of @ named(r"off_day_.*"), columns.slot_harmonics
    hours = mean + waves @ day + off_share * (waves[:, : len(off_day)] @ off_day)
    # The mean of a day, of which waves of the day are no part.
    off, year = named("off"), named(r"year_(cos|sin)_\d")
    days = (1 + off * (columns.is_off - off_share)) * (1 + year @ (columns.yearly - columns.yearly_mean).T)
    daily, month = of @ days, np.array([day.month for day in DAYS])
    months = np.bincount(month, daily)[1:] / np.bincount(month)[1:]
    return {
        "energy": quantiles(mean_kw),
        "peak": quantiles(peak_kw),
        "mean": mean,
        "hours": hours,
        "months": months,
        "seasons": months / months.mean(),
        "weekends": np.array([daily[columns.is_off].mean() / daily[~columns.is_off].mean()]),
    }


def reweighted(population: Population) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors (n, d) within the box, with the weights by which synthetic households are drawn of them."""
    reference = LinearReference(population.mixture, population.directions)
    weight = pool_weights(reference.weighted, population.exponents[reference.parts[0]])
    return np.clip(reference.pool, BOX.low, BOX.high), weight


def mechanism(signal: float) -> tuple[Households, int]:
    """Return the mechanism with the plan and the noise of a signal, for records of which there may be fewer."""
    d, mu = BOX.dimension, gaussian.mu_for(EPSILON, DELTA)
    households = max(round(signal * d / mu), 50)
    records = min(households, MOST_RECORDS)
    directions = directions_of(SETTINGS.names)
    (whole,) = Households.calibrate(HouseholdsPublic(EPSILON, DELTA, BOX, (0,) * households, directions)).parts
    steps = tuple(replace(s, noise_std=s.noise_std * records * mu / (signal * d)) for s in whole.plan.steps)
    part = replace(whole, public=replace(whole.public, records=records), plan=replace(whole.plan, steps=steps))
    return Households(HouseholdsPublic(EPSILON, DELTA, BOX, (0,) * records, directions), (part,), None), records


def off(found: np.ndarray, real: np.ndarray) -> float:
    return float(np.abs(found / real - 1).mean())


def main() -> None:
    """Write the table."""
    parameters = replace(
        SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml"), interval_minutes=MINUTES, time_zone="UTC"
    )
    # Who knows nothing of the seasons of a place guesses that there are none.
    guess = said_of(homes(parameters, -1)) | {"seasons": np.ones(12)}
    towns = [
        homes(utility(parameters, u), u, share_empty(u)) for u in progress(range(UTILITIES), "synthetic utilities")
    ]
    lines = []
    for signal in progress(SIGNALS, "signals"):
        of, records = mechanism(signal)
        error, guessed = ({name: [] for name in (*guess, "absurd")} for _ in range(2))
        for number, vectors in enumerate(towns):
            real = said_of(vectors)
            for draw in range(DRAWS):
                noise = StudyNoise(SEED, "household plan", number, draw, repr(signal))
                x = vectors[(noise.uniform((records,)) * len(vectors)).astype(int)]
                x[math.ceil(USABLE * records) :] = SETTINGS.typical
                (population,), _ = of.release(HouseholdRecords.of(x), noise)
                found = said_of(*reweighted(population))
                for name, value in found.items():
                    error[name].append(off(value, real[name]))
                    guessed[name].append(off(guess[name], real[name]))
                ratio = np.concatenate([found[name] / real[name] for name in ("energy", "peak")])
                error["absurd"].append(float(((ratio > 2) | (ratio < 0.5)).any()))
                guessed["absurd"].append(0.0)
        for name, values in error.items():
            numbers = np.mean(values), np.quantile(values, 0.95), np.mean(guessed[name])
            lines.append((signal, name, *(float(f"{value:.4g}") for value in numbers)))
    with (
        atomic_path(ROOT / "resources/household_plan.csv") as temporary,
        open(temporary, "w", encoding="utf-8") as file,
    ):
        table = csv.writer(file, lineterminator="\n")
        table.writerow(HOUSEHOLD_COLUMNS)
        table.writerows(lines)


if __name__ == "__main__":
    main()
