"""What every manifest of a forecast file says: its guarantee, times, columns and bounds; a study's says so, too.

A recipient needs no tool to read it: plain JSON of public settings. What is special to a kind of forecast is its own
module's to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import meterdp
from meterdp.core.log_scale import LogScale
from meterdp.core.stamps import local_text
from meterdp.core.tables import Table
from meterdp.privacy.guarantee import STUDY_MODE
from meterdp.release.tables import FORECAST_FILE


def study_manifest(
    guarantee: str,
    privacy: Mapping,
    hides: Sequence[str],
    does_not_hide: Sequence[str],
    made_by: Mapping,
    interval_start_utc: np.ndarray,
    interval_minutes: float,
    time_zone: str,
    scale: LogScale,
) -> dict:
    """Return what the manifests of all files of one draw have in common.

    Parameters
    ----------
    guarantee : str
        In one sentence, after the words about study mode.
    privacy : mapping
        The same in numbers: unit, adjacency, epsilon, delta and what they rest on.
    hides, does_not_hide : sequence of str
    made_by : mapping
        Sections on what made the files: public settings only.
    interval_start_utc : (k,) datetime64 array
        Starts of the forecast intervals, UTC.
    interval_minutes : float
    time_zone : str
        IANA name.
    scale : LogScale
        Of the energy in an interval.
    """
    return {
        "status": STUDY_MODE,
        "guarantee": f"{STUDY_MODE}; {guarantee}",
        "privacy": {**privacy, "hides": list(hides), "does_not_hide": list(does_not_hide)},
        **made_by,
        **what_is_in_it(FORECAST_FILE, interval_start_utc, interval_minutes, time_zone, scale),
    }


def what_is_in_it(
    table: Table,
    interval_start_utc: np.ndarray,
    interval_minutes: float,
    time_zone: str,
    scale: LogScale,
) -> dict:
    """Return times, columns and bounds of files of ``table``; parameters are those of :func:`study_manifest`."""
    stamps = np.asarray(interval_start_utc, "datetime64[us]")
    return {
        "time": {
            "zone": time_zone,
            "interval_minutes": interval_minutes,
            "first_interval_start_utc": f"{np.datetime_as_string(stamps[0], 's')}Z",
            "first_interval_start_local": local_text(stamps[:1], time_zone)[0],
            "steps": int(stamps.size),
        },
        "columns": {c.name: {"unit": c.unit, "means": c.description} for c in table.columns},
        "clipped_to_kwh": [float(b) for b in scale.bounds_kwh],
        "log_scale": scale.stated,
        "meterdp_version": meterdp.__version__,
    }
