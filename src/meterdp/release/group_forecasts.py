"""One study-mode draw of the group forecast as files; seeded, and every file says so."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from meterdp.core.noise import StudyNoise, salted_ids
from meterdp.groupforecast.mechanism import GroupForecast
from meterdp.groupforecast.study import GroupStudy
from meterdp.release.forecast_files import crosswalk_columns, write_forecast_files
from meterdp.release.manifests.group import group_manifest


def write_group_forecasts(
    study: GroupStudy,
    folder: str | Path,
    seed: int,
    salt: str,
    time_zone: str,
    metadata: Mapping[str, str],
) -> dict:
    """Draw the last origin once, write a file and manifest per household of the list, return the crosswalk's columns.

    A household without a forecast gets a file like any other: its file carries the forecast of its group. The ids are
    not those of the class-based files: a common id would tie the two files of a household together.

    Parameters
    ----------
    study : GroupStudy
    folder : path-like
        Target folder, made if missing.
    seed : int
        Seed of the study; it fixes the noise.
    salt : str
        Private salt; it fixes the release ids.
    time_zone : str
        IANA name.
    metadata : mapping
        Further metadata of the files, nothing private.
    """
    groups, epsilon = study.settings["file_groups"], float(study.settings["file_epsilon"])
    mechanism = GroupForecast.calibrate(study.public(groups, epsilon))
    released = mechanism.release(study.records(-1), StudyNoise(seed, "group forecast files", groups, repr(epsilon)))
    own_salt = hashlib.sha256(f"{salt} group forecast".encode()).hexdigest()[:32]
    ids = salted_ids(own_salt, study.household)
    stamps = study.interval_start_utc
    manifest = group_manifest(mechanism, stamps, study.scale, time_zone)
    write_forecast_files(folder, ids, released.released_log_kwh, stamps, study.scale, manifest, metadata)
    return crosswalk_columns(ids, study.household)
