"""Our own release on the records of Park et al., beside theirs; it takes no part in a verdict on the paper."""

from __future__ import annotations

import numpy as np

from meterdp.core.noise import GaussianSource
from meterdp.mechanisms.sound.ball import fit_ball
from meterdp.mixture.draws import Mixture


def fit_ours(x: np.ndarray, classes: int, epsilon: float, delta: float, noise: GaussianSource) -> Mixture:
    """Return the mixture that ``sound`` releases from records (N, d) in the unit ball."""
    return fit_ball(x, classes, epsilon, delta, noise, radius=1.0).mixture
