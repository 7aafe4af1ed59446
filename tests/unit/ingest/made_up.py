"""Small made-up exports in every format, and what readers and ingestion make of them."""

from __future__ import annotations

import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import numpy as np
import pandas as pd
import pytest

from meterdp.core.parquet import read_parts, read_table
from meterdp.errors import InputError
from meterdp.ingest.ingest import ingest
from meterdp.ingest.meter_list import MeterList
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

    @property
    def given(self) -> dict[str, list[float]]:
        """The readings of each meter that has any."""
        return {meter: kwh.dropna().tolist() for meter, kwh in self.energy_kwh.items() if kwh.notna().any()}


def ingested(path, settings: ExportSettings | Mapping, *, shards=2, folder=None, listed=None, **options) -> Result:
    """Ingest and return the tables, in a folder that is thrown away if none is given; ``listed`` are the meters."""
    if not isinstance(settings, ExportSettings):
        settings = ExportSettings.from_config(settings)
    if listed is not None:
        options["meter_list"] = MeterList(dict.fromkeys(listed))
    thrown_away = tempfile.TemporaryDirectory(dir=Path(path).parent)
    with thrown_away if folder is None else nullcontext(folder) as name:
        folder = Path(name)
        parts = [folder / f"part-{s}.parquet" for s in range(shards)]
        paths = {"meters_path": folder / "meters.parquet", "report_path": folder / "report.parquet"}
        ingest(path, settings, readings_paths=parts, **paths, **options)
        readings = read_parts(parts, READINGS).to_pandas()
        meters = read_table(folder / "meters.parquet", METERS).to_pandas()
        report = read_table(folder / "report.parquet", INGEST_REPORT).to_pandas()
    starts = pd.DatetimeIndex(readings["interval_start_utc"].unique())
    # Every household has every slot, in order: the reshape fails otherwise.
    grid = readings["energy_kwh"].to_numpy().reshape(len(meters), len(starts))
    assert (readings["household"].to_numpy() == np.repeat(np.arange(len(meters)), len(starts))).all()
    energy = pd.DataFrame(grid.T, index=starts, columns=meters["meter_id"].to_numpy())
    return Result(energy, meters, dict(zip(report["reason"], report["row_count"], strict=True)), readings)


@dataclass(frozen=True)
class All:
    """``kwh`` by meter and UTC start in microseconds, and readings by what became of them."""

    kwh: dict[tuple[str, int], float]
    meters: set[str]
    became: Counter


def read_all(reader, path, settings: ExportSettings) -> All:
    """Read a file to its end by a reader alone."""
    kwh, meters, became = {}, set(), Counter()
    for batch in reader.batches(path, settings):
        meters |= set(batch.meter_ids)
        became.update({reason: n for reason, n in batch.set_aside.items() if n})
        for meter, stamp, value in zip(batch.meter, batch.stamp_us.tolist(), batch.energy.tolist(), strict=True):
            assert (batch.meter_ids[meter], stamp) not in kwh
            kwh[batch.meter_ids[meter], stamp] = value
        if len(batch.energy):
            became["used"] += len(batch.energy)
    return All(kwh, meters, became)


def refusal(path, run: Callable[[], object], private: tuple[str, ...]) -> str:
    """What a refusal says behind the path, once it is clear that it is one sentence and says nothing private."""
    with pytest.raises(InputError) as caught:
        run()
    message = str(caught.value)
    assert message.startswith(str(path)), message
    where = message.removeprefix(str(path))
    assert not any(word in where for word in private), where
    assert "\n" not in message and message.endswith(".") and "; " in message
    assert caught.value.__cause__ is None and (caught.value.__suppress_context__ or caught.value.__context__ is None)
    return where


def fuzz(examples: int) -> hypothesis.settings:
    """Settings of a test that tries so many examples in a folder it has for all of them."""
    slow = [hypothesis.HealthCheck.function_scoped_fixture, hypothesis.HealthCheck.too_slow]
    return hypothesis.settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=slow)


def edited(data: bytes, edits) -> bytes:
    """Return bytes with pieces replaced at relative places."""
    for place, length, piece in edits:
        at = int(place * len(data))
        data = data[:at] + piece + data[at + length :]
    return data


def write_csv(path: Path, rows, header="meter_id,interval_start,kwh") -> Path:
    """Write rows of fields under a header line."""
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def pack(path: Path, files: dict[str, str | bytes], *, zipped: bool = False) -> Path:
    """Put files into a folder or a zip; there in another order than that of their names."""
    contents = {name: data if isinstance(data, bytes) else data.encode() for name, data in files.items()}
    if zipped:
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in reversed(contents.items()):
                archive.writestr(name, content)
        return path
    for name, content in contents.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


def two_days() -> pd.DataFrame:
    """Two days of Zurich without a clock change, with a missing reading: columns meter, local, utc, kwh."""
    stamps = pd.date_range("2021-06-01", periods=2 * 96, freq="15min", tz="Europe/Zurich")
    times = {"local": stamps.strftime("%Y-%m-%d %H:%M"), "utc": stamps.tz_convert("UTC")}
    rng = np.random.default_rng(20240611)
    frames = [
        pd.DataFrame({"meter": meter, **times, "kwh": rng.gamma(1.0, 0.3, len(stamps)).round(3)})
        for meter in ("B7", "A1", "a2")
    ]
    frame = pd.concat(frames, ignore_index=True)
    frame.loc[17, "kwh"] = np.nan
    return frame
