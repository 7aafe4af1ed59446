"""Where a mechanism's noise comes from: the protocol, and the source of a release.

Mechanisms never make a source; after the charge :mod:`meterdp.privacy.release` hands them one that gives out no more
than was charged. That of a release draws with exact samplers of OpenDP from the operating system's entropy, and has
no seed. Discrete Gaussian noise lives on one public grid, the same for every label and data set, and is added to
statistics that are exact multiples of it: neither the lattice nor a low bit tells anything
(docs/proofs/safe_noise.md).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

# Sums of 2^22 records, the most that the gate lets through, of entries up to 3 (those of marginals) are below 2^52
# steps, and with their noise below 2^53: exact in a float64. A test holds the three numbers together.
GRID = 2.0**-28
# A source with a grid adds up to so many steps exactly, and draws no larger noise (standard deviation).
MOST_STEPS = 2.0**52
MOST_STD_STEPS = 2.0**45


class GaussianSource(Protocol):
    """What a sound mechanism may draw: its only noise is Gaussian, added to exact statistics.

    Statistics and answers are whole multiples of ``grid``; it is 0 for any real numbers, which is for studies only.
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


class SafeNoise:
    """The :class:`GaussianSource` of a release."""

    grid = GRID

    def add_gaussian(self, exact: np.ndarray, std: float) -> np.ndarray:
        """Return multiples of the grid plus discrete Gaussian noise of a standard deviation in their unit.

        Raises ArithmeticError, with no value in its message, if an entry is off the grid or too large to stay exact.
        """
        steps = exact / self.grid
        if not 0 < std / self.grid <= MOST_STD_STEPS:
            raise ArithmeticError("the noise asked for does not fit the public grid; nothing was released")
        if not (np.abs(steps) < MOST_STEPS).all() or not np.array_equal(steps, np.rint(steps)):
            raise ArithmeticError("a statistic is not on the public grid, or too large for it; nothing was released")
        noisy = steps + discrete_gaussian(std / self.grid, steps.size).reshape(steps.shape)
        if not (np.abs(noisy) < 2 * MOST_STEPS).all():
            raise ArithmeticError("a noisy statistic is too large for the grid; nothing was released")
        return noisy * self.grid


def discrete_gaussian(scale: float, count: int) -> np.ndarray:
    """Return ``count`` independent integers with P(n) proportional to exp(-n^2 / (2 scale^2)), (count,) int64.

    Exact for the rational number that ``scale`` is: Canonne, Kamath and Steinke's sampler over big integers.
    """
    from opendp import domains, measurements, metrics
    from opendp.mod import enable_features

    enable_features("contrib")
    space = domains.vector_domain(domains.atom_domain(T="i64")), metrics.l2_distance(T="f64")
    return np.array(measurements.make_gaussian(*space, scale=scale)([0] * count), dtype=np.int64)
