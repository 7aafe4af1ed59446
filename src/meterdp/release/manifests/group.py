"""The manifest beside every file of the sound forecast: guarantee, what is hidden and what is not, in plain JSON.

It holds public settings and the plan only; never a seed, a household, a count of households or the size of a group.
"""

from __future__ import annotations

import numpy as np

import meterdp
from meterdp.core.parquet import NOT_FOR_RELEASE
from meterdp.core.stamps import local_text
from meterdp.groupforecast.mechanism import GroupForecast
from meterdp.release.tables import FORECAST_FILE

STUDY_MODE = f"{NOT_FOR_RELEASE}: study mode, the noise is seeded and protects nobody"
_HIDES = (
    "all readings of one household, its forecast and the group nearest to it, up to (epsilon, delta), even from "
    "those who know the readings of all others",
)
_DOES_NOT_HIDE = (
    "which households are in the release and how many there are",
    "which circuit a household hangs on, where groups are circuits",
    "what another release says: every further origin, day or epsilon adds to the cost, under new release ids too",
    "what the class-based forecast files of the same study say, for which nothing is claimed about replace_one: with "
    "them in hand this guarantee is void",
    "what can be learnt about households in general",
)


def guarantee_in_words(mechanism: GroupForecast) -> str:
    """Return the guarantee of a file as one sentence."""
    stated = mechanism.guarantee
    return (
        f"({stated.epsilon:g}, {stated.delta:g})-differential privacy for {stated.unit} (replace_one), all files of "
        f"this origin together; {stated.accountant}; {stated.proof}"
    )


def group_manifest(
    mechanism: GroupForecast,
    interval_start_utc: np.ndarray,
    bounds_kwh: tuple[float, float],
    time_zone: str,
) -> dict:
    """Return what the manifests of all files of a study have in common.

    Parameters
    ----------
    mechanism : GroupForecast
    interval_start_utc : (k,) datetime64 array
        Starts of the forecast intervals, UTC.
    bounds_kwh : (float, float)
        Public bounds the energy is clipped to.
    time_zone : str
        IANA name.
    """
    stated, plan, public = mechanism.guarantee, mechanism.plan, mechanism.public
    stamps = np.asarray(interval_start_utc, "datetime64[us]")
    return {
        "status": STUDY_MODE,
        "guarantee": f"{STUDY_MODE}; a release by the same rules: {guarantee_in_words(mechanism)}",
        "privacy": {
            "unit": stated.unit,
            "adjacency": stated.adjacency,
            "epsilon": stated.epsilon,
            "delta": stated.delta,
            "accountant": stated.accountant,
            "proof": stated.proof,
            "hides": list(_HIDES),
            "does_not_hide": list(_DOES_NOT_HIDE),
        },
        "mechanism": {
            "name": mechanism.name,
            "groups": public.groups,
            "group_count": plan.groups,
            "assignment_epsilon": plan.assignment_epsilon,
            "mu": plan.mu,
            "clip_radius_log_kwh": {"common": plan.common_radius, "group": plan.group_radius},
            "centre_log_kwh": public.centre_log_kwh,
        },
        "time": {
            "zone": time_zone,
            "interval_minutes": public.interval_hours * 60,
            "first_interval_start_utc": f"{np.datetime_as_string(stamps[0], 's')}Z",
            "first_interval_start_local": local_text(stamps[:1], time_zone)[0],
            "steps": int(stamps.size),
        },
        "columns": {c.name: {"unit": c.unit, "means": c.description} for c in FORECAST_FILE.columns},
        "clipped_to_kwh": [float(b) for b in bounds_kwh],
        "meterdp_version": meterdp.__version__,
    }
