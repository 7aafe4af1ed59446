"""How long ``meterdp check`` takes to describe or refuse an export of 100 MB, beside the bare parse of the file.

``make benchmark`` writes results/benchmarks/check.parquet: a row per case, the whole command in a process of its own
(imports included), medians of paired runs, arrow's parse of the same file on all cores in the same run.
"""

from __future__ import annotations

import datetime
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from table import ROOT, write

METERS, DAYS, PAIRS = 960, 28, 3
PARSE = "import sys, pyarrow.csv as c\nfor _ in c.open_csv(sys.argv[1], c.ReadOptions(block_size=4 << 20)): pass"


def readings() -> pd.DataFrame:
    """Return quarter-hours of some homes as a long table."""
    generator = np.random.default_rng(1)
    stamps = pd.date_range("2025-01-06", periods=96 * DAYS, freq="15min").strftime("%Y-%m-%d %H:%M")
    meters = [f"METER-{number:09d}" for number in range(METERS)]
    kwh = generator.gamma(2.0, 0.06, METERS * len(stamps)).round(3)
    return pd.DataFrame(
        {"meter_id": np.repeat(meters, len(stamps)), "interval_start": np.tile(stamps, METERS), "kwh": kwh}
    )


def cases() -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield tables that are read in several layouts, and some that are refused."""
    table = readings()
    yield "read", table
    yield "read: no unit", table.rename(columns={"kwh": "value"})
    yield "read: in order of time", table.sort_values("interval_start", kind="stable")
    start = pd.to_datetime(table["interval_start"])
    end = start + pd.Timedelta("15min")
    midnight = end.dt.time == datetime.time()
    text = end.dt.strftime("%Y-%m-%d %H:%M").where(~midnight, start.dt.strftime("%Y-%m-%d 24:00"))
    yield "read: ends, 24:00", table.drop(columns="interval_start").assign(interval_end=text)
    day = table["interval_start"].str[:10].rename("date")
    by_day = table.pivot_table("kwh", ["meter_id", day], table["interval_start"].str[11:], sort=False).reset_index()
    more = [by_day.assign(meter_id=by_day["meter_id"] + f"-{copy}") for copy in range(7)]
    yield "read: a row per day", pd.concat(more)
    yield "refused: a register", table.assign(kwh=table.groupby("meter_id")["kwh"].cumsum() + 5000)
    yield "refused: zeros", table.assign(kwh=0.0)
    yield "refused: no stamps", table.assign(interval_start="week " + table["interval_start"].str[8:10])


def seconds(*words: str) -> tuple[float, float]:
    """Return wall and processor seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    subprocess.run([sys.executable, *words], capture_output=True, cwd=ROOT)
    wall = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Run all cases and write the table."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export.csv"
        for name, table in cases():
            table.to_csv(path, index=False)
            pairs = [
                (seconds("-m", "meterdp", "check", str(path)), seconds("-c", PARSE, str(path))) for _ in range(PAIRS)
            ]
            ours, processor, other = (
                statistics.median(values)
                for values in zip(*((own[0], own[1], bare[0]) for own, bare in pairs), strict=True)
            )
            size = path.stat().st_size / 1e6
            rows.append(
                {
                    "case": f"{name}, {size:.0f} MB",
                    "ours_s": ours,
                    "other": "arrow, bare parse",
                    "other_s": other,
                    "ratio": other / ours,
                    "quality": f"{processor:.1f} s of processor time",
                    "load": os.getloadavg()[0],
                }
            )
            print(rows[-1], flush=True)
    write("check", rows)


if __name__ == "__main__":
    main()
