"""Study-mode noise: seeded streams, one per mechanism and parameter, so that a rerun is the same study.

Floating-point noise from a seeded generator protects nobody; it is good for measuring what a mechanism costs.
"""

from __future__ import annotations

import numpy as np

from meterdp.core.noise import keyed_generator


class StudyNoise:
    """A :class:`meterdp.core.noise.NoiseSource` of one keyed study stream.

    Parameters
    ----------
    seed : int
        Seed of the study.
    *keys : str or int
        Name of the stream; different names give independent numbers.
    """

    def __init__(self, seed: int, *keys: str | int):
        self._generator = keyed_generator(seed, "study noise", *keys)

    def normal(self, shape: tuple[int, ...]) -> np.ndarray:
        """Independent standard normal numbers."""
        return self._generator.standard_normal(shape)

    def laplace(self, shape: tuple[int, ...]) -> np.ndarray:
        """Independent Laplace numbers of scale one."""
        return self._generator.laplace(size=shape)

    def uniform(self, shape: tuple[int, ...]) -> np.ndarray:
        """Independent numbers, uniform on [0, 1)."""
        return self._generator.random(shape)


def study_release_ids(count: int, seed: int) -> np.ndarray:
    """Return ``count`` distinct random ids of 16 hexadecimal digits, unrelated to any meter id."""
    generator = keyed_generator(seed, "release ids")
    ids: dict[str, None] = {}
    while len(ids) < count:
        ids.setdefault(generator.bytes(8).hex())
    return np.array(list(ids))
