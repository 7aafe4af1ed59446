"""The KL-minimising release of Liu et al., Algorithm 1 formula by formula: the reference, not for release.

Published family: the privacy claim is the paper's and does not hold (defects L1 to L12, docs/proofs/kl_published.md).
One departure is forced: (26) does not sum to one over outputs, so frequencies are drawn from its normalised column.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meterdp.core.noise import NoiseSource
from meterdp.mechanisms.interface import Family, Guarantee, LabelledRecords, PublicSettings, Released
from meterdp.mixture.draws import Mixture, MixtureDraws

STOP = 1e-3
ITERATIONS = 100


@dataclass(frozen=True)
class Design:
    """What Algorithm 1 returns: budgets, noise parameters and the random mapping of frequencies.

    Parameters
    ----------
    epsilon_0 : float
        Budget of the frequencies, (25).
    epsilon_k, gamma : (K,) float64
        Budgets of the means, (23), and Wishart parameters, (22).
    frequencies : (J, K) float64
        The frequency vectors a release may show: pi(D) first, then S'(D) of (14).
    mapping : (J,) float64
        Column j* of F', (26), as printed: it does not sum to one.
    objectives : tuple of float
        (20a) after each iteration.
    """

    epsilon_0: float
    epsilon_k: np.ndarray
    gamma: np.ndarray
    frequencies: np.ndarray
    mapping: np.ndarray
    objectives: tuple[float, ...]


def neighbouring_frequencies(counts: np.ndarray) -> np.ndarray:
    """Return pi(D) and the frequency vectors S'(D) one label flip away, (14): (J, K) float64.

    J = K (K - 1) + 1, less K - 1 for each class of one record, whose flip would leave the set S.
    """
    k = len(counts)
    source, target = np.nonzero(~np.eye(k, dtype=bool) & (counts[:, None] > 1))
    flips = np.eye(k, dtype=np.int64)[target] - np.eye(k, dtype=np.int64)[source]
    return np.vstack([counts, counts + flips]) / counts.sum()


def algorithm_1(
    public: PublicSettings, counts: np.ndarray, members: np.ndarray, covariances: np.ndarray, traces: np.ndarray
) -> Design:
    """Alternate (22), (23) and (25)-(27) until (20a) moves by no more than 1e-3.

    Parameters
    ----------
    public : PublicSettings
    counts : (K,) int
        N pi_k(D).
    members : (K,) int
        N_k, records labelled k; equal to ``counts`` unless the mixture was fitted by EM.
    covariances : (K, d, d) float64
        Sigma_k.
    traces : (K,) float64
        Minimum of tr(Sigma_k^-1 Gamma_k^-1) in (23) at right-hand side one.

    Returns
    -------
    Design
    """
    epsilon, d = public.epsilon, covariances.shape[-1]
    k = len(counts)
    inverse_traces = np.trace(np.linalg.inv(covariances), axis1=1, axis2=2)
    frequencies = neighbouring_frequencies(counts)
    neighbours = len(frequencies) - 1
    epsilon_0, epsilon_k = epsilon / 3, np.full(k, epsilon / 3)
    objectives: list[float] = []
    for _ in range(ITERATIONS):
        gamma = np.minimum((d + 1) / d * inverse_traces, 2 * members * (epsilon - epsilon_0 - epsilon_k) / 3)  # (22)
        wishart_budget = 3 * gamma / (2 * members)
        epsilon_k = epsilon - epsilon_0 - wishart_budget  # (23) is tight, M scales as 1/eps_k^2
        mean_term = traces * 2 * math.log(2 / public.delta) / epsilon_k**2
        epsilon_0 = epsilon - (epsilon_k + wishart_budget).max()  # (25)
        per_class = 0.5 * (d * np.log(gamma) + (d + 1) / gamma * inverse_traces + mean_term)
        g = (frequencies * (np.log(frequencies / frequencies[0]) + per_class)).sum(axis=1)  # (12)
        mapping = 1 / (1 + neighbours * np.exp(np.where(g >= 0, epsilon_0, -epsilon_0)))  # (26)
        objectives.append(float(mapping @ g))
        if len(objectives) > 1 and abs(objectives[-1] - objectives[-2]) <= STOP:
            break
    return Design(epsilon_0, epsilon_k, gamma, frequencies, mapping, tuple(objectives))


@dataclass(frozen=True)
class KlPublished:
    """Algorithm 1: Gaussian noise on means (5), Wishart on covariances (6), a random mapping of frequencies."""

    public: PublicSettings
    name: ClassVar[str] = "kl_published"
    family: ClassVar[Family] = "published"

    @classmethod
    def calibrate(cls, public: PublicSettings) -> KlPublished:
        """Keep the public settings; Algorithm 1 itself takes the data as input (defect L4)."""
        return cls(public)

    @property
    def guarantee(self) -> Guarantee:
        """The claim of Theorem 1, which the proof note refutes."""
        return Guarantee(
            unit="class label of one household",
            adjacency="label_flip",
            epsilon=self.public.epsilon,
            delta=self.public.delta,
            accountant="Theorem 1: sequential over parameters, parallel over classes, as published",
            proof="docs/proofs/kl_published.md",
            family=self.family,
        )

    def design(self, private: LabelledRecords) -> Design:
        """Return the budgets and noise parameters of Algorithm 1 for these records."""
        fit = private.fit
        members = np.maximum(np.bincount(fit.labels - 1, minlength=fit.mixture.classes), 1)
        traces = np.array([np.trace(s.matrix) for s in private.shapes(self.public.sdp_solver)])
        return algorithm_1(self.public, fit.counts, members, fit.mixture.covariances, traces)

    def release(self, private: LabelledRecords, noise: NoiseSource, draws: int) -> Released:
        """Run Algorithm 1 ``draws`` times; nothing needs projection.

        See :class:`~meterdp.mechanisms.interface.Mechanism`.
        """
        design, mixture = self.design(private), private.fit.mixture
        shapes = np.stack([s.matrix for s in private.shapes(self.public.sdp_solver)])
        scale = np.sqrt(2 * math.log(2 / self.public.delta)) / design.epsilon_k
        mixtures = MixtureDraws(
            _mapped_frequencies(design, noise, draws),
            mixture.means + _gaussian_noise(mixture, shapes, scale, noise, draws),
            mixture.covariances + _wishart_noise(mixture, design.gamma, noise, draws),
        )
        return Released(mixtures, np.zeros(draws, dtype=bool))


def _mapped_frequencies(design: Design, noise: NoiseSource, draws: int) -> np.ndarray:
    """Draw frequencies (R, K) from the normalised column of F', (26)."""
    cumulative = np.cumsum(design.mapping)
    return design.frequencies[np.searchsorted(cumulative, noise.uniform((draws,)) * cumulative[-1], side="right")]


def _gaussian_noise(
    mixture: Mixture, shapes: np.ndarray, scale: np.ndarray, noise: NoiseSource, draws: int
) -> np.ndarray:
    """Draw w_k ~ N(0, Gamma_k^-1), (5), with Gamma_k^-1 = scale_k^2 L_k M_k L_k' and Sigma_k = L_k L_k'."""
    values, vectors = np.linalg.eigh(shapes)
    root = vectors * np.sqrt(np.maximum(values, 0))[:, None, :]  # M_k may be singular
    factor = scale[:, None, None] * np.linalg.cholesky(mixture.covariances) @ root
    return np.einsum("kij,rkj->rki", factor, noise.normal((draws, *mixture.means.shape)))


def _wishart_noise(mixture: Mixture, gamma: np.ndarray, noise: NoiseSource, draws: int) -> np.ndarray:
    """Draw W_k ~ Wishart_d(I / gamma_k, d + 1), (6), as G G' / gamma_k with d + 1 standard normal columns."""
    k, d = mixture.means.shape
    columns = noise.normal((draws, k, d, d + 1))
    return columns @ np.swapaxes(columns, -1, -2) / gamma[:, None, None]
