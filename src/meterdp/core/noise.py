"""The interface through which a mechanism sees randomness, and the independent streams of a study.

Mechanisms never make a random source: :mod:`meterdp.release` hands them one, after it has decided whether a release
may happen. Study streams are keyed, so results depend neither on the number of cores nor on shards.
"""

from __future__ import annotations

import hashlib
import math
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


# A source with a grid adds up to so many steps exactly, and draws no larger noise (standard deviation).
MOST_STEPS = 2.0**52
MOST_STD_STEPS = 2.0**45


class ResponseSource(GaussianSource, Protocol):
    """What a mechanism may draw that randomises labels, too."""

    def randomise(self, label: np.ndarray, groups: int, assignment_epsilon: float) -> np.ndarray:
        """Return labels 0..K-1: each the given one with odds e^a against any other one (randomised response)."""


class NoiseSource(ResponseSource, Protocol):
    """What a mechanism may draw in a study."""

    def normal(self, shape: tuple[int, ...]) -> np.ndarray:
        """Independent standard normal numbers."""

    def laplace(self, shape: tuple[int, ...]) -> np.ndarray:
        """Independent Laplace numbers of scale one."""

    def uniform(self, shape: tuple[int, ...]) -> np.ndarray:
        """Independent numbers, uniform on [0, 1)."""


def keep_probability(assignment_epsilon: float, groups: int) -> float:
    """Return the probability with which randomised response over ``groups`` groups reports the right one."""
    return 1 / (1 + (groups - 1) * math.exp(-assignment_epsilon))


def randomised_response(label: np.ndarray, groups: int, assignment_epsilon: float, uniform: np.ndarray) -> np.ndarray:
    """Keep each label with probability p and otherwise move it to one of the others, all alike.

    Parameters
    ----------
    label : (N,) int array
        0..K-1.
    groups : int
        K, two or more.
    assignment_epsilon : float
        ln of the odds of the right label against any one other.
    uniform : (N,) float64
        Independent, uniform on [0, 1).
    """
    keep = keep_probability(assignment_epsilon, groups)
    each = keep * np.exp(-assignment_epsilon)
    others = np.clip((uniform - keep) / each, 0, groups - 2).astype(int)
    return np.where(uniform < keep, label, (label + 1 + others) % groups)


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


def fixed_uniforms(purpose: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return numbers uniform on [0, 1) that are the same for everybody, such as the order of folds; never noise."""
    return keyed_generator(0, "fixed numbers", purpose).random(shape)
