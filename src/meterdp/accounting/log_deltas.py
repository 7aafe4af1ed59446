"""The Gaussian curve for arrays: :func:`meterdp.privacy.gaussian.log_delta`, elementwise.

The same formulas: one number by itself takes a tenth of the time there.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfcx, log_ndtr

_SQRT2 = math.sqrt(2.0)
# As in meterdp.privacy.gaussian, with the reasons.
_ERFCX_FROM, _SMALL_MU, _SERIES_FROM, _NOTHING_FROM = -20.0, 0.5, 50.0, 1e100
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(12)


def log_deltas(mu: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Return ln delta of arrays (n,) float64 of numbers that are not negative."""
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
