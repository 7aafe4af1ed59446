"""What the baselines of Liu et al. (Section V-A) share: an equal split, which numbers get noise, and the way back.

Weights, means and covariances get a third of the budget each; over classes the baselines compose in parallel like
the paper's own method (Lemma 3), so that the comparison is like for like, hole L3 included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np

from meterdp.core.noise import NoiseSource
from meterdp.mechanisms.interface import Released
from meterdp.mechanisms.published.label_flip import LabelFlip, lemma_1_multiplier
from meterdp.mechanisms.published.labelled import LabelledRecords
from meterdp.mechanisms.published.projection import project_covariances, project_simplex, symmetric
from meterdp.mixture.draws import MixtureDraws

PARTS = 3


class Baseline(LabelFlip):
    """Base of the baselines."""

    accountant: ClassVar[str] = "sum of three equal parts, parallel over classes, as published"


class GaussianBaseline(Baseline):
    """Base of the Gaussian baselines: Lemma 1 at (epsilon / 3, delta / 3) for each of the three parts.

    Class attributes
    ----------------
    norm : {"l2", "l1"}
        The sensitivity the noise is scaled to; the paper bounds l2 by l1.
    """

    norm: ClassVar[Literal["l2", "l1"]] = "l2"

    @property
    def multiplier(self) -> float:
        """Noise per unit of sensitivity."""
        return lemma_1_multiplier(self.public.epsilon / PARTS, self.public.delta / PARTS)

    def scale(self, private: LabelledRecords, part: str) -> np.ndarray:
        """Return the standard deviation of each class's noise (K,) on "means" or "covariances", or of "weights"."""
        return self.multiplier * getattr(private.sensitivities, f"{part}_{self.norm}")

    def mean_factors(self, private: LabelledRecords) -> np.ndarray:
        """Return F_k (K, d, d): means get noise N(0, F_k F_k')."""
        return self.scale(private, "means")[:, None, None] * np.eye(private.x.shape[1])

    def release(self, private: LabelledRecords, noise: NoiseSource, draws: int) -> Released:
        """Run the mechanism ``draws`` times; see :class:`~meterdp.mechanisms.interface.Mechanism`."""
        scales = self.scale(private, "weights"), self.mean_factors(private), self.scale(private, "covariances")
        return perturb(private, scales, noise.normal, draws, self.public.eigenvalue_floor)


def perturb(
    private: LabelledRecords,
    scales: tuple[float, np.ndarray, np.ndarray],
    draw: Callable[[tuple[int, ...]], np.ndarray],
    draws: int,
    eigenvalue_floor: float,
) -> Released:
    """Add noise to every entry of (2a)-(2c), coloured on the means and independent elsewhere, and project back.

    Parameters
    ----------
    private : LabelledRecords
    scales : (float, (K, d, d) float64, (K,) float64)
        Noise scale of weights, factor of each class's mean and scale of its covariance (upper triangle).
    draw : callable
        Noise of scale one for a shape: a method of a NoiseSource.
    draws : int
        Number of independent releases R.
    eigenvalue_floor : float
        Public floor of released covariances, (log kWh)^2.
    """
    fit = private.fit
    k, d = fit.mixture.means.shape
    rows, columns = np.triu_indices(d)
    upper = fit.sample_covariances[:, rows, columns]
    weights = fit.mixture.weights + scales[0] * draw((draws, k))
    means = fit.mixture.means + np.einsum("kij,rkj->rki", scales[1], draw((draws, k, d)))
    noisy = symmetric(upper + scales[2][:, None] * draw((draws, *upper.shape)), d)
    weights, cut = project_simplex(weights)
    covariances, raised = project_covariances(noisy, eigenvalue_floor)
    return Released(MixtureDraws(weights, means, covariances), cut | raised)
