"""Measure attacks on releases of simulated households: ``python tools/make_attacks.py``, some minutes.

``resources/attacks.csv`` is what the page for a custodian quotes (meterdp.publish.odds). No real reading and no
release of anybody is looked at. In every trial so many simulated households are released with the default settings;
of one of them ten candidate sets of readings are equally likely, five from households that use more than the typical
one and five that use less. Two attackers are asked

- ``membership``: is it this candidate or another one, of two;
- ``attribute``: does the household use more than the typical one;
- ``reconstruction``: which of the ten sets of readings is its own.

``informed`` knows the readings of all other households and sees every noisy answer, more than is ever released, and
takes the exact likelihood; no attack on the files can be better. ``folder`` has what is released and takes the
candidate that looks most like it.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

import numpy as np

from meterdp.audit.cases.interface import Spy, log_ratio_of_run, replayed
from meterdp.core.config import complete, load_schema
from meterdp.core.job import progress
from meterdp.core.noise import StudyNoise, keyed_generator
from meterdp.core.parquet import atomic_path
from meterdp.feeders.mechanism import FeederRecords, FeederTotals
from meterdp.groupforecast.mechanism import CELLS, ForecastRecords, GroupForecast
from meterdp.groupforecast.plan import CELL_SHARE, cells_of, in_cells, prior_shape
from meterdp.groupforecast.records import household_records
from meterdp.groupforecast.study import group_public
from meterdp.households.common import block_deviations
from meterdp.households.configured import calendar_of
from meterdp.households.mechanism import HouseholdRecords, Households, HouseholdsPublic, directions_of
from meterdp.households.vector import VectorSettings, household_vectors
from meterdp.mechanisms.interface import PrivateRecords
from meterdp.mechanisms.proven.mechanism import Box, Proven
from meterdp.mixture.density import class_log_densities
from meterdp.mixture.draws import Mixture
from meterdp.profiles.grid import LocalTime
from meterdp.profiles.vector import VectorRules, profile_vectors
from meterdp.publish.odds import ATTACKS, CANDIDATES, COLUMNS
from meterdp.release import feeders, mixture
from meterdp.simulate.load import simulated_kwh
from meterdp.simulate.parameters import SimulationParameters

ROOT = Path(__file__).resolve().parents[1]
CONFIG = complete({}, load_schema(ROOT / "workflow/schemas/config.schema.yaml"))
FIRST, DAYS, MINUTES, YEAR = date(2025, 1, 6), 28, 60, date(2025, 12, 31)
EPSILONS, METERS, TRIALS, SEED = (0.25, 1.0, 4.0), (100, 400), 200, 4201
# Simulated households that the released ones and the candidates are drawn from.
POOL = 2000
NORMAL_95 = 1.96


@dataclass(frozen=True)
class Attacked:
    """A calibrated release that is mu-GDP, and what an attack does with it.

    ``release`` draws it from records with noise; ``replay`` runs it on other records with recorded answers;
    ``likeness`` says how much candidates (n, ...) look like what was released, (n,).
    """

    release: Callable
    replay: Callable
    likeness: Callable[..., np.ndarray]
    mu: float


@dataclass(frozen=True)
class Remembering(Proven):
    """The mechanism that makes what follows from a released mixture once for all replays of a run."""

    last: dict = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, mechanism: Proven) -> Remembering:
        return cls(mechanism.public, mechanism.mu, mechanism.plan)

    def reference(self, mixture: Mixture):
        key = mixture.means.tobytes() + mixture.covariances.tobytes()
        if key not in self.last:
            self.last.clear()
            self.last[key] = Proven.reference(self, mixture)
        return self.last[key]


def of_mixture(epsilon: float, meters: int) -> Attacked:
    mechanism = Remembering.of(Proven.calibrate(mixture.configured(_with(epsilon=epsilon), meters)))

    def replay(x: np.ndarray, take: Callable) -> None:
        mechanism.run_whole(x, lambda _, exact: take(exact), 1)

    return Attacked(
        lambda x, noise: mechanism.release(PrivateRecords(x), noise, 1),
        replay,
        lambda released, x: _log_density(x, mechanism.published(released)),
        mechanism.mu,
    )


def of_forecasts(epsilon: float, meters: int) -> Attacked:
    mechanism = GroupForecast.calibrate(group_public(_with(forecast_epsilon=epsilon), meters, None, 0.0))

    def likeness(released, x: np.ndarray) -> np.ndarray:
        return -((x[:, 1 : 1 + CELLS] - released.expected_ratio) ** 2 @ CELL_SHARE)

    return Attacked(
        lambda x, noise: mechanism.release(ForecastRecords(x), noise),
        lambda x, take: mechanism.run(x, lambda _, exact: take(exact)),
        likeness,
        mechanism.mu,
    )


def of_feeders(epsilon: float, meters: int) -> Attacked:
    config = _with(feeder_epsilon=epsilon)
    on = feeders.on_equal_feeders(meters, max(meters // PER_FEEDER, 1))
    mechanism = FeederTotals.calibrate(replace(feeders.configured(config, on, max(on) + 1), grid=0.0))

    def likeness(released, x: np.ndarray) -> np.ndarray:
        mean = released.total_kwh[0] / released.devices[0]
        return -((x - mean) ** 2).sum(axis=1)

    return Attacked(
        lambda x, noise: mechanism.release(FeederRecords(x), noise),
        lambda x, take: mechanism.run(mechanism.sums(FeederRecords(x)), lambda _, exact: take(exact)),
        likeness,
        mechanism.mu,
    )


def of_households(epsilon: float, meters: int) -> Attacked:
    settings = VectorSettings(calendar_of(FIRST, YEAR, LocalTime(MINUTES, "UTC")))
    box, days = Box(*map(tuple, settings.bounds.tolist())), settings.columns.day_count
    public = HouseholdsPublic(
        epsilon, CONFIG["release"]["delta"], box, (0,) * meters, directions_of(settings.names), days=days
    )
    mechanism, entries = Households.calibrate(public), box.dimension
    mechanism = replace(mechanism, parts=tuple(map(Remembering.of, mechanism.parts)))

    def split(x: np.ndarray) -> HouseholdRecords:
        return HouseholdRecords.of(x[:, :entries], x[:, entries:])

    def replay(x: np.ndarray, take: Callable) -> None:
        records = split(x)
        mechanism.run_common(records.deviation_sum, lambda _, exact: take(exact))
        mechanism.run(records.vectors, [lambda _, exact: take(exact)])

    return Attacked(
        lambda x, noise: mechanism.release(split(x), noise),
        replay,
        lambda released, x: _log_density(x[:, :entries], released[0][0].mixture),
        mechanism.mu,
    )


# Meters of a feeder.
PER_FEEDER = 50
KINDS = {"mixture": of_mixture, "households": of_households, "forecasts": of_forecasts, "feeders": of_feeders}


def pools() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the records of simulated households for every kind, (POOL, ...), and which use more than the typical
    one, (POOL,).
    """
    parameters = replace(
        SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml"), interval_minutes=MINUTES, time_zone="UTC"
    )
    year = simulated_kwh(parameters, SEED, POOL, FIRST, (YEAR - FIRST).days + 1)
    weeks = year[:, : 24 * DAYS]
    last = date.fromordinal(FIRST.toordinal() + DAYS - 1)
    rules = VectorRules.from_config(CONFIG["profiles"])
    calendar = calendar_of(FIRST, last, LocalTime(MINUTES, "UTC"))
    vectors, valid = profile_vectors(weeks, np.ones(POOL, bool), calendar, rules)
    assert valid.mean() > 0.9
    cell = cells_of(FIRST.toordinal() - date(1970, 1, 1).toordinal(), DAYS, calendar.weekend)
    settings = VectorSettings(calendar_of(FIRST, YEAR, LocalTime(MINUTES, "UTC")))
    of_year = household_vectors(year, settings)
    deviations = block_deviations(year, of_year, settings).reshape(POOL, -1)
    window = of_window(weeks)
    records = {
        "mixture": vectors,
        "households": np.hstack([of_year, deviations]),
        "forecasts": household_records(weeks, cell, in_cells(prior_shape())).x,
        "feeders": window,
    }
    energy = {"households": year.sum(axis=1), "feeders": window.sum(axis=1)}
    in_weeks = weeks.sum(axis=1)
    return {kind: (x, _above(energy.get(kind, in_weeks))) for kind, x in records.items()}


def of_window(weeks_kwh: np.ndarray) -> np.ndarray:
    """Return what feeder totals take, (H, T): the last days of the period, averaged if the configuration says so."""
    release = CONFIG["release"]
    days = weeks_kwh[:, -24 * release["feeder_days"] :].reshape(len(weeks_kwh), -1, 24)
    return days.reshape(len(days), -1) if release["feeder_window"] == feeders.DAYS else days.mean(axis=1)


def _above(energy_kwh: np.ndarray) -> np.ndarray:
    return energy_kwh > np.median(energy_kwh)


def _with(**release: float) -> dict:
    """Return the default configuration with other settings of the release, of hourly readings."""
    export = CONFIG["export"] | {"interval_minutes": MINUTES}
    return CONFIG | {"export": export, "release": CONFIG["release"] | release}


def _log_density(x: np.ndarray, of: Mixture) -> np.ndarray:
    return np.logaddexp.reduce(class_log_densities(x, of), axis=0)


def attacked(of: Attacked, drawn: np.ndarray, candidates: np.ndarray, noise: StudyNoise) -> dict[str, np.ndarray]:
    """Return the scores of candidates (n, ...), the first of which is among the records that are released, (n,)."""
    spy, others = Spy(noise), drawn.copy()
    released = of.release(drawn, spy)
    informed = np.zeros(len(candidates))
    for k in range(1, len(candidates)):
        others[0] = candidates[k]
        there = replayed(lambda take: of.replay(others, take), spy.answers)
        informed[k] = -log_ratio_of_run(spy, there)
    return {"informed": informed, "folder": of.likeness(released, candidates)}


def right(score: np.ndarray, above: np.ndarray, informed: bool) -> tuple[float, float, float]:
    """Return how far each of :data:`ATTACKS` is right, from scores of candidates of which the first is the truth."""
    pairs = float(((score[1:] < score[0]) + (score[1:] == score[0]) / 2).mean())
    together = np.logaddexp.reduce if informed else np.mean
    sides = together(score[above == above[0]]), together(score[above != above[0]])
    attribute = 0.5 if sides[0] == sides[1] else float(sides[0] > sides[1])
    best = score == score.max()
    return pairs, attribute, float(best[0]) / best.sum()


def rows(kind: str, epsilon: float, meters: int, pool: np.ndarray, above: np.ndarray) -> list[tuple]:
    """Return the rows of the table for one release."""
    of, found = KINDS[kind](epsilon, meters), {"informed": [], "folder": []}
    for trial in range(TRIALS):
        rng = keyed_generator(SEED, "attacks", kind, meters, trial)
        half = CANDIDATES // 2
        candidates = rng.permutation(
            np.concatenate([rng.choice(np.flatnonzero(above == a), half, False) for a in (0, 1)])
        )
        drawn = pool[rng.choice(len(pool), meters)]
        drawn[0] = pool[candidates[0]]
        noise = StudyNoise(SEED, "attacks", kind, meters, trial, repr(epsilon))
        for attacker, score in attacked(of, drawn, pool[candidates], noise).items():
            found[attacker].append(right(score, above[candidates], attacker == "informed"))
    return [
        (kind, epsilon, meters, CONFIG["release"]["delta"], of.mu, attacker, attack, *interval(column), TRIALS)
        for attacker, trials in found.items()
        for attack, column in zip(ATTACKS, np.array(trials).T, strict=True)
    ]


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return a mean within [0, 1] and its limits of 95 %, to four digits."""
    mean, n = float(np.mean(values)), len(values)
    error = NORMAL_95 * float(np.std(values)) / math.sqrt(n)
    return tuple(round(min(max(x, 0.0), 1.0), 4) for x in (mean, mean - error, mean + error))


def main() -> None:
    """Write the table."""
    of_kind = pools()
    cases = [(kind, epsilon, meters) for kind in KINDS for epsilon in EPSILONS for meters in METERS]
    lines = [line for case in progress(cases, "releases") for line in rows(*case, *of_kind[case[0]])]
    with atomic_path(ROOT / "resources/attacks.csv") as temporary, open(temporary, "w", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(lines)


if __name__ == "__main__":
    main()
