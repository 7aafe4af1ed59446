"""Baseline: i.i.d. Gaussian noise scaled to l2 sensitivities, or to l1 as the paper says (Liu et al., Section V-A).

Published family, for comparison only: sensitivities are those of this data set and labels come from K-means on it.
The constant sqrt(2 ln(2/delta)) is that of the paper's Lemma 1. Proof note: docs/proofs/iid_gaussian.md.
"""

from __future__ import annotations

from typing import ClassVar

from meterdp.mechanisms.published.baseline import GaussianBaseline


class IidGaussian(GaussianBaseline):
    """Gaussian noise on every entry of weights, means, covariances, scaled to the exact l2 sensitivities."""

    name: ClassVar[str] = "iid_gaussian"
    proof: ClassVar[str] = "docs/proofs/iid_gaussian.md"


class IidGaussianL1(IidGaussian):
    """The same with each l2 sensitivity bounded by the l1 one, as the paper says: more noise than is needed."""

    name: ClassVar[str] = "iid_gaussian_l1"
    norm = "l1"
