"""Ingestion against pandas, side by side in one run: parse, de-duplicate, put on the grid.

``make benchmark`` writes results/benchmarks/ingest.parquet with one row per case: seconds of both (median of paired
runs in separate processes), their ratio, peak memory of both, and in how many slots the results differ.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from table import ROOT, write

from meterdp.ingest.ingest import ingest
from meterdp.ingest.settings import ExportSettings
from meterdp.simulate.export import simulate_export
from meterdp.simulate.parameters import SimulationParameters, simulated_export

CASES = {"1,409 meters x 28 days": 1409, "5,636 meters x 28 days": 5636}
PAIRS = 3


def ours(export: str, folder: Path) -> None:
    """Ingest into canonical readings, as the workflow does."""
    ingest(
        export,
        ExportSettings.from_config(simulated_export("2025-10-20", 28)),
        readings_paths=[folder / "ours.parquet"],
        meters_path=folder / "meters.parquet",
        report_path=folder / "report.parquet",
    )


def other(export: str, folder: Path) -> None:
    """Do the same the usual way: read_csv, local time to UTC, last row wins, full grid."""
    frame = pd.read_csv(export, usecols=["meter_id", "interval_start", "kwh"])
    frame = frame.dropna(subset="kwh")
    local = pd.to_datetime(frame["interval_start"], format="%Y-%m-%d %H:%M")
    # Of a repeated hour the first pass comes first in the file of each meter; resent days do not touch it.
    second = frame.assign(local=local).duplicated(["meter_id", "local"], keep="first")
    stamps = local.dt.tz_localize("America/Los_Angeles", ambiguous=~second.to_numpy()).dt.tz_convert("UTC")
    frame = frame.assign(stamp=stamps).drop_duplicates(["meter_id", "stamp"], keep="last")
    grid = pd.MultiIndex.from_product(
        [
            np.sort(frame["meter_id"].unique()),
            pd.date_range(frame["stamp"].min(), frame["stamp"].max(), freq="15min"),
        ],
        names=["meter_id", "stamp"],
    )
    frame.set_index(["meter_id", "stamp"])["kwh"].reindex(grid).reset_index().to_parquet(folder / "other.parquet")


def measure(which: str, export: str, folder: Path) -> tuple[float, float]:
    """Run one of them in a process of its own; return seconds and peak memory in GiB."""
    code = (
        "import json, resource, sys, time; sys.path.insert(0, sys.argv[1]); import ingest\n"
        "from pathlib import Path; begin = time.perf_counter()\n"
        "getattr(ingest, sys.argv[2])(sys.argv[3], Path(sys.argv[4]))\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20\n"
        "print(json.dumps([time.perf_counter() - begin, peak]))"
    )
    words = [sys.executable, "-c", code, str(ROOT / "benchmarks"), which, export, str(folder)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return tuple(json.loads(done.stdout.splitlines()[-1]))


def agreement(folder: Path) -> str:
    """Say in how many slots the two differ, and whether only in the repeated hour of the clock change.

    There the usual way goes wrong where a meter lacks the first pass: it takes the second for the first.
    """
    mine = pq.read_table(folder / "ours.parquet").to_pandas()
    theirs = pd.read_parquet(folder / "other.parquet")
    a, b = mine["energy_kwh"].to_numpy(), theirs["kwh"].to_numpy()
    differ = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    local = mine.loc[differ, "interval_start_utc"].dt.tz_convert("America/Los_Angeles")
    elsewhere = int((local.dt.strftime("%m-%d %H") != "11-02 01").sum())
    return f"{int(differ.sum())} of {len(a):,} slots differ, {elsewhere} of them outside the repeated hour"


def main() -> None:
    """Run all cases and write the table."""
    rows = []
    for case, households in CASES.items():
        with tempfile.TemporaryDirectory() as name:
            folder, export = Path(name), f"{name}/export.csv"
            parameters = SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml")
            simulate_export(parameters, export, seed=1, households=households)
            measure("ours", export, folder)  # compiles the kernel once; the cache is kept between runs
            pairs = [(measure("ours", export, folder), measure("other", export, folder)) for _ in range(PAIRS)]
            ours_s, other_s = (statistics.median(p[i][0] for p in pairs) for i in (0, 1))
            ours_gib, other_gib = (max(p[i][1] for p in pairs) for i in (0, 1))
            quality = f"{agreement(folder)}; peak {ours_gib:.2f} against {other_gib:.2f} GiB"
        rows.append((case, ours_s, "pandas", other_s, other_s / ours_s, quality))
        print(rows[-1], flush=True)
    write("ingest", rows)


if __name__ == "__main__":
    begin = time.perf_counter()
    main()
    print(f"{time.perf_counter() - begin:.0f} s in all")
