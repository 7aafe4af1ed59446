"""From a node's own export to its records, in a folder that nobody else can look into and that is gone afterwards."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pyarrow as pa

from meterdp.core.parquet import as_arrow, read_table
from meterdp.errors import InputError
from meterdp.ingest.ingest import ingest
from meterdp.ingest.meter_list import read_meter_list
from meterdp.ingest.settings import ExportSettings
from meterdp.ingest.tables import METERS
from meterdp.profiles.grid import read_shard_in_pieces
from meterdp.profiles.kept import refuse_nobody
from meterdp.profiles.process import process_shard
from meterdp.profiles.quality import refuse_by_policy
from meterdp.profiles.tables import PROFILES
from meterdp.profiles.vector import Records


def own_records(study: Mapping, private: Path, listed: bool = False) -> tuple[Records, list[str]]:
    """Return the profile vectors of an export, as a study of it has them, and the ids of its meters.

    Parameters
    ----------
    study : mapping
        Complete configuration.
    private : Path
        Folder for what is private; made if need be, and open to its owner only.
    listed : bool
        Whether a public list says who is in it, so that no reading may decide whether a run ends.

    Returns
    -------
    records : Records
        Of all meters.
    meter_ids : list of str
        Of as many, in the order of the export's table.

    Raises
    ------
    InputError
        If a study of the export would be refused.
    """
    export = study["export"]
    private.mkdir(parents=True, exist_ok=True)
    os.chmod(private, 0o700)
    judged, parts = [], []
    with _alone_in(private / "node") as folder:
        shards = [folder / f"part-{number}.parquet" for number in range(study["shards"])]
        ingest(
            export["path"],
            ExportSettings.from_config(export),
            meter_list=None if export["meters"] is None else read_meter_list(export["meters"]),
            readings_paths=shards,
            meters_path=folder / "meters.parquet",
            report_path=folder / "report.parquet",
            threads=1,
            memory_bytes=int(study["memory_gib"] * 2**30),
        )
        for path in shards:
            for shard in read_shard_in_pieces(path, export["interval_minutes"], export["time_zone"]):
                tables = process_shard(
                    shard,
                    study["quality"],
                    study["profiles"],
                    study["forecast"]["train_days"],
                    study["forecast"]["horizon_steps"],
                )
                judged.append(tables.quality)
                parts.append(as_arrow(PROFILES, tables.profiles))
        meter_ids = read_table(folder / "meters.parquet", METERS)["meter_id"].to_pylist()
    quality = pd.concat(judged)
    refuse_by_policy(quality, study["quality"]["policies"])
    if not listed:
        refuse_nobody(quality)
    return Records.from_table(pa.concat_tables(parts)), meter_ids


@contextmanager
def _alone_in(folder: Path) -> Iterator[Path]:
    """Give an empty folder to one process at a time; what a killed one left is removed first."""
    with open(folder.with_name(f"{folder.name}.lock"), "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                "is in use by another run of this node",
                file=folder,
                hint="wait for its end, or give this one another results_dir",
            ) from None
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
