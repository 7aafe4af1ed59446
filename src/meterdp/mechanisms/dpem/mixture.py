"""DP-EM for mixtures of Gaussians (Park et al., Section 4): weights, means and covariances perturbed one by one.

Published family: formula by formula, but for records clipped by a public radius (defect P1) and a floor under the
noisy counts N~_k that noise is scaled by (defect P2). Where the text has two readings both are here. Proof note:
docs/proofs/dpem_zcdp.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from meterdp.accounting.sequence import Sequence
from meterdp.mechanisms.dpem.moments import Distribution, Perturbation, iterates, moment_em
from meterdp.mechanisms.dpem.records import check_records
from meterdp.mixture.class_sums import ClassSums, class_sums
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import raise_eigenvalues
from meterdp.mixture.prior import NO_PRIOR, Prior
from meterdp.privacy.noise import NoiseSource

# What the l1 norm of the responsibilities, or a norm of a record's part of a class sum, can change by.
CHANGE = 2.0
# Eigenvalues below this share of the largest are lost in rounding, and with them the Cholesky root.
_LEAST_EIGENVALUE_SHARE = 1e-12


@dataclass(frozen=True)
class EmSettings:
    """Public settings of DP-EM.

    Parameters
    ----------
    iterations : int
        J.
    scheme : {"GGG", "LLG"}
        Distributions of the noise on weights, means and covariances: Gaussian or Laplace.
    estimate : {"mle", "map"}
        Maximum likelihood, (12), or the paper's maximum a posteriori.
    step_epsilon : float
        Budget of each of the J (2K + 1) answers; infinite for EM without noise.
    step_delta : float
        delta_i of each Gaussian answer.
    eigenvalue_floor : float
        Public floor of covariance eigenvalues: "some value near zero", below (19).
    count_floor : float
        Public floor of the noisy counts N~_k.
    divisor : {"own", "noisy"}
        What class sums are divided by. "own": N_k, as (12), (16), (19) print, though then the change of one record
        exceeds (15), (18) wherever N_k < N~_k. "noisy": N~_k, which (15), (18) are derived for.
    centre : {"noisy", "own"}
        What a covariance is centred by: the noisy mean, whose N~_k mu~ mu~' cancels in (18), or the class's own mean,
        as (12) prints.
    dtype : {"float64", "float32"}
        Arithmetic of :func:`meterdp.mixture.class_sums.class_sums`.
    """

    iterations: int
    scheme: Literal["GGG", "LLG"]
    estimate: Literal["mle", "map"] = "mle"
    step_epsilon: float = math.inf
    step_delta: float = 1e-6
    eigenvalue_floor: float = 1e-4
    count_floor: float = 1.0
    divisor: Literal["own", "noisy"] = "own"
    centre: Literal["noisy", "own"] = "noisy"
    dtype: Literal["float64", "float32"] = "float64"

    def sequence(self, classes: int) -> Sequence:
        """Return the answers an accountant has to add up, Section 4.2, last paragraph."""
        laplace = self.iterations * (classes + 1) if self.scheme == "LLG" else 0
        return Sequence(laplace, self.iterations * (2 * classes + 1) - laplace, self.step_delta)


def prior(estimate: Literal["mle", "map"], dimension: int) -> Prior:
    """Return the paper's prior, alpha = 2, kappa_0 = 1, nu_0 = d + 2, S_0 = 0.1 I, or one that adds nothing."""
    return NO_PRIOR if estimate == "mle" else Prior.conventional(dimension)


@dataclass(frozen=True)
class Iterate:
    """Parameters after an iteration, and whether a weight or a covariance had to be brought back to be one."""

    mixture: Mixture
    projected: bool = False


@dataclass(frozen=True)
class MixtureModel:
    """A :class:`~meterdp.mechanisms.dpem.moments.MomentModel` of a mixture of Gaussians.

    Parameters
    ----------
    records : int
        N.
    settings : EmSettings
    """

    records: int
    settings: EmSettings

    def expected(self, x: np.ndarray, iterate: Iterate) -> ClassSums:
        """Return the class sums under the responsibilities (11)."""
        return class_sums(x, iterate.mixture, np.dtype(self.settings.dtype).type)

    def perturbed(self, sums: ClassSums, perturbation: Perturbation) -> Iterate:
        """Perturb weights (14), means (16) and covariances (19), in this order."""
        settings, n = self.settings, self.records
        d = sums.sums.shape[1]
        believed = prior(settings.estimate, d)
        distribution: Distribution = "laplace" if settings.scheme == "LLG" else "gaussian"
        weights, cut = clipped_weights(perturbation.vector(sums.counts / n, CHANGE / n, distribution))
        noisy_counts = np.maximum(n * weights, settings.count_floor)
        # A class of no record has sums of zero, whatever they are divided by.
        own_counts = np.maximum(sums.counts, np.finfo(float).tiny)
        counts = own_counts if settings.divisor == "own" else noisy_counts

        # (15), for Laplace noise in the l1 norm.
        change = CHANGE * (math.sqrt(d) if distribution == "laplace" else 1.0)
        sensitivity = change / (noisy_counts + believed.mean_records)
        divisor = (counts + believed.mean_records)[:, None]
        exact = sums.sums / divisor
        means = perturbation.vector(exact, sensitivity[:, None], distribution)

        # With an exact mean m = A/(N_k + kappa_0) of the posterior, N_k Sigma^MLE + kappa_0 N_k/(kappa_0 + N_k) m^MLE
        # m^MLE' is B - (N_k + kappa_0) m m'; for the MLE kappa_0 is zero.
        centre = means if settings.centre == "noisy" else exact
        scatter = sums.second_moments - divisor[..., None] * centre[:, :, None] * centre[:, None, :]
        scatter += believed.scatter * np.eye(d)
        exact = scatter / (counts + believed.covariance_records)[:, None, None]
        sensitivity = CHANGE / (noisy_counts + believed.covariance_records)
        covariances = perturbation.symmetric(exact, sensitivity)
        floor = max(settings.eigenvalue_floor, _LEAST_EIGENVALUE_SHARE * np.abs(covariances).max() * d)
        covariances, raised = raise_eigenvalues(covariances, floor)

        weights = believed.weights(weights, n)
        return Iterate(Mixture(weights, means, covariances), bool(cut or raised.any()))


def clipped_weights(noisy: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return weights (K,) clipped to [0, 1] and renormalised, footnote 5, and whether one was clipped.

    Equal weights if nothing is left of any.
    """
    weights = np.clip(noisy, 0.0, 1.0)
    total = weights.sum()
    weights = weights / total if total > 0 else np.full_like(weights, 1 / len(weights))
    return weights, bool((noisy < 0).any() or (noisy > 1).any())


def start_mixture(normals: np.ndarray, spread: float = 0.5) -> Mixture:
    """Return public start classes in the unit ball; the paper does not print its own.

    Equal weights, every covariance I/d, which fills the ball, and means from N(0, spread^2 I/d), shortened to the
    ball: about ``spread`` from its centre in any dimension.

    Parameters
    ----------
    normals : (K, d) float64
        Public standard normal numbers, as from :func:`meterdp.core.noise.fixed_normals`.
    spread : float
    """
    classes, dimension = normals.shape
    means = normals * (spread / math.sqrt(dimension))
    means /= np.maximum(np.linalg.norm(means, axis=1), 1.0)[:, None]
    covariances = np.tile(np.eye(dimension) / dimension, (classes, 1, 1))
    return Mixture(np.full(classes, 1 / classes), means, covariances)


def fit(x: np.ndarray, start: Mixture, settings: EmSettings, noise: NoiseSource) -> Mixture:
    """Run DP-EM.

    Parameters
    ----------
    x : (N, d) float64
        Records in the unit ball, as from :func:`meterdp.mechanisms.dpem.records.to_unit_ball`.
    start : Mixture
        Public, in the same units.
    settings : EmSettings
    noise : NoiseSource

    Raises
    ------
    InputError
        If there are fewer records than classes, or an entry is not a finite number.
    """
    model, perturbation = _model(x, start, settings, noise)
    return moment_em(model, x, Iterate(start), settings.iterations, perturbation).mixture


def fit_iterates(x: np.ndarray, start: Mixture, settings: EmSettings, noise: NoiseSource) -> Iterator[Iterate]:
    """Yield what :func:`fit` has after each of its iterations; parameters as there."""
    model, perturbation = _model(x, start, settings, noise)
    return iterates(model, x, Iterate(start), settings.iterations, perturbation)


def _model(
    x: np.ndarray, start: Mixture, settings: EmSettings, noise: NoiseSource
) -> tuple[MixtureModel, Perturbation]:
    check_records(x, start.classes)
    return MixtureModel(len(x), settings), Perturbation(noise, settings.step_epsilon, settings.step_delta)
