"""Forecast files: one file and manifest per household under a random release id, and the crosswalk.

Ramakrishna et al., Algorithm 2 and section V-B. A file named by household would reveal the label that the noise is
to hide (defect R3), so ids come from outside and the crosswalk is private. Files are written in the order of their
ids: neither names nor times of writing say which household is which.

A recipient needs no tool to read a manifest: plain JSON of public settings. What is special to a kind of forecast is
its own module's to say.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import meterdp
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import atomic_path, table_bytes
from meterdp.core.stamps import local_text, utc_column
from meterdp.core.tables import Table
from meterdp.privacy.guarantee import STUDY_MODE
from meterdp.publish.tables import FORECAST_FILE


@dataclass(frozen=True)
class Intervals:
    """The k intervals of a forecast: their starts, (k,) datetime64 in UTC, and the scale of the energy in one."""

    start_utc: np.ndarray
    minutes: float
    time_zone: str
    scale: LogScale

    def stated(self, table: Table) -> dict:
        """Return what a manifest says of the times, columns and bounds of files of a table."""
        stamps = np.asarray(self.start_utc, "datetime64[us]")
        return {
            "time": {
                "zone": self.time_zone,
                "interval_minutes": self.minutes,
                "first_interval_start_utc": f"{np.datetime_as_string(stamps[0], 's')}Z",
                "first_interval_start_local": local_text(stamps[:1], self.time_zone)[0],
                "steps": int(stamps.size),
            },
            "columns": {c.name: {"unit": c.unit, "means": c.description} for c in table.columns},
            "clipped_to_kwh": [float(b) for b in self.scale.bounds_kwh],
            "log_scale": self.scale.stated,
            "meterdp_version": meterdp.__version__,
        }


# Rows of a household's file: columns by name, of k values each, from the place of the household.
Rows = Callable[[int], Mapping[str, np.ndarray]]


def log_rows(released_log_kwh: np.ndarray, scale: LogScale) -> Rows:
    """Return what files of released log forecasts (N, k) hold of each household."""

    def rows(row: int) -> dict[str, np.ndarray]:
        log_kwh = released_log_kwh[row]
        return {"released_log_kwh": log_kwh, "released_kwh": scale.clipped_kwh(log_kwh)}

    return rows


def write_forecast_files(
    folder: str | os.PathLike,
    release_ids: np.ndarray,
    rows: Rows,
    intervals: Intervals,
    manifest: Mapping,
    metadata: Mapping[str, str],
    table: Table = FORECAST_FILE,
) -> None:
    """Write ``<release_id>.parquet`` and its manifest ``<release_id>.json`` per household, each atomically.

    Random ids are of letters, digits, ``-`` and ``_`` only. The manifest is from :func:`study_manifest`; its
    guarantee goes into the Parquet files too, as do further metadata that are not private.
    """
    for name, data in forecast_files(table, release_ids, rows, intervals, manifest, metadata):
        with atomic_path(Path(folder) / name) as temporary:
            temporary.write_bytes(data)


def hours_of(intervals: Intervals) -> dict:
    """Return the columns that say which intervals the rows of a file are of."""
    return {
        "step": np.arange(1, len(intervals.start_utc) + 1, dtype=np.int32),
        "interval_start_utc": utc_column(intervals.start_utc),
        "interval_start_local": local_text(intervals.start_utc, intervals.time_zone),
    }


def forecast_files(
    table: Table,
    release_ids: np.ndarray,
    rows: Rows,
    intervals: Intervals,
    manifest: Mapping,
    metadata: Mapping[str, str],
) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of every file of a study's table or a release's, in the order of the ids."""
    ids = np.asarray(release_ids, dtype=str)
    if np.unique(ids).size != ids.size:
        raise ValueError("release ids must be unique")
    if not all(re.fullmatch(r"[A-Za-z0-9_-]+", i) for i in ids):
        raise ValueError("a release id may hold letters, digits, '-' and '_' only")
    common = hours_of(intervals)
    # What all manifests share is much, and is written once.
    shared = _indented({**manifest, **metadata}).removeprefix("{")
    for row in np.argsort(ids):
        name = f"{ids[row]}.parquet"
        columns = {"release_id": [str(ids[row])] * len(common["step"]), **common, **rows(row)}
        data = table_bytes(table, columns, {"guarantee": manifest["guarantee"], **metadata})
        yield name, data
        own = {"release_id": str(ids[row]), "file": name, "sha256": hashlib.sha256(data).hexdigest()}
        text = _indented(own).removesuffix("\n}") + "," + shared
        yield f"{ids[row]}.json", f"{text}\n".encode()


def _indented(value: Mapping) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def crosswalk_columns(release_ids: np.ndarray, household: np.ndarray) -> dict:
    """Return the columns of the private table ``crosswalk``; both arrays (H,)."""
    order = np.argsort(release_ids)
    return {"release_id": [str(i) for i in release_ids[order]], "household": np.asarray(household, np.int32)[order]}


def study_manifest(
    guarantee: str,
    privacy: Mapping,
    hides: Sequence[str],
    does_not_hide: Sequence[str],
    made_by: Mapping,
    intervals: Intervals,
    table: Table = FORECAST_FILE,
) -> dict:
    """Return what the manifests of all files of one draw have in common.

    ``guarantee`` is one sentence, after the words about study mode; ``privacy`` the same in numbers: unit, adjacency,
    epsilon, delta and what they rest on; ``made_by`` are sections on what made the files: public settings only.
    """
    return {
        "status": STUDY_MODE,
        "guarantee": f"{STUDY_MODE}; {guarantee}",
        "privacy": {**privacy, "hides": list(hides), "does_not_hide": list(does_not_hide)},
        **made_by,
        **intervals.stated(table),
    }
