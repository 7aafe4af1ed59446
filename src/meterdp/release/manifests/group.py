"""The manifest beside every file of the sound forecast: guarantee, what is hidden and what is not, in plain JSON.

It holds public settings and the plan only; never a seed, a household, a count of households or the size of a group.
"""

from __future__ import annotations

import math

import numpy as np

from meterdp.core.log_scale import LogScale
from meterdp.groupforecast.mechanism import GroupForecast
from meterdp.privacy.gaussian import epsilon_after
from meterdp.release.manifests.common import study_manifest

# Releases whose joint cost a manifest names, each with fresh labels and noise.
REPEATS = (7, 30)
_HIDES = (
    "all readings of one household, its forecast and the group nearest to it, up to (epsilon, delta), even from "
    "those who know the readings of all others",
)
_DOES_NOT_HIDE = (
    "which households are in the release and how many there are",
    "which circuit a household is on, where groups are circuits",
    "what another release says: every further origin, day or epsilon adds to the cost, under new release ids too "
    "(epsilon_of_repeated_releases gives it by their number, for fresh noise and assignments and the same delta)",
    "what the class-based forecast files of the same study say, for which nothing is claimed about replace_one: with "
    "them in hand this guarantee is void",
    "what can be learnt about households in general",
)


def _epsilon_after(mechanism: GroupForecast, releases: int) -> float:
    """Return what so many releases cost together at the same delta, rounded up."""
    plan = mechanism.plan
    together = epsilon_after(plan.mu, plan.assignment_epsilon, plan.groups, mechanism.public.delta, releases)
    return math.ceil(100 * together) / 100


def group_manifest(
    mechanism: GroupForecast,
    interval_start_utc: np.ndarray,
    scale: LogScale,
    time_zone: str,
) -> dict:
    """Return what the manifests of all files of a study have in common.

    Parameters
    ----------
    mechanism : GroupForecast
    interval_start_utc : (k,) datetime64 array
        Starts of the forecast intervals, UTC.
    scale : LogScale
        Of the energy in an interval.
    time_zone : str
        IANA name.
    """
    stated, plan, public = mechanism.guarantee, mechanism.plan, mechanism.public
    guarantee = (
        f"a release by the same rules: ({stated.epsilon:g}, {stated.delta:g})-differential privacy for {stated.unit} "
        f"({stated.adjacency}), all files of this origin together; {stated.accountant}; {stated.proof}"
    )
    return study_manifest(
        guarantee,
        {**vars(stated), "epsilon_of_repeated_releases": {str(t): _epsilon_after(mechanism, t) for t in REPEATS}},
        _HIDES,
        _DOES_NOT_HIDE,
        {
            "mechanism": {
                "name": mechanism.name,
                "groups": public.groups,
                "group_count": plan.groups,
                "assignment_epsilon": plan.assignment_epsilon,
                "mu": plan.mu,
                "clip_radius_log_kwh": {"common": plan.common_radius, "group": plan.group_radius},
                "centre_log_kwh": public.centre_log_kwh,
            }
        },
        interval_start_utc,
        public.interval_hours * 60,
        time_zone,
        scale,
    )
