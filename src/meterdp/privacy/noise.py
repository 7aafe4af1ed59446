"""Where a mechanism's noise comes from: the protocol, and the source of a release.

Mechanisms never make a source; after the charge :mod:`meterdp.privacy.release` hands them one that gives out no more
than was charged. That of a release draws with exact samplers of OpenDP from the operating system's entropy, and has
no seed. Discrete Gaussian noise lives on one public grid, the same for every label and data set, and is added to
statistics that are exact multiples of it: neither the lattice nor a low bit tells anything
(docs/proofs/safe_noise.md).
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

# Sums of 2^22 records, the most that the gate lets through, of entries up to 3 (those of marginals) are below 2^52
# steps, and with their noise below 2^53: exact in a float64. A test holds the three numbers together.
GRID = 2.0**-28
# How far below its nominal value the probability of keeping a label may lie, so that its odds are never above e^a.
_LEAST_SLACK, _MOST_SLACK = 1e-15, 1e-6
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
    """Return the probability with which randomised response over so many groups reports the right one."""
    return 1 / (1 + (groups - 1) * math.exp(-assignment_epsilon))


class SafeNoise:
    """The :class:`ResponseSource` of a release."""

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

    def randomise(self, label: np.ndarray, groups: int, assignment_epsilon: float) -> np.ndarray:
        """Return (N,) labels 0..K-1 after randomised response that costs no more than stated; K is two or more."""
        respond = response(groups, assignment_epsilon)
        return np.array([respond(int(one)) for one in label], dtype=np.int64)


def response(groups: int, assignment_epsilon: float):
    """Return OpenDP's randomised response over 0..K-1, which by its own account costs at most ``assignment_epsilon``.

    Raises ArithmeticError if no probability near the nominal one does.
    """
    from opendp import measurements
    from opendp.mod import enable_features

    enable_features("contrib")
    nominal, slack = keep_probability(assignment_epsilon, groups), _LEAST_SLACK
    while slack <= _MOST_SLACK:
        keep = max(nominal - slack * min(nominal, 1 - nominal), 1 / groups)
        made = measurements.make_randomized_response(categories=list(range(groups)), prob=keep)
        if made.map(1) <= assignment_epsilon:
            return made
        slack *= 10
    raise ArithmeticError("labels cannot be randomised at that cost; nothing was released")


def discrete_gaussian(scale: float, count: int) -> np.ndarray:
    """Return ``count`` independent integers with P(n) proportional to exp(-n^2 / (2 scale^2)), (count,) int64.

    Exact for the rational number that ``scale`` is: Canonne, Kamath and Steinke's sampler over big integers.
    """
    from opendp import domains, measurements, metrics
    from opendp.mod import enable_features

    enable_features("contrib")
    space = domains.vector_domain(domains.atom_domain(T="i64")), metrics.l2_distance(T="f64")
    return np.array(measurements.make_gaussian(*space, scale=scale)([0] * count), dtype=np.int64)
