"""Make the table of what a mixture is expected to be worth: ``python tools/make_plan.py [PROCESSES]``.

The release is tried on synthetic utilities: homes sampled from the shipped prior mixture, with its classes in other
shares, at other levels and with other spreads, and homes that stand empty. What counts is N mu / d, the households
per hour in units of the noise of the mixture, and, where they are few, how many there are. ``resources/plan.csv`` has
for every such pair, with the prior mixture and without one, how far what is released is off; no real record is looked
at.

What is finished is kept in results/plan until the code of the mechanism changes, so that a run that was stopped goes
on where it was. On two cores it takes a quarter of an hour.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from meterdp.core.config import complete, load_schema
from meterdp.core.log_scale import LogScale
from meterdp.core.noise import StudyNoise, keyed_generator
from meterdp.core.parquet import atomic_path
from meterdp.core.provenance import source_hash
from meterdp.evaluation.cost import average_profile_kwh
from meterdp.mechanisms.configured import MARGINAL_SHARE, public_settings
from meterdp.mechanisms.proven.marginals import Marginals, pool_weights
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mechanisms.proven.prior_mixture import SHIPPED, read_prior_mixture
from meterdp.mixture.draws import FixedNumbers, Mixture, MixtureDraws, sample
from meterdp.privacy import gaussian
from meterdp.privacy.mechanism import measure_with
from meterdp.release.plan import USABLE
from meterdp.release.worth import COLUMNS, FACTOR, QUANTILES

ROOT = Path(__file__).resolve().parents[1]
CONFIG = complete({}, load_schema(ROOT / "workflow/schemas/config.schema.yaml"))
SCALE = LogScale.from_config(CONFIG["profiles"])
# Hours of a record and the first of them; longer records count as so many households fewer per hour.
HOURS = {12: 12, 24: 0}
RECORDS = (100, 1000)
SIGNALS = (0.25, 0.5, 1, 2, 4, 8, 16, 64, 256, 1024)
# Synthetic utilities, and releases of each.
UTILITIES, DRAWS = 20, 4
# Compared with the prior mixture: the shares of its classes are Dirichlet with its own as mean; levels are e^-1.25 to
# e^1.25 times and variances e^-0.75 to e^0.75 times as large, and every class has a level of its own beside (a
# standard deviation). Days differ by an offset of so many log kWh in every hour (a standard deviation, of an
# autoregression over the hours), and homes differ from their class as Student's t does. In every other utility up to
# MOST_EMPTY of the homes stand empty, with a base load of so many kWh per hour.
CONCENTRATION, LEVEL_LOG, SPREAD_LOG, CLASS_LEVEL_STD = 2.0, 1.25, 0.75, 0.4
SHAPE_STD, HOUR_CORRELATION, FREEDOM = 0.4, 0.8, 4
MOST_EMPTY, BASE_KWH, BASE_STD_LOG = 0.3, (0.01, 0.1), 0.3
SEED, EPSILON, DELTA = 3001, 1.0, 1e-5


@dataclass(frozen=True)
class Cell:
    """One line of the table: with the prior mixture or without, d hours, N households and N mu / d."""

    prior_mixture: bool
    hours: int
    records: int
    signal: float

    @property
    def mechanism(self) -> Proven:
        """The mechanism of so many records with the noise and the plan of the signal.

        Calibrated for as many households as have it at one epsilon, of whom the records are a part or several times
        as many.
        """
        sound = {**CONFIG["mechanisms"]["sound"], "prior_mixture": SHIPPED if self.prior_mixture else None}
        profiles = {**CONFIG["profiles"], "hours": self.hours, "start_hour": HOURS[self.hours]}
        mu = gaussian.mu_for(EPSILON, DELTA) * math.sqrt(1 - MARGINAL_SHARE)
        households = max(round(self.signal * self.hours / mu), CONFIG["mixture"]["classes"])
        sections = {"sound": sound}, CONFIG["mixture"], profiles
        whole = Proven.calibrate(public_settings(EPSILON, DELTA, (households, self.hours), *sections))
        # The signal is that of the line also where a whole number of households has not quite the same.
        less = self.records * mu / (self.signal * self.hours)
        steps = tuple(replace(step, noise_std=step.noise_std * less) for step in whole.plan.steps)
        public = replace(whole.public, records=self.records)
        return replace(whole, public=public, plan=replace(whole.plan, steps=steps))

    def tried(self, number: int) -> dict[str, tuple[np.ndarray, float]]:
        """Return by quantity how far releases of a utility are off, and a public guess, as shares of the real."""
        mechanism, start = self.mechanism, HOURS[self.hours]
        prior_mixture = read_prior_mixture(SHIPPED, start, self.hours).mixture
        noise = StudyNoise(SEED, "homes of a made-up utility", number)  # words: keep
        usable = math.ceil(USABLE * self.records)
        log_kwh = homes(utility(prior_mixture, number), usable, share_empty(number), noise)
        energy = SCALE.clipped_kwh(SCALE.log(np.exp(log_kwh)))
        missing = np.full((self.records - usable, self.hours), CONFIG["profiles"]["default_kwh_per_hour"])
        x = SCALE.log(np.vstack([energy, missing]))
        measure = measure_with(noise, noise.grid)
        _, beside = mechanism.run_whole(x, measure, DRAWS)
        real, guess = of_profiles(energy, np.ones(len(energy))), of_profiles(*prior_profiles(start, self.hours))
        fitted = [MixtureDraws.single(one.fitted(mechanism.public.eigenvalue_floor)) for one in beside]
        ratio = np.concatenate([average_profile_kwh(one, SCALE) for one in fitted]) / real["hours"]
        absurd = ((ratio > FACTOR) | (ratio < 1 / FACTOR)).any(axis=1)
        found = {
            "hours_of_mixture": (np.abs(ratio - 1).mean(axis=1), off(guess["hours"], real["hours"])),
            "absurd": (absurd.astype(float), 0.0),
        }
        profiles = [of_profiles(*reweighted(one)) for one in beside]
        for name in real:
            error = np.array([off(one[name], real[name]) for one in profiles])
            found[name] = error, off(guess[name], real[name])
        return found


def of_profiles(energy_kwh: np.ndarray, weight: np.ndarray) -> dict[str, np.ndarray]:
    """Return what is asked of weighted profiles (n, d): mean hours (d,), energy (1,) and its quantiles."""
    hours = weight @ energy_kwh / weight.sum()
    energy = energy_kwh.sum(axis=1)
    order = energy.argsort()
    below = np.cumsum(weight[order]) - weight[order] / 2
    quantiles = np.interp(QUANTILES, below / weight.sum(), energy[order])
    return {"hours": hours, "energy": hours.sum(keepdims=True), "quantiles": quantiles}


def reweighted(beside: Marginals) -> tuple[np.ndarray, np.ndarray]:
    """Return the profiles of the pool (n, d), kWh, with the weights by which synthetic profiles are drawn of them."""
    return SCALE.kwh(beside.reference.pool), pool_weights(beside.reference, beside.exponents)


def prior_profiles(start_hour: int, hours: int) -> tuple[np.ndarray, np.ndarray]:
    """Return profiles of the public guess, the prior mixture as it is, with equal weights."""
    x, _ = sample(read_prior_mixture(SHIPPED, start_hour, hours).mixture, 20_000, FixedNumbers())
    return SCALE.clipped_kwh(x), np.ones(len(x))


def off(found: np.ndarray, real: np.ndarray) -> float:
    return float(np.abs(found / real - 1).mean())


def share_empty(number: int) -> float:
    """Return which share of homes of a utility stands empty: none in every other utility."""
    return number % 2 * keyed_generator(SEED, "empty homes of a utility", number).uniform(0, MOST_EMPTY)


def homes(utility: Mixture, n: int, empty_share: float, noise: StudyNoise) -> np.ndarray:
    """Return log energies of homes, (n, d): as far from their class as Student's t has it, with its covariance.

    A share of them stand empty, each with a base load of its own.
    """
    x, component = sample(utility, n, noise)
    squares = (noise.normal((n, FREEDOM)) ** 2).sum(axis=1)
    middle = utility.means[component - 1]
    lived_in = middle + (x - middle) * np.sqrt((FREEDOM - 2) / squares)[:, None]
    base = np.log(BASE_KWH[0] + (BASE_KWH[1] - BASE_KWH[0]) * noise.uniform((n, 1)))
    empty = base + BASE_STD_LOG * noise.normal(x.shape)
    return np.where(noise.uniform((n, 1)) < empty_share, empty, lived_in)


def utility(prior_mixture: Mixture, number: int) -> Mixture:
    """Return the classes of homes of a synthetic utility."""
    generator = keyed_generator(SEED, "made-up utility", number)  # words: keep
    weights = generator.dirichlet(CONCENTRATION * prior_mixture.weights)
    level, spread = generator.uniform(-LEVEL_LOG, LEVEL_LOG), generator.uniform(-SPREAD_LOG, SPREAD_LOG)
    hour = np.arange(prior_mixture.dimension)
    correlation = HOUR_CORRELATION ** np.abs(hour[:, None] - hour)
    shape = SHAPE_STD * np.linalg.cholesky(correlation) @ generator.standard_normal(prior_mixture.dimension)
    own_level = CLASS_LEVEL_STD * generator.standard_normal((prior_mixture.classes, 1))
    return Mixture(
        weights, prior_mixture.means + level + own_level + shape, math.exp(spread) * prior_mixture.covariances
    )


def lines(cell: Cell) -> list[dict]:
    """Return the lines of a cell, one for each quantity: means over utilities, and what 19 of 20 stay below."""
    found = [cell.tried(number) for number in range(UTILITIES)]
    out = []
    for name in found[0]:
        error = np.concatenate([one[name][0] for one in found])
        guess = np.array([one[name][1] for one in found])
        at = {**asdict(cell), "prior_mixture": int(cell.prior_mixture)}
        means = {"error": error.mean(), "error_q95": np.quantile(error, 0.95), "guess": guess.mean()}
        out.append(at | {"quantity": name} | {key: float(f"{value:.4g}") for key, value in means.items()})
    return out


def digest() -> str:
    """Return a digest of all that shapes the table."""
    code = source_hash(ROOT / "src/meterdp/mechanisms/proven/mechanism.py")
    settings = json.dumps([CONFIG[section] for section in ("mechanisms", "mixture", "profiles")], sort_keys=True)
    prior_mixture = (ROOT / "resources/prior_mixture/mixture.json").read_bytes()
    return hashlib.sha256(
        b"".join([code.encode(), settings.encode(), prior_mixture, Path(__file__).read_bytes()])
    ).hexdigest()


def main(processes: str = "2") -> None:
    """Write the table, taking what is there from an earlier run of the same code."""
    kinds = [*((True, hours) for hours in HOURS), (False, max(HOURS))]
    cells = [Cell(*kind, *size) for kind, size in product(kinds, product(RECORDS, SIGNALS))]
    kept = ROOT / "results/plan" / digest()
    kept.mkdir(parents=True, exist_ok=True)
    with get_context("spawn").Pool(int(processes)) as pool:
        for number, _ in enumerate(pool.imap_unordered(_Kept(kept), cells), start=1):
            print(f"{number} of {len(cells)}", flush=True)
    with atomic_path(ROOT / "resources/plan.csv") as temporary, open(temporary, "w", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(_all(kept, cells))


@dataclass(frozen=True)
class _Kept:
    folder: Path

    def __call__(self, cell: Cell) -> None:
        path = _place(self.folder, cell)
        if not path.exists():
            with atomic_path(path) as temporary:
                temporary.write_text(json.dumps(lines(cell)), encoding="utf-8")


def _place(folder: Path, cell: Cell) -> Path:
    return folder / f"{int(cell.prior_mixture)}-{cell.hours}-{cell.records}-{cell.signal:g}.json"


def _all(folder: Path, cells: list[Cell]) -> Iterator[dict]:
    for cell in cells:
        yield from json.loads(_place(folder, cell).read_text(encoding="utf-8"))


if __name__ == "__main__":
    main(*sys.argv[1:2])
