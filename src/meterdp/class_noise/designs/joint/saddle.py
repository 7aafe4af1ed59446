"""A smooth stand-in for delta(eps) with gradients: the saddle point of the privacy loss's moment generating function.

For a pair of Gaussian distributions, K(u) = ln E e^(uL) and its saddle point K'(u) = eps, r = sign(u) sqrt(2 (u eps
- K(u)))
orders pairs and designs much as the exact Pr(L > eps) ~ Phi(-r) does, from probabilities near one to the smallest;
`joint` descends on it and judges what it finds by the exact curve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meterdp.class_noise.designs.joint.saddle_kernel import solve

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
