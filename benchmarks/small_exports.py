"""What a public library of classes is worth to small exports: the sound release with it and without it.

``python benchmarks/small_exports.py [EXPORT CONFIG]`` simulates three utilities with other parameters than those of
resources/simulator.yaml and, given a real export with its configuration, adds its homes in five
folds, four times over. The library is the one that comes with the code (tools/make_library.py). One row per case in
results/benchmarks/small_exports.parquet: seconds per release with and without the library, and as quality, in nats
per household on held-out ones, means over the training sets:

* library, own start: log-likelihood of the release with and without the library,
* better by: their difference, with its standard error over the training sets, which both see,
* 1 class: one Gaussian fitted without privacy.

The three utilities, as differences from the parameters of the simulator:

* later: levels e^0.35 times, days 1.5 hours later, other shares of the types, shapes 1.3, noise 0.9 and levels 1.4
  times as different,
* shops: levels e^-0.45 times, days 1.5 hours earlier, mostly shops, shapes 0.8, noise 1.6, levels 1.1 times,
* flat: shops, but every type's day half as far from its mean, appliances of twice the power and half a kilowatt of
  base load: changes that no household behind the library has.

The first tuned nothing. The other two, under another seed, decided from which N mu / d on rounds follow, and the
Swiss homes of config/examples the size of the library (docs/proofs/sound.md, 9).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import yaml
from table import ROOT, write

from meterdp.core.noise import StudyNoise
from meterdp.core.parquet import read_table
from meterdp.mechanisms.interface import PrivateRecords, PublicSettings
from meterdp.mechanisms.proven.library import SHIPPED, read_library
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.mechanisms.proven.plan import ProvenSettings
from meterdp.mixture.density import mean_log_likelihood
from meterdp.mixture.draws import MixtureDraws
from meterdp.mixture.gmm import fit_labels
from meterdp.profiles.tables import PROFILES
from meterdp.profiles.vector import Records
from meterdp.simulate.load import Variation, hourly_log_kwh
from meterdp.simulate.parameters import SimulationParameters

DELTA, CLASSES, FLOOR = 1e-5, 6, 1e-3
CLIP_KWH = (0.01, 100.0)
LOW, HIGH = np.log(CLIP_KWH)
HELD_OUT, SETS, DRAWS = 4000, 20, 5
SEED = 9100
DAY = date(2025, 12, 3)
LATER = Variation(0.35, 1.5, (400, 650, 150, 150, 10, 50), 1.3, 0.9, 1.4)
SHOPS = Variation(-0.45, -1.5, (200, 200, 20, 600, 40, 60), 0.8, 1.6, 1.1)
# N and epsilon, with delta 1e-5; the first is the bar of the design.
SIZES = ((500, 0.5), (200, 0.5), (1000, 0.5), (1409, 1.0), (1409, 2.0), (1409, 8.0))
HOURS = {12: 12, 24: 0}  # hours of a record and the first of them


def flat(parameters: SimulationParameters) -> SimulationParameters:
    """Return a utility whose types have flatter days, stronger appliances and more base load."""

    def half(log_kwh: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(0.5 * (np.array(log_kwh) + np.mean(log_kwh)))

    kinds = SHOPS.of(parameters).household_types
    return replace(
        parameters,
        household_types=tuple(
            replace(
                kind,
                weekday_log_kwh=half(kind.weekday_log_kwh),
                weekend_log_kwh=half(kind.weekend_log_kwh),
                base_load_kw=tuple(0.5 + p for p in kind.base_load_kw),
                appliances=tuple(replace(a, power_kw=tuple(2 * p for p in a.power_kw)) for a in kind.appliances),
            )
            for kind in kinds
        ),
    )


def real_homes(export: str, config: str) -> np.ndarray:
    """Run the workflow up to the profile vectors of a whole day and return those of valid households."""
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "own.yaml"
        settings = {
            "export": {"path": export},
            "profiles": {"hours": 24, "start_hour": 0},
            "results_dir": f"{folder}/results",
        }
        own.write_text(yaml.safe_dump(settings))
        target = f"{folder}/results/private/profiles.parquet"
        command = ["snakemake", "--cores", "2", "--quiet", "--configfile", ROOT / "config/config.yaml", config, own]
        subprocess.run([*map(str, command), "--", target], check=True, cwd=ROOT, capture_output=True)
        records = Records.from_table(read_table(target, PROFILES))
    return records.log_kwh[records.valid]


def judge(train: list[np.ndarray], test: list[np.ndarray], epsilon: float, start_hour: int) -> tuple:
    """Return seconds with the library, seconds without, and the qualities of both on every pair of records."""
    library = read_library(SHIPPED, start_hour, train[0].shape[1])
    seconds, found = {}, {}
    for i, (x, held_out) in enumerate(zip(train, test, strict=True)):
        n, d = x.shape
        held_out = np.clip(held_out, LOW, HIGH)
        for name, start in (("library", library), ("own start", None)):
            settings = ProvenSettings(library=start)
            public = PublicSettings(epsilon, DELTA, CLASSES, d, n, LOW, HIGH, FLOOR, sound=settings)
            noise = StudyNoise(SEED, name, i, n, d)
            begin = time.perf_counter()
            released = Proven.calibrate(public).release(PrivateRecords(x), noise, DRAWS).mixtures
            seconds.setdefault(name, []).append((time.perf_counter() - begin) / DRAWS)
            found.setdefault(name, []).append(mean_log_likelihood(held_out, released).mean())
        one = fit_labels(x, np.ones(n, dtype=int), FLOOR).mixture
        found.setdefault("1 class", []).append(mean_log_likelihood(held_out, MixtureDraws.single(one))[0])
    return *(float(np.median(seconds[name])) for name in ("library", "own start")), found


def summary(found: dict[str, list[float]], blocks: int = 1) -> str:
    """Return means and the paired difference as one line; folds of one shuffle count as one training set."""
    gain = np.subtract(found["library"], found["own start"]).reshape(-1, blocks).mean(axis=1)
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    means = "; ".join(f"{name} {np.mean(values):.2f}" for name, values in found.items())
    return f"library better by {gain.mean():.2f} ± {error:.2f}; {means}; {len(gain)} sets"


def cases(export: str | None, config: str | None):
    """Yield the name, N, epsilon, hours, training and held-out records of every case."""
    parameters = SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml")
    utilities = {"later": LATER.of(parameters), "shops": SHOPS.of(parameters), "flat": flat(parameters)}
    for number, (name, utility) in enumerate(utilities.items()):
        households = HELD_OUT + SETS * max(n for n, _ in SIZES)
        x = hourly_log_kwh(utility, SEED + number, households, DAY, 1, CLIP_KWH)
        x = x[StudyNoise(SEED, "order", name).uniform((len(x),)).argsort()]
        for d, start in HOURS.items():
            part = x[:, start : start + d]
            for n, epsilon in SIZES:
                train = [part[first : first + n] for first in range(HELD_OUT, HELD_OUT + SETS * n, n)]
                yield f"utility '{name}', N = {n:,}", epsilon, start, train, [part[:HELD_OUT]] * SETS, 1
    if export is None:
        return
    x = real_homes(export, config)
    for d, start in HOURS.items():
        part = x[:, start : start + d]
        folds = [
            (part[order % 5 != f], part[order % 5 == f])
            for shuffle in range(4)
            for order in [StudyNoise(SEED, "folds", shuffle).uniform((len(x),)).argsort().argsort()]
            for f in range(5)
        ]
        for epsilon in (0.5, 1.0, 2.0, 8.0):
            yield f"real homes, five folds of {len(x)}", epsilon, start, *zip(*folds, strict=True), 5


def main(export: str | None = None, config: str | None = None) -> None:
    """Run all cases and write the table."""
    rows = []
    for name, epsilon, start, train, test, blocks in cases(export, config):
        ours, other, found = judge(train, test, epsilon, start)
        case = f"{name}, d = {train[0].shape[1]}, epsilon {epsilon:g}"
        quality = summary(found, blocks)
        rows.append((case, ours, "sound without a library", other, other / ours, quality, os.getloadavg()[0]))
        print(case, quality, sep=": ", flush=True)
    write("small_exports", rows)


if __name__ == "__main__":
    main(*sys.argv[1:3])
