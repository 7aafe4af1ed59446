"""Baseline: i.i.d. Gaussian noise scaled to l2 sensitivities (Liu et al., Section V-A).

Published family, for comparison only: sensitivities are those of this data set and labels come from K-means on it.
The constant sqrt(2 ln(2/delta)) is that of the paper's Lemma 1. Proof note: docs/proofs/iid_gaussian.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from meterdp.core.noise import NoiseSource
from meterdp.mechanisms.iid_baseline import PARTS, perturb
from meterdp.mechanisms.interface import Family, Guarantee, LabelledRecords, PublicSettings, Released


def lemma_1_multiplier(epsilon: float, delta: float) -> float:
    """Return sqrt(2 ln(2/delta)) / epsilon, the noise per unit of l2 sensitivity by Lemma 1 of Liu et al.

    Loose in the paper's range and too small from epsilon about 9.4 at delta = 1e-5 (defect L7).
    """
    return math.sqrt(2 * math.log(2 / delta)) / epsilon


@dataclass(frozen=True)
class IidGaussian:
    """Gaussian noise on every entry of weights, means, covariances, each part at (epsilon / 3, delta / 3)."""

    public: PublicSettings
    name: ClassVar[str] = "iid_gaussian"
    family: ClassVar[Family] = "published"

    @classmethod
    def calibrate(cls, public: PublicSettings) -> IidGaussian:
        """Keep the public settings; the published noise scales depend on the data (defect L4)."""
        return cls(public)

    @property
    def guarantee(self) -> Guarantee:
        """The claim of the paper."""
        return Guarantee(
            unit="class label of one household",
            adjacency="label_flip",
            epsilon=self.public.epsilon,
            delta=self.public.delta,
            accountant="sum of three equal parts, parallel over classes, as published",
            proof="docs/proofs/iid_gaussian.md",
            family=self.family,
        )

    def release(self, private: LabelledRecords, noise: NoiseSource, draws: int) -> Released:
        """Run the mechanism ``draws`` times; see :class:`~meterdp.mechanisms.interface.Mechanism`."""
        multiplier = lemma_1_multiplier(self.public.epsilon / PARTS, self.public.delta / PARTS)
        s = private.sensitivities
        scales = (s.weights_l2 * multiplier, s.means_l2 * multiplier, s.covariances_l2 * multiplier)
        return perturb(private, scales, noise.normal, draws, self.public.eigenvalue_floor)
