"""The noise shape of the published mechanism: min tr M subject to z_n' M^-1 z_n <= 1, (23) of Liu et al.

No solver is trusted. Whatever it returns, its matrix is inflated here until every constraint holds, and the distance
from the optimum is bounded here by duality from nothing but its weights: every answer is feasible, its gap certified.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from meterdp.errors import InputError, optional_packages
from meterdp.solvers.ellipsoid import own as sdp_own

SOLVERS = ("own", "cvxpy")
# Directions in which the points extend less than this share of the longest are rounding and are left without noise.
RANK_TOLERANCE = 1e-14
# Below this share the second-moment matrix no longer tells a thin direction from none.
THIN = 1e-6
SMALLEST_LENGTH, LARGEST_LENGTH = 1e-140, 1e140
EPSILON = np.finfo(float).eps


@dataclass(frozen=True)
class SdpSolution:
    """A feasible noise covariance and how far from optimal it can be.

    Parameters
    ----------
    matrix : (d, d) float64
        M with z_n z_n' <= M for all n in the semidefinite order, so z_n' M^+ z_n <= 1 and every z_n in its range.
    relative_gap : float
        tr M / lower bound - 1, certified by the dual; the optimum lies within it.
    violation : float
        max_n z_n' M^-1 z_n - 1 of the solver's answer, before M was inflated.
    """

    matrix: np.ndarray
    relative_gap: float
    violation: float


def solve(z: np.ndarray, solver: str = "own", work: Counter | None = None) -> SdpSolution:
    """Minimise tr M subject to z_n' M^-1 z_n <= 1 for all n, (23).

    Parameters
    ----------
    z : (N, d) float64
        Whitened difference vectors Sigma_k^-1/2 v_n for (23) itself. With the plain v_n the answer is the
        minimum-trace Gamma_k^-1, the noise of the coloured Gaussian baseline. M scales as 1/eps_k^2, so it is solved
        once at right-hand side one.
    solver : {"own", "cvxpy"}
        Our interior-point method, or CVXPY with Clarabel.
    work : Counter, optional
        Gets what our solver counts, see :func:`meterdp.solvers.ellipsoid.own.solve`.

    Returns
    -------
    SdpSolution
        Where a solver ends before it reaches its accuracy, still feasible and with the gap it has.

    Raises
    ------
    InputError
        If the solver is unknown, or the vectors are not finite or too long or short to be squared.

    Notes
    -----
    The dual is max over weights on the simplex of (tr A^1/2)^2, A = sum_n weight_n z_n z_n': with any weights a lower
    bound, namely the squared sum of the singular values of the points times the roots of their weights.
    """
    if solver not in SOLVERS:
        raise InputError(
            "names a solver that does not exist", field="sdp_solver", hint=f"use one of {', '.join(SOLVERS)}"
        )
    z = np.asarray(z, dtype=np.float64)
    d = z.shape[1]
    length = np.abs(z).max(initial=0.0)
    if length == 0:
        return SdpSolution(np.zeros((d, d)), 0.0, 0.0)
    if not SMALLEST_LENGTH < length < LARGEST_LENGTH:
        raise InputError(
            "a difference vector is not finite, or its square is out of range",
            hint="check the records for infinite values and the class covariances for zeros",
        )
    points, axes = _principal(z / length)
    factor, rows, weights = sdp_own.solve(points, work) if solver == "own" else _other(points)
    matrix, violation = _inflated(points, factor)
    gap = np.trace(matrix) / _lower_bound(points[rows], weights) - 1
    return SdpSolution(length**2 * (axes @ matrix @ axes.T), float(gap), float(violation))


def _other(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    # CVXPY takes a second to import and only this choice needs it.
    with optional_packages("the solver cvxpy", "mechanisms.sdp_solver"):
        from meterdp.solvers.ellipsoid import with_cvxpy as sdp_cvxpy

    return sdp_cvxpy.solve(points)


def _principal(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the points in the principal axes they extend in (N, r), and those axes as columns (d, r)."""
    squares, axes = np.linalg.eigh(points.T @ points)
    if not squares[0] > THIN**2 * squares[-1]:
        _, spread, rows = np.linalg.svd(np.linalg.qr(points, mode="r"))
        axes = rows[: len(spread)][spread > RANK_TOLERANCE * spread[0]].T
    return points @ axes, axes


def _inflated(points: np.ndarray, factor: np.ndarray) -> tuple[np.ndarray, float]:
    """Return c X^-1 for X = G'G with c so large that every point is inside, and the violation c - 1 of X itself.

    A ridge above the rounding of the products keeps that true of the matrix as stored, also along thin directions.
    """
    worst = np.square(points @ factor.T).sum(axis=1).max()
    inverse = np.linalg.inv(factor)
    matrix = worst * (inverse @ inverse.T)
    ridge = 4 * len(matrix) * EPSILON * np.trace(matrix)
    return matrix + ridge * np.eye(len(matrix)), worst - 1


def _lower_bound(points: np.ndarray, weights: np.ndarray) -> float:
    """Return (tr A^1/2)^2, A = sum_n weight_n z_n z_n' with the weights made positive and normalised."""
    weights = np.maximum(weights, 0)
    roots = np.sqrt(weights / weights.sum())
    return np.linalg.svd(roots[:, None] * points, compute_uv=False).sum() ** 2
