"""A smooth stand-in for delta(eps) with gradients: the saddle point of the privacy loss's moment generating function.

For a pair of Gaussian distributions, K(u) = ln E e^(uL) and its saddle point K'(u) = eps, r = sign(u) sqrt(2 (u eps
- K(u)))
orders pairs and designs much as the exact Pr(L > eps) ~ Phi(-r) does, from probabilities near one to the smallest;
`joint` descends on it and judges what it finds by the exact curve.

The compiled Newton steps of :func:`meterdp.class_noise.designs.joint.saddle.saddle_points`, one saddle at a time.

Most saddles are found in a few steps, and a few take all: together, every one would wait for the last.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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


LARGEST = 1e3
# Share of the way to the end of K's domain, and the u below which r is replaced by its limit at zero.
INSIDE, SMALL = 1 - 1e-9, 1e-4


@dataclass(frozen=True)
class Saddles:
    """Saddle points of P ordered pairs at E values of epsilon.

    Parameters
    ----------
    r : (P, E) float64 array
        Larger is more private.
    mean, other_mean : (P, E, k) float64 arrays
        Gradient of r with respect to the means of X and of X'.
    covariance, other_covariance : (P, E, k, k) float64 arrays
        Gradient with respect to their covariances.
    """

    r: np.ndarray
    mean: np.ndarray
    other_mean: np.ndarray
    covariance: np.ndarray
    other_covariance: np.ndarray


def saddles(mean: np.ndarray, covariance: np.ndarray, pairs: np.ndarray, epsilon: np.ndarray) -> Saddles:
    """Return r and its gradients for distributions N(mean, covariance), (H, k) and (H, k, k), positive definite.

    Notes
    -----
    For X ~ N(a, A), X' ~ N(b, B): K(u) = u (1 + u)/2 d'M^-1 d - (ln|M| + u ln|A| - (1 + u) ln|B|)/2 with d = b - a
    and M = (1 + u) B - u A. Where B is the identity and A = diag(gamma), M = diag(1 - u (gamma - 1)).
    """
    gamma, nu, axes = coordinates(mean, covariance, pairs)
    u, value = saddle_points(gamma, nu, epsilon)
    exponent = np.maximum(u * epsilon - value, 0.0)
    near = np.abs(u) < SMALL
    # The mean and the standard deviation of the loss, K' and the root of K'' at zero.
    slope_at_zero = 0.5 * (gamma - 1 - np.log(gamma) + nu**2).sum(axis=1, keepdims=True)
    width = np.sqrt((0.5 * (gamma - 1) ** 2 + gamma * nu**2).sum(axis=1, keepdims=True))
    width = np.maximum(width, 1e-150)
    r = np.where(near, (epsilon - slope_at_zero) / width, np.sign(u) * np.sqrt(2 * exponent))
    # dr = -dK / r at fixed u; near zero r is u times the standard deviation of the loss.
    u = np.where(near, SMALL, u)
    rate = -1 / np.where(near, SMALL * width, np.where(r == 0, 1.0, r))
    d = 1 - u[..., None] * (gamma[:, None] - 1)
    w = nu[:, None] / d
    pull = rate[..., None] * (u * (1 + u))[..., None] * np.einsum("pij,pej->pei", axes, w)
    outer = (u * (1 + u))[..., None, None] * w[..., :, None] * w[..., None, :]
    inner_b = _diagonal(1 - 1 / d) - outer
    inner_a = outer + _diagonal(1 / d - 1 / gamma[:, None])
    turn = axes[:, None]
    back = np.swapaxes(turn, -1, -2)
    b = (0.5 * rate * (1 + u))[..., None, None] * (turn @ inner_b @ back)
    a = (0.5 * rate * u)[..., None, None] * (turn @ inner_a @ back)
    return Saddles(r, -pull, pull, a, b)


def coordinates(mean, covariance, pairs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return gamma and nu of Proposition 1, (P, k), and Y with S_X'^-1 = Y Y', (P, k, k)."""
    x, y = pairs.T
    factor = np.linalg.inv(np.linalg.cholesky(covariance))
    inner = factor[y] @ covariance[x] @ np.swapaxes(factor[y], 1, 2)
    gamma, vectors = np.linalg.eigh(inner)
    axes = np.swapaxes(factor[y], 1, 2) @ vectors
    return np.maximum(gamma, 1e-300), np.einsum("pij,pi->pj", axes, mean[y] - mean[x]), axes


def saddle_points(gamma: np.ndarray, nu: np.ndarray, epsilon: np.ndarray):
    """Solve K'(u) = eps in K's domain; returns u and K(u), each (P, E).

    Newton steps kept in a bracket that bisection shrinks; where there is no solution u ends at a bound.
    """
    top, bottom = gamma.max(axis=1) - 1, 1 - gamma.min(axis=1)
    high = np.where(top > INSIDE / LARGEST, INSIDE / np.maximum(top, 1e-300), LARGEST)
    low = -np.where(bottom > INSIDE / LARGEST, INSIDE / np.maximum(bottom, 1e-300), LARGEST)
    return solve(gamma, nu, np.asarray(epsilon, dtype=float), low, high)


def _diagonal(values: np.ndarray) -> np.ndarray:
    return values[..., None] * np.eye(values.shape[-1])
