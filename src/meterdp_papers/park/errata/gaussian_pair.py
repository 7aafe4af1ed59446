"""Delta of two Gaussian laws by hand, from the two tails: what findings by Gaussian DP are held against."""

from __future__ import annotations

import math

from scipy.stats import norm


def delta_from_tails(mu: float, epsilon: float) -> float:
    """Return delta at ``epsilon`` of normal laws whose means are ``mu`` standard deviations apart."""
    return float(norm.sf(epsilon / mu - mu / 2) - math.exp(epsilon) * norm.sf(epsilon / mu + mu / 2))
