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
from meterdp.mechanisms.proven.mechanism import Box, Proven, calibrate_ball
from meterdp.mechanisms.proven.plan import default_classes
from meterdp.mechanisms.proven.prior_mixture import PriorMixture
from meterdp.mixture.draws import Mixture
from meterdp.privacy import gaussian
from meterdp.privacy.guarantee import Guarantee
from meterdp.privacy.mechanism import Measure, Metered, apart, measure_with
from meterdp.privacy.noise import GaussianSource

# Without a prior mixture.
MOST_CLASSES = 6
# A stratum of fewer listed meters is joined with others.
FEWEST_OF_STRATUM = 300
OTHERS = "other"


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
            return calibrate_ball(*at, grid=public.grid, prior_mixture=prior)

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

    def release(self, vectors: np.ndarray, noise: GaussianSource | Metered) -> tuple[Mixture, ...]:
        """Return a mixture of vectors for every stratum, from those of all households, (N, d)."""
        return self.run(vectors, [measure_with(one, self.public.grid) for one in apart(noise, len(self.parts))])

    def run(self, vectors: np.ndarray, measures: Sequence[Measure]) -> tuple[Mixture, ...]:
        """Run the steps of every stratum with its own ``measure``, in whose arguments alone vectors are touched."""
        stratum, box = np.array(self.public.stratum), self.public.box
        if vectors.shape != (self.public.records, box.dimension):
            raise InputError(
                "are not of the public number of households and entries",
                field="vectors",
                hint="use those of the public list",
            )
        return tuple(
            box.unscaled(part.run(box.scaled(vectors[stratum == s]), measure, 1).mixtures.draw(0))
            for s, (part, measure) in enumerate(zip(self.parts, measures, strict=True))
        )
