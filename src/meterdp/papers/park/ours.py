"""Our own release on the records of Park et al., beside theirs; it takes no part in a verdict on the paper."""

from __future__ import annotations

import numpy as np

from meterdp.core.noise import NoiseSource
from meterdp.mixture.draws import Mixture

try:
    from meterdp.mechanisms.sound.ball import fit_ball
except ModuleNotFoundError:  # not yet part of this version: tables then have no line "sound"
    fit_ball = None


def fit_ours(x: np.ndarray, classes: int, epsilon: float, delta: float, noise: NoiseSource) -> Mixture | None:
    """Return the mixture that ``sound`` releases from records (N, d) in the unit ball; None where it cannot."""
    return None if fit_ball is None else fit_ball(x, classes, epsilon, delta, noise, radius=1.0)
