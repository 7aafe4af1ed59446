"""Seeded numbers of simulations and studies, which hide nothing.

Streams are keyed, so results depend neither on the number of cores nor on shards.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

import numpy as np


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


class _Numbers:
    """Independent numbers of a shape: standard normal, or uniform on [0, 1)."""

    def __init__(self, generator: np.random.Generator):
        self._generator = generator

    def normal(self, shape: tuple[int, ...]) -> np.ndarray:
        return self._generator.standard_normal(shape)

    def uniform(self, shape: tuple[int, ...]) -> np.ndarray:
        return self._generator.random(shape)


class StudyNoise(_Numbers):
    """A :class:`meterdp.privacy.noise.NoiseSource` of one study stream, named by seed and keys."""

    grid = 0.0

    def __init__(self, seed: int, *keys: str | int):
        super().__init__(keyed_generator(seed, "study noise", *keys))

    def add_gaussian(self, exact: np.ndarray, std: float) -> np.ndarray:
        return exact + std * self.normal(exact.shape)

    def laplace(self, shape: tuple[int, ...]) -> np.ndarray:
        """Independent Laplace numbers of scale one."""
        return self._generator.laplace(size=shape)


class FreshNumbers(_Numbers):
    """Ordinary random numbers for what is post-processing, such as sampling a released mixture; never noise.

    Seeded by the operating system and not repeatable.
    """

    def __init__(self):
        super().__init__(np.random.default_rng())


def new_salt() -> str:
    """Return 32 random hexadecimal digits from the operating system: the private key of a study's release ids."""
    return secrets.token_hex(16)


def new_ids(count: int) -> list[str]:
    """Return different random names of 16 hexadecimal digits from the operating system."""
    ids: dict[str, None] = {}
    while len(ids) < count:
        ids[secrets.token_hex(8)] = None
    return list(ids)


def salted_ids(salt: str, household: np.ndarray) -> np.ndarray:
    """Return one release id of 16 hexadecimal digits per household, (H,) str.

    A keyed hash of the dense index: stable as long as the salt is kept, and without the salt neither the ids nor
    their order say anything about households. ValueError if two ids collide, which for a million households happens
    once in thirty million studies.
    """
    key = bytes.fromhex(salt)
    ids = np.array([hmac.new(key, f"release id {int(h)}".encode(), "sha256").hexdigest()[:16] for h in household])
    if np.unique(ids).size != ids.size:
        raise ValueError("two release ids collide; delete the salt and run again")
    return ids
