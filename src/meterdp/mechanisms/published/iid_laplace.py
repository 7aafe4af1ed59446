"""Baseline: i.i.d. Laplace noise scaled to l1 sensitivities (Liu et al., Section V-A, after Wu et al. 2016).

Published family, for comparison only: sensitivities are those of this data set and labels come from K-means on it.
Proof note: docs/proofs/iid_laplace.md.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from meterdp.mechanisms.interface import Released
from meterdp.mechanisms.published.baseline import Baseline, perturb
from meterdp.mechanisms.published.labelled import LabelledRecords
from meterdp.privacy.noise import NoiseSource


class IidLaplace(Baseline):
    """Laplace noise of scale (l1 sensitivity) / (epsilon / 3) on every entry of weights, means, covariances."""

    name: ClassVar[str] = "iid_laplace"
    pure: ClassVar[bool] = True
    proof: ClassVar[str] = "docs/proofs/iid_laplace.md"

    def release(self, private: LabelledRecords, noise: NoiseSource, draws: int) -> Released:
        """Run the mechanism ``draws`` times; see :class:`~meterdp.mechanisms.interface.Mechanism`."""
        s, (epsilon, _), (per_class, _) = private.sensitivities, self.budget("weights"), self.budget("means")
        factors = self.shared(s.means_l1 / per_class)[:, None, None] * np.eye(private.x.shape[1])
        scales = (s.weights_l1 / epsilon, factors, self.shared(s.covariances_l1 / per_class))
        return perturb(private, scales, noise.laplace, draws, self.public.eigenvalue_floor)
