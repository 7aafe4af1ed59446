"""Seeded numbers of simulations and studies, which hide nothing.

Streams are keyed, so results depend neither on the number of cores nor on shards.
"""

from __future__ import annotations

import hashlib

import numpy as np

from meterdp.privacy.noise import keep_probability


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
