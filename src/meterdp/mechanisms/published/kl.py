"""The KL-minimising release of Liu et al., Algorithm 1 formula by formula: the reference, not for release.

Published family: the privacy claim is the paper's and does not hold (defects L1 to L13, docs/proofs/kl_published.md).
One departure is forced: (26) does not sum to one over outputs, so frequencies are drawn from its normalised column.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from meterdp.mechanisms.interface import PublicSettings
from meterdp.mechanisms.published.kl_release import Design, KlRelease, members, neighbouring_frequencies, traces
from meterdp.mechanisms.published.label_flip import lemma_1_multiplier
from meterdp.mechanisms.published.labelled import LabelledRecords

STOP = 1e-3
ITERATIONS = 100
# e^700 is about the largest float; a larger exponent would not change the normalised column.
LARGEST_EXPONENT = 700.0


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
    accountant: ClassVar[str] = "Theorem 1: sequential over parameters, parallel over classes, as published"
    proof: ClassVar[str] = "docs/proofs/kl_published.md"

    def design(self, private: LabelledRecords) -> Design:
        """Return the budgets and noise parameters of Algorithm 1 for these records."""
        fit, solver = private.fit, self.public.sdp_solver
        return algorithm_1(
            self.public, fit.counts, members(private), fit.mixture.covariances, traces(private, solver)
        )
