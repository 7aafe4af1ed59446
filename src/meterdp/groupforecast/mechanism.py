"""The group forecast: expected energy, median and intervals for every hour of a week, and the shape behind them.

Two noisy queries of vectors that each household's own readings make (``replace_one``, docs/proofs/group_forecast.md):
how the levels of households are distributed; then, clipped at a bound that follows from the first answer, the mean
level, the mean shape of a week and how hours spread around it. What comes out are posterior means. A file names the
group of its household, so groups are public: one, or the circuits. In study mode the noise is seeded floating point:
the proof then covers the algorithm, not the files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from meterdp.core.pieces import Pieces, pieces
from meterdp.errors import InputError
from meterdp.groupforecast.plan import (
    BOUNDS,
    CELL_SHARE,
    CELLS,
    CIRCUIT_STD,
    HOURS,
    LEVEL_BIN_ERROR,
    LEVEL_BIN_STD,
    LEVEL_EDGES,
    LEVEL_ENDS,
    LEVEL_OFFSET_STD,
    LEVEL_STD,
    MEAN_SHARE,
    QUANTILES,
    SHAPE_BOUND,
    SHAPE_HOURS,
    SHAPE_RADIUS,
    SHAPE_SHARE,
    SPREAD_EDGES,
    SPREAD_ENDS,
    SPREAD_SHARE,
    USABLE,
    USABLE_STD,
    GroupPlan,
    GroupPublic,
    best_bound,
    log_normal_bins,
    make_plan,
    periodic_kernel,
    shape_prior,
    spread_prior,
)
from meterdp.privacy.guarantee import Guarantee
from meterdp.privacy.mechanism import (
    Measure,
    NoisyQuery,
    clipped,
    grouped_sums,
    guarantee_of_readings,
    measure_with,
)
from meterdp.privacy.noise import GaussianSource

BINS = len(SPREAD_EDGES) + 1
# Steps of the logs on which distributions are put together.
_STEP = 0.025
# What a log-normal distribution says of the mean of clipped levels is off by, as a share of it.
CLIPPED_ERROR = 0.1
# No mean level is below so many medians, no hour below such a share of the mean one, whatever noise says.
LEAST_MEAN, LEAST_RATIO = 0.1, 0.02


@dataclass(frozen=True)
class ForecastRecords:
    """All the mechanism sees of the data: a row for each household of the public list, NaN without usable readings.

    ``x`` (N, 1 + 48 + 24 B): the mean energy of an hour, kWh; the mean of each cell over it; and for each hour of the
    day the shares of its readings in B bins of log energy over level and public shape (records.py).
    """

    x: np.ndarray | Pieces


@dataclass(frozen=True)
class GroupRelease:
    """Released numbers. ``group`` (N,) is the group 0..G-1 of each household.

    ``expected_kwh`` (G, 48) is the mean energy of a household of the group in an hour of each cell, ``quantile_kwh``
    (G, 48, 5) the quantiles of that hour over days and households. ``expected_ratio`` (48,) and ``quantile_ratio``
    (48, 5) are the same over the mean energy of an hour of the household itself.
    """

    group: np.ndarray
    expected_kwh: np.ndarray
    quantile_kwh: np.ndarray
    expected_ratio: np.ndarray
    quantile_ratio: np.ndarray


@dataclass(frozen=True)
class GroupForecast:
    """The mechanism, calibrated."""

    public: GroupPublic
    plan: GroupPlan
    name: ClassVar[str] = "group_forecast"

    @classmethod
    def calibrate(cls, public: GroupPublic) -> GroupForecast:
        return cls(public, make_plan(public))

    @property
    def guarantee(self) -> Guarantee:
        """What docs/proofs/group_forecast.md proves of one release, for noise that is truly Gaussian."""
        return guarantee_of_readings(self.public.epsilon, self.public.delta, "docs/proofs/group_forecast.md")

    @property
    def mu(self) -> float:
        return self.plan.mu

    @property
    def total_variation(self) -> float:
        return self.plan.total_variation(self.public)

    def release(self, private: ForecastRecords, noise: GaussianSource) -> GroupRelease:
        """Run the mechanism once, with noise on the grid it was calibrated for."""
        return self.run(private.x, measure_with(noise, self.public.grid))

    def run(self, x: np.ndarray | Pieces, measure: Measure) -> GroupRelease:
        """Run the two queries, letting ``measure`` turn exact sums into noisy ones.

        Records ``x`` are touched in its arguments only. The privacy test replays a run on neighbouring records by
        handing back recorded answers.
        """
        public, plan = self.public, self.plan
        if x.shape != (public.records, 1 + CELLS + HOURS * BINS):
            raise InputError(
                "the records do not have the public number of households and entries",
                field="records",
                hint="set records to the size of the public list",
            )
        of_levels = (level_vectors(piece, public.level_kwh) for _, piece in pieces(x))
        levels = levels_of(measure(plan.levels, _total(of_levels, public.grid))[0], public, plan.levels)
        bound = self._bound(levels)
        return self._released(levels, bound, measure(plan.profile, self.profile_sum(x, levels.median_kwh, bound)))

    def profile_sum(self, x: np.ndarray | Pieces, median_kwh: float, bound: float) -> np.ndarray:
        """Return the exact answer of the second query, (1, entries): of all households, then of circuits."""
        public, circuit = self.public, np.array(self.public.circuit or (), int)
        of_all, of_circuits = 0.0, np.zeros((public.circuits, 1))
        for part, piece in pieces(x):
            vectors = self.profile_vectors(piece, median_kwh, bound)
            of_all = of_all + _total([vectors], public.grid)
            if public.circuits:
                of_circuits += grouped_sums(vectors[:, :1], circuit[part], public.circuits, public.grid)
        return np.concatenate([of_all, of_circuits.T], axis=1)

    def profile_vectors(self, x: np.ndarray, median_kwh: float, bound: float) -> np.ndarray:
        """Return what each household adds to the second query, (n, entries): its level, shape and spread.

        With circuits the first entry is added to that of its circuit, too; with it, any two households are at most
        one apart. Levels are clipped at ``bound`` medians. A household without usable readings adds nothing.
        """
        public, usable = self.public, usable_rows(x)
        level = np.clip(x[:, :1] / median_kwh, 0.0, bound)
        shape = clipped((x[:, 1 : 1 + CELLS] - public.cell_shape) * np.sqrt(CELL_SHARE), SHAPE_RADIUS)
        shape = shape * np.minimum(level / SHAPE_BOUND, 1.0)
        shares = np.clip(x[:, 1 + CELLS :].reshape(-1, HOURS, BINS), 0.0, 1.0)
        shares = shares / np.maximum(shares.sum(axis=2, keepdims=True), 1.0) - spread_prior()[0]
        # Each part is divided by its diameter: of levels, of the ball, of 24 distributions.
        mean = math.sqrt(self._mean_share) * (level - 1) / bound
        parts = [mean, np.sqrt(SHAPE_SHARE) * shape / (2 * SHAPE_RADIUS)]
        parts += [np.sqrt(SPREAD_SHARE / (2 * HOURS)) * shares.reshape(len(x), -1)]
        return np.where(usable[:, None], np.concatenate(parts, axis=1), 0.0)

    def _bound(self, levels: Levels) -> float:
        noise = self.plan.profile.noise_std / (math.sqrt(self._mean_share) * levels.count)
        return float(BOUNDS[best_bound(levels.excess(BOUNDS), noise)])

    def _released(self, first: Levels, bound: float, noisy: np.ndarray) -> GroupRelease:
        """Return estimates from the answer (1, entries) of the second query and from what the first one said."""
        public = self.public
        mean_at, shape_at, spread_at, own_at = np.split(noisy[0] / first.count, np.cumsum([1, CELLS, HOURS * BINS]))
        levels, mean_kwh = self._mean(first, bound, mean_at[0])
        ratio = self._shape(first, bound, shape_at)
        bins = self._spread(first, spread_at.reshape(HOURS, BINS))
        group, factor = np.zeros(public.records, np.int64), np.ones(1)
        if public.circuits:
            group = np.array(public.circuit, np.int64)
            mean = mean_kwh / first.median_kwh
            factor = self._circuits(own_at * first.count, group, bound, mean, first.count / public.records)
        # Both day types share the bins of an hour, which are around the public shape.
        both = (ratio * np.repeat([5 / 7, 2 / 7], HOURS)).reshape(2, HOURS).sum(axis=0)
        moved = np.log(np.tile(public.cell_shape[:HOURS] / both, 2) * ratio)[:, None]
        of_hours = Distribution.of_bins(SPREAD_EDGES, bins, SPREAD_ENDS)
        within, across = of_hours.quantiles(QUANTILES), levels.distribution.plus(of_hours).quantiles(QUANTILES)
        return GroupRelease(
            group,
            mean_kwh * factor[:, None] * ratio,
            public.level_kwh * np.exp(np.tile(across, (2, 1)) + moved) * factor[:, None, None],
            ratio,
            np.exp(np.tile(within, (2, 1)) + moved),
        )

    def _mean(self, first: Levels, bound: float, answer: float) -> tuple[Levels, float]:
        """Return what both answers say of the levels, and of their mean in kWh.

        Each log-normal distribution of the prior adds what is beyond the bound, and corrects what is measured up to
        it. Of these means that one is taken whose relative error is zero on average. The one that is right on average
        in kWh is too high for most populations.
        """
        unit = bound * first.median_kwh / math.sqrt(self._mean_share)
        noise = (unit * self.plan.profile.noise_std / first.count) ** 2
        measured = first.median_kwh + unit * answer
        clipped_kwh = first.expected_kwh(bound) @ first.shapes.T
        error = (CLIPPED_ERROR * clipped_kwh) ** 2
        levels = first.seen_again((measured - clipped_kwh) ** 2, error + noise)
        beyond = first.expected_kwh() - first.expected_kwh(bound)
        mean_kwh = clipped_kwh + (measured - clipped_kwh) * error / (error + noise)
        mean_kwh += np.maximum((levels.shapes + levels.correction) @ beyond, 0.0)
        mean_kwh = np.maximum(mean_kwh, LEAST_MEAN * first.median_kwh)
        return levels, 1 / (levels.weight @ (1 / mean_kwh))

    def _shape(self, levels: Levels, bound: float, answer: np.ndarray) -> np.ndarray:
        """Return the energy of the cells over the mean of a week, (48,)."""
        level, weight = levels.points
        counted = np.minimum(np.minimum(level, bound) / SHAPE_BOUND, 1.0) @ weight
        unit = 2 * SHAPE_RADIUS / math.sqrt(SHAPE_SHARE) / counted
        values, axes = shape_prior()
        noise = (unit * self.plan.profile.noise_std / levels.count) ** 2
        offset = ((unit * answer) @ axes * (values / (values + noise))) @ axes.T
        ratio = np.maximum(self.public.cell_shape + offset / np.sqrt(CELL_SHARE), LEAST_RATIO)
        return ratio / (ratio @ CELL_SHARE)

    def _spread(self, levels: Levels, answer: np.ndarray) -> np.ndarray:
        """Return the probabilities of the bins of every hour of the day, (24, B)."""
        unit = math.sqrt(2 * HOURS / SPREAD_SHARE)
        prior, covariance = spread_prior()
        noise = (unit * self.plan.profile.noise_std / levels.count) ** 2
        of_hours = 0.5 + 0.5 * periodic_kernel(SHAPE_HOURS)
        bins = np.maximum(prior + kronecker_posterior(unit * answer, of_hours, covariance, noise), 1e-4)
        return bins / bins.sum(axis=1, keepdims=True)

    @property
    def _mean_share(self) -> float:
        """Share of the second query that finds the mean level of all; circuits take half of it."""
        return MEAN_SHARE / (2 if self.public.circuits else 1)

    def _circuits(self, noisy: np.ndarray, group: np.ndarray, bound: float, mean: float, usable: float) -> np.ndarray:
        """Return the mean level of each circuit over that of all, (G,), shrunk (empirical Bayes)."""
        number = np.bincount(group, minlength=self.public.circuits)
        count = np.maximum(number * usable, 1e-9)
        unit = bound / math.sqrt(self._mean_share)
        level = (1 + unit * noisy / count) / mean - 1
        noise = (unit * self.plan.profile.noise_std / count / mean) ** 2
        variance = between_variance(level, noise)
        factor = np.maximum(1 + level * variance / (variance + noise), LEAST_MEAN)
        return factor / (factor @ number / number.sum())


@dataclass(frozen=True)
class Levels:
    """What is known of the levels of usable households: log-normal with unknown median and spread, and what the bins
    say beyond it.

    ``shapes`` (G, B) are the probabilities of the bins of log level over the public one for each log-normal
    distribution, ``log_likelihood`` (G,) what was seen of it; ``seen`` (B,) the noisy bins, ``noise`` their variance;
    ``count`` of usable households.
    """

    shapes: np.ndarray
    log_likelihood: np.ndarray
    seen: np.ndarray
    noise: float
    public_kwh: float
    log_high: float
    count: float

    def seen_again(self, squared_error: np.ndarray, variance: np.ndarray) -> Levels:
        """Return the same after an answer that is so far from what each distribution says, (G,)."""
        return replace(self, log_likelihood=self.log_likelihood - 0.5 * (squared_error / variance + np.log(variance)))

    @cached_property
    def weight(self) -> np.ndarray:
        """Posterior probabilities of the distributions, (G,)."""
        weight = np.exp(self.log_likelihood - self.log_likelihood.max())
        return weight / weight.sum()

    @cached_property
    def correction(self) -> np.ndarray:
        """How far the bins are from log-normal, (B,)."""
        bins = self.weight @ self.shapes
        error = (LEVEL_BIN_ERROR * bins) ** 2 + LEVEL_BIN_STD**2
        return (self.seen - bins) * error / (error + self.noise)

    @cached_property
    def bins(self) -> np.ndarray:
        """Probabilities of the bins, (B,)."""
        bins = self.weight @ self.shapes
        bins = np.maximum(bins + self.correction, 0.02 * bins)
        return bins / bins.sum()

    @cached_property
    def median_kwh(self) -> float:
        return self.public_kwh * float(np.exp(self.distribution.quantiles((0.5,))[0, 0]))

    def expected_kwh(self, bound: float = math.inf) -> np.ndarray:
        """Return the mean of the levels in each bin, (B,), clipped at a bound in medians."""
        at, place, share = self._within
        kwh = np.minimum(self.public_kwh * np.exp(at), bound * self.median_kwh)
        return np.bincount(place, weights=share * kwh, minlength=len(self.seen))

    def excess(self, bound: np.ndarray) -> np.ndarray:
        """Return E[(level - bound)+] at bounds in medians, (n,), in medians."""
        level, weight = self.points
        return np.maximum(level - bound[:, None], 0.0) @ weight

    @cached_property
    def _within(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return within_bins(LEVEL_EDGES, (LEVEL_ENDS[0], self.log_high))

    @cached_property
    def distribution(self) -> Distribution:
        """Of the log of levels over the public one."""
        return Distribution.of_bins(LEVEL_EDGES, self.bins, (LEVEL_ENDS[0], self.log_high))

    @cached_property
    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Levels in medians and their probabilities."""
        among = self.distribution
        return np.exp(among.at) * self.public_kwh / self.median_kwh, among.weight


def levels_of(noisy: np.ndarray, public: GroupPublic, query: NoisyQuery) -> Levels:
    """Return what the first answer says of the levels."""
    n, std = public.records, query.noise_std
    missing, prior = std / n, USABLE_STD
    share = (1 - noisy[-1] / n) * prior**2 + USABLE * missing**2
    count = n * float(np.clip(share / (prior**2 + missing**2), 0.5, 1.0))
    log_high = min(math.log(public.high_kwh / public.level_kwh), LEVEL_ENDS[1])
    location, shapes = level_prior(log_high)
    seen, noise = noisy[:-1] / count, (std / count) ** 2
    error = (LEVEL_BIN_ERROR * shapes) ** 2 + LEVEL_BIN_STD**2 + noise
    log = -0.5 * ((seen - shapes) ** 2 / error + np.log(error)).sum(axis=1) - 0.5 * (location / LEVEL_OFFSET_STD) ** 2
    return Levels(shapes, log, seen, noise, public.level_kwh, log_high, count)


@lru_cache
def level_prior(log_high: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the log medians (G,) of log-normal distributions of levels, and the probabilities of bins, (G, B)."""
    location, spread = (
        grid.ravel() for grid in np.meshgrid(np.arange(-2.5, 3.51, 0.1), np.arange(*LEVEL_STD, 0.1), indexing="ij")
    )
    shapes = log_normal_bins(LEVEL_EDGES, location, spread)
    # No level is beyond the bound.
    shapes[:, np.digitize(log_high, LEVEL_EDGES) + 1 :] = 0.0
    return location, shapes / shapes.sum(axis=1, keepdims=True)


def within_bins(edges: np.ndarray, ends: tuple[float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points one step apart, the bin each is in, and its share of the probability of that bin.

    It is spread evenly; that of the open bins falls off to the ends.
    """
    at = np.arange(ends[0], ends[1] + _STEP / 2, _STEP)
    place = np.digitize(at, edges)
    form = np.ones(len(at))
    low, high = place == 0, place == len(edges)
    form[low] = np.exp((at[low] - edges[0]) / 0.5)
    form[high] = np.exp((edges[-1] - at[high]) / 0.3)
    return at, place, form / np.bincount(place, weights=form)[place]


@dataclass(frozen=True)
class Distribution:
    """A distribution of logs on points one step apart: ``at`` (n,), ``weight`` (n,), or (k, n) of several."""

    at: np.ndarray
    weight: np.ndarray

    @classmethod
    def of_bins(cls, edges: np.ndarray, bins: np.ndarray, ends: tuple[float, float]) -> Distribution:
        """Return that of the bins between and beyond edges.

        ``bins`` may be of several distributions, (k, B); then ``weight`` is (k, n).
        """
        at, place, share = within_bins(edges, ends)
        return cls(at, share * bins[..., place])

    def plus(self, other: Distribution) -> Distribution:
        """Return the distributions of the sums of a log and each of several others, independent of it."""
        weight = np.array([np.convolve(self.weight, one) for one in other.weight])
        return Distribution(self.at[0] + other.at[0] + _STEP * np.arange(weight.shape[1]), weight)

    def quantiles(self, shares) -> np.ndarray:
        """Return the quantiles of every distribution, (k, shares)."""
        weight = np.atleast_2d(self.weight)
        below = (np.cumsum(weight, axis=1) - weight / 2) / weight.sum(axis=1, keepdims=True)
        return np.array([np.interp(shares, one, self.at) for one in below])


def kronecker_posterior(mean: np.ndarray, rows: np.ndarray, columns: np.ndarray, noise: float) -> np.ndarray:
    """Return the posterior mean (R, C) of a matrix with covariance ``rows`` x ``columns``, seen with white noise."""
    a, u = np.linalg.eigh(rows)
    b, v = np.linalg.eigh(columns)
    prior = np.maximum(np.outer(a, b), 0.0)
    return u @ ((u.T @ mean @ v) * prior / (prior + noise)) @ v.T


def between_variance(level: np.ndarray, noise_variance: np.ndarray) -> float:
    """Return the posterior mean of the variance of circuit levels (G,), from noisy ones and the known variances (G,)
    of noise.

    The prior of their standard deviation is exponential with a public mean; a posterior mean does not follow noise as
    the difference of two variances does.
    """
    std = np.linspace(0.0, 1.2, 49)
    variance = std[:, None] ** 2 + noise_variance
    log_posterior = -0.5 * (np.log(variance) + level**2 / variance).sum(axis=1) - std / CIRCUIT_STD
    weight = np.exp(log_posterior - log_posterior.max())
    return float(weight @ std**2 / weight.sum())


def usable_rows(x: np.ndarray) -> np.ndarray:
    """Return whether each household has a usable record, (N,) bool."""
    return np.isfinite(x).all(axis=1)


def level_vectors(x: np.ndarray, level_kwh: float) -> np.ndarray:
    """Return one indicator a household, (N, bins): the bin of its level, the last for no usable readings."""
    usable = usable_rows(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        at = np.digitize(np.log(np.maximum(x[:, 0], 0.0) / level_kwh), LEVEL_EDGES)
    return np.eye(len(LEVEL_EDGES) + 2)[np.where(usable, at, len(LEVEL_EDGES) + 1)]


def _total(parts: Iterable[np.ndarray], grid: float) -> np.ndarray:
    """Return the sum over all households, (1, entries), of vectors rounded to the grid, from parts (n, entries)."""
    return sum(grouped_sums(vectors, np.zeros(len(vectors), int), 1, grid) for vectors in parts)
