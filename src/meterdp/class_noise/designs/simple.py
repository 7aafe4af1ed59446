"""The designs without a search, white noise and none, and what the designs that move a query share.

White noise has the same variance for every label and entry: the baseline of section VI of Ramakrishna et al. Its
trace meets the accuracy budget (13) exactly (docs/proofs/white.md). No noise is the baseline of their Figs 2 and 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from meterdp.accounting.gaussian_loss import PairLosses
from meterdp.class_noise.query_models import Budget, ClassQueries, Noise


def white_noise(queries: ClassQueries, budget: Budget) -> Noise:
    """Return (trace / k) I for every label, (H, k, k); with the "total" convention the variance is rho / k."""
    variance = budget.squared_error(queries.entries) / queries.entries
    return Noise(np.broadcast_to(variance * np.eye(queries.entries), queries.covariance.shape).copy())


def no_noise(queries: ClassQueries, budget: Budget) -> Noise:
    """Return zero covariances, (H, k, k); the budget is not spent."""
    return Noise(np.zeros_like(queries.covariance))


# Share of the budget spent on white noise common to all labels, so that every released distribution has a density.
NOISE_FLOOR = 1e-3
# Distributions that meet do so up to rounding: gamma this close to one is one.
SAME = 1e-12


def within_budget(queries: ClassQueries, noise: Noise, allowed: float, alike: Sequence[np.ndarray] = ()) -> Noise:
    """Shrink what a design does to every label that is above the budget by rounding, until it is not.

    Moves and maps are shrunk towards doing nothing, which lowers the squared error quadratically; ``allowed`` is in
    (log kWh)^2. Groups of labels that share one covariance are ``alike``: they are shrunk alike, so that they share
    it to the last bit.
    """
    error = noise.squared_error(queries)
    above = error > allowed
    if not above.any():
        return noise
    factor = np.where(above, (1 - 1e-12) * np.sqrt(allowed / np.where(above, error, 1.0)), 1.0)
    for group in alike:
        factor[group] = factor[group].min()
    gain = noise.gain
    mean = queries.mean_log_kwh
    moved = noise.apply(mean) - mean
    if gain is not None:
        gain = np.eye(queries.entries) + factor[:, None, None] * (gain - np.eye(queries.entries))
    shift = mean + factor[:, None] * moved - (mean if gain is None else np.einsum("hij,hj->hi", gain, mean))
    covariance = factor[:, None, None] ** 2 * noise.covariance
    return within_budget(queries, Noise(covariance, shift, gain, noise.report), allowed, alike)


def alike(losses: PairLosses) -> PairLosses:
    """Return the losses with gamma set to one where rounding is all that keeps it from that."""
    return replace(losses, gamma=np.where(np.abs(losses.gamma - 1) <= SAME, 1.0, losses.gamma))
