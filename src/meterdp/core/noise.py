"""The interface through which a mechanism sees randomness, and the independent streams of a study.

Mechanisms never make a random source: :mod:`meterdp.release` hands them one, after it has decided whether a release
may happen. Study streams are keyed, so results depend neither on the number of cores nor on shards.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

import numpy as np


class GaussianSource(Protocol):
    """What a sound mechanism may draw: its only noise is Gaussian, added to exact statistics.

    Attributes
    ----------
    grid : float
        Statistics and answers are whole multiples of it; 0 for any real numbers, which is for studies only.
    """

    grid: float

    def add_gaussian(self, exact: np.ndarray, std: float) -> np.ndarray:
        """Return ``exact`` with independent Gaussian noise of standard deviation ``std`` on every entry."""


class NoiseSource(GaussianSource, Protocol):
    """What a mechanism may draw in a study."""

    def normal(self, shape: tuple[int, ...]) -> np.ndarray:
        """Independent standard normal numbers."""

    def laplace(self, shape: tuple[int, ...]) -> np.ndarray:
        """Independent Laplace numbers of scale one."""

    def uniform(self, shape: tuple[int, ...]) -> np.ndarray:
        """Independent numbers, uniform on [0, 1)."""


def keyed_generator(seed: int, *keys: str | int) -> np.random.Generator:
    """Return the generator of the stream named by ``keys``: same seed and keys, same numbers.

    For simulation and for study-mode noise only. A release never has a seed.
    """
    digest = hashlib.sha256("\0".join(str(k) for k in keys).encode()).digest()
    return np.random.default_rng([int(seed), *np.frombuffer(digest, dtype=np.uint32).tolist()])


def fixed_normals(purpose: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return standard normal numbers that are the same for everybody, such as start values of a search.

    They are public constants and hide nothing: never noise.
    """
    return keyed_generator(0, "fixed numbers", purpose).standard_normal(shape)
