"""White noise of the same variance for every label and entry: the baseline of section VI of Ramakrishna et al.

Its trace meets the accuracy budget (13) exactly. Proof note: docs/proofs/white.md.
"""

from __future__ import annotations

import numpy as np

from meterdp.class_noise.designs.interface import Budget, ClassQueries, Noise


def white_noise(queries: ClassQueries, budget: Budget) -> Noise:
    """Return (trace / k) I for every label, (H, k, k); with the "total" convention the variance is rho / k."""
    variance = budget.squared_error(queries.entries) / queries.entries
    return Noise(np.broadcast_to(variance * np.eye(queries.entries), queries.covariance.shape).copy())
