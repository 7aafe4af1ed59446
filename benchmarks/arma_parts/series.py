"""The series every method of benchmarks/arma.py fits: deseasonalised log load of real or simulated homes.

They are made by the functions the study uses, with the configuration of the study, except for every home whose load
varies in the training window: a home the quality rules would leave out is a hard case for a fit, too.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import yaml

from meterdp.core.config import complete, load_schema
from meterdp.core.log_scale import LogScale
from meterdp.ingest.ingest import ingest
from meterdp.ingest.settings import ExportSettings
from meterdp.profiles.grid import Calendar, LocalTime, read_shard
from meterdp.profiles.quality import QualityRules, judge
from meterdp.profiles.seasonal import Season, seasonal_part
from meterdp.simulate.export import simulate_export
from meterdp.simulate.parameters import START_DATE, SimulationParameters, simulated_export
from meterdp_papers.ramakrishna.households import SEASON

ROOT = Path(__file__).resolve().parents[2]
SWISS = ROOT.parent / "shared/data/ch_bamberg_15min/export_long.csv.gz"
SWISS_CONFIG = ROOT / "config/examples/swiss-15min.yaml"
FAULTY_METERS = {"2046645"}  # readings in another unit from week 48 on, says the data set's description
CONSTANT = 1e-9


@dataclass(frozen=True)
class Homes:
    """Homes of one export.

    Parameters
    ----------
    name : str
        Where they come from, for a row of the table.
    meter : (H,) str array
        Meter ids.
    household : (H,) int32 array
        Dense indices.
    log_kwh, seasonal_log_kwh : (H, T) float64 arrays
        Clipped log load, NaN where missing, and its seasonal part.
    calendar : Calendar
        Of the T slots.
    train : slice
        Training window.
    scale : LogScale
        Of the energy in an interval; the log load is clipped to its bounds.
    """

    name: str
    meter: np.ndarray
    household: np.ndarray
    log_kwh: np.ndarray
    seasonal_log_kwh: np.ndarray
    calendar: Calendar
    train: slice
    scale: LogScale

    @property
    def training(self) -> np.ndarray:
        """Deseasonalised log load of the training window, (H, n)."""
        return (self.log_kwh - self.seasonal_log_kwh)[:, self.train]

    def only(self, rows) -> Homes:
        """Return some of the homes."""
        kept = {name: getattr(self, name)[rows] for name in ("meter", "household", "log_kwh", "seasonal_log_kwh")}
        return replace(self, **kept)


def homes_of(export: Path, config: dict, name: str, train_days: int) -> Homes:
    """Read an export with the functions of the study and keep the homes that vary in the training window."""
    with tempfile.TemporaryDirectory() as folder:
        readings, meters = Path(folder) / "readings.parquet", Path(folder) / "meters.parquet"
        ingest(
            export,
            ExportSettings.from_config(config["export"]),
            readings_paths=[readings],
            meters_path=meters,
            report_path=Path(folder) / "report.parquet",
        )
        shard = read_shard(readings, LocalTime.of(config["export"]))
        meter = np.array(pq.read_table(meters, columns=["meter_id"])["meter_id"].to_pylist())[shard.household]
    usable = judge(shard, QualityRules.from_config(config["quality"]))[1]
    train, profiles = shard.calendar.window(train_days), config["profiles"]
    minutes = shard.calendar.interval_minutes
    scale = LogScale.of_interval(profiles, minutes)
    logged = scale.clipped_log(usable)
    horizon = config["forecast"]["horizon_steps"]
    # The paper's season: what packages are compared on does not move with the default of a study.
    season = seasonal_part(
        logged, shard.calendar, Season.from_config({**profiles, **SEASON}, train, horizon, minutes)
    )
    homes = Homes(name, meter, shard.household, logged, season, shard.calendar, train, scale)
    seen = np.isfinite(homes.training).any(axis=1)
    homes = homes.only(seen & ~np.isin(meter, list(FAULTY_METERS)))
    return homes.only(np.nanstd(homes.training, axis=1) > CONSTANT)


def configuration(*files: Path) -> dict:
    """Return the complete configuration of the files, later ones over earlier ones."""
    merged: dict = {}
    for file in files:
        for key, value in yaml.safe_load(file.read_text()).items():
            merged[key] = merged.get(key, {}) | value if isinstance(value, dict) else value
    return complete(merged, load_schema(ROOT / "workflow/schemas/config.schema.yaml"))


def real_homes(export: Path, config: Path, train_days: int = 15) -> Homes:
    """Return the homes of a real export, e.g. the Swiss ones."""
    name = "Swiss homes" if export.resolve() == SWISS.resolve() else "homes of the export"
    return homes_of(export, configuration(ROOT / "config/config.yaml", config), name, train_days)


def simulated_homes(households: int, seed: int, days: int = 28, train_days: int = 15) -> Homes:
    """Return homes of the project's simulator."""
    config = configuration(ROOT / "config/config.yaml")
    config["export"] |= simulated_export(START_DATE, days)
    with tempfile.TemporaryDirectory() as folder:
        export = Path(folder) / "export.csv.gz"
        parameters = SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml")
        simulate_export(parameters, export, seed=seed, households=households, days=days)
        return homes_of(export, config, "simulated homes", train_days)
