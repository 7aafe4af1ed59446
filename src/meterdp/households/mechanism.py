"""The private population of households: a mixture of their vectors for every public stratum.

Each is the proven mixture of records in a public box (docs/proofs/sound.md, 10), of the vectors of the households of
its stratum. Strata are disjoint and public, and a replaced household stays in its own, so all together cost what one
does (docs/proofs/households.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from meterdp.errors import InputError
from meterdp.mechanisms.proven.marginals import Directions, LinearReference, sample_reweighted
from meterdp.mechanisms.proven.mechanism import Box, Proven, calibrate_ball
from meterdp.mechanisms.proven.plan import default_classes
from meterdp.mechanisms.proven.prior_mixture import PriorMixture
from meterdp.mixture.draws import Mixture, sample
from meterdp.privacy import gaussian
from meterdp.privacy.guarantee import Guarantee
from meterdp.privacy.mechanism import Measure, Metered, apart, measure_with
from meterdp.privacy.noise import GaussianSource, NoiseSource

# Without a prior mixture.
MOST_CLASSES = 6
# Of mu^2, for the distributions of linear functions beside the mixture.
MARGINAL_SHARE = 0.3
# A stratum of fewer listed meters is joined with others.
FEWEST_OF_STRATUM = 300
OTHERS = "other"


# Functions of a vector whose distributions are measured: how much, the largest reading, and what comes again after
# an interval, two, a day and a week; by name, the entries they are sums (+1) and differences (-1) of.
MEASURED = {
    "log_mean_kw": {"log_mean_kw": 1},
    "log_peak_kw": {"log_mean_kw": 1, "highest": 1},
    "acf_interval": {"acf_interval": 1},
    "acf_two_intervals": {"acf_interval": 1, "acf_interval_less_two": -1},
    "acf_day": {"acf_day": 1},
    "acf_week": {"acf_day": 1, "acf_day_less_week": -1},
    "daily_variance": {"daily_variance": 1},
}


def directions_of(entries: Sequence[str]) -> Directions:
    """Return the linear functions of :data:`MEASURED` of vectors with named entries, (m, d)."""
    return tuple(tuple(float(of.get(name, 0)) for name in entries) for of in MEASURED.values())


def strata_of(names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the names of strata in ascending order, and the stratum 0..S-1 of every listed meter, (N,).

    ``names`` (N,) are what the public list says of the meters. What it says of too few is joined as ``other``; where
    these are too few, too, they take the smallest of the rest in with them.
    """
    count = {name: names.count(name) for name in set(names)}
    joined = {name for name, meters in count.items() if meters < FEWEST_OF_STRATUM}
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
    # Linear functions of a vector, (m, d), whose distributions are measured beside the mixture, if any.
    directions: Directions = ()
    prior_mixture: PriorMixture | None = None  # of vectors, in their own units
    grid: float = 0.0

    @property
    def records(self) -> int:
        return len(self.stratum)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Households of every stratum, (S,)."""
        return tuple(np.bincount(self.stratum).tolist())


@dataclass(frozen=True)
class Households:
    """The mechanism, calibrated."""

    public: HouseholdsPublic
    parts: tuple[Proven, ...]  # of every stratum
    name: ClassVar[str] = "households"
    family: ClassVar[str] = "sound"
    proof: ClassVar[str] = "docs/proofs/households.md"

    @classmethod
    def calibrate(cls, public: HouseholdsPublic) -> Households:
        box, d = public.box, public.box.dimension
        mu, prior = gaussian.mu_for(public.epsilon, public.delta), public.prior_mixture
        if prior is not None:
            prior = PriorMixture(box.scaled_mixture(prior.mixture), prior.sha256)

        def part(size: int) -> Proven:
            classes = None if prior else default_classes(size * mu / d, MOST_CLASSES)
            at = (classes, d, size, public.epsilon, public.delta, box.ball)
            return calibrate_ball(
                *at,
                grid=public.grid,
                prior_mixture=prior,
                directions=tuple(map(tuple, np.array(public.directions) * box.half)) if public.directions else (),
                marginal_share=MARGINAL_SHARE if public.directions else 0.0,
            )

        return cls(public, tuple(map(part, public.sizes)))

    @property
    def guarantee(self) -> Guarantee:
        """What docs/proofs/households.md proves of one release, for noise that is truly Gaussian."""
        return Guarantee(
            unit="all readings of one household",
            adjacency="replace_one",
            epsilon=self.public.epsilon,
            delta=self.public.delta,
            accountant=gaussian.STEPS,
            proof=self.proof,
            family=self.family,
        )

    @property
    def mu(self) -> float:
        """Of the stratum that costs most: a household is in one."""
        return max(part.mu for part in self.parts)

    @property
    def total_variation(self) -> float:
        return max(part.total_variation for part in self.parts)

    def release(self, vectors: np.ndarray, noise: GaussianSource | Metered) -> tuple[Population, ...]:
        """Return what is released of every stratum, from the vectors of all households, (N, d)."""
        return self.run(vectors, [measure_with(one, self.public.grid) for one in apart(noise, len(self.parts))])

    def run(self, vectors: np.ndarray, measures: Sequence[Measure]) -> tuple[Population, ...]:
        """Run the steps of every stratum with its own ``measure``, in whose arguments alone vectors are touched."""
        stratum, box = np.array(self.public.stratum), self.public.box
        if vectors.shape != (self.public.records, box.dimension):
            raise InputError(
                "are not of the public number of households and entries",
                field="vectors",
                hint="use those of the public list",
            )
        found = []
        for s, (part, measure) in enumerate(zip(self.parts, measures, strict=True)):
            released, beside = part.run_whole(box.scaled(vectors[stratum == s]), measure, 1)
            exponents = beside[0].exponents if beside else np.empty(0)
            found.append(Population(box.unscaled(released.mixtures.draw(0)), exponents))
        return tuple(found)


@dataclass(frozen=True)
class Population:
    """What is released of one stratum: a mixture of vectors in their own units, and how it is reweighted.

    ``exponents`` are of the features of the linear functions that were measured beside the mixture; empty if none
    were.
    """

    mixture: Mixture
    exponents: np.ndarray

    def draw(self, directions: Directions, households: int, noise: NoiseSource) -> np.ndarray:
        """Return the vectors of so many synthetic households, (n, d); some may lie outside the box."""
        if not self.exponents.size:
            return sample(self.mixture, households, noise)[0]
        return sample_reweighted(LinearReference(self.mixture, directions), self.exponents, households, noise)
