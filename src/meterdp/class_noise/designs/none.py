"""No noise: the no-noise baseline of Fig. 2 and Fig. 4 of Ramakrishna et al."""

from __future__ import annotations

import numpy as np

from meterdp.class_noise.designs.interface import Budget, ClassQueries, Noise


def no_noise(queries: ClassQueries, budget: Budget) -> Noise:
    """Return zero covariances, (H, k, k); the budget is not spent."""
    return Noise(np.zeros_like(queries.covariance))
