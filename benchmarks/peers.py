"""Synthetic profiles of `sound` beside those of OpenDP's and SmartNoise's MST: how good they are, how long they take.

``make benchmark`` writes results/benchmarks/peers.parquet, one row per data set and source, and peers.svg. Everybody
gets the same training records and public bounds at epsilon 2, delta 1e-5 and gives as many synthetic records, which
``peers_parts.measures`` judges alike by held-out real records. Each library runs as its documentation says in an
environment of its own; a row says so where one is not installed. Their neighbours differ by one record more or less,
those of ``sound`` by all of one record, which is the harder promise of the two; a row of its own gives theirs.

``python benchmarks/peers.py [EXPORT CONFIG]`` takes the real homes of another export than the developers' Swiss one.
The constants of ``sound`` were chosen on the same simulator with other seeds and on those Swiss homes; the number of
bins of each case was chosen for the libraries on these data. A library's noise has no seed: its rows vary.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from arma_parts.series import SWISS, SWISS_CONFIG
from peers_parts.figure import draw
from peers_parts.measures import MEASURES, judge
from peers_parts.sources import SEED, SOURCES, Case, Outcome
from sound import HIGH, LOW, ROOT, folds, profiles

from meterdp.core.noise import StudyNoise
from meterdp.core.parquet import atomic_path

HOUSEHOLDS, HELD_OUT = 15_000, 4_000
SIMULATED = {1409: 6, 10_000: 1}  # size of a training set: how many sets; a library takes about a minute a set
REAL_FOLDS = 5
BINS = {"simulated": 16, "real": 8}


def simulated_cases() -> Iterator[Case]:
    """Yield training sets of two sizes and the same held-out homes of the simulator."""
    size = {"seed": SEED, "simulate": {"households": HOUSEHOLDS, "days": 10}, "forecast": {"train_days": 4}}
    with tempfile.TemporaryDirectory() as folder:
        records = profiles(folder, size)
    x = np.clip(records.log_kwh[records.valid], LOW, HIGH)
    x = x[StudyNoise(SEED, "order").uniform((len(x),)).argsort()]
    held_out, rest = x[:HELD_OUT], x[HELD_OUT:]
    for n, count in SIMULATED.items():
        train = [rest[i * n : (i + 1) * n] for i in range(count)]
        yield Case(f"simulated, N = {n:,}", train, [held_out] * count, LOW, HIGH, BINS["simulated"])


def real_case(export: Path, config: Path) -> Case | str:
    """Return folds of the homes of a real export, or why there are none."""
    if not export.exists():
        return "not run: the export of the Swiss homes is not here"
    with tempfile.TemporaryDirectory() as folder:
        start = {"profiles": {"hours": 12, "start_hour": 12}}
        records = profiles(folder, str(config.resolve()), {"export": {"path": str(export.resolve())}}, start)
    train, held_out = (part[:REAL_FOLDS] for part in folds(np.clip(records.log_kwh[records.valid], LOW, HIGH)))
    rows = min(map(len, train))  # folds differ by one home; samples of equal size are judged
    train = [x[:rows] for x in train]
    return Case(f"{real_name(export)}, N = {rows}", train, held_out, LOW, HIGH, BINS["real"])


def real_name(export: Path) -> str:
    """Return what the real homes are called in the table."""
    return "Swiss homes" if export.resolve() == SWISS.resolve() else "homes of the export"


def row(case: str, source: str, ours_s: float, outcome: Outcome | str, found: list[dict[str, float]]) -> dict:
    """Return one row of the table; measures are NaN where the source did not run."""
    other_s = np.nan if isinstance(outcome, str) or source.startswith("sound") else outcome.seconds
    table = pd.DataFrame(found, columns=[m.column for m in MEASURES], dtype=float)
    mean, deviation = table.mean(), table.std(ddof=1)
    quality = outcome
    if isinstance(outcome, Outcome):
        sets = len(outcome.samples)
        numbers = "; ".join(f"{name} {value:.3g}" for name, value in mean.items())
        quality = f"{outcome.settings}; {len(found)} samples of {sets} training sets; {numbers}"
    return {
        "case": f"{case}, d = 12, epsilon 2, delta 1e-5",
        "ours_s": ours_s,
        "other": "none" if source.startswith("sound") else source,
        "other_s": other_s,
        "ratio": other_s / ours_s,
        "quality": quality,
        "load": os.getloadavg()[0],
        "data": case,
        "source": source,
        "samples": len(found),
        **mean,
        **{f"{name}_sd": value for name, value in deviation.items()},
    }


def rows_of(case: Case) -> Iterator[dict]:
    """Run every source on one case and yield its rows."""
    ours_s = np.nan
    for source, run in SOURCES.items():
        outcome, found = run(case), []
        if isinstance(outcome, Outcome):
            for samples, held_out in zip(outcome.samples, case.held_out, strict=True):
                found += [judge(held_out, x, case.low, case.high) for x in samples]
            ours_s = outcome.seconds if source == "sound" else ours_s
        yield row(case.name, source, ours_s, outcome, found)


def main(export: str | None = None, config: str | None = None) -> None:
    """Run all cases and write table and figure."""
    begin, rows = time.perf_counter(), []
    path = Path(export or SWISS)
    for case in [*simulated_cases(), real_case(path, Path(config or SWISS_CONFIG))]:
        found = (
            rows_of(case)
            if isinstance(case, Case)
            else (row(real_name(path), source, np.nan, case, []) for source in SOURCES)
        )
        for one in found:
            print(
                one["case"],
                one["source"],
                one["quality"],
                f"{time.perf_counter() - begin:.0f} s",
                sep="; ",
                flush=True,
            )
            rows.append(one)
    table = pd.DataFrame(rows)
    with atomic_path(ROOT / "results/benchmarks/peers.parquet") as temporary:
        table.to_parquet(temporary)
    draw(table, MEASURES, ROOT / "results/benchmarks/peers.svg")


if __name__ == "__main__":
    main(*sys.argv[1:3])
