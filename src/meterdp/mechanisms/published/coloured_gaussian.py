"""Baseline: coloured Gaussian noise of minimum trace on means, the rest as i.i.d. Gaussian (Liu et al., Section V-A).

The third baseline of the paper, after Ravi et al. (2022), Eq. (12): Gamma_k^-1 minimises the mean square error of the
means subject to (10), that is (23) with weight I in place of Sigma_k^-1. Published family, for comparison only. Proof
note: docs/proofs/coloured_gaussian.md.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from meterdp.mechanisms.published.baseline import GaussianBaseline
from meterdp.mechanisms.published.label_flip import square_roots
from meterdp.mechanisms.published.labelled import LabelledRecords


class ColouredGaussian(GaussianBaseline):
    """Coloured noise on means; weights and covariances scaled to their exact l2 sensitivities."""

    name: ClassVar[str] = "coloured_gaussian"
    proof: ClassVar[str] = "docs/proofs/coloured_gaussian.md"

    def mean_factors(self, private: LabelledRecords) -> np.ndarray:
        """Return F_k (K, d, d): means get noise N(0, F_k F_k') with v' (F_k F_k')^-1 v <= 1/multiplier^2, (10).

        Coloured noise has no common scale: ``over_classes="common"`` concerns the covariances only.
        """
        shapes = np.stack([s.matrix for s in private.plain_shapes(self.public.sdp_solver)])
        return self.multiplier("means") * square_roots(shapes)


class ColouredGaussianL1(ColouredGaussian):
    """The same with the l2 sensitivities of weights and covariances bounded by l1; means have no such bound."""

    name: ClassVar[str] = "coloured_gaussian_l1"
    norm = "l1"
