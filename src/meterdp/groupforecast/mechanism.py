"""The sound forecast: every household's file carries the noisy mean forecast of its group (``replace_one``).

A file names the group of its household, so groups are public (one, or the circuits) or each household's assignment is
randomised and charged (docs/proofs/group_forecast.md). In study mode the noise is seeded floating point: the proof
then covers the algorithm, not the files.

Groups can be kept over a budget period: labels that were released cost nothing again (section 4 there). A later
forecast is the common mean and the group sums alone, and costs what these do; with one group that is all of the
first. Groups age; a new budget period draws new ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from meterdp.core.log_scale import LogScale
from meterdp.errors import InputError
from meterdp.groupforecast.plan import (
    COMMON_OFFSET_STD,
    COMMON_RADIUS,
    ENTRY_LIMIT,
    GROUP_OFFSET_STD,
    GROUP_RADIUS,
    LEVEL_STD,
    MOST_GROUPS,
    GroupPlan,
    GroupPublic,
    assigned_levels,
    make_plan,
    make_step,
    normal_groups,
    response,
)
from meterdp.privacy import gaussian
from meterdp.privacy.charge import NOTHING, Charge
from meterdp.privacy.guarantee import Guarantee
from meterdp.privacy.mechanism import Measure, NoisyQuery, clipped, grouped_sums, measure_with
from meterdp.privacy.noise import GRID, ResponseSource
from meterdp.privacy.policy import FEWEST_IN_GROUP

Assign = Callable[[np.ndarray, int, float], np.ndarray]


@dataclass(frozen=True)
class ForecastRecords:
    """All the mechanism sees of the data: the forecast (N, k) of each household of the public list, log kWh.

    A row that is not finite stands for a household without a forecast and is replaced by the public level, never
    dropped.
    """

    x: np.ndarray


@dataclass(frozen=True)
class GroupRelease:
    """Group 0..K-1 each household was assigned to, (N,) int64, and the forecast of each group, (K, k)."""

    group: np.ndarray
    group_log_kwh: np.ndarray

    @property
    def released_log_kwh(self) -> np.ndarray:
        """Forecast in each household's file, (N, k)."""
        return self.group_log_kwh[self.group]


@dataclass(frozen=True)
class GroupForecast:
    """The mechanism, calibrated."""

    public: GroupPublic
    plan: GroupPlan
    name: ClassVar[str] = "group_forecast"
    family: ClassVar[str] = "sound"

    @classmethod
    def calibrate(cls, public: GroupPublic) -> GroupForecast:
        return cls(public, make_plan(public))

    @property
    def guarantee(self) -> Guarantee:
        """What docs/proofs/group_forecast.md proves of one release, for noise that is truly Gaussian."""
        return Guarantee(
            unit="all readings of one household",
            adjacency="replace_one",
            epsilon=self.public.epsilon,
            delta=self.public.delta,
            accountant=gaussian.STEPS_AND_RESPONSES,
            proof="docs/proofs/group_forecast.md",
            family=self.family,
        )

    def release(self, private: ForecastRecords, noise: ResponseSource) -> GroupRelease:
        """Run the mechanism once, with noise on the grid it was calibrated for."""
        return self.run(private.x, measure_with(noise, self.public.grid), noise.randomise)

    def run(self, x: np.ndarray, measure: Measure, assign: Assign) -> GroupRelease:
        """Run the steps, letting ``measure`` and ``assign`` turn exact values into randomised ones.

        ``measure`` is given a step and sums (G, k), ``assign`` labels (N,), K and the assignment epsilon. Records
        ``x`` (N, k) are touched in the arguments of the two only. The privacy test replays a run on neighbouring
        records by handing back recorded answers.
        """
        public, plan = self.public, self.plan
        z = self._centred(x)
        if public.groups == "circuit":
            group = np.array(public.circuit)
            return GroupRelease(group, public.centre_log_kwh + self._circuits(z, group, measure))
        common = self._common(z, measure)
        if plan.groups == 1:
            return GroupRelease(np.zeros(len(z), int), public.centre_log_kwh + common)
        group = self._assigned(z, common, assign)
        expected = common + LEVEL_STD * assigned_levels(plan.groups, plan.assignment_epsilon)[0][:, None]
        offset = self._offsets(z, group, expected, measure)
        return GroupRelease(group, public.centre_log_kwh + expected + offset)

    def assignment(self, x: np.ndarray, measure: Measure, assign: Assign) -> np.ndarray:
        """Run the first two steps only: the common mean and the groups (N,) that go by it."""
        z = self._centred(x)
        return self._assigned(z, self._common(z, measure), assign)

    def _centred(self, x: np.ndarray) -> np.ndarray:
        """Return the records around the public level, entries cut, (N, k)."""
        public = self.public
        if x.shape != (public.records, public.steps):
            raise InputError(
                "the forecasts do not have the public number of households and steps",
                field="records",
                hint="set records and steps to the size of the public list and of a forecast",
            )
        z = np.where(np.isfinite(x).all(axis=1, keepdims=True), x - public.centre_log_kwh, 0.0)
        return np.clip(z, -ENTRY_LIMIT, ENTRY_LIMIT)

    def _assigned(self, z: np.ndarray, common: np.ndarray, assign: Assign) -> np.ndarray:
        """Randomise which group's centre is nearest to each record, (N,)."""
        plan = self.plan
        centres = common + LEVEL_STD * normal_groups(plan.groups)[0][:, None]
        return assign(nearest(z, centres), plan.groups, plan.assignment_epsilon)

    def _common(self, z: np.ndarray, measure: Measure) -> np.ndarray:
        """Measure the mean of all records (1, k) around the public level."""
        plan = self.plan
        noisy = measure(plan.common, group_sums(z, np.zeros(len(z), int), 1, plan.common_radius, self.public.grid))
        return self._shrunk(noisy, plan.common, response(COMMON_RADIUS, 1.0) * len(z), COMMON_OFFSET_STD**2)

    def _offsets(self, z: np.ndarray, group: np.ndarray, expected: np.ndarray, measure: Measure) -> np.ndarray:
        """Measure how far the group means lie from what the public distribution expects, (K, k)."""
        plan = self.plan
        sums = group_sums(z - expected[group], group, plan.groups, plan.group_radius, self.public.grid)
        counts = response(GROUP_RADIUS, 1.0) * np.bincount(group, minlength=plan.groups)
        return self._shrunk(measure(plan.group, sums), plan.group, counts[:, None], GROUP_OFFSET_STD**2)

    def _circuits(self, z: np.ndarray, group: np.ndarray, measure: Measure) -> np.ndarray:
        """Measure the means of public circuits (G, k), shrunk towards their common mean (empirical Bayes)."""
        plan, n = self.plan, len(z)
        noisy = measure(plan.group, group_sums(z, group, plan.groups, plan.group_radius, self.public.grid))
        follows = response(COMMON_RADIUS, 1.0)
        step = NoisyQuery("all", plan.group.sensitivity, plan.group.noise_std * np.sqrt(plan.groups))
        common = self._shrunk(noisy.sum(axis=0), step, follows * n, COMMON_OFFSET_STD**2)
        counts = np.maximum(follows * np.bincount(group, minlength=plan.groups), 1e-9)
        level = (noisy / counts[:, None] - common).mean(axis=1)
        between = between_variance(level, (plan.group.noise_std / counts) ** 2 / self.public.steps)
        counts = counts[:, None]
        return common + self._shrunk(noisy - counts * common, plan.group, counts, between)

    def _shrunk(
        self, noisy_sum: np.ndarray, step: NoisyQuery, count: np.ndarray | float, variance: float
    ) -> np.ndarray:
        """Return the posterior mean of offsets with prior covariance ``variance`` times the public kernel.

        Sums (G, k) or (k,), counts (G, 1) or one. Along the axes of the kernel entries do not depend on each other.
        """
        values, axes = self.public.kernel_axes
        prior = variance * values
        return (noisy_sum @ axes * (count * prior / (count**2 * prior + step.noise_std**2))) @ axes.T


def between_variance(level: np.ndarray, noise_variance: np.ndarray) -> float:
    """Return the posterior mean of the variance of circuit levels (G,), from noisy ones and the known variances (G,)
    of noise.

    The prior of their standard deviation is exponential with a public mean; a posterior mean does not follow noise as
    the difference of two variances does.
    """
    std = np.linspace(0.0, LEVEL_STD, 49)
    variance = std[:, None] ** 2 + noise_variance
    log_posterior = -0.5 * (np.log(variance) + level**2 / variance).sum(axis=1) - std / GROUP_OFFSET_STD
    weight = np.exp(log_posterior - log_posterior.max())
    return float(weight @ std**2 / weight.sum())


def nearest(z: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the nearest of ``centres`` (K, k) to each record (N, k): a function of that record alone."""
    return ((z[:, None] - centres) ** 2).sum(axis=-1).argmin(axis=1)


def group_sums(z: np.ndarray, group: np.ndarray, groups: int, radius: float, grid: float = 0.0) -> np.ndarray:
    """Return per group the sum of records clipped to a ball of radius ``radius`` sqrt(k), (G, k) float64.

    Replacing one record, its group unchanged, moves one row by at most 2 ``radius`` sqrt(k).
    """
    return grouped_sums(clipped(z, radius * np.sqrt(z.shape[1])), group, groups, grid)


# Share of mu^2 of assignment and first forecast together that finds the centres of the groups.
CENTRE_SHARE = 0.1


@dataclass(frozen=True)
class KeptGroups:
    """The mechanism with groups that are kept.

    Epsilon and delta of ``public`` are those of the assignment and one forecast together; ``plan`` is that of every
    forecast.
    """

    public: GroupPublic
    plan: GroupPlan

    @classmethod
    def calibrate(cls, public: GroupPublic) -> KeptGroups:
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
        """Return the forecast of every group, with the groups (N,) from :meth:`assign`, of this or of an earlier
        origin.
        """
        again = GroupForecast(self.public, self.plan)
        return again.run(private.x, measure_with(noise, self.public.grid), lambda *_: np.asarray(group))


def group_public(config: Mapping, households: int, circuit: tuple[int, ...] | None) -> GroupPublic:
    """Return the public settings of the group forecast of so many listed households that a configuration asks for.

    ``circuit`` is the public circuit of each if they are the groups.
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


def planned_responses(config: Mapping, listed: int) -> Charge:
    """Return the responses that forecasts draw for each of so many listed meters."""
    release = config["release"]
    households = min(release["forecast_households"] or listed, listed)
    by_lot = release["forecast_groups"] == "assigned" and release["forecast_protects"] == "readings"
    if not by_lot or households < FEWEST_IN_GROUP:
        return NOTHING
    kept = KeptGroups.calibrate(group_public(config, households, None))
    return Charge(0.0, 0.0, assignment_charge(kept).responses)
