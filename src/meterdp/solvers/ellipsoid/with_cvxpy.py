"""The noise-shape problem (23) of Liu et al. by CVXPY and Clarabel: the oracle our own solver is tested against.

In the precision form (X = M^-1, min tr X^-1, one linear row per point) with cutting planes, because interior-point
solvers return infeasible "optima" for (23) as printed. Nothing is guaranteed here:
:mod:`meterdp.solvers.ellipsoid.program` inflates the answer and certifies the gap.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from scipy.linalg import qr

FIRST_ROWS_PER_DIMENSION = 15
CUT_TOLERANCE = 1e-9
ROUNDS = 100


def solve(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Start from the outermost points, add those outside, until none is.

    Parameters
    ----------
    points : (N, d) float64
        In principal axes, spanning their space.

    Returns
    -------
    factor : (d, d) float64
        G with X = G'G.
    rows : (M,) int
        The points of the last problem.
    weights : (M,) float64
        Their dual weights, not normalised; all other points have weight zero.
    """
    d = points.shape[1]
    batch = FIRST_ROWS_PER_DIMENSION * d
    spread = np.linalg.norm(points, axis=0)
    outermost = np.argsort(-np.square(points / spread).sum(axis=1), kind="stable")[:batch]
    # Pivots span the space even where the outermost points do not.
    pivots = qr(points.T, mode="r", pivoting=True)[1][:d]
    rows = np.union1d(outermost, pivots)
    for _ in range(ROUNDS):
        precision, weights = solve_all_rows(points[rows])
        outside = _reach(points, precision)
        outside[rows] = 0.0
        new = np.flatnonzero(outside > 1 + CUT_TOLERANCE)
        if not len(new):
            break
        solved = rows
        rows = np.concatenate([rows, new[np.argsort(-outside[new], kind="stable")][:batch]])
    else:
        rows = solved
    values, vectors = np.linalg.eigh(precision)
    # An inaccurate X may have an eigenvalue of zero or less; a tiny positive one costs optimality, not feasibility.
    return (vectors * np.sqrt(np.maximum(values, 1e-16 * values[-1]))).T, rows, weights


def solve_all_rows(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Solve the precision form with every point as a row.

    Parameters
    ----------
    points : (N, d) float64

    Returns
    -------
    precision : (d, d) float64
        The solver's X = M^-1, symmetric.
    weights : (N,) float64
        Its multipliers, not negative.
    """
    n, d = points.shape
    x = cp.Variable((d, d), PSD=True)
    features = np.einsum("ni,nj->nij", points, points).reshape(n, d * d)
    inside = features @ cp.vec(x, order="C") <= 1
    cp.Problem(cp.Minimize(cp.tr_inv(x)), [inside]).solve(solver=cp.CLARABEL)
    return (x.value + x.value.T) / 2, np.maximum(inside.dual_value, 0)


def _reach(points: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Return z_n' X z_n for every point: (N,) float64."""
    return np.einsum("ni,ni->n", points @ precision, points)
