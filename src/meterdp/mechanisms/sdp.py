"""The noise shape of the published mechanism: min tr M subject to z_n' M^-1 z_n <= 1, (23) of Liu et al.

Solved in whitened coordinates and in the precision form (X = M^-1, min tr X^-1, one linear row per point), because
interior-point solvers return infeasible "optima" for (23) as printed and in raw units. The solver is never trusted:
the matrix is inflated until every constraint holds, and its distance from the optimum is bounded by duality.
"""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from scipy.linalg import qr

# Directions in which the points extend less than this share of the longest are left without noise.
RANK_TOLERANCE = 1e-9
FIRST_ROWS_PER_DIMENSION = 15
CUT_TOLERANCE = 1e-9


@dataclass(frozen=True)
class SdpSolution:
    """A feasible noise covariance and how far from optimal it can be.

    Parameters
    ----------
    matrix : (d, d) float64
        M with max_n z_n' M^+ z_n = 1, every z_n in its range.
    relative_gap : float
        tr M / lower bound - 1, certified by the dual; the optimum lies within it.
    violation : float
        max_n z_n' M^-1 z_n - 1 of the solver's answer, before M was inflated.
    """

    matrix: np.ndarray
    relative_gap: float
    violation: float


def solve(z: np.ndarray, solver: str = "own") -> SdpSolution:
    """Minimise tr M subject to z_n' M^-1 z_n <= 1 for all n, (23) with whitened difference vectors.

    Parameters
    ----------
    z : (N, d) float64
        Whitened difference vectors Sigma_k^-1/2 v_n. M scales as 1/eps_k^2, so it is solved once at right-hand
        side one.

    Returns
    -------
    SdpSolution

    Notes
    -----
    The dual is max over weights on the simplex of (tr A^1/2)^2, A = sum_n weight_n z_n z_n'. The multipliers of the
    linear rows, normalised, are such weights: they certify the gap whatever the solver did.
    """
    d = z.shape[1]
    length = np.linalg.norm(z, axis=1).max(initial=0.0)
    if length == 0:
        return SdpSolution(np.zeros((d, d)), 0.0, 0.0)
    _, spread, axes = np.linalg.svd(z / length, full_matrices=False)
    axes = axes[spread > RANK_TOLERANCE * spread[0]]
    points = z @ axes.T / length
    precision, rows, weights = _solve_by_cutting_planes(points)
    worst = _reach(points, precision).max()
    matrix = worst * np.linalg.inv(precision)
    active = points[rows]
    spectrum = np.linalg.eigvalsh(active.T @ (weights[:, None] * active))
    lower_bound = np.sqrt(np.maximum(spectrum, 0)).sum() ** 2
    return SdpSolution(
        length**2 * axes.T @ matrix @ axes, float(np.trace(matrix) / lower_bound - 1), float(worst - 1)
    )


def _reach(points: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Return z_n' X z_n for every point: (N,) float64."""
    return np.einsum("ni,ni->n", points @ precision, points)


def _solve_by_cutting_planes(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Solve with the points that matter: start from the outermost, add those outside, until none is.

    Returns
    -------
    precision : (d, d) float64
    rows : (M,) int
        The points of the last problem.
    weights : (M,) float64
        Their dual weights, on the simplex; all other points have weight zero.
    """
    d = points.shape[1]
    batch = FIRST_ROWS_PER_DIMENSION * d
    spread = np.linalg.inv(points.T @ points)
    outermost = np.argsort(-_reach(points, spread), kind="stable")[:batch]
    # Pivots span the space even where the outermost points do not.
    pivots = qr(points.T, mode="r", pivoting=True)[1][:d]
    rows = np.union1d(outermost, pivots)
    while True:
        precision, weights = _solve_precision_form(points[rows])
        outside = _reach(points, precision)
        outside[rows] = 0.0
        new = np.flatnonzero(outside > 1 + CUT_TOLERANCE)
        if not len(new):
            return precision, rows, weights
        rows = np.concatenate([rows, new[np.argsort(-outside[new], kind="stable")][:batch]])


def _solve_precision_form(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the solver's X = M^-1 (d, d) and dual weights (N,) on the simplex, for full-rank points."""
    n, d = points.shape
    x = cp.Variable((d, d), PSD=True)
    rows = np.einsum("ni,nj->nij", points, points).reshape(n, d * d)
    inside = rows @ cp.vec(x, order="C") <= 1
    cp.Problem(cp.Minimize(cp.tr_inv(x)), [inside]).solve(solver=cp.CLARABEL)
    weights = np.maximum(inside.dual_value, 0)
    return (x.value + x.value.T) / 2, weights / weights.sum()
