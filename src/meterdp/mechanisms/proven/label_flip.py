"""A sound release for given labels: what Liu et al. set out to do, label flips only, under a proof.

The adjacency of the paper: one record's class label changes, the readings themselves are not protected and may shape
everything. Use it where labels are the secret (Iris, digits), never for household readings. Proof note:
docs/proofs/sound_label_flip.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meterdp.mechanisms.interface import Mechanism, PublicSettings, Released, Sees
from meterdp.mechanisms.proven.domain import Loads
from meterdp.mechanisms.proven.plan import LAST_ROUND, ROUND_GROWTH
from meterdp.mechanisms.proven.rounds import release_in_chunks, run_rounds
from meterdp.mechanisms.reference.label_flip import LabelledRecords
from meterdp.mixture.draws import MixtureDraws
from meterdp.mixture.gmm import raise_eigenvalues
from meterdp.privacy import gaussian
from meterdp.privacy.guarantee import Family
from meterdp.privacy.mechanism import Measure, NoisyQuery, measure_with
from meterdp.privacy.noise import NoiseSource

# The first round finds the classes in coordinates of the whole, the others refine them in their own.
ROUNDS = 4


@dataclass(frozen=True)
class ProvenLabelFlip(Mechanism):
    """A Gaussian mixture of labelled records under label-flip DP, calibrated."""

    mu: float  # of the whole release
    steps: tuple[NoisyQuery, ...]  # the rounds; their mu^2 add up to mu^2
    name: ClassVar[str] = "sound_label_flip"
    sees: ClassVar[Sees] = "labels"
    family: ClassVar[Family] = "sound"
    unit: ClassVar[str] = "class label of one record; its readings are not protected"
    adjacency: ClassVar[str] = "label_flip"
    accountant: ClassVar[str] = gaussian.STEPS
    proof: ClassVar[str] = "docs/proofs/sound_label_flip.md"

    @classmethod
    def calibrate(cls, public: PublicSettings) -> ProvenLabelFlip:
        """Split mu(epsilon, delta) over the rounds."""
        mu = gaussian.mu_for(public.epsilon, public.delta)
        shares = ROUND_GROWTH ** np.arange(ROUNDS)
        shares[-1] *= LAST_ROUND
        reach = Loads.round_weights.sensitivity("label_flip")
        steps = (
            NoisyQuery(f"round {t + 1}", reach, reach / (mu * math.sqrt(share)))
            for t, share in enumerate(shares / shares.sum())
        )
        return cls(public, mu, tuple(steps))

    def release(self, private: LabelledRecords, noise: NoiseSource, draws: int) -> Released:
        def run(x: np.ndarray, measure: Measure, size: int) -> Released:
            return self.run(x, private.labels, measure, size)

        return release_in_chunks(run, private.x, measure_with(noise, 0.0), draws, self.public.classes)

    def run(self, x: np.ndarray, labels: np.ndarray, measure: Measure, draws: int) -> Released:
        """Run the rounds on labels 1..K, letting ``measure`` turn each exact stack (draws, ...) into a noisy one.

        Labels are touched in the arguments of ``measure`` only.
        """
        k, d = self.public.classes, self.public.dimension
        domain, floor = Loads.of(self.public), self.public.eigenvalue_floor
        x = domain.clip(x)
        covariance, _ = raise_eigenvalues(np.cov(x.T, bias=True).reshape(d, d), floor)
        start = MixtureDraws(
            np.full((draws, k), 1 / k),
            np.broadcast_to(x.mean(axis=0), (draws, k, d)),
            np.broadcast_to(covariance, (draws, k, d, d)),
        )
        indicators = (labels[:, None] == np.arange(1, k + 1)).astype(float)
        records = np.full(draws, float(len(x)))
        released = run_rounds(self.steps, x, measure, start, records, domain, floor, indicators)
        # Classes keep the numbers of the given labels.
        return Released(released.mixtures, released.projected)
