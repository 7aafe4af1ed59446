"""Gaussian differential privacy: the exact cost of Gaussian noise, and its cost on a grid.

A Gaussian mechanism of l2 sensitivity D and standard deviation s is mu-GDP with mu = D/s, any adaptive sequence of
them is mu-GDP with mu^2 the sum of the squares, and mu-GDP is (epsilon, delta)-DP exactly when delta is at least
:func:`delta` (Dong, Roth and Su 2022; Balle and Wang 2018). Values are computed in log space and keep nine digits of
delta down to the smallest float.

A discrete Gaussian of scale s steps differs from a Gaussian rounded to whole steps by at most (1 + 1e-9) / (8 s^2) in
total variation, for s of two or more; the curve holds up to that (docs/proofs/safe_noise.md).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr

# What guarantees call this accountant.
STEPS = "Gaussian DP, exact conversion"

# Bound on the relative error of delta, checked against 100-digit arithmetic in the tests; inverses leave that room.
RELATIVE_ERROR = 1e-9
SQRT2 = math.sqrt(2.0)
# Below this argument erfcx overflows; there the two terms differ by orders of magnitude and need no care.
ERFCX_FROM = -20.0
# Below this mu the two terms nearly cancel and their difference is integrated instead.
SMALL_MU = 0.5
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(12)
_FROM_LEFT = _NODES + 1
_SQRT_HALF_PI = math.sqrt(math.pi / 2)
# From here on the asymptotic series of the Mills ratio is exact to rounding.
_SERIES_FROM = 50.0
# ln delta is below -1e200 from here on.
NOTHING_FROM = 1e100
# The sum of the normal density over whole steps exceeds one by less, from two steps on.
_LATTICE_EXCESS = 1e-9
# Beyond it e^epsilon overflows.
_LARGEST_EPSILON = 700.0
FEWEST_STEPS = 2.0
# What a release calibrates its margin for, and draws no finer noise than.
FEWEST_NOISE_STEPS = 2.0**25
_FLOAT_SLACK = 1e-9


def log_delta(mu: float, epsilon: float) -> float:
    """Return ln delta(mu, epsilon) in [-inf, 0], delta = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2).

    mu = 0 is perfect privacy, mu = infinity none; epsilon is non-negative and may be infinite.
    """
    _check(mu=mu, epsilon=epsilon)
    if mu == 0 or epsilon == math.inf:
        return -math.inf
    if mu == math.inf:
        return 0.0
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if near > NOTHING_FROM:
        return -math.inf
    if mu <= SMALL_MU:
        log_density = -0.5 * near * near - 0.5 * math.log(2 * math.pi)
        return log_density + math.log(mills_drop(near, mu))
    first = float(log_ndtr(-near))
    # e^epsilon Phi(-far) / Phi(-near) is a ratio of Mills ratios, since phi(near) = e^epsilon phi(far); taking the
    # ratio of scaled functions avoids subtracting two logarithms of the size of near^2.
    if near > ERFCX_FROM:
        ratio = float(erfcx(far / SQRT2) / erfcx(near / SQRT2))
    else:
        ratio = math.exp(epsilon + float(log_ndtr(-far)) - first)
    return first + math.log1p(-ratio)


def mills_drop(near, width):
    """Return m(near) - m(near + width) for the Mills ratio m, by quadrature of -m'(s) = 1 - s m(s).

    Numbers, or (n,) arrays of them.
    """
    s = np.asarray(near)[..., None] + np.multiply.outer(width, _FROM_LEFT / 2)
    if s.max() <= _SERIES_FROM:
        return width / 2 * (_erfcx_slope(s) @ _NODE_WEIGHTS)
    q = np.maximum(s, _SERIES_FROM) ** -2
    series = q * (1 - 3 * q * (1 - 5 * q * (1 - 7 * q * (1 - 9 * q))))
    return width / 2 * (np.where(s > _SERIES_FROM, series, _erfcx_slope(s)) @ _NODE_WEIGHTS)


def _erfcx_slope(s: np.ndarray) -> np.ndarray:
    return 1 - s * _SQRT_HALF_PI * erfcx(s / SQRT2)


def delta(mu: float, epsilon: float) -> float:
    """Return the exact delta of a mu-GDP mechanism at ``epsilon``; see :func:`log_delta`."""
    return math.exp(log_delta(mu, epsilon))


def mu_for(epsilon: float, delta: float) -> float:
    """Return the largest mu that is (epsilon, delta)-DP: ``delta(mu, epsilon) <= delta`` with room for rounding.

    0 for delta = 0, since Gaussian noise of any size is not pure DP; infinity where nothing is asked.
    """
    _check(epsilon=epsilon, delta=delta)
    if delta > 1:
        raise ValueError("delta is above one")
    if delta == 0:
        return 0.0
    if delta == 1 or epsilon == math.inf:
        return math.inf
    return _largest_mu(float(epsilon), float(delta))


@lru_cache(maxsize=4096)  # plans ask for the same budget again and again
def _largest_mu(epsilon: float, delta: float) -> float:
    target = math.log(delta) - RELATIVE_ERROR
    low = high = max(epsilon, delta)
    while log_delta(low, epsilon) > target:
        low /= 2
    while log_delta(high, epsilon) <= target:
        high *= 2
    mu = brentq(lambda m: log_delta(m, epsilon) - target, low, high, xtol=1e-320, rtol=1e-14)
    step = 1e-14
    while log_delta(mu, epsilon) > target:
        mu *= 1 - step
        step *= 2
    return mu


def epsilon_for(mu: float, delta: float) -> float:
    """Return the smallest epsilon at which a mu-GDP mechanism keeps ``delta``, with room for rounding.

    Infinity for delta = 0, unless mu is 0.
    """
    _check(mu=mu, delta=delta)
    if delta > 1:
        raise ValueError("delta is above one")
    if mu == 0 or delta == 1:
        return 0.0
    if delta == 0 or mu == math.inf:
        return math.inf
    target = math.log(delta) - RELATIVE_ERROR
    if log_delta(mu, 0.0) <= target:
        return 0.0
    high = mu * (mu + 1)
    while log_delta(mu, high) > target:
        high *= 2
        if high == math.inf:
            return high
    epsilon = brentq(lambda e: log_delta(mu, e) - target, 0.0, high, xtol=1e-320, rtol=1e-14)
    step = 1e-14
    while log_delta(mu, epsilon) > target:
        epsilon *= 1 + step
        step *= 2
    return epsilon


def compose(*mus: float) -> float:
    """Return the GDP parameter of an adaptive sequence of mu-GDP steps, sqrt(sum mu^2)."""
    return math.hypot(*mus)


def _check(**values: float) -> None:
    for name, value in values.items():
        if not value >= 0:  # also refuses NaN
            raise ValueError(f"{name} is negative or not a number")


def total_variation(std_steps: float) -> float:
    """Bound the total variation between a discrete Gaussian of so many steps, two or more, and a rounded Gaussian.

    Raises ValueError for fewer than two steps, where nothing is proven.
    """
    if not std_steps >= FEWEST_STEPS:
        raise ValueError("the grid is too coarse for the noise")
    return (1 + _LATTICE_EXCESS) / (8 * std_steps**2)


def delta_margin(epsilon: float, entries: int, std_steps: float) -> float:
    """Return how much smaller delta must be when ``entries`` numbers are drawn on a grid, one after the other.

    ``entries`` are those of the whole release, ``std_steps`` the smallest standard deviation among them, in steps.
    """
    bound = math.exp(epsilon) if epsilon < _LARGEST_EPSILON else math.inf
    return (1 + bound) * entries * total_variation(std_steps)


def rounded(sensitivity: float, entries: int, grid: float) -> float:
    """Return the sensitivity of a stack whose records' vectors are rounded to a grid (docs/proofs/safe_noise.md).

    Each of two records is off by at most half a step an entry; the slack is for the floating-point vectors
    themselves, whose norm may exceed its bound by some units of rounding.
    """
    return sensitivity * (1 + _FLOAT_SLACK) + grid * math.sqrt(entries) if grid > 0 else sensitivity
