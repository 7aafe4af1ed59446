"""Primal-dual interior point for min t subject to f_i(x) <= t or <= 0 and K >= 0 in the semidefinite order.

x = (t, svec K, rest) with convex f_i; the solver of :mod:`meterdp.class_noise.designs.joint.common_noise` and
:mod:`meterdp.class_noise.designs.transport.barycentre`. Promises nothing: whoever calls it certifies the gap from its
multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from meterdp.solvers.interior_kernel import aimed, scale
from meterdp.solvers.packing import Packing

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
    """Return the best x found and its multipliers (m,), not normalised.

    Parameters
    ----------
    problem : Problem
    packing : Packing
        Of K, entries 1 .. packing.size of x.
    x : (n,) float64 array
        Start, strictly inside.
    target : float
        Relative gap aimed at.

    Notes
    -----
    Newton on the perturbed optimality conditions, K and its multiplier Z in the scaling of Nesterov and Todd. Slacks
    are variables of their own: they stay positive while the constraints they stand for may be broken on the way, so
    steps are long although the constraints are curved. A predictor with the same factorisation sets the centring.
    Steps that break the constraints too much are halved: the iterates would otherwise wander far from the central
    path and take almost twice as many steps.
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
