"""Public rules of the sound forecast: how many groups, what the assignment costs, radii and shares of the budget.

Every choice is a function of N, k, epsilon, delta and configuration: the plan minimises the squared error that a
public normal distribution of household levels predicts. The constants were chosen on simulated households and on the
Swiss homes of config/examples, for which the guarantee is not claimed (docs/proofs/group_forecast.md, 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from meterdp.accounting.responses import mu_beside
from meterdp.core.constraints import ONE_OR_MORE, POSITIVE, PROBABILITY, Fits, Number, OneOf, check
from meterdp.privacy.gaussian import keep_probability, rounded, total_variation
from meterdp.privacy.mechanism import NoisyQuery, check_grid, delta_beside_the_grid

# Groups that are found privately, at most; the plan takes as many or fewer, by the number of households and epsilon.
MOST_GROUPS = 12

GROUPS = ("one", "circuit", "assigned")
# Standard deviation over households of the level of a forecast around the common one, log kWh.
LEVEL_STD = 1.2
# What the public level is off by, and what the public distribution says wrongly about a group, log kWh (standard
# deviations).
COMMON_OFFSET_STD = 0.5
GROUP_OFFSET_STD = 0.2
# Entries of a record further than this from the public level are cut, log kWh; keeps sums of squares finite.
ENTRY_LIMIT = 50.0
# Correlation time of the offsets over the steps of a forecast, hours.
CORRELATION_HOURS = 12.0
# Clip radii of the common and of the group measurement, in standard deviations of what is left of the level.
COMMON_RADIUS = 1.0
GROUP_RADIUS = 1.0
# Shares of mu^2 the common measurement may get beside those of the groups.
COMMON_SHARES = (0.1, 0.2, 0.3, 0.5)
# Shares of epsilon the assignment may get.
ASSIGNMENT_SHARES = np.concatenate([np.arange(0.1, 0.96, 0.05), [0.97, 0.98, 0.99]])


@dataclass(frozen=True)
class GroupPublic:
    """Everything the sound forecast may know before it sees a record.

    Parameters
    ----------
    epsilon, delta : float
        Privacy parameters of one release: all files of one origin.
    records : int
        N, all households of a public list.
    steps : int
        k, steps of the forecast.
    interval_hours : float
        Length of a step.
    level_log_kwh : float
        Public level, log kWh per hour: the centre of clipping and the record of a household without a forecast.
    groups : {"one", "circuit", "assigned"}
        One mean for all, one per public circuit, or one per privately assigned group.
    most_groups : int
        Largest number of private groups.
    circuit : tuple of int, optional
        Public circuit 0..G-1 of every household; needed by "circuit".
    grid : float
        What records are rounded to and noise is drawn on, a power of two; 0 in a study.
    """

    epsilon: float
    delta: float
    records: int
    steps: int
    interval_hours: float
    level_log_kwh: float = math.log(0.5)
    groups: str = "assigned"
    most_groups: int = 12
    circuit: tuple[int, ...] | None = None
    grid: float = 0.0

    def __post_init__(self):
        circuits = self.groups != "circuit" or (self.circuit is not None and len(self.circuit) == self.records)
        constraints = {
            "epsilon": POSITIVE,
            "delta": PROBABILITY,
            "records": Fits(self.records >= 1, "at least one household"),
            "steps": ONE_OR_MORE,
            "interval_hours": POSITIVE,
            "level_log_kwh": Number(),
            "groups": OneOf(GROUPS),
            "most_groups": ONE_OR_MORE,
            "circuit": Fits(circuits, "export.circuit_column, or the groups 'one' or 'assigned'"),
        }
        check(self, constraints)

    @property
    def centre_log_kwh(self) -> float:
        """Public level of the energy in one interval, log kWh."""
        return self.level_log_kwh + math.log(self.interval_hours)

    @property
    def noise_entries(self) -> int:
        """Noise entries of one release at most."""
        groups = max(self.circuit) + 1 if self.groups == "circuit" else self.most_groups
        return (1 + groups) * self.steps

    @property
    def delta_of_curve(self) -> float:
        """What is left of delta for continuous noise (docs/proofs/safe_noise.md), all of it in a study."""
        if self.grid == 0:
            return self.delta
        # Twice, because groups and forecast may be two releases.
        return delta_beside_the_grid(self.epsilon, self.delta, 2 * self.noise_entries, self.records)

    @cached_property
    def kernel_axes(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues (k,) and eigenvectors (k, k) of the public correlation of offsets over the steps."""
        step = np.arange(self.steps) * self.interval_hours / CORRELATION_HOURS
        values, axes = np.linalg.eigh(np.exp(-np.abs(step[:, None] - step)))
        return np.maximum(values, 0.0), axes


@dataclass(frozen=True)
class GroupPlan:
    """The steps of one release, fixed before any record is seen.

    K ``groups``; ``assignment_epsilon`` is what the randomised assignment costs, 0 where nothing is assigned; ``mu``
    is the GDP parameter of all Gaussian measurements together. ``common`` sums up all households (None for public
    circuits), ``group`` each group (None with one). Clip radii are per step, log kWh.
    """

    groups: int
    assignment_epsilon: float
    mu: float
    common: NoisyQuery | None
    group: NoisyQuery | None
    common_radius: float
    group_radius: float

    @property
    def measurements(self) -> tuple[NoisyQuery, ...]:
        """The Gaussian measurements, in order; their mu^2 add up to ``mu``^2."""
        return tuple(s for s in (self.common, self.group) if s is not None)

    def total_variation(self, public: GroupPublic) -> float:
        """Distance of one release on its grid from the same with continuous noise; 0 without a grid."""
        if public.grid == 0:
            return 0.0
        rows = [1 if step is self.common else self.groups for step in self.measurements]
        return sum(
            n * public.steps * total_variation(step.noise_std / public.grid)
            for n, step in zip(rows, self.measurements, strict=True)
        )


@lru_cache
def normal_groups(groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Return levels (K,) and shares (K,) of the groups that split a standard normal distribution with least squared
    error.

    Lloyd's iteration on the density (Max 1960).
    """
    level = ndtri((np.arange(groups) + 0.5) / groups)
    for _ in range(500):
        edge = np.concatenate([[-np.inf], (level[1:] + level[:-1]) / 2, [np.inf]])
        share = np.diff(ndtr(edge))
        density = np.exp(-0.5 * edge**2) / math.sqrt(2 * math.pi)
        level = -np.diff(density) / share
    return level, share


@lru_cache(maxsize=4096)
def assigned_levels(groups: int, assignment_epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return mean level (K,), in standard deviations, and share (K,) that are expected of those assigned to each
    group.
    """
    level, share = normal_groups(groups)
    keep = keep_probability(assignment_epsilon, groups)
    joint = np.full((groups, groups), keep * math.exp(-assignment_epsilon)) * share[:, None]
    np.fill_diagonal(joint, keep * share)
    return level @ joint / joint.sum(axis=0), joint.sum(axis=0)


def response(radius: float, std: float) -> float:
    """Return d E[clip(Z + b)] / d b at b = 0, Z normal: by how much a clipped mean follows an offset."""
    return float(2 * ndtr(radius / std) - 1)


def make_plan(public: GroupPublic, kept_apart: float = 0.0) -> GroupPlan:
    """Return the plan with the smallest predicted error; ties go to fewer groups.

    ``kept_apart`` is the share of mu^2 that is spent elsewhere where groups are assigned. Noise that does not fit the
    grid is refused.
    """
    if public.groups == "circuit":
        mu, radius = mu_beside(0.0, 1, public.epsilon, public.delta_of_curve), COMMON_RADIUS * LEVEL_STD
        step = make_step("circuits", radius, public, mu)
        return GroupPlan(max(public.circuit) + 1, 0.0, mu, None, step, radius, radius)
    candidates = [_plan(public, 1, 0.0, 1.0, 1.0)]
    for groups in range(2, min(public.most_groups, public.records) + 1 if public.groups == "assigned" else 2):
        for share in ASSIGNMENT_SHARES:
            cost = share * public.epsilon
            candidates += [_plan(public, groups, cost, common, 1 - kept_apart) for common in COMMON_SHARES]
    return min(candidates, key=lambda c: predicted_error(public, c))


def _plan(public: GroupPublic, groups: int, assignment_epsilon: float, common: float, share_left: float) -> GroupPlan:
    mu = _mu_beside(assignment_epsilon, groups, public.epsilon, public.delta_of_curve) * math.sqrt(share_left)
    level, share = assigned_levels(groups, assignment_epsilon)
    left = LEVEL_STD * math.sqrt(max(1 - share @ level**2, 0.0))
    radius = (COMMON_RADIUS * LEVEL_STD, GROUP_RADIUS * left)
    first = make_step("common", radius[0], public, mu * math.sqrt(common))
    second = make_step("groups", radius[1], public, mu * math.sqrt(1 - common)) if groups > 1 else None
    return GroupPlan(groups, assignment_epsilon, mu, first, second, *radius)


_mu_beside = lru_cache(maxsize=4096)(mu_beside)


def make_step(name: str, radius: float, public: GroupPublic, mu: float) -> NoisyQuery:
    """Return the noisy sum of clipped vectors, of radius ``radius`` sqrt(k); replace-one sensitivity is twice that.

    Noise or sums that do not fit the grid are refused, by public numbers alone.
    """
    ball = radius * math.sqrt(public.steps)
    reach = rounded(2 * ball, public.steps, public.grid)
    step = NoisyQuery(name, reach, reach / mu)
    check_grid(step, public.records * (ball + public.grid), public.grid)
    return step


def predicted_error(public: GroupPublic, plan: GroupPlan) -> float:
    """Return the squared error of a household's level that the public normal distribution predicts, (log kWh)^2.

    What the groups leave, the noise of the group means and that of the common mean, each after shrinkage. The noise
    of a level is that of one entry over sqrt(k): offsets hardly change over the steps.
    """
    error, n, k = LEVEL_STD**2, public.records, public.steps

    def left(prior: float, step: NoisyQuery, radius: float, std: float, count: np.ndarray) -> np.ndarray:
        noise = (step.noise_std / (response(radius, std) * count)) ** 2 / k
        return prior**2 * noise / (prior**2 + noise)

    error += left(COMMON_OFFSET_STD, plan.common, plan.common_radius, LEVEL_STD, np.array([float(n)]))[0]
    if plan.group is not None:
        level, share = assigned_levels(plan.groups, plan.assignment_epsilon)
        error -= LEVEL_STD**2 * (share @ level**2)
        std = plan.group_radius / GROUP_RADIUS
        error += share @ left(GROUP_OFFSET_STD, plan.group, plan.group_radius, std, np.maximum(share * n, 1.0))
    return float(error)


def guess_error() -> float:
    """Return the same error of the public level alone, (log kWh)^2."""
    return LEVEL_STD**2 + COMMON_OFFSET_STD**2
