"""Groups that are kept over a budget period: assigned and charged once, and a forecast of any origin with them.

Labels that were released cost nothing again (docs/proofs/group_forecast.md, 4): a later forecast is the common mean
and the group sums alone, and costs what these do; with one group that is all of the first. Groups age; a new budget
period draws new ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from meterdp.groupforecast.mechanism import ForecastRecords, GroupForecast, GroupRelease
from meterdp.groupforecast.plan import GroupPlan, GroupPublic, make_plan, make_step
from meterdp.privacy.guarantee import Guarantee
from meterdp.privacy.noise import ResponseSource

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
        return once.assignment(private.x, once.measure_with(noise), noise.randomise)

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
        return again.run(private.x, again.measure_with(noise), lambda *_: np.asarray(group))
