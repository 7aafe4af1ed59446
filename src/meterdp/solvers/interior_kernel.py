"""The small dense algebra of a step of :mod:`meterdp.solvers.interior_point`, compiled: in NumPy, calls cost most."""

from __future__ import annotations

import numpy as np
from numba import njit

from meterdp.solvers.packing import unpacked


@njit(cache=True, error_model="numpy")
def scale(k, z):
    """Return what a step needs of K and Z, both (d, d) and symmetric.

    Returns
    -------
    values, root : (d,), (d, d) float64 arrays
        Eigenvalues of K, and its eigenvectors over the square roots of these; values[0] <= 0 where K is not positive
        definite, and the rest is then not to be used.
    inverse : (d, d) float64 array
        K^-1.
    scaling : (d, d) float64 array
        W^-1 with W^-1 K W^-1 = Z, the scaling of Nesterov and Todd.
    root_z : (d, d) float64 array
        Eigenvectors of Z over the square roots of its eigenvalues.
    """
    values, vectors = np.linalg.eigh(k)
    if values[0] <= 0:
        return values, k, k, k, k
    root = vectors / np.sqrt(values)
    inverse = root @ root.T
    half = (vectors * np.sqrt(values)) @ vectors.T
    half_inverse = root @ np.ascontiguousarray(vectors.T)
    inner, axes = np.linalg.eigh(half @ z @ half)
    middle = (axes * np.sqrt(np.maximum(inner, 0.0))) @ axes.T
    scaling = half_inverse @ middle @ half_inverse
    values_z, vectors_z = np.linalg.eigh(z)
    return values, root, inverse, scaling, vectors_z / np.sqrt(np.maximum(values_z, 1e-300))


@njit(cache=True, error_model="numpy")
def aimed(steps, jacobian, slack, weight, broken, k, z, root, inverse, scaling, root_z, rows, columns, centring, lag):
    """Return the step whose aim the predictor suggests.

    Parameters
    ----------
    steps : (2, n) float64 array
        Solutions for complementarity zero, and what each unit of it adds.
    centring : (2,) float64 array
        Limits of the share of the present complementarity aimed at.
    lag : float
        Least complementarity aimed at, in units of what breaking the constraints costs.

    Returns
    -------
    x, slack, weight, z : (n,), (m,), (m,), (d, d) float64 arrays
        Changes.
    primal, dual : float
        How far x and slack, and weight and z, can go.
    complementarity : float
        Of all constraints together at present.
    """
    d, count = k.shape[0], slack.size + k.shape[0]
    # Everything is affine in the aim.
    packed = slice(1, 1 + rows.size)
    at_zero, by_aim = unpacked(steps[0, packed], rows, columns), unpacked(steps[1, packed], rows, columns)
    closing_zero, closing_aim = -broken - jacobian @ steps[0], -(jacobian @ steps[1])
    z_zero, z_aim = -z - scaling @ at_zero @ scaling, inverse - scaling @ by_aim @ scaling

    rise = -(weight * closing_zero) / slack - weight
    primal = min(1.0, _ratio(slack, closing_zero), _matrix_ratio(root, at_zero))
    dual = min(1.0, _ratio(weight, rise), _matrix_ratio(root_z, z_zero))
    total = left = 0.0
    for i in range(slack.size):
        total += weight[i] * slack[i]
        left += (weight[i] + dual * rise[i]) * (slack[i] + primal * closing_zero[i])
    for i in range(d):
        for j in range(d):
            total += z[i, j] * k[i, j]
            left += (z[i, j] + dual * z_zero[i, j]) * (k[i, j] + primal * at_zero[i, j])
    share = min(max((left / total) ** 3, centring[0]), centring[1])
    # Slacks must not vanish before the constraints they stand for are met.
    aim = max(total / count * share, lag * (weight * np.abs(broken)).max())

    closing = closing_zero + aim * closing_aim
    rise = (aim - weight * closing) / slack - weight
    step_z = z_zero + aim * z_aim
    primal = min(_ratio(slack, closing), _matrix_ratio(root, at_zero + aim * by_aim))
    dual = min(_ratio(weight, rise), _matrix_ratio(root_z, step_z))
    return steps[0] + aim * steps[1], closing, rise, step_z, primal, dual, total


@njit(cache=True, error_model="numpy")
def _ratio(value, change):
    """Return how far positive values can change, in (0, inf], before one is zero."""
    least = np.inf
    for i in range(value.size):
        if change[i] < 0:
            least = min(least, -value[i] / change[i])
    return least


@njit(cache=True, error_model="numpy")
def _matrix_ratio(root, change):
    """Return the same for a positive definite matrix, given by its eigenvectors over the roots of its eigenvalues."""
    lowest = np.linalg.eigvalsh(np.ascontiguousarray(root.T) @ change @ root)[0]
    return -1.0 / lowest if lowest < 0 else np.inf
