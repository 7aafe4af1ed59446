"""What it costs that noise is drawn on a grid: a margin on delta, proven in docs/proofs/safe_noise.md.

The discrete Gaussian of scale s steps differs from a Gaussian rounded to whole steps by at most (1 + 1e-9) / (8 s^2)
in total variation, for s of two or more. Rounding is post-processing: the curve of the Gaussian holds up to that.
"""

from __future__ import annotations

import math

# The sum of the normal density over whole steps exceeds one by less, from two steps on.
_LATTICE_EXCESS = 1e-9
# Beyond it e^epsilon overflows.
_MOST_EPSILON = 700.0
FEWEST_STEPS = 2.0
# What a release calibrates its margin for, and draws no finer noise than.
FEWEST_NOISE_STEPS = 2.0**25
_FLOAT_SLACK = 1e-9


def total_variation(std_steps: float) -> float:
    """Bound the total variation between one discrete Gaussian and a Gaussian rounded to whole steps.

    Parameters
    ----------
    std_steps : float
        Scale of both in steps of the grid, two or more.

    Raises
    ------
    ValueError
        For fewer than two steps, where nothing is proven.
    """
    if not std_steps >= FEWEST_STEPS:
        raise ValueError("the grid is too coarse for the noise")
    return (1 + _LATTICE_EXCESS) / (8 * std_steps**2)


def delta_margin(epsilon: float, entries: int, std_steps: float) -> float:
    """Return how much smaller delta must be when ``entries`` numbers are drawn on a grid, one after the other.

    Parameters
    ----------
    epsilon : float
    entries : int
        Noise entries of the whole release.
    std_steps : float
        Smallest standard deviation of any of them, in steps.
    """
    bound = math.exp(epsilon) if epsilon < _MOST_EPSILON else math.inf
    return (1 + bound) * entries * total_variation(std_steps)


def rounded(sensitivity: float, entries: int, grid: float) -> float:
    """Return the sensitivity of a stack whose records' vectors are rounded to a grid (docs/proofs/safe_noise.md).

    Each of two records is off by at most half a step an entry; the slack is for the floating-point vectors
    themselves, whose norm may exceed its bound by some units of rounding.
    """
    return sensitivity * (1 + _FLOAT_SLACK) + grid * math.sqrt(entries) if grid > 0 else sensitivity
