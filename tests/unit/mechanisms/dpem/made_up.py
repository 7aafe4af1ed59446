"""Made-up records in the unit ball, and noise sources that tests can look into."""

from __future__ import annotations

import numpy as np

from meterdp.core.noise import StudyNoise
from meterdp.mechanisms.dpem.mechanism import to_unit_ball


def clusters(n: int, d: int, k: int, seed: int = 0, width: float = 0.1) -> np.ndarray:
    """Return (n, d) records of k round clusters in the unit ball."""
    rng = np.random.default_rng([seed, n, d, k])
    means = rng.normal(size=(k, d)) / np.sqrt(d) * 0.6
    x = means[rng.integers(0, k, n)] + width * rng.normal(size=(n, d)) * np.linspace(1, 0.3, d)
    return to_unit_ball(x, 1.0)


class NotedNoise(StudyNoise):
    """Study noise that keeps what was drawn, by distribution."""

    def __init__(self, *keys):
        super().__init__(0, *keys)
        self.drawn: list[tuple[str, np.ndarray]] = []

    def normal(self, shape):
        """Draw and keep."""
        self.drawn.append(("gaussian", super().normal(shape)))
        return self.drawn[-1][1]

    def laplace(self, shape):
        """Draw and keep."""
        self.drawn.append(("laplace", super().laplace(shape)))
        return self.drawn[-1][1]
