"""Groups that are kept over a budget period: assigned and charged once, and a forecast of any origin with them.

Labels that were released cost nothing again (docs/proofs/group_forecast.md, 4): a later forecast is the common mean
and the group sums alone, and costs what these do; with one group that is all of the first. Groups age; a new budget
period draws new ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from meterdp.core.log_scale import LogScale
from meterdp.groupforecast.mechanism import ForecastRecords, GroupForecast, GroupRelease
from meterdp.groupforecast.plan import (
    MOST_GROUPS,
    GroupPlan,
    GroupPublic,
    guess_error,
    make_plan,
    make_step,
    predicted_error,
)
from meterdp.privacy.charge import NOTHING, Charge
from meterdp.privacy.guarantee import Guarantee
from meterdp.privacy.mechanism import measure_with
from meterdp.privacy.noise import GRID, ResponseSource
from meterdp.privacy.policy import FEWEST_IN_GROUP

# Share of mu^2 of assignment and first forecast together that finds the centres of the groups.
CENTRE_SHARE = 0.1


@dataclass(frozen=True)
class KeptGroups:
    """The mechanism, calibrated.

    Parameters
    ----------
    public : GroupPublic
        Its epsilon and delta are those of the assignment and one forecast together.
    plan : GroupPlan
        Of every forecast.
    """

    public: GroupPublic
    plan: GroupPlan

    @classmethod
    def calibrate(cls, public: GroupPublic) -> KeptGroups:
        """Split (epsilon, delta) by the public rules of ``plan``."""
        return cls(public, make_plan(public, CENTRE_SHARE))

    @cached_property
    def assignment_plan(self) -> GroupPlan | None:
        """The steps that assign groups; None where groups are public."""
        plan = self.plan
        if plan.assignment_epsilon == 0:
            return None
        mu = plan.mu * math.sqrt(CENTRE_SHARE / (1 - CENTRE_SHARE))
        return replace(plan, mu=mu, common=make_step("common", plan.common_radius, self.public, mu), group=None)

    @property
    def guarantee(self) -> Guarantee:
        """What docs/proofs/group_forecast.md proves of the assignment and one forecast together."""
        return GroupForecast(self.public, self.plan).guarantee

    def assign(self, private: ForecastRecords, noise: ResponseSource) -> np.ndarray:
        """Return a group 0..K-1 for every household, (N,) int64; public groups need no noise."""
        if self.plan.groups == 1:
            return np.zeros(self.public.records, np.int64)
        if self.assignment_plan is None:
            return np.array(self.public.circuit, np.int64)
        once = GroupForecast(self.public, self.assignment_plan)
        return once.assignment(private.x, measure_with(noise, self.public.grid), noise.randomise)

    def forecast(self, private: ForecastRecords, group: np.ndarray, noise: ResponseSource) -> GroupRelease:
        """Return the forecast of every group.

        Parameters
        ----------
        private : ForecastRecords
        group : (N,) int array
            From :meth:`assign`, of this or of an earlier origin.
        noise : ResponseSource
        """
        again = GroupForecast(self.public, self.plan)
        return again.run(private.x, measure_with(noise, self.public.grid), lambda *_: np.asarray(group))


def group_public(config: Mapping, households: int, circuit: tuple[int, ...] | None) -> GroupPublic:
    """Return the public settings of the group forecast that a configuration asks for.

    Parameters
    ----------
    config : mapping
        The whole configuration.
    households : int
        Who get a file.
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
        most_groups=max(1, min(MOST_GROUPS, households // FEWEST_IN_GROUP)),
        circuit=circuit,
        grid=GRID,
    )


def assignment_charge(kept: KeptGroups) -> Charge:
    """Return what it costs to assign groups."""
    plan = kept.assignment_plan
    if plan is None:
        return NOTHING
    return Charge(plan.mu, plan.total_variation(kept.public), ((plan.assignment_epsilon, plan.groups, 1),))


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


def planned_responses(config: Mapping, listed: int) -> Charge:
    """Return the responses that forecasts draw for each of so many listed meters."""
    release = config["release"]
    households = min(release["forecast_households"] or listed, listed)
    by_lot = release["forecast_groups"] == "assigned" and release["forecast_protects"] == "readings"
    if not by_lot or households < FEWEST_IN_GROUP:
        return NOTHING
    kept = KeptGroups.calibrate(group_public(config, households, None))
    return Charge(0.0, 0.0, assignment_charge(kept).responses)
