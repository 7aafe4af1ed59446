"""Baseline: i.i.d. Laplace noise scaled to l1 sensitivities (Liu et al., Section V-A, after Wu et al. 2016).

Published family, for comparison only: sensitivities are those of this data set and labels come from K-means on it.
Proof note: docs/proofs/iid_laplace.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from meterdp.core.noise import NoiseSource
from meterdp.mechanisms.iid_baseline import PARTS, perturb
from meterdp.mechanisms.interface import Family, Guarantee, LabelledRecords, PublicSettings, Released


@dataclass(frozen=True)
class IidLaplace:
    """Laplace noise of scale (l1 sensitivity) / (epsilon / 3) on every entry of weights, means, covariances."""

    public: PublicSettings
    name: ClassVar[str] = "iid_laplace"
    family: ClassVar[Family] = "published"

    @classmethod
    def calibrate(cls, public: PublicSettings) -> IidLaplace:
        """Keep the public settings; the published noise scales depend on the data (defect L4)."""
        return cls(public)

    @property
    def guarantee(self) -> Guarantee:
        """The claim of the paper, delta = 0."""
        return Guarantee(
            unit="class label of one household",
            adjacency="label_flip",
            epsilon=self.public.epsilon,
            delta=0.0,
            accountant="sum of three equal parts, parallel over classes, as published",
            proof="docs/proofs/iid_laplace.md",
            family=self.family,
        )

    def release(self, private: LabelledRecords, noise: NoiseSource, draws: int) -> Released:
        """Run the mechanism ``draws`` times; see :class:`~meterdp.mechanisms.interface.Mechanism`."""
        part = self.public.epsilon / PARTS
        s = private.sensitivities
        scales = (s.weights_l1 / part, s.means_l1 / part, s.covariances_l1 / part)
        return perturb(private, scales, noise.laplace, draws, self.public.eigenvalue_floor)
