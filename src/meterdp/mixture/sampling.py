"""Sample records from a Gaussian mixture: synthetic load profiles are post-processing of a released mixture."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from meterdp.core.noise import fixed_normals
from meterdp.mixture.draws import Mixture
from meterdp.privacy.noise import NoiseSource


def sample(mixture: Mixture, n: int, noise: NoiseSource) -> tuple[np.ndarray, np.ndarray]:
    """Draw independent records from ``mixture``.

    Parameters
    ----------
    mixture : Mixture
    n : int
        Number of records.
    noise : NoiseSource
        Source of uniform and normal numbers.

    Returns
    -------
    x : (n, d) float64
        Records, log kWh.
    labels : (n,) int32
        Their classes, 1..K.
    """
    cumulative = np.cumsum(mixture.weights)
    index = np.searchsorted(cumulative, noise.uniform((n,)) * cumulative[-1], side="right")
    z = noise.normal((n, mixture.dimension))
    lower = np.linalg.cholesky(mixture.covariances)
    x = np.empty_like(z)
    for k in range(mixture.classes):
        rows = index == k
        x[rows] = mixture.means[k] + z[rows] @ lower[k].T
    return x, (index + 1).astype(np.int32)


class FixedNumbers:
    """Public numbers in the place of random ones; classes are hit as often as their weights say."""

    def normal(self, shape: tuple[int, ...]) -> np.ndarray:
        return _fixed_normals(shape)

    def uniform(self, shape: tuple[int, ...]) -> np.ndarray:
        return (np.arange(shape[0]) + 0.5) / shape[0]


@lru_cache(maxsize=4)
def _fixed_normals(shape: tuple[int, ...]) -> np.ndarray:
    return fixed_normals("profiles of a mixture", shape)
