"""The compiled Newton steps of :func:`meterdp.class_noise.designs.joint.saddle.saddle_points`, one saddle at a time.

Most saddles are found in a few steps, and a few take all: together, every one would wait for the last.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

NEWTON_STEPS = 40
# Steps that are this small, relative to 1 + |u|, are the last.
CLOSE = 1e-9


@njit(cache=True, error_model="numpy")
def solve(gamma, nu, epsilon, low, high):
    """Return u with K'(u) = eps between the bounds, and K(u), (P, E) each.

    Parameters
    ----------
    gamma, nu : (P, k) float64 arrays
    epsilon : (E,) float64 array
    low, high : (P,) float64 arrays
        Within K's domain, on either side of zero.
    """
    pairs, entries = gamma.shape
    out, value = np.empty((pairs, epsilon.size)), np.empty((pairs, epsilon.size))
    for p in range(pairs):
        log_gamma = np.log(gamma[p]).sum()
        for e in range(epsilon.size):
            u, bottom, top = 0.0, low[p], high[p]
            for _ in range(NEWTON_STEPS):
                slope, curvature = -0.5 * log_gamma, 0.0
                for i in range(entries):
                    excess, square = gamma[p, i] - 1, nu[p, i] * nu[p, i]
                    d = 1 - u * excess
                    bent, share = gamma[p, i] * square, excess / d
                    slope += 0.5 * (share + square + bent * u * (1 + d) / (d * d))
                    curvature += 0.5 * share * share + bent / (d * d * d)
                if slope < epsilon[e]:
                    bottom = u
                else:
                    top = u
                moved = u - (slope - epsilon[e]) / max(curvature, 1e-300)
                if not bottom < moved < top:
                    moved = 0.5 * (bottom + top)
                last = abs(moved - u) <= CLOSE * (1 + abs(u))
                u = moved
                if last:
                    break
            total = -u * log_gamma
            for i in range(entries):
                d = 1 - u * (gamma[p, i] - 1)
                total += u * (1 + u) * nu[p, i] * nu[p, i] / d - math.log(d)
            out[p, e], value[p, e] = u, 0.5 * total
    return out, value
