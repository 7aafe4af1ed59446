"""The private population of households: a mixture of their vectors for every public stratum.

Each is the proven mixture of records in a public box (docs/proofs/sound.md, 10), of the vectors of the households of
its stratum. Strata are disjoint and public, and a replaced household stays in its own, so all together cost what one
does (docs/proofs/households.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.fft import dct, idct

from meterdp.errors import InputError
from meterdp.households.common import BLOCKS, LARGEST_DEVIATION, CommonSeries
from meterdp.mechanisms.proven.marginals import Directions, LinearFunction, LinearReference, sample_linear
from meterdp.mechanisms.proven.mechanism import Box, Proven, calibrate_ball
from meterdp.mechanisms.proven.plan import default_classes, noise_entries
from meterdp.mechanisms.proven.prior_mixture import PriorMixture
from meterdp.mixture.draws import Mixture, sample
from meterdp.privacy import gaussian
from meterdp.privacy.guarantee import Guarantee
from meterdp.privacy.mechanism import (
    Measure,
    Metered,
    NoisyQuery,
    apart,
    check_grid,
    clipped,
    delta_beside_the_grid,
    guarantee_of_readings,
    measure_with,
    noise_too_small,
)
from meterdp.privacy.noise import GaussianSource, NoiseSource

# Without a prior mixture.
MOST_CLASSES = 6
# Shares: of the mu^2 of a stratum for the distributions of linear functions; of all mu^2 for what homes do together.
MARGINAL_SHARE, COMMON_SHARE = 0.5, 0.1
# A household's deviations are clipped to a ball of so many times the root of their number.
COMMON_RADIUS = 0.6
# Correlation of what homes do together on one day and on the next, public knowledge: that of weather.
DAY_CORRELATION = 0.7
# What homes do together counts if it is more than noise by so many standard errors.
MARGIN = 2.0
# A stratum of fewer listed meters is joined with others.
FEWEST_OF_STRATUM = 300
OTHERS = "other"


# Functions of a vector whose distributions are measured: how much, the largest reading, and what comes again after
# an interval, two, a day and a week, zeros and days away; by name, the entries they are sums (+1) and differences
# (-1) of.
MEASURED = {
    "log_mean_kw": {"log_mean_kw": 1},
    "log_peak_kw": {"log_mean_kw": 1, "highest": 1},
    "acf_interval": {"acf_interval": 1},
    "acf_two_intervals": {"acf_interval": 1, "acf_interval_less_two": -1},
    "acf_day": {"acf_day": 1},
    "acf_week": {"acf_day": 1, "acf_day_less_week": -1},
    "daily_variance": {"daily_variance": 1},
    "zero_share": {"zero_share": 1},
    "days_away": {"days_away": 1},
}
# The least that such a function is of any home, which most homes have.
LEAST = {"zero_share": 0.0, "days_away": 0.0}


def directions_of(
    entries: Sequence[str], measured: Mapping[str, Mapping] = MEASURED, least: Mapping[str, float] = LEAST
) -> Directions:
    """Return linear functions of vectors with named entries, by default those that are measured.

    Vectors of net load have no days away.
    """
    return tuple(
        LinearFunction(tuple(float(of.get(name, 0)) for name in entries), least.get(function, -math.inf))
        for function, of in measured.items()
        if of.keys() <= set(entries)
    )


def functions_of(entries: Sequence[str]) -> list[dict]:
    """Return the functions of vectors with named entries that are measured, as they are stated, in order."""
    return [
        {"name": name, "entries": of, "least": LEAST.get(name)}
        for name, of in MEASURED.items()
        if of.keys() <= set(entries)
    ]


def strata_of(names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the names of strata in ascending order, and the stratum 0..S-1 of every listed meter, (N,).

    ``names`` (N,) are what the public list says of the meters. What it says of too few is joined as ``other``; where
    these are too few, too, they take the smallest of the rest in with them.
    """
    count = {name: names.count(name) for name in set(names)}
    joined = {name for name, meters in count.items() if meters < FEWEST_OF_STRATUM} if len(count) > 1 else set()
    rest = sorted(set(count) - joined, key=lambda name: (count[name], name))
    while joined and rest and sum(count[name] for name in joined) < FEWEST_OF_STRATUM:
        joined.add(rest.pop(0))
    of = [OTHERS if name in joined else name for name in names]
    known = sorted(set(of))
    return tuple(known), tuple(known.index(name) for name in of)


@dataclass(frozen=True)
class HouseholdsPublic:
    """Public settings: (epsilon, delta), the box of vectors, and the stratum of each of N households."""

    epsilon: float
    delta: float
    box: Box
    stratum: tuple[int, ...]  # (N,) in 0..S-1, each of some household
    # Linear functions of a vector whose distributions are measured beside the mixture, if any.
    directions: Directions = ()
    prior_mixture: PriorMixture | None = None  # of vectors, in their own units
    grid: float = 0.0
    # Local days of the period, of whose blocks what all homes do together is measured; 0 measures none.
    days: int = 0

    @property
    def records(self) -> int:
        return len(self.stratum)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Households of every stratum, (S,)."""
        return tuple(np.bincount(self.stratum).tolist())

    @property
    def deviations(self) -> int:
        """Number of deviations of a household."""
        return self.days * BLOCKS


@dataclass(frozen=True)
class Households:
    """The mechanism, calibrated."""

    public: HouseholdsPublic
    parts: tuple[Proven, ...]  # of every stratum
    common: NoisyQuery | None  # of all of them together
    name: ClassVar[str] = "households"

    @classmethod
    def calibrate(cls, public: HouseholdsPublic) -> Households:
        box, d = public.box, public.box.dimension
        mu, prior = gaussian.mu_for(public.epsilon, public.delta), public.prior_mixture
        left = public.epsilon
        if public.days:
            left = gaussian.epsilon_for(mu * math.sqrt(1 - COMMON_SHARE), public.delta)
        if prior is not None:
            prior = PriorMixture(box.scaled_mixture(prior.mixture), prior.sha256)

        def part(size: int) -> Proven:
            classes = None if prior else default_classes(size * mu / d, MOST_CLASSES)
            at = (classes, d, size, left, public.delta, box.ball)
            return calibrate_ball(
                *at,
                grid=public.grid,
                prior_mixture=prior,
                directions=tuple(map(box.scaled_function, public.directions)),
                marginal_share=MARGINAL_SHARE if public.directions else 0.0,
            )

        parts = tuple(map(part, public.sizes))
        return cls(public, parts, cls._common_query(public, parts) if public.days else None)

    @staticmethod
    def _common_query(public: HouseholdsPublic, parts: Sequence[Proven]) -> NoisyQuery:
        """Return the query for what homes do together, with the noise that what mixtures leave of mu allows."""
        delta = public.delta
        if public.grid > 0:
            entries = public.deviations + max(
                noise_entries(part.plan.classes, part.public.dimension, part.public.sound) for part in parts
            )
            delta = delta_beside_the_grid(public.epsilon, delta, entries, public.records)
        whole, spent = gaussian.mu_for(public.epsilon, delta), max(part.mu for part in parts)
        if not whole > spent:
            raise noise_too_small("decrease epsilon")
        reach = gaussian.rounded(2 * common_radius(public.deviations), public.deviations, public.grid)
        query = NoisyQuery("common", reach, reach / math.sqrt(whole**2 - spent**2))
        check_grid(query, public.records * common_radius(public.deviations), public.grid)
        return query

    @property
    def guarantee(self) -> Guarantee:
        """What docs/proofs/households.md proves of one release, for noise that is truly Gaussian."""
        return guarantee_of_readings(self.public.epsilon, self.public.delta, "docs/proofs/households.md")

    @property
    def mu(self) -> float:
        """Of the stratum that costs most, as a household is in one; and of what is measured of all."""
        return math.hypot(max(part.mu for part in self.parts), self.common.mu if self.common else 0.0)

    @property
    def total_variation(self) -> float:
        of_parts, grid = max(part.total_variation for part in self.parts), self.public.grid
        if self.common is None or grid == 0:
            return of_parts
        return of_parts + self.public.deviations * gaussian.total_variation(self.common.noise_std / grid)

    def release(self, records: HouseholdRecords, noise: GaussianSource | Metered) -> Answers:
        """Return what is released of every stratum and of all."""
        common = self.run_common(records.deviation_sum, measure_with(noise, self.public.grid))
        sources = apart(noise, len(self.parts))
        return self.run(records.vectors, [measure_with(one, self.public.grid) for one in sources]), common

    def run_common(self, deviation_sum: np.ndarray, measure: Measure) -> CommonSeries | None:
        """Measure what homes do together; the sum over records is touched in the argument of ``measure`` alone."""
        self._check(deviation_sum.shape == (self.public.deviations,))
        if not self.public.deviations:
            return None
        n = self.public.records
        noisy = measure(self.common, deviation_sum).reshape(self.public.days, BLOCKS)
        return denoised(noisy / n, self.common.noise_std / n)

    def _check(self, as_public: bool) -> None:
        if not as_public:
            raise InputError(
                "are not of the public number of households and entries",
                field="records",
                hint="use those of the public list",
            )

    def run(self, vectors: np.ndarray, measures: Sequence[Measure]) -> tuple[Population, ...]:
        """Run the steps of every stratum with its own ``measure``, in whose arguments alone (N, d) vectors are
        touched.
        """
        stratum, box = np.array(self.public.stratum), self.public.box
        self._check(vectors.shape == (self.public.records, box.dimension))
        found = []
        for s, (part, measure) in enumerate(zip(self.parts, measures, strict=True)):
            released, beside = part.run_whole(box.scaled(vectors[stratum == s]), measure, 1)
            exponents = beside[0].exponents if beside else np.empty(0)
            found.append(Population(box.unscaled(released.mixtures.draw(0)), exponents, self.public.directions))
        return tuple(found)


def common_radius(deviations: int) -> float:
    return COMMON_RADIUS * math.sqrt(deviations)


def deviation_sum(deviations: np.ndarray, grid: float) -> np.ndarray:
    """Return what households add to what all do together, (days * blocks,), of (H, days * blocks) deviations.

    Each household's are clipped, moved into the ball and, with a grid, rounded to its multiples, by themselves: sums
    of some households at a time are then exact and add up to that of all.
    """
    rows = np.clip(deviations, -LARGEST_DEVIATION, LARGEST_DEVIATION)
    rows = clipped(rows, common_radius(rows.shape[1]))
    return np.rint(rows / grid).sum(axis=0) * grid if grid > 0 else rows.sum(axis=0)


@dataclass(frozen=True)
class HouseholdRecords:
    """All the mechanism sees of the data.

    Vectors of all households, (N, d), and the sum of what their deviations add, (days * blocks,), from
    :func:`deviation_sum`; it is empty where they are not measured.
    """

    vectors: np.ndarray
    deviation_sum: np.ndarray

    @classmethod
    def of(cls, vectors: np.ndarray, deviations: np.ndarray | None = None, grid: float = 0.0) -> HouseholdRecords:
        """Take all deviations, (N, days * blocks), if they are measured."""
        return cls(vectors, np.empty(0) if deviations is None else deviation_sum(deviations, grid))


def _spectrum(days: int) -> np.ndarray:
    """Return that of an AR(1) process of the public correlation and variance one, (days, 1); its mean is one."""
    angle = 2 * np.pi * np.fft.fftfreq(days)[:, None]
    return (1 - DAY_CORRELATION**2) / np.abs(1 - DAY_CORRELATION * np.exp(-1j * angle)) ** 2


def _share_error(std: float, days: int) -> float:
    """Return the standard error of the variance of such a process in noise of standard deviation ``std``."""
    return std**2 * math.sqrt(2 / (_spectrum(days) ** 2).sum())


def least_common(epsilon: float, delta: float, households: int, days: int) -> float:
    """Return from which share of a home's variance on what homes do together counts as more than noise, in half of
    the releases; in the mean of a day.
    """
    mu = gaussian.mu_for(epsilon, delta) * math.sqrt(COMMON_SHARE)
    return MARGIN * _share_error(2 * common_radius(days * BLOCKS) / mu / households, days)


def denoised(noisy: np.ndarray, std: float) -> CommonSeries | None:
    """Return what noisy means of deviations (days, blocks) say, ``std`` of their noise known: Wiener filters.

    Over the blocks of a day a discrete cosine transform leaves series that hardly depend on each other: the mean of
    the day, late against early, and so on. Each is an AR(1) process of the public correlation, and its variance is
    what is more than noise. Returns None where nothing is.
    """
    days = len(noisy)
    series, spectrum = dct(noisy - noisy.mean(axis=0), axis=1, norm="ortho"), _spectrum(days)
    found = np.fft.fft(series, axis=0)
    above = np.abs(found) ** 2 / days - std**2
    # Least squares looks where the process has its power, and shows best whether there is more than noise; the mean
    # shows how much, whatever the process.
    error = _share_error(std, days)
    there = (spectrum * above).sum(axis=0) / (spectrum**2).sum() > MARGIN * error
    share = np.where(there, np.maximum(above.mean(axis=0), error), 0.0)
    if not share.any():
        return None
    filtered = found * (share * spectrum) / (share * spectrum + std**2)
    z = idct(np.fft.ifft(filtered, axis=0).real, axis=1, norm="ortho")
    return CommonSeries(z / max(float(z.std()), 1e-12), float(share.mean()))


@dataclass(frozen=True)
class Population:
    """What is released of one stratum: a mixture of vectors in their own units, and how it is reweighted.

    ``exponents`` are of the features of the linear functions, ``directions``, that were measured beside the mixture;
    both are empty if none were.
    """

    mixture: Mixture
    exponents: np.ndarray
    directions: Directions

    def draw(self, households: int, noise: NoiseSource) -> np.ndarray:
        """Return the vectors of so many synthetic households, (n, d); some may lie outside the box."""
        if not self.exponents.size:
            return sample(self.mixture, households, noise)[0]
        return sample_linear(LinearReference(self.mixture, self.directions), self.exponents, households, noise)


# Of a release: what is said of every stratum, and what homes do together, if anything.
Answers = tuple[tuple[Population, ...], CommonSeries | None]
