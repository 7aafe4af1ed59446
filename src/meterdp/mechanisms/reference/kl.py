"""The KL-minimising release of Liu et al., Algorithm 1 formula by formula: the reference, not for release.

Published family: the privacy claim is the paper's and does not hold (defects L1 to L13, docs/proofs/kl_published.md).
One departure is forced: (26) does not sum to one over outputs, so frequencies are drawn from its normalised column.
:class:`KlRelease`, how noise that was designed is added, also serves the exact design (``kl_exact.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meterdp.mechanisms.interface import PublicSettings, Released
from meterdp.mechanisms.reference.label_flip import LabelFlip, LabelledRecords, lemma_1_multiplier, square_roots
from meterdp.mixture.draws import MixtureDraws
from meterdp.privacy.noise import NoiseSource


@dataclass(frozen=True)
class Design:
    """Budgets, noise parameters and the random mapping of frequencies, for one data set."""

    epsilon_0: float  # budget of the frequencies, (25)
    epsilon_k: np.ndarray  # (K,) budgets of the means, (23)
    gamma: np.ndarray  # (K,) Wishart parameters, (22)
    frequencies: np.ndarray  # (J, K) vectors a release may show: pi(D) first, then S'(D) of (14)
    mapping: np.ndarray  # (J,) column j* of F'; as printed, (26), it does not sum to one
    # After each iteration: (20a) of Algorithm 1, the expected divergence (8) of the exact design.
    objectives: tuple[float, ...]


class KlRelease(LabelFlip):
    """Gaussian noise on means (5), Wishart on covariances (6), a random mapping of frequencies, by some design."""

    accountant: ClassVar[str] = "Theorem 1: sequential over parameters, parallel over classes, as published"

    def design(self, private: LabelledRecords) -> Design:
        """Return the budgets and noise parameters for these records."""
        raise NotImplementedError

    def release(self, private: LabelledRecords, noise: NoiseSource, draws: int) -> Released:
        design, mixture = self.design(private), private.fit.mixture
        shapes = np.stack([s.matrix for s in private.shapes])
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
    """Return N_k (K,), records labelled k, at least one: one of a mixture fitted elsewhere may label nobody."""
    return np.maximum(np.bincount(private.labels - 1, minlength=private.fit.mixture.classes), 1)


def traces(private: LabelledRecords) -> np.ndarray:
    """Return the minimum (K,) of tr(Sigma_k^-1 Gamma_k^-1) in (23) at right-hand side one."""
    return np.array([np.trace(s.matrix) for s in private.shapes])


def expected_divergence(private: LabelledRecords, public: PublicSettings, design: Design) -> float:
    """Return the expected divergence (8) of a design, its mapping normalised, exactly and not by (12), in nats."""
    multiplier = lemma_1_multiplier(design.epsilon_k, public.delta)
    per_class = 0.5 * traces(private) * multiplier**2 + private.covariance_costs.cost(design.gamma)
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


STOP = 1e-3
ITERATIONS = 100
# e^700 is about the largest float; a larger exponent would not change the normalised column.
LARGEST_EXPONENT = 700.0


def algorithm_1(
    public: PublicSettings, counts: np.ndarray, members: np.ndarray, covariances: np.ndarray, traces: np.ndarray
) -> Design:
    """Alternate (22), (23) and (25)-(27) until (20a) moves by no more than 1e-3.

    ``counts`` (K,) are N pi_k(D), ``members`` (K,) the records labelled k, which differ where the mixture was fitted
    by EM; ``covariances`` (K, d, d) are Sigma_k, ``traces`` (K,) the minimum of tr(Sigma_k^-1 Gamma_k^-1) in (23) at
    right-hand side one.
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
        mean_term = traces * lemma_1_multiplier(epsilon_k, public.delta) ** 2
        epsilon_0 = epsilon - (epsilon_k + wishart_budget).max()  # (25)
        per_class = 0.5 * (d * np.log(gamma) + (d + 1) / gamma * inverse_traces + mean_term)
        g = (frequencies * (np.log(frequencies / frequencies[0]) + per_class)).sum(axis=1)  # (12)
        exponent = min(epsilon_0, LARGEST_EXPONENT)
        mapping = 1 / (1 + neighbours * np.exp(np.where(g >= 0, exponent, -exponent)))  # (26)
        objectives.append(float(mapping @ g))
        if len(objectives) > 1 and abs(objectives[-1] - objectives[-2]) <= STOP:
            break
    return Design(epsilon_0, epsilon_k, gamma, frequencies, mapping, tuple(objectives))


class KlPublished(KlRelease):
    """Algorithm 1: the alternation as printed, which ends at its starting split (defect L9)."""

    name: ClassVar[str] = "kl_published"
    proof: ClassVar[str] = "docs/proofs/kl_published.md"

    def design(self, private: LabelledRecords) -> Design:
        fit = private.fit
        return algorithm_1(self.public, fit.counts, members(private), fit.mixture.covariances, traces(private))
