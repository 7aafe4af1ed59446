"""Primal-dual interior point for min t subject to f_i(x) <= t or <= 0 and K >= 0 in the semidefinite order.

x = (t, svec K, rest) with convex f_i; the solver of :mod:`meterdp.class_noise.designs.joint.common_noise` and
:mod:`meterdp.class_noise.designs.barycentre`. Promises nothing: whoever calls it certifies the gap from its
multipliers. The dense algebra of a step is compiled: in NumPy, calls cost most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numba import njit
from scipy.linalg.lapack import dpotrf, dpotrs

STEPS = 80
TO_BOUNDARY = 0.9
# Limits of the centring parameter, the share of the present complementarity a step aims at.
CENTRING = np.array([1e-2, 0.8])
# A step that breaks the constraints more than before, and more than so many times the complementarity, is halved.
OVERSHOOT, HALVINGS = 10.0, 3
# Of the complementarity aimed at, relative to what breaking the constraints costs.
LAG = 0.1
# Relative addition to the diagonal of the Newton matrix, against directions without curvature.
RIDGE = 1e-13


@dataclass(frozen=True)
class Packing:
    """Symmetric (d, d) matrices as vectors of length d (d + 1) / 2 with the same inner product.

    ``rows`` and ``columns`` are the entries in the order of the vector: the lower triangle row by row, for compiled
    code, where ``svec`` takes the upper.
    """

    rows: np.ndarray
    columns: np.ndarray

    @classmethod
    def of(cls, d: int) -> Packing:
        return cls(*np.tril_indices(d))

    @property
    def size(self) -> int:
        return len(self.rows)

    @cached_property
    def _scale(self) -> np.ndarray:
        return np.where(self.rows == self.columns, 1.0, math.sqrt(2))

    def pack(self, matrices: np.ndarray) -> np.ndarray:
        """Pack symmetric matrices (..., d, d)."""
        return matrices[..., self.rows, self.columns] * self._scale

    def unpack(self, packed: np.ndarray) -> np.ndarray:
        return unpacked(packed, self.rows, self.columns)

    def product(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the matrix of the quadratic form tr(K left K right) in packed K, for symmetric (d, d) matrices."""
        out = np.empty((self.size, self.size))
        fill_product(left, right, self.rows, self.columns, out)
        return out


@njit(cache=True)
def unpacked(packed, rows, columns):
    """Return the (d, d) matrix of a packed vector."""
    d = rows[-1] + 1
    out = np.empty((d, d))
    for p in range(rows.size):
        i, j = rows[p], columns[p]
        out[i, j] = out[j, i] = packed[p] if i == j else packed[p] / math.sqrt(2)
    return out


@njit(cache=True)
def fill_product(left, right, rows, columns, out):
    """Fill :meth:`Packing.product`, entry by entry: a matrix of the basis has at most two."""
    for p in range(rows.size):
        i, j = rows[p], columns[p]
        for q in range(p, rows.size):
            k, m = rows[q], columns[q]
            value = left[j, k] * right[m, i] + left[j, m] * right[k, i] + left[i, k] * right[m, j]
            value += left[i, m] * right[k, j] + right[j, k] * left[m, i] + right[j, m] * left[k, i]
            value += right[i, k] * left[m, j] + right[i, m] * left[k, j]
            value *= (0.5 if i == j else math.sqrt(0.5)) * (0.25 if k == m else 0.5 * math.sqrt(0.5))
            out[p, q] = out[q, p] = value


@dataclass
class Iterate:
    """Variables of the method; slack + f tends to zero."""

    x: np.ndarray  # (n,)
    slack: np.ndarray  # (m,)
    weight: np.ndarray  # (m,), multipliers of f
    z: np.ndarray  # (d, d), multiplier of K


class Problem(Protocol):
    """Convex constraints of the interior-point method."""

    levelled: int  # the first constraints, f_i - t

    def constraints(self, x: np.ndarray) -> np.ndarray:
        """Return f (m,)."""

    def newton(self, x: np.ndarray, weight: np.ndarray, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the Jacobian J (m, n), and the Hessian of ``weight @ f`` plus J' diag(ratio) J (n, n).

        Of the second the upper triangle is enough.
        """

    def gap(self, x: np.ndarray, weight: np.ndarray) -> float:
        """Return a relative gap, infinite where none is known."""


def minimise(problem: Problem, packing: Packing, x: np.ndarray, target: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the best x found, of a start strictly inside, and its multipliers (m,), not normalised.

    K is packed in the entries 1 .. packing.size of x; ``target`` is the relative gap aimed at.

    Newton on the perturbed optimality conditions, K and its multiplier Z in the scaling of Nesterov and Todd. Slacks
    are separate variables: they stay positive while the constraints they stand for may be broken on the way, so steps
    are long although the constraints are curved. A predictor with the same factorisation sets the centring. Steps
    that break the constraints too much are halved: the iterates would otherwise wander far from the central path and
    take almost twice as many steps.
    """
    where = slice(1, 1 + packing.size)
    slack = -problem.constraints(x)
    mu = 1 / np.sum(1 / slack[: problem.levelled])
    state = Iterate(x, slack, mu / slack, mu * np.linalg.inv(packing.unpack(x[where])))
    best, least = (state.x, state.weight), np.inf
    for _ in range(STEPS):
        gap = problem.gap(state.x, state.weight)
        if gap < least:
            best, least = (state.x, state.weight), gap
        if least <= target:
            break
        try:
            state = _step(problem, packing, state)
        except np.linalg.LinAlgError:  # at the limit of the floating-point numbers
            break
        if not np.all(np.isfinite(state.x)):
            break
    return best


def _step(problem: Problem, packing: Packing, state: Iterate) -> Iterate:
    """Return the next iterate: predictor, then the step that aims at the complementarity the predictor suggests."""
    where = slice(1, 1 + packing.size)
    slack, weight, z = state.slack, state.weight, state.z
    k = packing.unpack(state.x[where])
    values, root, inverse, scaling, root_z = scale(k, z)
    if values[0] <= 0:
        raise np.linalg.LinAlgError("K is not positive definite")
    jacobian, normal = problem.newton(state.x, weight, weight / slack)
    normal[where, where] += packing.product(scaling, scaling)
    np.einsum("ii->i", normal)[:] *= 1 + RIDGE
    factor, failed = dpotrf(normal.T, lower=1, clean=0, overwrite_a=1)  # transposed, it is not copied
    if failed:
        raise np.linalg.LinAlgError("the Newton matrix is not positive definite")
    broken = problem.constraints(state.x) + slack
    # For complementarity zero, and what each unit of it adds.
    right = np.stack([weight * broken / slack, 1 / slack]) @ -jacobian
    right[0, 0] -= 1
    right[1, where] += packing.pack(inverse)
    steps = dpotrs(factor, right.T, lower=1, overwrite_b=1)[0].T
    distributions = (k, z, root, inverse, scaling, root_z)
    step_x, closing, rise, step_z, primal, dual, complementarity = aimed(
        steps, jacobian, slack, weight, broken, *distributions, packing.rows, packing.columns, CENTRING, LAG
    )
    primal, dual = min(1.0, TO_BOUNDARY * primal), min(1.0, TO_BOUNDARY * dual)
    allowed = max(np.sum(np.abs(broken)), OVERSHOOT * complementarity)
    x = state.x + primal * step_x
    for _ in range(HALVINGS):
        if np.sum(np.abs(problem.constraints(x) + slack + primal * closing)) <= allowed:
            break
        primal *= 0.5
        x = state.x + primal * step_x
    dual = min(dual, primal)
    return Iterate(x, slack + primal * closing, weight + dual * rise, z + dual * step_z)


@njit(cache=True, error_model="numpy")
def scale(k, z):
    """Return what a step needs of K and Z, both (d, d) and symmetric.

    The eigenvalues of K (if the first is not positive, K is not positive definite and the rest is not to be used),
    its eigenvectors over their square roots, K^-1, W^-1 with W^-1 K W^-1 = Z (the scaling of Nesterov and Todd), and
    the eigenvectors of Z over the square roots of its eigenvalues.
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

    ``steps`` (2, n) holds the solutions for complementarity zero and what each unit of it adds, ``centring`` (2,) the
    limits of the share of the present complementarity aimed at, and ``lag`` the least aimed at, in units of what
    breaking the constraints costs. Returns the changes of x (n,), slack (m,), weight (m,) and z (d, d), how far x and
    slack, and weight and z, can go, and the present complementarity of all constraints together.
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
