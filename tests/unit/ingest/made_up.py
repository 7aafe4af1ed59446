"""Small made-up exports in every format, and what ingestion makes of them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from meterdp.core.parquet import read_parts, read_table
from meterdp.ingest.batch import BATCH_BYTES
from meterdp.ingest.ingest import ingest
from meterdp.ingest.settings import ExportSettings
from meterdp.ingest.tables import INGEST_REPORT, METERS, READINGS


@dataclass(frozen=True)
class Result:
    """The three tables of an ingestion; ``energy_kwh`` has a row per UTC start and a column per meter."""

    energy_kwh: pd.DataFrame
    meters: pd.DataFrame
    counts: dict[str, int]
    readings: pd.DataFrame

    def at(self, meter: str, utc: str) -> float:
        """One canonical reading in kWh."""
        return self.energy_kwh.loc[pd.Timestamp(utc, tz="UTC"), meter]


def ingested(path, settings: ExportSettings, *, shards: int = 2, batch_bytes: int = BATCH_BYTES) -> Result:
    """Ingest into a folder that is thrown away and return the tables."""
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as name:
        folder = Path(name)
        parts = [folder / f"part-{s}.parquet" for s in range(shards)]
        ingest(
            path,
            settings,
            readings_paths=parts,
            meters_path=folder / "meters.parquet",
            report_path=folder / "report.parquet",
            batch_bytes=batch_bytes,
        )
        readings = read_parts(parts, READINGS).to_pandas()
        meters = read_table(folder / "meters.parquet", METERS).to_pandas()
        report = read_table(folder / "report.parquet", INGEST_REPORT).to_pandas()
    starts = pd.DatetimeIndex(readings["interval_start_utc"].unique())
    # Every household has every slot, in order: the reshape fails otherwise.
    grid = readings["energy_kwh"].to_numpy().reshape(len(meters), len(starts))
    assert (readings["household"].to_numpy() == np.repeat(np.arange(len(meters)), len(starts))).all()
    energy = pd.DataFrame(grid.T, index=starts, columns=meters["meter_id"].to_numpy())
    return Result(energy, meters, dict(zip(report["reason"], report["row_count"], strict=True)), readings)


def write_csv(path: Path, rows, header="meter_id,interval_start,kwh") -> Path:
    """Write rows of fields under a header line."""
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def local_labels(starts_utc: pd.DatetimeIndex, zone: str) -> list[str]:
    """What a clock on the wall shows at UTC instants."""
    return list(starts_utc.tz_convert(zone).strftime("%Y-%m-%d %H:%M"))


def two_days(meters=("B7", "A1", "a2"), zone="Europe/Zurich", minutes=15) -> pd.DataFrame:
    """Two days of readings without a clock change, with a missing one: columns meter, local, utc, kwh."""
    utc = pd.date_range("2021-06-01", periods=2 * 24 * 60 // minutes, freq=f"{minutes}min", tz=zone).tz_convert("UTC")
    rng = np.random.default_rng(20240611)
    frames = [
        pd.DataFrame(
            {
                "meter": meter,
                "local": local_labels(utc, zone),
                "utc": utc,
                "kwh": np.round(rng.gamma(1.0, 0.3, len(utc)), 3),
            }
        )
        for meter in meters
    ]
    frame = pd.concat(frames, ignore_index=True)
    frame.loc[17, "kwh"] = np.nan
    return frame
