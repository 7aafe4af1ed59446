"""How many injected faults the quality rules find, and what they take from homes nothing was done to.

``python benchmarks/data_quality.py [EXPORT CONFIG]`` takes the developers' Swiss homes where they are, else
simulated ones. One kind of fault is put at a random place into every home that the study keeps, and the homes are
judged; one row per kind in results/benchmarks/data_quality.parquet:

* found: share of the homes in which a faulty reading was found under its name,
* covered: share of the faulty readings that were, in these homes,
* beside: sound readings that were taken for faulty ones, in all homes,
* kept: share of the homes that the study would keep.

The first case does nothing.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from arma_parts.series import ROOT, SWISS, SWISS_CONFIG, configuration

from meterdp.core.noise import keyed_generator
from meterdp.core.parquet import atomic_path
from meterdp.ingest.ingest import ingest
from meterdp.ingest.settings import ExportSettings
from meterdp.profiles.grid import LocalTime, Shard, read_shard
from meterdp.profiles.quality import KINDS, QualityRules, judge
from meterdp.simulate.export import simulate_export
from meterdp.simulate.parameters import START_DATE, SimulationParameters, simulated_export

SEED = 20261122


def homes(export: Path | None, config: dict) -> Shard:
    """Return all homes of an export, or of the simulator."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if export is None:
            config["export"] |= simulated_export(START_DATE, config["simulate"]["days"])
            export, parameters = folder / "export.csv.gz", ROOT / "resources/simulator.yaml"
            simulate_export(SimulationParameters.from_yaml(parameters), export, seed=SEED, households=400)
        paths = {f"{what}_path": folder / f"{what}.parquet" for what in ("meters", "report")}
        settings, readings = ExportSettings.from_config(config["export"]), folder / "readings.parquet"
        ingest(export, settings, readings_paths=[readings], **paths)
        return read_shard(readings, LocalTime.of(config["export"]))


def slip(factor: float, digits: int | None):
    """From one to four days in another unit, written with three digits or all there are."""

    def change(kwh, rng, day):
        length = int(rng.uniform(1, 4) * day)
        begin = rng.integers(len(kwh) - length)
        kwh[begin : begin + length] *= factor
        if digits is not None:
            kwh[begin : begin + length] = np.round(kwh[begin : begin + length], digits)
        return np.arange(begin, begin + length)

    return change


def catch_up(hours: int, factor: float = 1.0):
    """A gap, and its energy in the reading after it."""

    def change(kwh, rng, day):
        length = hours * day // 24
        at = rng.integers(length + 1, len(kwh))
        kwh[at] += factor * np.nansum(kwh[at - length : at])
        kwh[at - length : at] = np.nan
        return np.array([at] if factor else [], int)

    return change


def single(value: float):
    """One reading."""

    def change(kwh, rng, day):
        at = rng.integers(len(kwh))
        kwh[at] = value
        return np.array([at])

    return change


def hours_only(kwh, rng, day):
    """Five days of hours."""
    begin, step = rng.integers(len(kwh) - 5 * day), day // 24
    part = kwh[begin : begin + 5 * day].reshape(-1, step)
    part[:, 0], part[:, 1:] = np.nansum(part, axis=1), np.nan
    return np.arange(begin, begin + 5 * day, step)


CASES = {
    "nothing": (lambda kwh, rng, day: np.array([], int), None),
    **{
        f"times {factor:g}, {'all digits' if digits is None else 'three digits'}": (slip(factor, digits), "unit_slip")
        for factor in (1000.0, 100.0, 10.0, 0.1, 0.01, 0.001)
        for digits in (None, 3)
    },
    **{f"gap of {hours} h caught up": (catch_up(hours), "catch_up") for hours in (3, 10, 24, 72)},
    "gap of 10 h": (catch_up(10, 0.0), None),
    "one reading of 5000 kWh": (single(5000.0), "spike"),
    "one reading of -12345 kWh": (single(-12345.0), "register_reset"),
    "one reading of -9 kWh": (single(-9.0), "register_reset"),
    "hours on five days": (hours_only, "coarse_interval"),
}


def main(export: str | None = None, config: str | None = None) -> None:
    """Judge all cases and write the table."""
    real = export is not None or SWISS.exists()
    files = [ROOT / "config/config.yaml", *([Path(config or SWISS_CONFIG)] if real else [])]
    settings = configuration(*files)
    shard = homes(Path(export or SWISS) if real else None, settings)
    rules = QualityRules.from_config(settings["quality"])
    quality, usable = judge(shard, rules)
    kept = quality["kept"].to_numpy()
    before = np.isnan(usable[kept])
    day, rows = shard.calendar.slots_per_day, []
    for name, (change, kind) in CASES.items():
        energy, faulty = shard.energy_kwh[kept].copy(), np.zeros((kept.sum(), shard.energy_kwh.shape[1]), bool)
        rng = keyed_generator(SEED, "mess", name)  # words: keep
        for kwh, marks in zip(energy, faulty, strict=True):
            marks[change(kwh, rng, day)] = True
        quality, usable = judge(Shard(shard.household[kept], energy, shard.calendar), rules)
        gone = np.isnan(usable) & np.isfinite(energy)
        count = quality[KINDS[kind]].to_numpy() if kind else np.zeros(len(quality))
        hit, size = (count > 0), np.maximum((faulty & np.isfinite(energy))[count > 0].sum(), 1)
        beside = int((gone & ~faulty & ~before).sum())
        rows.append(
            (name, len(quality), hit.mean(), (gone & faulty)[hit].sum() / size, beside, quality["kept"].mean())
        )
        print(*rows[-1], sep="  ", flush=True)
    table = pd.DataFrame(rows, columns=["case", "homes", "found", "covered", "beside", "kept"])
    path = ROOT / "results/benchmarks/data_quality.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary:
        table.to_parquet(temporary)


if __name__ == "__main__":
    main(*sys.argv[1:3])
