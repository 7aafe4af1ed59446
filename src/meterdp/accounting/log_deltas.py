"""The Gaussian curve for arrays: :func:`meterdp.privacy.gaussian.log_delta`, elementwise.

The same formulas: one number by itself takes a tenth of the time there.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfcx, log_ndtr

from meterdp.privacy.gaussian import ERFCX_FROM, NOTHING_FROM, SMALL_MU, SQRT2, mills_drop


def log_deltas(mu: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Return ln delta of arrays (n,) float64 of numbers that are not negative."""
    out = np.where(mu == np.inf, 0.0, -np.inf)
    ends = (mu == 0) | (epsilon == np.inf)
    out[ends] = -np.inf
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    inside = ~ends & (mu < np.inf) & (near <= NOTHING_FROM)
    small = np.flatnonzero(inside & (mu <= SMALL_MU))
    if small.size:
        out[small] = (
            -0.5 * near[small] ** 2 - 0.5 * math.log(2 * math.pi) + np.log(mills_drop(near[small], mu[small]))
        )
    large = np.flatnonzero(inside & (mu > SMALL_MU))
    if large.size:
        near, far = near[large], far[large]
        first = log_ndtr(-near)
        scaled = near > ERFCX_FROM
        ratio = np.empty_like(near)
        ratio[scaled] = erfcx(far[scaled] / SQRT2) / erfcx(near[scaled] / SQRT2)
        ratio[~scaled] = np.exp(epsilon[large][~scaled] + log_ndtr(-far[~scaled]) - first[~scaled])
        out[large] = first + np.log1p(-ratio)
    return out
