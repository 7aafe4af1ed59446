"""What the forecasts of a configuration draw by lot, known before any of them is released.

Responses may not be chosen after other answers were seen (docs/proofs/ledger.md), so that every charge names them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from meterdp.core.log_scale import LogScale
from meterdp.groupforecast.kept import KeptGroups
from meterdp.groupforecast.plan import GroupPlan, GroupPublic, guess_error, predicted_error
from meterdp.privacy.charge import NOTHING, Charge
from meterdp.privacy.noise import GRID
from meterdp.privacy.policy import FEWEST_IN_GROUP


def group_public(config: Mapping, households: int, circuit: tuple[int, ...] | None) -> GroupPublic:
    """Return the public settings of the group forecast that a configuration asks for.

    Parameters
    ----------
    config : mapping
        The whole configuration.
    households : int
        Of the public list.
    circuit : tuple of int, or None
        Public circuit of every household if they are the groups.
    """
    release = config["release"]
    return GroupPublic(
        epsilon=release["forecast_epsilon"],
        delta=release["delta"],
        records=households,
        steps=config["forecast"]["horizon_steps"],
        interval_hours=config["export"]["interval_minutes"] / 60,
        level_log_kwh=float(LogScale.from_config(config["profiles"]).log(config["profiles"]["default_kwh_per_hour"])),
        groups=release["forecast_groups"],
        most_groups=max(1, min(config["group_forecast"]["most_groups"], households // FEWEST_IN_GROUP)),
        circuit=circuit,
        grid=GRID,
    )


def assignment_charge(kept: KeptGroups) -> Charge:
    """Return what it costs to assign groups."""
    plan = kept.assignment_plan
    if plan is None:
        return NOTHING
    return Charge(plan.mu, plan.total_variation(kept.public), ((plan.assignment_epsilon, plan.groups, 1),))


def planned_charge(config: Mapping, listed: int) -> Charge:
    """Return the responses that the releases of a configuration make for each of so many listed meters."""
    release = config["release"]
    by_lot = release["forecast_groups"] == "assigned" and release["forecast_protects"] == "readings"
    households = min(release["forecast_households"] or listed, listed)
    if "forecasts" not in release["what"] or not by_lot or households < FEWEST_IN_GROUP:
        return NOTHING
    return Charge(0.0, 0.0, assignment_charge(KeptGroups.calibrate(group_public(config, households, None))).responses)


def level_in_words(public: GroupPublic, plan: GroupPlan) -> str | None:
    """Return how far the level of a household's forecast is expected to be off; None for circuits.

    From the public distribution that the plan was made with, so that it tells nothing of a reading.
    """
    if plan.common is None:
        return None
    factor, of_guess = (math.exp(math.sqrt(square)) for square in (predicted_error(public, plan), guess_error()))
    return (
        f"the level of a household's forecast is expected to be off by a factor of {factor:.1f} (one standard "
        f"error: noise, and what a group leaves of a household), that of a public guess by {of_guess:.1f}. This "
        "follows from public numbers alone"
    )
