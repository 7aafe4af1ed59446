"""From a long CSV of 1e6 to 1e8 readings to canonical readings and profiles: time, memory, and beside what.

``make benchmark`` writes results/benchmarks/reading.parquet: a row per size and rival. Rivals are the bare parse of
the same file by Arrow, streamed block by block with its own threads and nothing done with the result, and the same
steps in plain pandas without the search for unit slips, spikes and the like, at sizes that fit into memory. Every run
is a process of its own, from its start to its end; both sides are measured in turn, best of ``ROUNDS``.

The readings are those of the simulator; beyond its 1,409 homes they are repeated under other meter ids.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

ROOT = Path(__file__).resolve().parents[1]
SIZES = (10**6, 10**7, 3 * 10**7, 10**8)
HOMES, DAYS = 1409, 28
# Of one of the sizes, beside Arrow only.
IRREGULAR = ("in order of time", "every field in quotes", "a damaged line in a thousand")
IRREGULAR_SIZE = 10**7
SHARDS, CORES = 16, os.cpu_count()
ROUNDS = 2
ZONE, MINUTES = "America/Los_Angeles", 15
# glibc keeps big arrays, as in every job of the workflow (workflow/rules/common.smk); for both sides.
ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": str(2**28), "MALLOC_MMAP_THRESHOLD_": str(2**25)}
# What pandas takes a reading at 1e7 of them.
PANDAS_BYTES_PER_ROW = 260


def settings():
    """Return the configuration of the default study and how its export is written."""
    from meterdp.core.config import complete, load_schema
    from meterdp.ingest.settings import ExportSettings
    from meterdp.simulate.parameters import simulated_export

    # One date for all, which pandas has in a line.
    config = complete({"profiles": {"vector": "half_day"}}, load_schema(ROOT / "workflow/schemas/config.schema.yaml"))
    return config, ExportSettings.from_config(simulated_export("2025-10-20", DAYS))


def write_exports(folder: Path, sizes) -> dict[int, tuple[Path, int]]:
    """Write exports, ordered by meter, of at least so many readings; return how many each has, too."""
    from meterdp.simulate.export import simulate_export
    from meterdp.simulate.parameters import SimulationParameters

    simulate_export(
        SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml"),
        folder / "homes.csv",
        seed=1,
        households=HOMES,
    )
    header, rows = (folder / "homes.csv").read_bytes().split(b"\n", 1)
    each = rows.count(b"\n")
    out = {}
    for size in sizes:
        path, written = folder / f"{size}.csv", 0
        with path.open("wb") as file:
            file.write(header + b"\n")
            for copy in range(-(-size // each)):
                text = rows
                if size - written < each:  # whole meters
                    last = rows.split(b"\n", size - written)[size - written - 1].split(b",")[0]
                    text = rows[: rows.index(b"\n", rows.rindex(last + b",")) + 1]
                file.write(text.replace(b"SYN-", b"S%02d-" % copy))
                written += text.count(b"\n")
        out[size] = path, written
    return out


def write_irregular(export: Path) -> dict[str, Path]:
    """Write the same readings in ways that are harder to read: what is harder, and the file."""
    header, *rows = export.read_bytes().splitlines(keepends=True)
    out = {name: export.with_name(f"{name.replace(' ', '_')}.csv") for name in IRREGULAR}
    by_time = sorted(rows, key=lambda row: row.split(b",")[2])
    quoted = [b'"' + row[:-1].replace(b",", b'","') + b'"\n' for row in rows]
    damaged = [row if i % 1000 else b"damaged\n" + row for i, row in enumerate(rows)]
    for path, lines in zip(out.values(), (by_time, quoted, damaged), strict=True):
        path.write_bytes(header + b"".join(lines))
    return out


def arrow(export: str, folder: Path) -> dict:
    """Parse the file and nothing else."""
    import pyarrow as pa
    import pyarrow.csv as csv

    types = {"meter_id": pa.string(), "interval_start": pa.timestamp("us"), "kwh": pa.float64()}
    convert = csv.ConvertOptions(column_types=types, include_columns=list(types))
    skip = csv.ParseOptions(invalid_row_handler=lambda row: "skip")
    return {"parsed": sum(b.num_rows for b in csv.open_csv(export, parse_options=skip, convert_options=convert))}


def _profile(part: Path, config: dict) -> int:
    """Do what workflow/scripts/profile_shard.py does; return how many households there are."""
    from meterdp.core.parquet import open_table
    from meterdp.profiles.grid import LocalTime, read_shard_in_pieces
    from meterdp.profiles.shard import process_shard
    from meterdp.profiles.tables import LOG_LOAD, PROFILES, QUALITY

    households, forecast = 0, config["forecast"]
    days, steps = forecast["train_days"], forecast["horizon_steps"]
    paths = [part.with_name(f"{part.stem}-{table.name}.parquet") for table in (QUALITY, LOG_LOAD, PROFILES)]
    with (
        open_table(paths[0], QUALITY) as add_quality,
        open_table(paths[1], LOG_LOAD) as add_log_load,
        open_table(paths[2], PROFILES) as add_profiles,
    ):
        for shard in read_shard_in_pieces(part, LocalTime(MINUTES, ZONE)):
            tables = process_shard(shard, config["quality"], config["profiles"], days, steps)
            add_quality(tables.quality)
            add_log_load(tables.log_load)
            add_profiles(tables.profiles)
            households += len(shard.household)
    return households


def ours(export: str, folder: Path) -> dict:
    """Read the export and take every shard through the profiles room, as the workflow does."""
    import meterdp.ingest.ingest as room

    config, export_settings = settings()
    if "damaged" in Path(export).name:
        export_settings = replace(export_settings, bad_rows="missing")
    seconds = {"read_again_s": 0.0}  # only where the readings do not fit into the memory

    def timed(name, function):
        def call(*arguments, **keywords):
            begin = time.perf_counter()
            try:
                return function(*arguments, **keywords)
            finally:
                seconds[name] = time.perf_counter() - begin

        return call

    room.survey_export, room.fill = timed("read_s", room.survey_export), timed("read_again_s", room.fill)
    parts = [folder / f"part-{s:03d}.parquet" for s in range(SHARDS)]
    with ProcessPoolExecutor(CORES, get_context("spawn")) as pool:
        timed("ingest_s", room.ingest)(
            export,
            export_settings,
            readings_paths=parts,
            meters_path=folder / "meters.parquet",
            report_path=folder / "report.parquet",
            threads=CORES,
            memory_bytes=int(config["memory_gib"] * 2**30),
        )
        seconds["write_s"] = seconds["ingest_s"] - seconds["read_s"] - seconds["read_again_s"]
        households = sum(timed("profiles_s", lambda: list(pool.map(partial(_profile, config=config), parts)))())
    return {"households": households, **seconds}


def pandas(export: str, folder: Path) -> dict:
    """Do the same steps the usual way: parse, UTC, last row wins, grid, quality, log, rolling season, profiles."""
    config, _ = settings()
    frame = pd.read_csv(export, usecols=["meter_id", "interval_start", "kwh"]).dropna(subset="kwh")
    local = pd.to_datetime(frame["interval_start"], format="%Y-%m-%d %H:%M")
    second = frame.assign(local=local).duplicated(["meter_id", "local"], keep="first")
    frame["stamp"] = local.dt.tz_localize(ZONE, ambiguous=~second.to_numpy()).dt.tz_convert("UTC")
    frame = frame.drop_duplicates(["meter_id", "stamp"], keep="last")
    grid = pd.date_range(frame["stamp"].min(), frame["stamp"].max(), freq=f"{MINUTES}min")
    energy = frame.pivot(index="stamp", columns="meter_id", values="kwh").reindex(grid)  # noqa: PD010
    readings = energy.stack(future_stack=True)  # noqa: PD013
    readings.rename("energy_kwh").reset_index().to_parquet(folder / "readings.parquet")
    from meterdp.profiles.constants import SEASON

    rules, profiles = config["quality"], {**SEASON, **config["profiles"]}
    low, high = (power * MINUTES / 60 for power in rules["plausible_power_kw"])
    energy = energy.where((energy >= low) & (energy <= high))
    runs = (energy != energy.shift()).cumsum()
    longest = int(rules["stuck_hours"] * 60 / MINUTES)
    stuck = runs.apply(lambda column: column.map(column.value_counts())) > longest
    energy = energy.mask(stuck & (energy != 0))
    kept = (energy.isna().mean() <= rules["max_missing_share"]) & ((energy == 0).mean() <= rules["max_zero_share"])
    floor, ceiling = (bound * MINUTES / 60 for bound in profiles["clip_kwh_per_hour"])
    log_kwh = np.log(energy.loc[:, kept].clip(floor, ceiling))
    total, weight, per_day = 0.0, 0.0, 24 * 60 // MINUTES
    for back in range(1, profiles["rolling_days"] + 1):
        value = log_kwh.shift(back * per_day)
        factor = profiles["rolling_day_decay"] ** (back - 1)
        total, weight = total + factor * value.fillna(0.0), weight + factor * value.notna()
    season = total / weight.where(weight > 0)
    parts = {"log_kwh": log_kwh, "seasonal_log_kwh": season, "residual_log_kwh": log_kwh - season}
    load = pd.concat({name: part.melt(ignore_index=False)["value"] for name, part in parts.items()}, axis=1)
    load.to_parquet(folder / "log_load.parquet")
    hourly = energy.resample("1h").mean() * (60 // MINUTES)
    at_home = hourly.tz_convert(ZONE)
    day = at_home.index[len(at_home) // 2].normalize() + pd.Timedelta(hours=profiles["start_hour"])
    half_day = at_home.loc[day : day + pd.Timedelta(hours=profiles["hours"] - 1)]
    np.log(half_day.clip(*profiles["clip_kwh_per_hour"])).T.to_parquet(folder / "profiles.parquet")
    return {"households": energy.shape[1]}


def measure(which: str, export: Path) -> dict:
    """Run one of them in a process of its own; return its seconds, peak memory and what it says itself.

    The memory is the most that it and its children had together, looked at twenty times a second.
    """
    with tempfile.TemporaryDirectory(dir=export.parent) as folder:
        begin, peak = time.perf_counter(), 0
        words = [sys.executable, __file__, which, str(export), folder]
        running = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=os.environ | ALLOCATOR)
        family = psutil.Process(running.pid)
        while running.poll() is None:
            with suppress(psutil.Error):
                peak = max(peak, sum(p.memory_info().rss for p in (family, *family.children(recursive=True))))
            time.sleep(0.05)
        seconds = time.perf_counter() - begin
        if running.returncode:
            raise SystemExit(f"{which} failed")
        said = json.loads(running.stdout.read().splitlines()[-1])
    return {"seconds": seconds, "peak_gib": peak / 2**30, **said}


def compared(case: str, export: Path, count: int, rivals: list[str]) -> list[dict]:
    """Measure one export; return a row per rival."""
    who = ("ours", *rivals)
    runs = [{which: measure(which, export) for which in who} for _ in range(ROUNDS)]
    best = {which: min((run[which] for run in runs), key=lambda found: found["seconds"]) for which in who}
    mine, rows = best["ours"], []
    for rival in rivals:
        row = {
            "case": case,
            "ours_s": mine["seconds"],
            "other": {"arrow": "bare parse by Arrow", "pandas": "the same steps in pandas"}[rival],
            "other_s": best[rival]["seconds"],
            "ratio": best[rival]["seconds"] / mine["seconds"],
            "quality": f"peak {mine['peak_gib']:.2f} GiB against {best[rival]['peak_gib']:.2f}",
            "load": f"{os.getloadavg()[0]:.1f} on {CORES} cores",
            "readings": count,
            "readings_per_s": count / mine["seconds"],
            "peak_gib": mine["peak_gib"],
            "other_peak_gib": best[rival]["peak_gib"],
            "households": mine["households"],
            **{name: mine[name] for name in ("read_s", "read_again_s", "write_s", "profiles_s")},
        }
        rows.append(row)
        print(row, flush=True)
    return rows


def main(sizes=SIZES) -> None:
    """Run all sizes and write the table."""
    from meterdp.core.parquet import atomic_path

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for size, (export, count) in write_exports(Path(name), sizes).items():
            if not rows:
                measure("ours", export)  # compiles the kernels; the cache is kept between runs
            rivals = ["arrow"] + ["pandas"] * (size * PANDAS_BYTES_PER_ROW < memory)
            rows += compared(f"{count:,} readings", export, count, rivals)
            if size == IRREGULAR_SIZE:
                for case, irregular in write_irregular(export).items():
                    rows += compared(f"{count:,} readings, {case}", irregular, count, ["arrow"])
                    irregular.unlink()
            export.unlink()
    with atomic_path(ROOT / "results/benchmarks/reading.parquet") as temporary:
        pd.DataFrame(rows).to_parquet(temporary)


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in ("ours", "arrow", "pandas"):
        which, export, folder = sys.argv[1:]
        print(json.dumps(globals()[which](export, Path(folder))))
    else:
        main([int(float(size)) for size in sys.argv[1:]] or SIZES)
