"""The baselines of Liu et al. (Section V-A): i.i.d. Laplace and Gaussian noise, and coloured Gaussian noise on means.

Published family, for comparison only: sensitivities are those of this data set and labels come from K-means on it.
Weights, means and covariances get a third of the budget each. The paper does not say how the baselines treat its
classes; ``over_classes`` names three variants. By default they compose in parallel like the paper's own method (Lemma
3), so that the comparison is like for like, hole L3 included.

Gaussian noise is scaled to l2 sensitivities, or to l1 as the paper says, with the constant sqrt(2 ln(2/delta)) of its
Lemma 1 (docs/proofs/iid_gaussian.md); Laplace noise to l1 sensitivities, after Wu et al. 2016
(docs/proofs/iid_laplace.md). Coloured noise follows Ravi et al. (2022), Eq. (12): Gamma_k^-1 minimises the mean
square error of the means subject to (10), that is (23) with weight I in place of Sigma_k^-1
(docs/proofs/coloured_gaussian.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from meterdp.mechanisms.interface import Released
from meterdp.mechanisms.reference.label_flip import LabelFlip, LabelledRecords, lemma_1_multiplier, square_roots
from meterdp.mixture.draws import MixtureDraws
from meterdp.mixture.gmm import raise_eigenvalues
from meterdp.privacy.guarantee import Guarantee
from meterdp.privacy.noise import NoiseSource

PARTS = 3
# "parallel": a scale for each class, each with the whole budget of a part; "common": the largest of these scales for
# all classes, truly i.i.d.; "split": a scale for each class, each with a K-th of the budget of a part.
OverClasses = Literal["parallel", "common", "split"]


@dataclass(frozen=True)
class Baseline(LabelFlip):
    """Gaussian noise by Lemma 1 on each of the three parts, unless a subclass has another.

    ``over_classes`` says how means and covariances of classes share noise and budget.
    """

    over_classes: OverClasses = "parallel"
    accountant: ClassVar[str] = "sum of three equal parts, parallel over classes, as published"
    # The sensitivity the noise is scaled to; the paper bounds l2 by l1.
    norm: ClassVar[Literal["l2", "l1"]] = "l2"
    noise: ClassVar[Literal["normal", "laplace"]] = "normal"

    def budget(self, part: str) -> tuple[float, float]:
        """Return (epsilon, delta) for "weights", or for one class's "means" or "covariances"."""
        split = self.over_classes == "split" and part != "weights"
        shares = PARTS * (self.public.classes if split else 1)
        return self.public.epsilon / shares, self.public.delta / shares

    def scaled(self, sensitivity: float | np.ndarray, part: str) -> float | np.ndarray:
        """Return the scale of noise that a sensitivity needs."""
        return lemma_1_multiplier(*self.budget(part)) * sensitivity

    def scale(self, private: LabelledRecords, part: str) -> float | np.ndarray:
        """Return the scale of noise on "weights", or on each class's "means" or "covariances" (K,)."""
        needed = self.scaled(getattr(private.sensitivities, f"{part}_{self.norm}"), part)
        return np.full_like(needed, needed.max()) if self.over_classes == "common" and part != "weights" else needed

    def mean_factors(self, private: LabelledRecords) -> np.ndarray:
        """Return F_k (K, d, d): noise on means is F_k times noise of scale one."""
        return self.scale(private, "means")[:, None, None] * np.eye(private.x.shape[1])

    def release(self, private: LabelledRecords, noise: NoiseSource, draws: int) -> Released:
        """Add noise to every entry of (2a)-(2c), on covariances to the upper triangle, and project back."""
        fit, draw = private.fit, getattr(noise, self.noise)
        k, d = fit.mixture.means.shape
        rows, columns = np.triu_indices(d)
        upper = fit.sample_covariances[:, rows, columns]
        weights = fit.mixture.weights + self.scale(private, "weights") * draw((draws, k))
        means = fit.mixture.means + np.einsum("kij,rkj->rki", self.mean_factors(private), draw((draws, k, d)))
        noisy = np.empty((draws, k, d, d))
        noisy[..., rows, columns] = upper + self.scale(private, "covariances")[:, None] * draw((draws, *upper.shape))
        noisy[..., columns, rows] = noisy[..., rows, columns]
        weights, cut = project_simplex(weights)
        covariances, raised = raise_eigenvalues(noisy, self.public.eigenvalue_floor)
        return Released(MixtureDraws(weights, means, covariances), cut | raised.any(axis=1))


def project_simplex(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest point of the probability simplex (Euclidean) of each row (R, K), and which rows had a cut.

    A weight was cut to zero; a shift of all of them to sum to one does not count.
    """
    k = weights.shape[1]
    descending = -np.sort(-weights, axis=1)
    excess = (np.cumsum(descending, axis=1) - 1) / np.arange(1, k + 1)
    kept = (descending > excess).sum(axis=1)
    shifted = weights - np.take_along_axis(excess, kept[:, None] - 1, axis=1)
    return np.maximum(shifted, 0.0), (shifted < 0).any(axis=1)


class IidGaussian(Baseline):
    """Gaussian noise on every entry of weights, means, covariances, scaled to the exact l2 sensitivities."""

    name: ClassVar[str] = "iid_gaussian"
    proof: ClassVar[str] = "docs/proofs/iid_gaussian.md"


class IidGaussianL1(IidGaussian):
    """The same with each l2 sensitivity bounded by the l1 one, as the paper says: more noise than is needed."""

    name: ClassVar[str] = "iid_gaussian_l1"
    norm = "l1"


class IidLaplace(Baseline):
    """Laplace noise of scale (l1 sensitivity) / (epsilon / 3) on every entry of weights, means, covariances."""

    name: ClassVar[str] = "iid_laplace"
    proof: ClassVar[str] = "docs/proofs/iid_laplace.md"
    norm = "l1"
    noise = "laplace"

    @property
    def guarantee(self) -> Guarantee:
        return replace(super().guarantee, delta=0.0)

    def scaled(self, sensitivity: float | np.ndarray, part: str) -> float | np.ndarray:
        return sensitivity / self.budget(part)[0]


class ColouredGaussian(Baseline):
    """Coloured noise on means; weights and covariances scaled to their exact l2 sensitivities."""

    name: ClassVar[str] = "coloured_gaussian"
    proof: ClassVar[str] = "docs/proofs/coloured_gaussian.md"

    def mean_factors(self, private: LabelledRecords) -> np.ndarray:
        """Return F_k (K, d, d): means get noise N(0, F_k F_k') with v' (F_k F_k')^-1 v <= 1/multiplier^2, (10).

        Coloured noise has no common scale: ``over_classes="common"`` concerns the covariances only.
        """
        shapes = np.stack([s.matrix for s in private.plain_shapes])
        return lemma_1_multiplier(*self.budget("means")) * square_roots(shapes)


class ColouredGaussianL1(ColouredGaussian):
    """The same with the l2 sensitivities of weights and covariances bounded by l1; means have no such bound."""

    name: ClassVar[str] = "coloured_gaussian_l1"
    norm = "l1"
