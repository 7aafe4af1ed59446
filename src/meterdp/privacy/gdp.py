"""Gaussian differential privacy: the exact cost of Gaussian noise (Dong, Roth and Su 2022; Balle and Wang 2018).

A Gaussian mechanism of l2 sensitivity D and standard deviation s is mu-GDP with mu = D/s, any adaptive sequence of
them is mu-GDP with mu^2 the sum of the squares, and mu-GDP is (epsilon, delta)-DP exactly when delta is at least
:func:`delta`. Values are computed in log space and keep nine digits of delta down to the smallest float.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr

from meterdp.privacy.curve import Curve

# Bound on the relative error of delta, checked against 100-digit arithmetic in the tests; inverses leave that room.
RELATIVE_ERROR = 1e-9
_SQRT2 = math.sqrt(2.0)
# Below this argument erfcx overflows; there the two terms differ by orders of magnitude and need no care.
_ERFCX_FROM = -20.0
# Below this mu the two terms nearly cancel and their difference is integrated instead.
_SMALL_MU = 0.5
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(12)
_FROM_LEFT = _NODES + 1
_SQRT_HALF_PI = math.sqrt(math.pi / 2)
# From here on the asymptotic series of the Mills ratio is exact to rounding.
_SERIES_FROM = 50.0
# ln delta is below -1e200 from here on.
_NOTHING_FROM = 1e100


def log_delta(mu: float, epsilon: float) -> float:
    """Return ln delta(mu, epsilon), with delta = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2).

    Parameters
    ----------
    mu : float
        GDP parameter, non-negative; 0 is perfect privacy, infinity none.
    epsilon : float
        Non-negative, may be infinite.

    Returns
    -------
    float
        In [-inf, 0].
    """
    _check(mu=mu, epsilon=epsilon)
    if mu == 0 or epsilon == math.inf:
        return -math.inf
    if mu == math.inf:
        return 0.0
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if near > _NOTHING_FROM:
        return -math.inf
    if mu <= _SMALL_MU:
        return _log_normal_density(near) + math.log(_one_mills_drop(near, mu))
    first = float(log_ndtr(-near))
    # e^epsilon Phi(-far) / Phi(-near) is a ratio of Mills ratios, since phi(near) = e^epsilon phi(far); taking the
    # ratio of scaled functions avoids subtracting two logarithms of the size of near^2.
    if near > _ERFCX_FROM:
        ratio = float(erfcx(far / _SQRT2) / erfcx(near / _SQRT2))
    else:
        ratio = math.exp(epsilon + float(log_ndtr(-far)) - first)
    return first + math.log1p(-ratio)


def _log_normal_density(t: float) -> float:
    return -0.5 * t * t - 0.5 * math.log(2 * math.pi)


def log_deltas(mu: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Return :func:`log_delta` of arrays (n,) float64 of numbers that are not negative, elementwise.

    The same formulas: one number by itself takes a tenth of the time there.
    """
    out = np.where(mu == np.inf, 0.0, -np.inf)
    ends = (mu == 0) | (epsilon == np.inf)
    out[ends] = -np.inf
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    inside = ~ends & (mu < np.inf) & (near <= _NOTHING_FROM)
    small = np.flatnonzero(inside & (mu <= _SMALL_MU))
    if small.size:
        out[small] = (
            -0.5 * near[small] ** 2 - 0.5 * math.log(2 * math.pi) + np.log(_mills_drop(near[small], mu[small]))
        )
    large = np.flatnonzero(inside & (mu > _SMALL_MU))
    if large.size:
        near, far = near[large], far[large]
        first = log_ndtr(-near)
        scaled = near > _ERFCX_FROM
        ratio = np.empty_like(near)
        ratio[scaled] = erfcx(far[scaled] / _SQRT2) / erfcx(near[scaled] / _SQRT2)
        ratio[~scaled] = np.exp(epsilon[large][~scaled] + log_ndtr(-far[~scaled]) - first[~scaled])
        out[large] = first + np.log1p(-ratio)
    return out


def _mills_drop(near: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return m(near) - m(near + width) for the Mills ratio m, by quadrature of -m'(s) = 1 - s m(s)."""
    s = near[:, None] + width[:, None] * (_NODES + 1) / 2
    q = np.maximum(s, _SERIES_FROM) ** -2
    series = q * (1 - 3 * q * (1 - 5 * q * (1 - 7 * q * (1 - 9 * q))))
    slope = np.where(s > _SERIES_FROM, series, 1 - s * math.sqrt(math.pi / 2) * erfcx(s / _SQRT2))
    return width / 2 * (slope @ _NODE_WEIGHTS)


def _one_mills_drop(near: float, width: float) -> float:
    """Return :func:`_mills_drop` of one number in a third of the time."""
    if near <= _SERIES_FROM <= near + width:
        return float(_mills_drop(np.array([near]), np.array([width]))[0])
    s = near + (width / 2) * _FROM_LEFT
    if near > _SERIES_FROM:
        q = s**-2
        slope = q * (1 - 3 * q * (1 - 5 * q * (1 - 7 * q * (1 - 9 * q))))
    else:
        slope = 1 - s * _SQRT_HALF_PI * erfcx(s / _SQRT2)
    return width / 2 * float(slope @ _NODE_WEIGHTS)


def delta(mu: float, epsilon: float) -> float:
    """Return the exact delta of a mu-GDP mechanism at ``epsilon``; see :func:`log_delta`."""
    return math.exp(log_delta(mu, epsilon))


def mu_for(epsilon: float, delta: float) -> float:
    """Return the largest mu that is (epsilon, delta)-DP, on the safe side.

    Parameters
    ----------
    epsilon : float
        Non-negative.
    delta : float
        In [0, 1].

    Returns
    -------
    float
        ``delta(mu, epsilon) <= delta`` holds with room for the error of evaluation. 0 for delta = 0, since Gaussian
        noise of any size is not pure DP; infinity where nothing is asked.
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
    """Return the smallest epsilon at which a mu-GDP mechanism keeps ``delta``, on the safe side.

    Parameters
    ----------
    mu : float
        Non-negative.
    delta : float
        In [0, 1].

    Returns
    -------
    float
        ``delta(mu, epsilon) <= delta`` holds with room for the error of evaluation. Infinity for delta = 0, unless mu
        is 0.
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


CURVE = Curve("Gaussian DP, exact conversion", "any adaptive sequence of Gaussian steps", delta, mu_for)
