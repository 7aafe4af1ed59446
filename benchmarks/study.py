"""Seconds of a whole study, from the call of Snakemake to its report: the default export, and the Swiss homes.

``python benchmarks/study.py`` writes results/benchmarks/study.parquet: a row per study, all rules with two cores in a
folder of its own. Beside its seconds stands the processor time of all its processes, so the ratio says how many cores
were at work. The best of ``ROUNDS`` runs; a run before them leaves compiled kernels. The Swiss homes are measured
where the developers' data is, with the check that ``make study`` makes first.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq
from arma_parts.series import ROOT, SWISS, SWISS_CONFIG
from table import write

ROUNDS, CORES = 2, 2


def seconds(export: Path | None, config: Path, folder: Path) -> tuple[float, float]:
    """Run a study from nothing; return wall and processor seconds."""
    settings = [ROOT / "config/config.yaml", config]
    words = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder)]
    words += ["--cores", str(CORES), "--configfile", *map(str, settings), "--config", "results_dir=results"]
    if export is not None:
        words.append(f'export={{"path": "{export}"}}')
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    if export is not None:
        check = [sys.executable, "-m", "meterdp", "check", str(export)]
        check += [word for file in settings for word in ("--config", str(file))]
        subprocess.run(check, check=True, capture_output=True)
    done = subprocess.run([*words, "--", "study"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stdout[-4000:])
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def extent(results: Path) -> str:
    """Return how much a study has done."""
    fitted = pq.read_table(results / "private/arma_fits.parquet", columns=["household"])
    grouped = [pq.read_table(p, columns=["household"]) for p in (results / "private/group_records").glob("*.parquet")]
    homes = len({h for table in grouped for h in table["household"].to_pylist()})
    jobs = len(list((results / "private/benchmarks").rglob("*.tsv")))
    return f"{jobs} jobs; forecasts of {len(fitted['household'].unique())} homes, group records of {homes}"


def main() -> None:
    """Run all cases and write the table."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    cases = [("Swiss homes, 2.5 million readings", SWISS, SWISS_CONFIG)] if SWISS.exists() else []
    cases.append(("default export", None, ROOT / "config/config.yaml"))
    rows = []
    for case, export, config in cases:
        runs, load = [], f"{os.getloadavg()[0]:.1f} before, on {os.cpu_count()} cores"
        for _ in range(ROUNDS + 1):
            with tempfile.TemporaryDirectory() as folder:
                runs.append(seconds(export, config, Path(folder)))
                done = extent(Path(folder) / "results")
        ours, processor = min(runs[1:])
        row = {"case": case, "ours_s": ours, "other": "its processor time", "other_s": processor}
        rows.append(row | {"ratio": processor / ours, "quality": done, "load": load})
        print(rows[-1], flush=True)
    write("study", rows)


if __name__ == "__main__":
    main()
