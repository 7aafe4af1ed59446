"""Forecasts under random release ids, and the crosswalk: in a study a file and manifest per household, in a release
two tables for all of them.

Ramakrishna et al., Algorithm 2 and section V-B. A file named by household would reveal the label that the noise is
to hide (defect R3), so ids come from outside and the crosswalk is private. Files are written and tables sorted in the
order of the ids: neither names nor times of writing say which household is which.

A recipient needs no tool to read a manifest: plain JSON of public settings. What is special to a kind of forecast is
its own module's to say.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np
import pyarrow as pa

import meterdp
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import atomic_path, bytes_of_pieces, table_bytes
from meterdp.core.stamps import local_text, utc_column
from meterdp.core.tables import Table
from meterdp.privacy.guarantee import STUDY_MODE
from meterdp.publish.tables import (
    FORECAST_FILE,
    RELEASED_RECIPIENTS,
)

FORECASTS_OF_A_PIECE = 4096


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


@dataclass(frozen=True)
class Forecasts:
    """Which of F forecasts each of N households has, (N,) in 0..F-1, and what its file holds: columns of k values."""

    of: np.ndarray
    columns: Callable[[int], Mapping[str, np.ndarray]]

    @property
    def different(self) -> int:
        """Number of forecasts that somebody has."""
        return len(np.unique(self.of))


def log_forecasts(released_log_kwh: np.ndarray, scale: LogScale) -> Forecasts:
    """Return released log forecasts (N, k), one for each household."""

    def columns(forecast: int) -> dict[str, np.ndarray]:
        log_kwh = released_log_kwh[forecast]
        return {"released_log_kwh": log_kwh, "released_kwh": scale.clipped_kwh(log_kwh)}

    return Forecasts(np.arange(len(released_log_kwh)), columns)


def write_forecast_files(
    folder: str | os.PathLike,
    release_ids: np.ndarray,
    forecasts: Forecasts,
    intervals: Intervals,
    manifest: Mapping,
    metadata: Mapping[str, str],
    table: Table = FORECAST_FILE,
) -> None:
    """Write ``<release_id>.parquet`` and its manifest ``<release_id>.json`` per household, each atomically.

    Random ids are of letters, digits, ``-`` and ``_`` only. The manifest is from :func:`study_manifest`; its
    guarantee goes into the Parquet files too, as do further metadata that are not private.
    """
    ids, common = _names(release_ids), hours_of(intervals)
    # What all manifests share is much, and is written once.
    shared = _indented({**manifest, **metadata}).removeprefix("{")

    def write(name: str, data: bytes) -> None:
        with atomic_path(Path(folder) / name) as temporary:
            temporary.write_bytes(data)

    for row in np.argsort(ids):
        name = f"{ids[row]}.parquet"
        own = forecasts.columns(int(forecasts.of[row]))
        columns = {"release_id": [str(ids[row])] * len(common["step"]), **common, **own}
        data = table_bytes(table, columns, {"guarantee": manifest["guarantee"], **metadata})
        write(name, data)
        own = {"release_id": str(ids[row]), "file": name, "sha256": hashlib.sha256(data).hexdigest()}
        text = _indented(own).removesuffix("\n}") + "," + shared
        write(f"{ids[row]}.json", f"{text}\n".encode())


def hours_of(intervals: Intervals) -> dict:
    """Return the columns that say which intervals the rows of a file are of."""
    return {
        "step": np.arange(1, len(intervals.start_utc) + 1, dtype=np.int32),
        "interval_start_utc": utc_column(intervals.start_utc),
        "interval_start_local": local_text(intervals.start_utc, intervals.time_zone),
    }


def _names(release_ids: Sequence[str]) -> np.ndarray:
    ids = np.asarray(release_ids, dtype=str)
    if np.unique(ids).size != ids.size:
        raise ValueError("release ids must be unique")
    if not all(re.fullmatch(r"[A-Za-z0-9_-]+", i) for i in ids):
        raise ValueError("a release id may hold letters, digits, '-' and '_' only")
    return ids


def forecast_tables(
    table: Table, release_ids: np.ndarray, forecasts: Forecasts, intervals: Intervals, metadata: Mapping[str, str]
) -> dict[str, bytes]:
    """Return the two files of a release: who has which forecast, and a table of the forecasts.

    Forecasts are numbered as they come in the order of the random ids.
    """
    ids = _names(release_ids)
    order = np.argsort(ids)
    known, first, number = np.unique(forecasts.of[order], return_index=True, return_inverse=True)
    by_id = np.argsort(first)
    of = np.argsort(by_id)[number] + 1
    recipients = {"release_id": ids[order].tolist(), "forecast": of.astype(np.int32)}
    common, steps = hours_of(intervals), len(intervals.start_utc)

    def some(begin: int) -> dict:
        at = known[by_id[begin : begin + FORECASTS_OF_A_PIECE]]
        own = [forecasts.columns(int(forecast)) for forecast in at]
        numbers = np.arange(begin, begin + len(at), dtype=np.int32) + 1
        return {
            "forecast": np.repeat(numbers, steps),
            **{name: pa.array(values).take(np.tile(np.arange(steps), len(at))) for name, values in common.items()},
            **{name: np.concatenate([columns[name] for columns in own]) for name in own[0]},
        }

    pieces = map(some, range(0, len(known), FORECASTS_OF_A_PIECE))
    return {
        PurePath(RELEASED_RECIPIENTS.file_name).name: table_bytes(RELEASED_RECIPIENTS, recipients, metadata),
        PurePath(table.file_name).name: bytes_of_pieces(table, pieces, metadata),
    }


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
