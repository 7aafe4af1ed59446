"""A utility of many homes, really run: seconds, processor seconds and peak memory of every rule, and disk.

``python benchmarks/scale.py HOMES [...]`` makes an export of so many simulated homes (20,000 of the simulator's
own generator, beyond these repeated at other levels; an hour an interval, written as Parquet), and takes it through
check, study, release and verification, all as a user would. It adds to results/benchmarks/scale.parquet: a row per
size and rule.

Processor time and memory are those of whole jobs with all their processes, from a watcher beside Snakemake, so no
rule knows of it. Memory is the highest resident set of a process, children added. ``--folder`` keeps export and
results, and a run that finds them goes on where the last one ended.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from datetime import date, timedelta
from functools import cache, partial
from multiprocessing import Pool
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from table import ROOT, write_on_page

from meterdp.core.parquet import atomic_path
from meterdp.households.columns import FEWEST_DAYS

SEED, LAST_DAY, MINUTES = 1, date(2025, 11, 23), 60
HOMES_OF_FEEDER, HOMES_AT_ONCE, HOMES_OF_SHARD = 100, 500, 31_250
LOOKS_PER_SECOND = 10
# Homes beyond the first so many are repeated, each at another level (standard deviation of its log).
SIMULATED, LEVEL_STD = 20_000, 0.3
TABLE = ROOT / "results/benchmarks/scale.parquet"
# Seconds of all jobs of a rule together, of processors, and the most megabytes of one job.
SPENT = ("seconds", "processor_s", "peak_mb")
# Rules that take less, and smaller parts of the disk, are no lines on the page.
LEAST_SHOWN_S, LEAST_SHOWN_MB = 3, 20
# Of a job, the name of its script; Snakemake puts random letters before it.
_SCRIPT = re.compile(r"\.snakemake/scripts/tmp\w+\.(\w+)\.py$")


@cache
def simulation(homes: int, days: int):
    """Return the simulator of a process: homes, their loads, and what goes wrong with their readings."""
    from meterdp.simulate.data_quality import Faults
    from meterdp.simulate.fleet import Fleet, Period
    from meterdp.simulate.load import LoadModel
    from meterdp.simulate.parameters import SimulationParameters

    parameters = SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml")
    fleet = Fleet.of(parameters, seed=SEED, households=homes)
    period = Period(LAST_DAY - timedelta(days=days - 1), days, parameters.time_zone, MINUTES)
    return fleet, LoadModel(parameters, period, SEED), Faults(parameters.data_quality, fleet, period)


@cache
def simulated_rows(homes: int, days: int, begin: int, end: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows of some homes, those that are sent again at their end: home from ``begin``, slot and energy."""
    fleet, model, faults = simulation(homes, days)
    rows, again = [], []
    for home in range(begin, end):
        kind = fleet.kind(home)
        first_sent, resent = faults.rows(home, model.energy(kind, home), model.resolution_wh(kind, home))
        rows.append((home, first_sent))
        again.append((home, resent))
    rows += again
    place = np.repeat([home - begin for home, _ in rows], [each.slot.size for _, each in rows])
    kwh = np.concatenate([np.where(each.word > 0, np.nan, each.energy_kwh) for _, each in rows])
    return place.astype(np.int32), np.concatenate([each.slot for _, each in rows]), kwh


SCHEMA = pa.schema(
    [
        ("meter_id", pa.dictionary(pa.int32(), pa.string())),
        ("interval_start", pa.timestamp("us", "UTC")),
        ("kwh", pa.float64()),
    ]
)


def meter_id(home: int) -> str:
    return f"SYN-{home + 1:07d}"


def export_rows(homes: int, days: int, some: range) -> pa.Table:
    """Return the rows of some homes; beyond those that are simulated, of repeated ones at other levels."""
    simulated = min(homes, SIMULATED)
    begin = some.start % simulated
    place, slot, kwh = simulated_rows(simulated, days, begin, begin + len(some))
    if some.start >= simulated:
        kwh = kwh * np.exp(LEVEL_STD * np.random.default_rng([SEED, some.start]).standard_normal(len(some)))[place]
    _, model, _ = simulation(simulated, days)
    stamps = model.period._local.tz_convert("UTC").tz_localize(None).to_numpy("datetime64[us]")
    columns = [
        pa.DictionaryArray.from_arrays(place, [meter_id(home) for home in some]),
        pa.array(stamps[slot]).cast(SCHEMA.field(1).type),
        pa.array(np.round(kwh, 3), from_pandas=True),
    ]
    return pa.table(columns, schema=SCHEMA)


def meter_list(folder: Path, homes: int) -> None:
    """Write the public list of meters, each with its circuit."""
    from meterdp.ingest.meter_list import MeterList, write_meter_list

    feeders = max(homes // HOMES_OF_FEEDER, 1)
    circuit_of = {meter_id(home): f"F{home * 7919 % feeders:05d}" for home in range(homes)}
    write_meter_list(MeterList(circuit_of), folder / "meters.csv")


def make_export(folder: Path, homes: int, days: int, cores: int) -> dict:
    """Write export, list of meters and configuration; return readings and seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    begin, before, count = time.perf_counter(), os.times(), 0
    parts = (range(first, min(first + HOMES_AT_ONCE, homes)) for first in range(0, homes, HOMES_AT_ONCE))
    with (
        atomic_path(folder / "export.parquet") as path,
        pq.ParquetWriter(path, SCHEMA, compression="zstd", compression_level=1) as writer,
        Pool(cores) as pool,
    ):
        for rows in pool.imap(partial(export_rows, homes, days), parts):
            writer.write_table(rows)
            count += len(rows)
        pool.close()
        pool.join()
    seconds, after = time.perf_counter() - begin, os.times()
    meter_list(folder, homes)
    (folder / "config.yaml").write_text(yaml.safe_dump(configuration(folder, homes, days)))
    processor = sum(after[:4]) - sum(before[:4])
    return {"rule": "(export)", "jobs": 1, "seconds": seconds, "processor_s": processor, "readings": count}


def configuration(folder: Path, homes: int, days: int) -> dict:
    whole_period = ["households"] if days >= FEWEST_DAYS else []
    return {
        "title": f"{homes:,} simulated homes",
        "results_dir": str(folder / "results"),
        "shards": max(-(-homes // HOMES_OF_SHARD), 4),
        "export": {
            "path": str(folder / "export.parquet"),
            "meters": str(folder / "meters.csv"),
            "format": "parquet",
            "time_zone": "America/Los_Angeles",
            "stamp_time_zone": "UTC",
            "interval_minutes": MINUTES,
            "first_day": (LAST_DAY - timedelta(days=days - 1)).isoformat(),
            "last_day": LAST_DAY.isoformat(),
        },
        "release": {
            "population": f"{homes} simulated homes",
            "budget_period": "2025",
            "what": ["mixture", *whole_period, "forecasts", "feeders"],
            "feeder_typical_daily_kwh": 30,
            # At most one in the number of listed meters.
            "delta": min(1e-5, 1 / (10 * homes)),
            "cap_delta": min(1e-5, 1 / homes),
            "ledger": str(folder / "ledger.sqlite"),
        },
    }


class Watcher(threading.Thread):
    """Looks at the processes of jobs: their processor time and peak memory by script."""

    def __init__(self, root: psutil.Process):
        super().__init__(daemon=True)
        self.root, self.ended = root, threading.Event()
        self.script: dict[int, str] = {}  # of every job, by process
        self.memory: dict[int, float] = {}
        self.processor: dict[int, dict[int, float]] = {}

    def run(self) -> None:
        while not self.ended.wait(1 / LOOKS_PER_SECOND):
            with suppress(psutil.Error):
                for process in self.root.children(recursive=True):
                    with suppress(psutil.Error, OSError, IndexError):  # it ended meanwhile
                        self._look(process)

    def _look(self, process: psutil.Process) -> None:
        if process.pid not in self.script:
            found = [name for word in process.cmdline() for name in _SCRIPT.findall(word)]
            if not found or process.cmdline()[0].endswith("sh"):
                return
            self.script[process.pid] = found[0]
        family = [process, *process.children(recursive=True)]
        times = self.processor.setdefault(process.pid, {})
        for one in family:
            with suppress(psutil.Error):
                spent = one.cpu_times()
                times[one.pid] = spent.user + spent.system
        resident = sum(one.memory_info().rss for one in family[1:])
        status = Path(f"/proc/{process.pid}/status").read_text()
        resident += int(status.partition("VmHWM:")[2].split()[0]) * 1024
        self.memory[process.pid] = max(self.memory.get(process.pid, 0), resident)

    def rows(self, benchmarks: Path, since: float) -> list[dict]:
        """Return a row per rule: jobs, longest and summed seconds, processor seconds and the largest memory."""
        rows = []
        for script in dict.fromkeys(self.script.values()):
            jobs = [pid for pid, name in self.script.items() if name == script]
            rows.append(
                {
                    "rule": script,
                    "jobs": len(jobs),
                    "seconds": _job_seconds(benchmarks, script, since),
                    "processor_s": sum(sum(self.processor[pid].values()) for pid in jobs),
                    "peak_mb": max(self.memory[pid] for pid in jobs) / 2**20,
                }
            )
        return rows


def _job_seconds(benchmarks: Path, rule: str, since: float) -> float:
    files = [benchmarks / f"{rule}.tsv", *(benchmarks / rule).glob("*.tsv")]
    new = [file for file in files if file.is_file() and file.stat().st_mtime >= since]
    return sum(float(pd.read_csv(file, sep="\t")["s"].iloc[0]) for file in new) if new else float("nan")


def run_watched(words: list[str], folder: Path) -> list[dict]:
    """Run a command of meterdp or Snakemake; return a row for all of it and one for each rule that ran."""
    begin, started = time.perf_counter(), time.time()
    with open(folder / "run.log", "ab") as log:
        running = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, cwd=ROOT)
        process = psutil.Process(running.pid)
        watcher = Watcher(process)
        watcher.start()
        peak = 0
        while running.poll() is None:
            with suppress(psutil.Error):
                peak = max(peak, sum(p.memory_info().rss for p in (process, *process.children(recursive=True))))
            time.sleep(1 / LOOKS_PER_SECOND)
        watcher.ended.set()
        watcher.join()
    if running.returncode:
        raise SystemExit(f"{' '.join(words)} failed, see {folder / 'run.log'}")
    seconds = time.perf_counter() - begin
    spoken = filter(lambda word: not word.startswith("-"), words[1:3])
    whole = {"rule": f"({Path(words[0]).name} {' '.join(spoken)})", "jobs": 1, "seconds": seconds}
    return [whole | {"peak_mb": peak / 2**20}, *watcher.rows(folder / "results/private/benchmarks", started)]


def disk(folder: Path) -> dict[str, float]:
    """Return megabytes by part of the folder."""
    parts = [folder / "export.parquet", folder / "ledger.sqlite.files"]
    parts += [part for name in ("private", "study", "release") for part in [*folder.glob(f"results/{name}/*")]]
    return {
        str(part.relative_to(folder)): sum(f.stat().st_size for f in [part, *part.rglob("*")] if f.is_file()) / 1e6
        for part in parts
        if part.exists()
    }


def files_in(folder: Path) -> int:
    return sum(1 for path in folder.rglob("*") if path.is_file())


def measure(homes: int, days: int, folder: Path, cores: int, targets: list[str]) -> list[dict]:
    rows = [] if (folder / "config.yaml").exists() else [make_export(folder, homes, days, cores)]
    config, own = str(ROOT / "config/config.yaml"), str(folder / "config.yaml")
    bin_ = Path(sys.executable).parent
    rows += run_watched([f"{bin_}/meterdp", "check", "--config", config, "--config", own], folder)
    if "release" in targets:
        rows += run_watched([f"{bin_}/meterdp", "release", "check", "--config", config, "--config", own], folder)
    for target in targets:
        snakemake = [f"{bin_}/snakemake", target, "--cores", str(cores), "--rerun-incomplete", "--nolock"]
        rows += run_watched([*snakemake, "--configfile", config, own], folder)
    if "release" in targets:
        rows += run_watched([f"{bin_}/meterdp", "release", "verify", str(folder / "results/release")], folder)
        rows.append({"rule": "(released files)", "jobs": files_in(folder / "results/release")})
    rows += [{"rule": f"[disk] {name}", "disk_mb": mb} for name, mb in disk(folder).items()]
    return [{"homes": homes, "days": days, **row, "load": f"{os.getloadavg()[0]:.1f}"} for row in rows]


def page() -> str:
    """Return the table of what was measured: a line a rule, a column a size."""
    found = pd.read_parquet(TABLE).astype({"homes": int})
    sizes = sorted(found["homes"].unique())
    of = found.set_index(["rule", "homes"])

    def cell(rule: str, homes: int) -> str:
        if (rule, homes) not in of.index:
            return "–"
        row = of.loc[(rule, homes)]
        if rule.startswith("[disk]"):
            return f"{row['disk_mb']:,.0f}"
        spent = [f"{row[name]:,.0f}" if np.isfinite(row[name]) else "–" for name in SPENT]
        return " / ".join(spent)

    rules = [rule for rule in dict.fromkeys(found["rule"]) if not rule.startswith("(released")]
    lines = [f"| | {' | '.join(f'{homes:,} homes' for homes in sizes)} |", f"|{' --- |' * (len(sizes) + 1)}"]
    for rule in rules:
        own = found[found["rule"] == rule]
        if rule.startswith("(") or own["disk_mb"].max() >= LEAST_SHOWN_MB or own["seconds"].max() >= LEAST_SHOWN_S:
            lines.append(f"| {rule} | {' | '.join(cell(rule, homes) for homes in sizes)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("homes", nargs="*", type=lambda text: int(float(text)), default=[10_000])
    parser.add_argument("--folder", type=Path, help="keep everything here; one size only")
    parser.add_argument("--days", type=int, default=28, help="56 or more have households over the period, too")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--targets", nargs="*", default=["study", "release"])
    parser.add_argument("--docs", action="store_true", help="put what was measured into docs/scale.md, and no more")
    asked = parser.parse_args()
    if asked.docs:
        write_on_page("scale.md", "scale.py", page())
        return
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for homes in asked.homes:
        with tempfile.TemporaryDirectory() as temporary:
            folder = (asked.folder or Path(temporary)).resolve()
            rows = measure(homes, asked.days, folder, asked.cores, asked.targets)
        for row in rows:
            print(row, flush=True)
        known = pd.read_parquet(TABLE) if TABLE.exists() else pd.DataFrame({"homes": []})
        with atomic_path(TABLE) as path:
            new = pd.DataFrame(rows)
            again = (known["homes"] == homes) & known.get("rule", known["homes"]).isin(new["rule"])
            pd.concat([known[~again], new]).to_parquet(path)


if __name__ == "__main__":
    main()
