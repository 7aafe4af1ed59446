"""The release of Liu et al. once its noise is designed: (5) on means, (6) on covariances, a random map of weights.

Shared by the published design, Algorithm 1, and the exact one. Also the divergence a design is expected to cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meterdp.mechanisms.interface import PublicSettings, Released
from meterdp.mechanisms.published.label_flip import LabelFlip, lemma_1_multiplier, square_roots
from meterdp.mechanisms.published.labelled import LabelledRecords
from meterdp.mixture.draws import MixtureDraws
from meterdp.privacy.noise import NoiseSource


@dataclass(frozen=True)
class Design:
    """Budgets, noise parameters and the random mapping of frequencies, for one data set.

    Parameters
    ----------
    epsilon_0 : float
        Budget of the frequencies, (25).
    epsilon_k, gamma : (K,) float64
        Budgets of the means, (23), and Wishart parameters, (22).
    frequencies : (J, K) float64
        The frequency vectors a release may show: pi(D) first, then S'(D) of (14).
    mapping : (J,) float64
        Column j* of F'; as printed, (26), it does not sum to one.
    objectives : tuple of float
        The objective after each iteration: (20a) of Algorithm 1, the expected divergence (8) of the exact design.
    """

    epsilon_0: float
    epsilon_k: np.ndarray
    gamma: np.ndarray
    frequencies: np.ndarray
    mapping: np.ndarray
    objectives: tuple[float, ...]


class KlRelease(LabelFlip):
    """Gaussian noise on means (5), Wishart on covariances (6), a random mapping of frequencies, by some design."""

    def design(self, private: LabelledRecords) -> Design:
        """Return the budgets and noise parameters for these records."""
        raise NotImplementedError

    def release(self, private: LabelledRecords, noise: NoiseSource, draws: int) -> Released:
        """Run the mechanism ``draws`` times; nothing needs projection.

        See :class:`~meterdp.mechanisms.interface.Mechanism`.
        """
        design, mixture = self.design(private), private.fit.mixture
        shapes = np.stack([s.matrix for s in private.shapes(self.public.sdp_solver)])
        scale = lemma_1_multiplier(design.epsilon_k, self.public.delta)
        # Gamma_k^-1 = scale_k^2 L_k M_k L_k' with Sigma_k = L_k L_k' and M_k the whitened shape.
        factors = scale[:, None, None] * np.linalg.cholesky(mixture.covariances) @ square_roots(shapes)
        mixtures = MixtureDraws(
            _mapped_frequencies(design, noise, draws),
            mixture.means + np.einsum("kij,rkj->rki", factors, noise.normal((draws, *mixture.means.shape))),
            mixture.covariances + _wishart_noise(design.gamma, mixture.dimension, noise, draws),
        )
        return Released(mixtures, np.zeros(draws, dtype=bool))


def neighbouring_frequencies(counts: np.ndarray) -> np.ndarray:
    """Return pi(D) and the frequency vectors S'(D) one label flip away, (14): (J, K) float64.

    J = K (K - 1) + 1, less K - 1 for each class of one record, whose flip would leave the set S.
    """
    k = len(counts)
    source, target = np.nonzero(~np.eye(k, dtype=bool) & (counts[:, None] > 1))
    flips = np.eye(k, dtype=np.int64)[target] - np.eye(k, dtype=np.int64)[source]
    return np.vstack([counts, counts + flips]) / counts.sum()


def members(private: LabelledRecords) -> np.ndarray:
    """Return N_k (K,), records labelled k, at least one: a component of an EM fit may label nobody."""
    return np.maximum(np.bincount(private.labels - 1, minlength=private.fit.mixture.classes), 1)


def traces(private: LabelledRecords, solver: str) -> np.ndarray:
    """Return the minimum (K,) of tr(Sigma_k^-1 Gamma_k^-1) in (23) at right-hand side one."""
    return np.array([np.trace(s.matrix) for s in private.shapes(solver)])


def expected_divergence(private: LabelledRecords, public: PublicSettings, design: Design) -> float:
    """Return the expected divergence (8) of a design, exactly and not by the bound (12), in nats.

    Parameters
    ----------
    private : LabelledRecords
    public : PublicSettings
    design : Design
        Its mapping is normalised, as in the release.
    """
    multiplier = lemma_1_multiplier(design.epsilon_k, public.delta)
    per_class = 0.5 * traces(private, public.sdp_solver) * multiplier**2 + private.covariance_costs.cost(design.gamma)
    divergences = design.frequencies * (np.log(design.frequencies / design.frequencies[0]) + per_class)
    return float(design.mapping / design.mapping.sum() @ divergences.sum(axis=1))


def _mapped_frequencies(design: Design, noise: NoiseSource, draws: int) -> np.ndarray:
    """Draw frequencies (R, K) from the normalised column of F', (26)."""
    cumulative = np.cumsum(design.mapping)
    return design.frequencies[np.searchsorted(cumulative, noise.uniform((draws,)) * cumulative[-1], side="right")]


def _wishart_noise(gamma: np.ndarray, d: int, noise: NoiseSource, draws: int) -> np.ndarray:
    """Draw W_k ~ Wishart_d(I / gamma_k, d + 1), (6), as G G' / gamma_k with d + 1 standard normal columns."""
    columns = noise.normal((draws, len(gamma), d, d + 1))
    return columns @ np.swapaxes(columns, -1, -2) / gamma[:, None, None]
