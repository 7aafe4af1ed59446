"""The folder of released forecasts: a file and manifest a household, a manifest of all, a page for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from meterdp.core.log_scale import LogScale
from meterdp.privacy.guarantee import Guarantee
from meterdp.privacy.ledger import Request
from meterdp.release.forecast_files import forecast_files
from meterdp.release.manifests.common import what_is_in_it
from meterdp.release.service import ReleaseService, as_json, checksums, in_words
from meterdp.release.tables import RELEASED_FORECAST


@dataclass(frozen=True)
class Told:
    """What manifests and page say of one mechanism.

    Parameters
    ----------
    guarantee : Guarantee
    what : str
        What a file holds.
    covers : str
        Which files the guarantee is of, after it.
    facts : mapping
        Sections of the manifests.
    opening, file : str
        For the page: what was done to the files, and what one of them is.
    means : str, optional
        The guarantee in plain words, where it is not that of replacing a meter's readings.
    hides, does_not_hide : sequence of str
    expected : str, optional
        How far forecasts are expected to be off, if that is known.
    """

    guarantee: Guarantee
    what: str
    covers: str
    facts: Mapping
    opening: str
    file: str
    hides: Sequence[str]
    does_not_hide: Sequence[str]
    means: str | None = None
    expected: str | None = None


def forecast_folder(
    ids: np.ndarray, released_log_kwh: np.ndarray, told: Told, request: Request, service: ReleaseService
) -> dict:
    """Return the files of the folder by name.

    Parameters
    ----------
    ids : (N,) array of str
        Names of the files.
    released_log_kwh : (N, k) float64
    told : Told
    request : Request
    service : ReleaseService
    """
    config, guarantee = service.config, told.guarantee
    minutes, zone = config["export"]["interval_minutes"], config["export"]["time_zone"]
    stamps = intervals_ahead(service.period[1], released_log_kwh.shape[1], minutes, zone)
    scale = LogScale.of_interval(config["profiles"], minutes)
    manifest = {
        **service.manifest(told.what, guarantee, told.hides, told.does_not_hide, request),
        "guarantee": f"{in_words(guarantee)}, of {told.covers}",
        **told.facts,
        **what_is_in_it(RELEASED_FORECAST, stamps, minutes, zone, scale),
    }
    each = (RELEASED_FORECAST, ids, released_log_kwh, stamps, scale, manifest, service.metadata)
    files = dict(forecast_files(*each))
    files["manifest.json"] = as_json({**manifest, "sha256": checksums(files)})
    files["README.md"] = service.page(
        "Forecasts for",
        f"This folder holds a file for each of {len(ids):,} households: how much electricity a household like it "
        f"will use from {_spoken(manifest['time']['first_interval_start_local'])} on, in {stamps.size} steps of "
        f"{minutes} minutes. {different_forecasts(released_log_kwh)} {told.opening}",
        (
            f"`<random name>.parquet`: the forecast for one household. {told.file}",
            "`<random name>.json`: how that file was made, for experts and machines",
            "`manifest.json`: the same for the whole folder, with a checksum of every file",
        ),
        request,
        guarantee=guarantee,
        covers=f", for {told.covers}",
        hides=told.hides,
        does_not_hide=told.does_not_hide,
        means=told.means,
        **({} if told.expected is None else {"expected": told.expected}),
    )
    return service.described(files)


def different_forecasts(released_log_kwh: np.ndarray) -> str:
    """Say how many of the released forecasts, (N, k), differ from each other."""
    different = len(np.unique(released_log_kwh, axis=0))
    if different == len(released_log_kwh):
        return "No two files hold the same forecast."
    if different == 1:
        return "All files hold one and the same forecast."
    return f"The files hold {different:,} different forecasts; households of a group have the same one."


def intervals_ahead(last_day: str, steps: int, interval_minutes: int, time_zone: str) -> np.ndarray:
    """Return the UTC starts of the intervals after the last local day of the period, (k,) datetime64[us]."""
    end = datetime.combine(date.fromisoformat(last_day) + timedelta(days=1), time(), ZoneInfo(time_zone))
    first = np.datetime64(end.astimezone(UTC).replace(tzinfo=None), "us")
    return first + np.arange(steps) * np.timedelta64(interval_minutes, "m")


def _spoken(local: str) -> str:
    """Return a local stamp as people write it."""
    moment = datetime.fromisoformat(local)
    return f"{moment:%H:%M} on {moment.day} {moment:%B %Y} (local time)"
