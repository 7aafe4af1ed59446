"""Random numbers that hide what a node sends, straight from the operating system.

No generator stands between: from what a neighbour is told of a generator like PCG64 the rest of its numbers could be
worked out. They protect sums while they are formed; the noise of a release is drawn in meterdp.release only.
"""

from __future__ import annotations

import os

import numpy as np
from scipy.special import ndtri


def uniform_words(size: int) -> np.ndarray:
    """Return independent whole numbers, uniform modulo 2^64."""
    return np.frombuffer(os.urandom(8 * size), dtype="<u8").astype(np.uint64)


def normal_numbers(shape: tuple[int, ...]) -> np.ndarray:
    """Return independent standard normal numbers: quantiles of the middles of 2^53 equal parts of [0, 1]."""
    words = uniform_words(int(np.prod(shape)))
    return ndtri(((words >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53).reshape(shape)
