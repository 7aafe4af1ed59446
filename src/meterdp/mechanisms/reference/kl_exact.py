"""The release of Liu et al. with its own constraint and its true objective: how good the published idea can be.

Exact family, not for release: (9)-(11) bind as printed, so every defect of the privacy claim stays. What changes is
the optimisation. The divergence (8) is minimised itself, not the bound (12) (defect L8), and over the whole split of
epsilon at once, which the alternation of Algorithm 1 never leaves (defect L9). Proof note: docs/proofs/kl_exact.md.
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np

from meterdp.mechanisms.reference.kl import (
    Design,
    KlRelease,
    expected_divergence,
    members,
    neighbouring_frequencies,
    traces,
)
from meterdp.mechanisms.reference.label_flip import CovarianceCosts, LabelledRecords
from meterdp.privacy.guarantee import Family

# (20e) asks for epsilon_0 > 0 only; this share of epsilon stands for its infimum.
EPSILON_0_SHARE = 1e-6
STOP = 1e-9
ITERATIONS = 100


def best_split(budget: float, mean_costs: np.ndarray, members: np.ndarray, costs: CovarianceCosts) -> np.ndarray:
    """Minimise a_k / eps_k^2 + h_k(gamma_k) subject to eps_k + 3 gamma_k / (2 N_k) = budget, per class.

    The budget is epsilon - epsilon_0, ``mean_costs`` (K,) are a_k = ln(2/delta) times the minimum trace of (23) at
    right-hand side one. Returned is ln(eps_k / (budget - eps_k)), the logit (K,) of the share of the means.

    Both terms are convex in eps_k, so the optimum is where the slopes agree: with c_k = 2 N_k / 3, 2 a_k / eps_k^3 =
    -c_k h_k'(gamma_k). The difference of the logarithms of both sides rises in the logit with a slope between 2 and
    3, so a Newton step leaves at most half of the error, from wherever it starts.
    """
    rate = 2 * members / 3
    target = np.log(2 * np.maximum(mean_costs, np.finfo(float).tiny)) - np.log(rate)
    logit = np.zeros(len(members))
    for _ in range(ITERATIONS):
        share = 1 / (1 + np.exp(-logit))
        slope, curvature = costs.log_slope(rate * budget / (1 + np.exp(logit)))
        step = (slope + 3 * np.log(budget * share) - target) / (3 * (1 - share) - share * curvature)
        logit -= step
        if np.abs(step).max() < STOP:
            break
    return logit


class KlExact(KlRelease):
    """The split of epsilon that minimises the expected divergence (8) under (9), (10) and (16)."""

    name: ClassVar[str] = "kl_exact"
    family: ClassVar[Family] = "exact"
    proof: ClassVar[str] = "docs/proofs/kl_exact.md"

    def design(self, private: LabelledRecords) -> Design:
        """Return the budgets and noise parameters that minimise (8) for these records.

        The frequencies are mapped uniformly onto pi(D) and S'(D): what (26) becomes as epsilon_0 falls to zero,
        whatever the signs in it. Their part of (8) and the weights of the classes do not depend on the split, so each
        class is optimised by itself.
        """
        public, fit = self.public, private.fit
        epsilon_0 = EPSILON_0_SHARE * public.epsilon
        budget, count = public.epsilon - epsilon_0, members(private)
        mean_costs = math.log(2 / public.delta) * traces(private)
        logit = best_split(budget, mean_costs, count, private.covariance_costs)
        frequencies = neighbouring_frequencies(fit.counts)
        design = Design(
            epsilon_0,
            budget / (1 + np.exp(-logit)),
            2 * count / 3 * budget / (1 + np.exp(logit)),
            frequencies,
            np.full(len(frequencies), 1 / len(frequencies)),
            (),
        )
        return dataclasses.replace(design, objectives=(expected_divergence(private, public, design),))
