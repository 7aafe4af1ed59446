"""Does the plan of a release cover what happens, and is a mean hour of one ever absurd?

``python benchmarks/plan.py [DATA]`` releases twenty times each, with seeded noise in place of safe noise and
otherwise as a release does: the default mixture for 100 and 500 homes and feeder totals of 1,000, of three utilities
that are simulated with other parameters than those of resources/simulator.yaml (``utilities.py``); and, given the
folder of real homes (``ch_bamberg_15min`` and ``au_nsw_30min``), the mixture of all Swiss homes on a Wednesday and
totals of a week of them, and the mixture of 500 Australian household-days. One row per case in
results/benchmarks/plan.parquet: ``ours_s`` is seconds per release, ``other_s`` those of the plan. As quality: the
verdict of the plan; for every quantity its error beside the planned one, and how many of the releases were within the
bound that 19 of 20 are planned to be within; of feeders errors over the standard errors that were stated; and in how
many some mean hour is off by more than a factor of two. At
last it prints what share of all quantities of mixtures were within their bounds, by whose homes they are of
(docs/howto/epsilon.md).
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
from table import ROOT, write
from utilities import LATER, SHOPS, flat

from meterdp.core.config import complete, load_schema
from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise
from meterdp.evaluation.cost import average_profile_kwh
from meterdp.feeders.mechanism import FeederRecords, FeederTotals
from meterdp.mechanisms.interface import PrivateRecords
from meterdp.mechanisms.proven.marginals import sample_reweighted
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mixture.draws import MixtureDraws
from meterdp.release import feeders, mixture
from meterdp.release.plan import Plan
from meterdp.release.worth import FACTOR, QUANTILES
from meterdp.simulate.load import hourly_log_kwh
from meterdp.simulate.parameters import TYPICAL_DAILY_KWH, SimulationParameters

CONFIG = complete({}, load_schema(ROOT / "workflow/schemas/config.schema.yaml"))
START, HOURS = (CONFIG["profiles"][key] for key in ("start_hour", "hours"))
SCALE = LogScale.from_config(CONFIG["profiles"])
SEED, RELEASES, PROFILES = 9200, 20, 1000
DAY = date(2025, 12, 3)
EPSILONS = {100: (1, 4, 16), 500: (0.5, 1, 4)}
ON_FEEDERS, FEEDERS, WEEK = 1000, 10, 7


def utilities() -> dict[str, SimulationParameters]:
    """Return three utilities that nothing was made with."""
    parameters = SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml")
    return {"later": LATER.of(parameters), "shops": SHOPS.of(parameters), "flat": flat(parameters)}


def simulated(households: int, days: int = 1) -> dict[str, np.ndarray]:
    """Return hourly energies of homes of the three utilities, (N, 24 days) kWh."""
    return {
        name: np.exp(hourly_log_kwh(utility, SEED + i, households, DAY, days, (1e-3, 1e3)))
        for i, (name, utility) in enumerate(utilities().items())
    }


def swiss(data: Path) -> np.ndarray:
    """Return a week of hourly energies of Swiss homes that were read as loads, (N, 168) kWh."""
    readings = pd.read_parquet(data / "ch_bamberg_15min/elcons_15min_long.parquet")
    first = readings[readings["week"] == readings["week"].min()].sort_values(["vid", "slot"])
    hours = first["kwh"].to_numpy().reshape(-1, 24 * WEEK, 4).sum(axis=2)
    return hours[(hours >= 0).all(axis=1) & (hours.sum(axis=1) > 0)]


def australian_days(data: Path) -> np.ndarray:
    """Return 500 whole household-days of Australian homes, (500, 24) kWh."""
    readings = pd.read_parquet(data / "au_nsw_30min/readings.parquet")
    stamp = readings["reading_datetime"].dt
    keys = [readings["customer_id"], stamp.normalize().rename("day"), stamp.hour.rename("hour")]
    hours = readings.groupby(keys)["general_supply_kwh"].agg(["sum", "count"])
    days = hours.loc[hours["count"] == 2, "sum"].unstack("hour").dropna()  # noqa: PD010  as in pandas' guide
    return days.to_numpy(float)[StudyNoise(SEED, "household-days").uniform((len(days),)).argsort()[:500]]


@dataclass(frozen=True)
class Judged:
    """What several releases were off by, (releases, quantities) in the order of the plan, and in which an hour was
    off by more than a factor of two."""

    plan: Plan
    errors: np.ndarray
    absurd: np.ndarray
    seconds: tuple[float, float]  # of a release, and of its plan
    to_stated: float | None = None  # root mean square of errors over standard errors that the releases state

    @property
    def within(self) -> np.ndarray:
        """How many of the releases are within the planned bound of every quantity."""
        return (self.errors <= [one.error_q95 for one in self.plan.expected]).sum(axis=0)

    @property
    def quality(self) -> str:
        bounds = [f"{within} of {len(self.errors)}" for within in self.within]
        said = [
            f"{one.of} {error:.0%} ({one.error:.0%} planned), {share} within {one.error_q95:.0%}"
            for one, error, share in zip(self.plan.expected, self.errors.mean(axis=0), bounds, strict=True)
        ]
        stated = [] if self.to_stated is None else [f"{self.to_stated:.2f} times the standard errors"]
        return "; ".join([self.plan.verdict, *said, *stated, f"{self.absurd.sum()} absurd"])


def judge_mixture(
    energy_kwh: np.ndarray, epsilon: float, releases: int = RELEASES, profiles: int = PROFILES
) -> Judged:
    """Release the default mixture of homes (N, 24) kWh several times, each with so many synthetic profiles."""
    energy_kwh = energy_kwh[:, START : START + HOURS]
    config = CONFIG | {"release": CONFIG["release"] | {"epsilon": epsilon}}
    public = mixture.configured(config, len(energy_kwh))
    begin = time.perf_counter()
    plan = mixture.plan_of(public)
    planned = time.perf_counter() - begin
    x = SCALE.clipped_log(energy_kwh)
    mean, quantiles = energy_kwh.mean(axis=0), np.quantile(energy_kwh.sum(axis=1), QUANTILES)
    mechanism, errors, absurd = Proven.calibrate(public), [], []
    begin = time.perf_counter()
    for number in range(releases):
        released = mechanism.release(PrivateRecords(x), StudyNoise(SEED, "plan", number, repr(epsilon), len(x)), 1)
        beside = released.marginals
        drawn = sample_reweighted(beside.reference, beside.exponents, profiles, StudyNoise(SEED, "synthetic", number))
        kwh = SCALE.clipped_kwh(drawn)
        fitted = MixtureDraws.single(mechanism.published(released))
        hours = average_profile_kwh(fitted, SCALE)[0] / mean, kwh.mean(axis=0) / mean
        ratios = (
            *hours,
            kwh.sum(axis=1).mean() / mean.sum(),
            np.quantile(kwh.sum(axis=1), QUANTILES) / quantiles,
        )
        errors.append([np.abs(ratio - 1).mean() for ratio in ratios])
        absurd.append(any(((ratio > FACTOR) | (ratio < 1 / FACTOR)).any() for ratio in hours))
    seconds = (time.perf_counter() - begin) / releases, planned
    return Judged(plan, np.array(errors), np.array(absurd), seconds)


def judge_feeders(energy_kwh: np.ndarray, epsilon: float, releases: int = RELEASES) -> Judged:
    """Release totals of homes (N, T) kWh in hours of a week several times; of every feeder once as an error."""
    release = {"feeder_epsilon": epsilon, "feeder_typical_daily_kwh": TYPICAL_DAILY_KWH}
    config = CONFIG | {"release": CONFIG["release"] | release, "export": CONFIG["export"] | {"interval_minutes": 60}}
    feeder = feeders.on_equal_feeders(len(energy_kwh), FEEDERS)
    mechanism = FeederTotals.calibrate(replace(feeders.configured(config, feeder, FEEDERS), grid=0.0))
    begin = time.perf_counter()
    plan = feeders.plan_of(mechanism)
    planned = time.perf_counter() - begin
    exact = np.stack([energy_kwh[np.array(feeder) == f].sum(axis=0) for f in range(FEEDERS)])
    begin, errors, stated = time.perf_counter(), [], []
    for number in range(releases):
        released = mechanism.release(FeederRecords(energy_kwh), StudyNoise(SEED, "feeders", number, repr(epsilon)))
        off = np.sqrt(((released.total_kwh - exact) ** 2).mean(axis=1))
        errors += (off / exact.mean(axis=1)).tolist()
        stated += (off / released.error_kwh).tolist()
    seconds = (time.perf_counter() - begin) / releases, planned
    to_stated = float(np.sqrt(np.square(stated).mean()))
    return Judged(plan, np.array(errors)[:, None], np.zeros(len(errors), dtype=bool), seconds, to_stated)


def cases(data: str | None):
    """Yield the name and what is judged of every case."""
    for name, energy in simulated(500).items():
        for homes in (energy[:100], energy):
            for epsilon in EPSILONS[len(homes)]:
                yield (
                    f"mixture, utility '{name}', N = {len(homes)}, epsilon {epsilon:g}",
                    judge_mixture(homes, epsilon),
                )
    for name, energy in simulated(ON_FEEDERS, WEEK).items():
        for epsilon in (0.5, 2, 8):
            case = f"feeders, utility '{name}', {ON_FEEDERS // FEEDERS} meters on each, epsilon {epsilon:g}"
            yield case, judge_feeders(energy, epsilon)
    if data is not None:
        week = swiss(Path(data))
        for epsilon in EPSILONS[500]:
            yield (
                f"mixture, Swiss homes, N = {len(week)}, epsilon {epsilon:g}",
                judge_mixture(week[:, 48:72], epsilon),
            )
            case = f"mixture, Australian household-days, N = 500, epsilon {epsilon:g}"
            yield case, judge_mixture(australian_days(Path(data)), epsilon)
        for epsilon in (0.5, 2, 8):
            yield (
                f"feeders, Swiss homes, {len(week) // FEEDERS} on each, epsilon {epsilon:g}",
                judge_feeders(week, epsilon),
            )


def main(data: str | None = None) -> None:
    """Run all cases and write the table."""
    rows, within = [], defaultdict(list)
    for case, judged in cases(data):
        ours, plan = judged.seconds
        within[case.split(", N =")[0]].append(judged.within.sum() / judged.errors.size)
        rows.append((case, ours, "the plan", plan, plan / ours, judged.quality, os.getloadavg()[0]))
        print(case, judged.quality, sep=": ", flush=True)
    write("plan", rows)
    for homes, shares in within.items():
        if homes.startswith("mixture"):
            print(f"{homes}: {np.mean(shares):.0%} within their bounds")


if __name__ == "__main__":
    main(*sys.argv[1:2])
