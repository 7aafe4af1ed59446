"""The noise shape of the published mechanism: min tr M subject to z_n' M^-1 z_n <= 1, (23) of Liu et al.

The solver takes the precision form, X = M^-1: min tr X^-1 subject to z_n' X z_n <= 1. It is not trusted: whatever it
returns, its matrix is inflated until every constraint holds, and the distance from the optimum is bounded by duality
from nothing but its weights. Every answer is feasible, its gap certified.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from meterdp.errors import InputError
from meterdp.solvers.ellipsoid_kernel import interior_point

# Directions in which the points extend less than this share of the longest are rounding and are left without noise.
RANK_TOLERANCE = 1e-14
# Below this share the second-moment matrix no longer tells a thin direction from none.
THIN = 1e-6
SMALLEST_LENGTH, LARGEST_LENGTH = 1e-140, 1e140
EPSILON = np.finfo(float).eps
# Relative gap aimed at, in the working set and outside it.
TARGET = 2e-11
FIRST_TARGET = 1e-2
ROUNDS = 60
FIRST_ROWS_PER_DIMENSION = 10
NEW_ROWS_PER_DIMENSION = 6
# The next target relative to the largest violation found.
TIGHTER = 0.03


@dataclass(frozen=True)
class SdpSolution:
    """A feasible noise covariance M (d, d) and how far from optimal it can be.

    z_n z_n' <= M for all n in the semidefinite order, so z_n' M^+ z_n <= 1 and every z_n is in its range. The optimum
    lies within ``relative_gap`` = tr M / lower bound - 1, certified by the dual. ``violation`` is max_n z_n' M^-1 z_n
    - 1 of the solver's answer, before M was inflated.
    """

    matrix: np.ndarray
    relative_gap: float
    violation: float


def solve(z: np.ndarray, work: Counter | None = None) -> SdpSolution:
    """Minimise tr M subject to z_n' M^-1 z_n <= 1 for all n, (23).

    Parameters
    ----------
    z : (N, d) float64
        Whitened difference vectors Sigma_k^-1/2 v_n for (23) itself. With the plain v_n the answer is the
        minimum-trace Gamma_k^-1, the noise of the coloured Gaussian baseline. M scales as 1/eps_k^2, so it is solved
        once at right-hand side one.
    work : Counter, optional
        Gets what :func:`own` counts.

    Raises
    ------
    InputError
        If the vectors are not finite or too long or short to be squared.

    Notes
    -----
    The dual is max over weights on the simplex of (tr A^1/2)^2, A = sum_n weight_n z_n z_n': with any weights a lower
    bound, namely the squared sum of the singular values of the points times the roots of their weights.
    """
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
    factor, rows, weights = own(points, work)
    matrix, violation = _inflated(points, factor)
    gap = np.trace(matrix) / _lower_bound(points[rows], weights) - 1
    return SdpSolution(length**2 * (axes @ matrix @ axes.T), float(gap), float(violation))


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


def own(points: np.ndarray, work: Counter | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Solve the precision form by a working set around our interior-point kernel.

    The kernel solves for the few points that matter, one matrix product prices all points, those outside join, those
    that provably cannot touch the optimum leave.

    Parameters
    ----------
    points : (N, d) float64
        Spanning their space, in principal axes, which may be of very different length.
    work : Counter, optional
        Gets the points "priced" and those "solved" for, each summed over the rounds.

    Returns
    -------
    factor : (d, d) float64
        G with X = G'G, nearly feasible and nearly optimal: the best found within the limit of rounds.
    rows : (M,) int
        The last working set.
    weights : (M,) float64
        Its dual weights, not normalised; all other points have weight zero.
    """
    n, d = points.shape
    spread = np.sqrt(np.einsum("ni,ni->i", points, points) / n)
    factor = np.diag(1 / np.sqrt(spread * spread.sum()))
    reach, _ = _price(points, factor)
    # The farthest along every axis span the space, or nearly so, where the outermost do not.
    ends = [np.abs(along).argmax() for along in points.T]
    rows = np.union1d(_largest(reach, FIRST_ROWS_PER_DIMENSION * d), ends)
    shrink = 1.5 * reach[rows].max()
    factor /= np.sqrt(shrink)
    slack = 1 - reach[rows] / shrink
    weights = np.square(1 / np.diag(factor)).sum() / ((1 - slack) / slack).sum() / slack
    target = FIRST_TARGET if len(rows) < n else TARGET
    pool, candidates = points, np.arange(n)
    best, least = (factor, rows, weights), np.inf
    for _ in range(ROUNDS):
        factor, weights, value, gap, reweighting = interior_point(points[rows], factor, weights, target)
        reach, leverage = _price(pool, factor)
        if work is not None:
            work.update(priced=len(pool), solved=len(rows))
        worst = max(reach.max(), 1.0)
        stalled = gap > target
        if not worst - 1 + gap >= least:
            best, least = (factor, rows, weights), worst - 1 + gap
        if least <= 2 * TARGET or not np.isfinite(gap):
            break
        keep = _may_be_active(reach, leverage, weights.sum(), value, worst, reweighting)
        pool, candidates, reach, leverage = pool[keep], candidates[keep], reach[keep], leverage[keep]
        old = np.isin(rows, candidates, assume_unique=True)
        rows, weights = rows[old], weights[old]
        outside = np.flatnonzero(reach > 1 + TARGET)
        if stalled and not len(outside):
            break
        target = min(target, max(TARGET, TIGHTER * (worst - 1)))
        if len(outside):
            new = outside[_largest(reach[outside], NEW_ROWS_PER_DIMENSION * d)]
            factor, rows, weights = _warm_start(factor, rows, weights, candidates, reach, leverage, new)
    return best


def _price(points: np.ndarray, factor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return z_n' X z_n and y_n' K^-1 y_n, K^-1 = G G' (diagonal), for every point y_n = G z_n: (N,) each."""
    squares = points @ factor.T
    np.square(squares, out=squares)
    priced = squares @ np.column_stack([np.ones(len(factor)), np.square(factor).sum(axis=1)])
    return priced[:, 0], priced[:, 1]


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """Return the positions of the ``count`` largest values, in no particular order."""
    return np.argpartition(-values, count)[:count] if count < len(values) else np.arange(len(values))


def _may_be_active(
    reach: np.ndarray, leverage: np.ndarray, total_weight: float, value: float, worst: float, reweighting: float
) -> np.ndarray:
    """Tell which points may touch the optimum, (N,); all others can be left out without changing it.

    With y_n = G z_n, X = G'G and K = (G G')^-1: w_n = |y_n|^2 is the reach, v_n = y_n' K^-1 y_n the leverage, L the
    total of the weights l_n, f = tr X^-1 = tr K the value, c = max(1, max_n w_n) the worst reach, and t = |K^-1/2 (K
    - sum l_n y_n y_n') K^-1/2|_F the reweighting.

    Write the optimum X* = G'Y G. (i) X / c is feasible, so tr K Y^-1 = tr X*^-1 <= c f. (ii) X* is feasible, so sum
    l_n y_n'Y y_n <= L; as sum l_n y_n y_n' >= (1 - t) K in the semidefinite order, tr K Y <= L / (1 - t) if t < 1.
    Together tr K (Y + Y^-1 - 2 I) <= r := L / (1 - t) + (c - 2) f. Let Y = sum_j q_j e_j e_j', p_j = e_j'K e_j, h_j =
    q_j + 1 / q_j - 2 >= 0: then sum p_j h_j <= r, and q_j - 1 <= h_j + sqrt(h_j). For a point y put a_j = (y'e_j)^2
    <= (y'K^-1 y) p_j = v p_j. So sum a_j h_j <= v r, by Cauchy-Schwarz sum a_j sqrt(h_j) <= sqrt(w v r), and z'X*z =
    sum a_j q_j <= w + sqrt(w v r) + v r. A point for which that is below one does not touch the optimum of this
    convex problem and can be dropped.
    """
    if reweighting >= 1:
        return np.ones(len(reach), dtype=bool)
    room = max(total_weight / (1 - reweighting) + (worst - 2) * value, 0.0) * leverage
    return reach + np.sqrt(reach * room) + room >= 1 - 1e-9


def _warm_start(
    factor: np.ndarray,
    rows: np.ndarray,
    weights: np.ndarray,
    candidates: np.ndarray,
    reach: np.ndarray,
    leverage: np.ndarray,
    new: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add the candidates at positions ``new`` to the working set and shrink X until it is strictly inside again.

    New weights aim at the mean weight_n slack_n of the old points, but stay small against K in every direction.
    """
    shrink = reach.max() * (1 + 0.5 * min(reach.max() - 1, 1.0))
    slack = 1 - reach / shrink
    weights = weights * shrink**2
    centre = (weights * slack[np.searchsorted(candidates, rows)]).mean()
    added = np.minimum(centre / slack[new], 0.1 * shrink**2 / leverage[new])
    return factor / np.sqrt(shrink), np.concatenate([rows, candidates[new]]), np.concatenate([weights, added])
