"""Gaussian mixtures as records: one mixture, and many perturbed mixtures of the same shape; records sampled
from one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from meterdp.core.noise import fixed_normals
from meterdp.privacy.noise import NoiseSource


@dataclass(frozen=True)
class Mixture:
    """One Gaussian mixture, (1) of Liu et al."""

    weights: np.ndarray  # (K,)
    means: np.ndarray  # (K, d), log kWh
    covariances: np.ndarray  # (K, d, d), (log kWh)^2, symmetric positive definite

    @property
    def classes(self) -> int:
        """Number K."""
        return self.means.shape[-2]

    @property
    def dimension(self) -> int:
        """Number d of entries of a record."""
        return self.means.shape[-1]


@dataclass(frozen=True)
class MixtureDraws:
    """R mixtures released by R runs of one mechanism, (7) of Liu et al.: R times the arrays of :class:`Mixture`."""

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    def __len__(self) -> int:
        return len(self.weights)

    def draw(self, index: int) -> Mixture:
        return Mixture(self.weights[index], self.means[index], self.covariances[index])

    def slice(self, start: int, stop: int) -> MixtureDraws:
        """Return the draws ``start`` to ``stop`` (excluded)."""
        return MixtureDraws(self.weights[start:stop], self.means[start:stop], self.covariances[start:stop])

    def take(self, order: np.ndarray) -> MixtureDraws:
        """Return the draws with their classes in the given order, (R, K) int."""
        return MixtureDraws(
            np.take_along_axis(self.weights, order, axis=1),
            np.take_along_axis(self.means, order[..., None], axis=1),
            np.take_along_axis(self.covariances, order[..., None, None], axis=1),
        )

    @classmethod
    def join(cls, parts: list[MixtureDraws]) -> MixtureDraws:
        return cls(*(np.concatenate([getattr(p, f) for p in parts]) for f in ("weights", "means", "covariances")))

    @classmethod
    def single(cls, mixture: Mixture) -> MixtureDraws:
        return cls(mixture.weights[None], mixture.means[None], mixture.covariances[None])


def sample(mixture: Mixture, n: int, noise: NoiseSource) -> tuple[np.ndarray, np.ndarray]:
    """Draw n independent records (n, d), log kWh, and their classes 1..K, (n,) int32."""
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
