"""Public rules of the group forecast: its cells and bins, the priors, the shares of the budget, what it is worth.

Every choice is a function of N, epsilon, delta and configuration. The constants were chosen on simulated households
and on the Swiss homes of config/examples, for which the guarantee is not claimed (docs/proofs/group_forecast.md, 6).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import ndtr

from meterdp.core.constraints import ONE_OR_MORE, POSITIVE, PROBABILITY, Fits, OneOf, check
from meterdp.core.weekend import Weekend
from meterdp.mechanisms.proven.prior_mixture import SHIPPED, read_prior_mixture
from meterdp.privacy.gaussian import mu_for, rounded, total_variation
from meterdp.privacy.mechanism import NoisyQuery, check_grid, delta_beside_the_grid

GROUPS = ("one", "circuit")
# A cell is an hour of the day on working days or on weekends. Working days come first.
HOURS = 24
CELLS = 2 * HOURS
# Share of a week that is in each cell.
CELL_SHARE = np.repeat([5 / 7, 2 / 7], HOURS) / HOURS
# The last days of the period, at most, that a forecast is made from: four weeks, so that it is of the season.
WINDOW_DAYS = 28
# Edges of the bins of a household's level over the public one, and of an hour's energy over what level and prior
# shape make it; both in logs. Outer bins are open.
LEVEL_EDGES = np.arange(-3.0, 4.51, 0.5)
SPREAD_EDGES = np.concatenate([[-2.75, -2.0, -1.5], np.arange(-1.25, 1.26, 0.25), [1.5, 2.0, 2.5]])
# Where the open bins end for the quantiles.
LEVEL_ENDS, SPREAD_ENDS = (-5.0, 5.5), (-5.0, 3.5)
# Shares of mu^2: of the distribution of levels; then, of the rest, of the mean level, shape and spread.
LEVELS_SHARE = 0.15
MEAN_SHARE, SHAPE_SHARE, SPREAD_SHARE = 0.4, 0.35, 0.25
# Radius of the ball that a household's shape stays in around the prior shape, weighted by the shares of the cells:
# the root mean square of the differences.
SHAPE_RADIUS = 0.6
# Standard deviations of the priors: the log of the median level around the public one, of its shape around the prior
# shape (both day types, their difference) and its correlation time in hours.
LEVEL_OFFSET_STD = 1.0
SHAPE_STD, WEEKEND_STD, SHAPE_HOURS = 0.25, 0.15, 4.0
# The spread of an hour's energy: log-normal, its location and scale off by so much, each probability of a bin by
# BIN_ERROR of it; half of the variance is common to all hours, the rest has the correlation time of the shape.
SPREAD_STD, SPREAD_OFFSET_STD, SPREAD_SCALE_STD, BIN_ERROR = 0.9, 0.2, 0.3, 0.4
# Levels over the households are log-normal, with a spread between these; each bin is off by so much of it, and as a
# probability by LEVEL_BIN_STD.
LEVEL_STD, LEVEL_BIN_ERROR, LEVEL_BIN_STD = (0.3, 1.6), 1.0, 0.006
# A household's shape counts by its energy, up to so many median levels: the shape is that of the energy of all.
SHAPE_BOUND = 2.0
# Share of the energy beyond the clipping bound that the distribution of levels may get wrong.
TAIL_ERROR = 1.0
BOUNDS = np.exp(np.arange(0.5, 4.6, 0.25))
# Share of listed households with usable readings, and its standard deviation.
USABLE, USABLE_STD = 0.95, 0.05
# What a public guess of the mean energy of a household is off by, log: national statistics for other households.
GUESS_STD = 0.5
# Mean of the prior of how levels of circuits differ: the standard deviation of the relative difference.
CIRCUIT_STD = 0.2
# Households of the closed form of the error: log-normal levels with this spread.
TYPICAL_LEVEL_STD = 1.1
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def cells_of(first_day: int, days: int, weekend: Weekend) -> np.ndarray:
    """Return the cell of every hour of so many local days from ``first_day`` since 1970 on, (24 days,): the hour of
    the day, 24 more at the weekend.
    """
    return (HOURS * weekend.holds(first_day + np.arange(days))[:, None] + np.arange(HOURS)).ravel()


def window_of(export: Mapping) -> tuple[int, int]:
    """Return the first and the last day of the public window of a release, days since 1970."""
    first, last = ((date.fromisoformat(export[key]) - date(1970, 1, 1)).days for key in ("first_day", "last_day"))
    return max(first, last - WINDOW_DAYS + 1), last


@lru_cache
def prior_shape() -> np.ndarray:
    """Return the energy of each hour of the day over its mean, (24,), of the households of the shipped prior
    mixture; to two digits, as requests name it.
    """
    public = read_prior_mixture(SHIPPED, 0, HOURS).mixture
    variance = np.einsum("kii->ki", public.covariances)
    kwh = public.weights @ np.exp(public.means + variance / 2)
    return np.round(kwh / kwh.mean(), 2)


def in_cells(shape: np.ndarray) -> np.ndarray:
    """Return a shape of a day (24,) in every cell, (48,), with a mean of one over the week."""
    return np.tile(shape / shape.mean(), 2)


@dataclass(frozen=True)
class GroupPublic:
    """Everything the group forecast may know before it sees a record.

    Parameters
    ----------
    epsilon, delta : float
        Privacy parameters of one release: all files of one period.
    records : int
        N, all households of a public list.
    level_kwh : float
        Public level, kWh per hour.
    high_kwh : float
        Public bound of the energy of any hour, and so of a level.
    shape : tuple of float
        Public shape: energy of each hour of a day over its mean.
    groups : {"one", "circuit"}
        One forecast for all, or one per public circuit.
    circuit : tuple of int, optional
        Public circuit 0..G-1 of every household; needed by "circuit".
    grid : float
        What records are rounded to and noise is drawn on, a power of two; 0 in a study.
    """

    epsilon: float
    delta: float
    records: int
    level_kwh: float
    high_kwh: float
    shape: tuple[float, ...]
    groups: str = "one"
    circuit: tuple[int, ...] | None = None
    grid: float = 0.0

    def __post_init__(self):
        circuits = self.groups != "circuit" or (self.circuit is not None and len(self.circuit) == self.records)
        constraints = {
            "epsilon": POSITIVE,
            "delta": PROBABILITY,
            "records": ONE_OR_MORE,
            "level_kwh": POSITIVE,
            "high_kwh": Fits(self.high_kwh > self.level_kwh, "a bound above the public level"),
            "shape": Fits(len(self.shape) == HOURS and min(self.shape) > 0, "24 positive numbers"),
            "groups": OneOf(GROUPS),
            "circuit": Fits(circuits, "export.circuit_column, or the groups 'one'"),
        }
        check(self, constraints)

    @property
    def circuits(self) -> int:
        """Number of circuits with a separate forecast; 0 with one group."""
        return max(self.circuit) + 1 if self.groups == "circuit" else 0

    @property
    def level_bins(self) -> int:
        """Bins of the first query: of levels, and the households without usable readings."""
        return len(LEVEL_EDGES) + 2

    @property
    def entries(self) -> int:
        """Entries of the second query: mean level, shape, spread, levels of circuits."""
        return 1 + CELLS + HOURS * (len(SPREAD_EDGES) + 1) + self.circuits

    @property
    def delta_of_curve(self) -> float:
        """What is left of delta for continuous noise (docs/proofs/safe_noise.md), all of it in a study."""
        if self.grid == 0:
            return self.delta
        return delta_beside_the_grid(self.epsilon, self.delta, self.level_bins + self.entries, self.records)

    @cached_property
    def cell_shape(self) -> np.ndarray:
        """The public shape in every cell, (48,), with a mean of one over the week."""
        return in_cells(np.array(self.shape))


@dataclass(frozen=True)
class GroupPlan:
    """The two queries of a release, fixed before any record is seen; their mu^2 add up to ``mu``^2."""

    mu: float
    levels: NoisyQuery
    profile: NoisyQuery

    def total_variation(self, public: GroupPublic) -> float:
        """Distance of one release on its grid from the same with continuous noise; 0 without a grid."""
        if public.grid == 0:
            return 0.0
        entries = (self.levels, public.level_bins), (self.profile, public.entries)
        return sum(count * total_variation(query.noise_std / public.grid) for query, count in entries)


def make_plan(public: GroupPublic) -> GroupPlan:
    """Return the plan; noise or sums that do not fit the grid are refused, by public numbers alone."""
    mu = mu_for(public.epsilon, public.delta_of_curve)

    def query(name: str, diameter: float, entries: int, share: float) -> NoisyQuery:
        reach = rounded(diameter, entries, public.grid)
        made = NoisyQuery(name, reach, reach / (mu * math.sqrt(share)))
        check_grid(made, public.records * (diameter + public.grid), public.grid)
        return made

    # A household is in one bin; the parts of the second query are scaled so that their diameters are one together.
    levels = query("levels", math.sqrt(2), public.level_bins, LEVELS_SHARE)
    profile = query("profile", 1.0, public.entries, 1 - LEVELS_SHARE)
    return GroupPlan(mu, levels, profile)


def log_normal_excess(bound: np.ndarray, std: float) -> np.ndarray:
    """Return E[(X - bound)+] of X log-normal with median one."""
    z = np.log(bound) / std
    return math.exp(std**2 / 2) * ndtr(std - z) - bound * ndtr(-z)


def best_bound(excess: np.ndarray, noise: float) -> int:
    """Return which of BOUNDS, in median levels, to clip at: noise of the mean against the energy beyond it.

    ``excess`` is E[(X - bound)+] at each of BOUNDS; ``noise`` the standard deviation of the mean at a bound of one.
    """
    return int(np.argmin((noise * BOUNDS) ** 2 + (TAIL_ERROR * excess) ** 2))


def mean_noise(public: GroupPublic, plan: GroupPlan) -> float:
    """Return the standard deviation of the noise on the mean level of all, for clipping at one."""
    share = MEAN_SHARE * (0.5 if public.circuits else 1.0)
    return plan.profile.noise_std / (math.sqrt(share) * USABLE * public.records)


@dataclass(frozen=True)
class ForecastWorth:
    """Expected errors (root mean square, shares of the real energy) of a release and of a public guess, from public
    numbers alone.

    ``energy``: the energy of all households in the week, which is the sum of the files. ``hour``: their energy in an
    hour. ``shape``: that over its mean, what a household scales with its own level.
    """

    energy: float
    hour: float
    shape: float
    guess_energy: float
    guess_hour: float
    guess_shape: float
    # The energy of the households of a circuit of mean size, if circuits are the groups.
    circuit: float | None = None
    guess_circuit: float | None = None


def worth_of(public: GroupPublic, plan: GroupPlan) -> ForecastWorth:
    """Return what a release is worth, in closed form: noise after shrinkage, and what clipping leaves out."""
    mean = math.exp(TYPICAL_LEVEL_STD**2 / 2)
    noise, excess = mean_noise(public, plan), log_normal_excess(BOUNDS, TYPICAL_LEVEL_STD)
    at = best_bound(excess, noise)
    measured = ((noise * BOUNDS[at]) ** 2 + (TAIL_ERROR * excess[at]) ** 2) / mean**2
    # Without the second query the level is that of the first: its median, and LEVEL_STD of its spread.
    energy = 1 / (1 / measured + 1 / LEVEL_OFFSET_STD**2)
    values, _ = shape_prior()
    left = values * shape_noise(public, plan) ** 2 / (values + shape_noise(public, plan) ** 2)
    shape, prior = left.sum(), values.sum()
    guess = math.expm1(GUESS_STD) ** 2
    squares = [energy, energy + shape, shape, guess, guess + prior, prior]
    if public.circuits:
        own, between = (noise * BOUNDS[at] / mean * public.circuits) ** 2, CIRCUIT_STD**2
        squares += [energy + own * between / (own + between), guess + between]
    return ForecastWorth(*map(math.sqrt, squares))


def shape_noise(public: GroupPublic, plan: GroupPlan) -> float:
    """Return the standard deviation of the noise on an entry of the weighted shape of typical households."""
    mean = math.exp(TYPICAL_LEVEL_STD**2 / 2)
    counted = (mean - log_normal_excess(np.array(SHAPE_BOUND), TYPICAL_LEVEL_STD)) / SHAPE_BOUND
    return 2 * SHAPE_RADIUS * plan.profile.noise_std / (math.sqrt(SHAPE_SHARE) * counted * USABLE * public.records)


def periodic_kernel(hours: float) -> np.ndarray:
    """Return the correlation of the hours of a day, (24, 24), that falls off with a correlation time."""
    lag = np.abs(np.arange(HOURS)[:, None] - np.arange(HOURS))
    return np.exp(-np.minimum(lag, HOURS - lag) / hours)


@lru_cache
def shape_prior() -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues (48,) and vectors (48, 48) of the prior covariance of the weighted shape."""
    hours = periodic_kernel(SHAPE_HOURS)
    both = np.kron(np.ones((2, 2)), SHAPE_STD**2 * hours) + np.kron(np.eye(2), WEEKEND_STD**2 * hours)
    weight = np.sqrt(CELL_SHARE)
    values, axes = np.linalg.eigh(weight[:, None] * both * weight)
    return np.maximum(values, 0.0), axes


def log_normal_bins(edges: np.ndarray, location, std) -> np.ndarray:
    """Return the probabilities of the bins between edges and beyond them, (..., len(edges) + 1)."""
    below = ndtr((edges - np.asarray(location)[..., None]) / np.asarray(std)[..., None])
    return np.diff(below, prepend=0.0, append=1.0)


@lru_cache
def spread_prior() -> tuple[np.ndarray, np.ndarray]:
    """Return mean (B,) and covariance (B, B) of the probabilities of the bins of an hour."""
    location = -(SPREAD_STD**2) / 2  # so that the mean is one

    def bins(offset: float, scale: float) -> np.ndarray:
        return log_normal_bins(SPREAD_EDGES, location + offset, SPREAD_STD * (1 + scale))

    mean = bins(0.0, 0.0)
    ways = [(bins(s, 0) - bins(-s, 0)) / 2 for s in (SPREAD_OFFSET_STD,)]
    ways += [(bins(0, s) - bins(0, -s)) / 2 for s in (SPREAD_SCALE_STD,)]
    smooth = np.diag((BIN_ERROR * mean) ** 2)
    return mean, sum(np.outer(way, way) for way in ways) + smooth
