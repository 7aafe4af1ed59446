"""Noise that may protect somebody: the exact discrete Gaussian of OpenDP, from the operating system's entropy.

It lives on one public grid, the same for every label and data set, and is added to statistics that are exact
multiples of it: neither the lattice nor a low bit tells anything (docs/proofs/safe_noise.md). There is no seed.
"""

from __future__ import annotations

import numpy as np

# Sums of a million records, each of norm below two, and their noise stay below 2^53 steps and so exact in a float64.
GRID = 2.0**-28
_EXACT_STEPS = 2.0**52
# Of larger noise a whole number might not fit into a float64.
_MOST_STD_STEPS = 2.0**45


class SafeNoise:
    """The :class:`meterdp.core.noise.GaussianSource` of a release."""

    grid = GRID

    def add_gaussian(self, exact: np.ndarray, std: float) -> np.ndarray:
        """Return ``exact`` plus discrete Gaussian noise, on the grid.

        Parameters
        ----------
        exact : float64 array
            Whole multiples of the grid.
        std : float
            Standard deviation of the noise, in the unit of ``exact``.

        Raises
        ------
        ArithmeticError
            If an entry is not on the grid or too large to stay exact. The message holds no value.
        """
        steps = exact / self.grid
        if not 0 < std / self.grid <= _MOST_STD_STEPS:
            raise ArithmeticError("the noise asked for does not fit the public grid; nothing was released")
        if not (np.abs(steps) < _EXACT_STEPS).all() or not np.array_equal(steps, np.rint(steps)):
            raise ArithmeticError("a statistic is not on the public grid, or too large for it; nothing was released")
        noisy = steps + discrete_gaussian(std / self.grid, steps.size).reshape(steps.shape)
        if not (np.abs(noisy) < 2 * _EXACT_STEPS).all():
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
