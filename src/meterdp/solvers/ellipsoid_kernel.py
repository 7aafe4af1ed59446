"""Primal-dual interior-point method for min tr X^-1 subject to z_n' X z_n <= 1: the kernel of our solver of (23).

Every Newton step is taken in coordinates y = G z in which the present X = G'G is the identity and the curvature of
tr X^-1 is diagonal, so directions a million times shorter than others are no harder. Compiled; promises nothing.
"""

from __future__ import annotations

import numpy as np
from numba import njit

STEPS = 200
# Largest share of the way to the boundary a step goes, and the longest step |W|_F: X stays positive definite.
TO_BOUNDARY = 0.99
LONGEST = 0.65
# Above this relative dual residual a step restores it and lowers the complementarity no further.
LARGEST_REWEIGHTING = 1.0
SWEEPS = 30
ORTHOGONAL = 1e-14
# Columns of the normal matrix eliminated before the rest is updated by one matrix product.
BLOCK = 64
ROOT_2 = np.sqrt(2.0)

# A division by zero gives an infinity, which ends the iteration; the caller keeps the best answer.
compiled = njit(cache=True, error_model="numpy")


@compiled
def interior_point(points, factor, weights, target):
    """Improve a strictly feasible X and positive weights until their relative gap is at most ``target``.

    Parameters
    ----------
    points : (M, d) float64
    factor : (d, d) float64
        G with X = G'G and |G z_n| < 1.
    weights : (M,) float64
        Dual weights, positive, not normalised: at the optimum X^-2 = sum_n weight_n z_n z_n'.

    Returns
    -------
    factor, weights
        Improved; the rows of G are orthogonal.
    value : float
        tr X^-1.
    gap : float
        Estimate of value / optimum - 1 among these points.
    reweighting : float
        |K^-1/2 R K^-1/2|_F with K = (G G')^-1 and R = K - sum_n weight_n y_n y_n', the relative dual residual.

    Notes
    -----
    For X + dX = G'(I + W)G the conditions are K - (W K + K W) = sum_n (weight_n + change_n) y_n y_n' to first order
    and (weight_n + change_n)(slack_n - y_n'W y_n) = centre. Without the changes d (d + 1) / 2 equations for W are
    left. Predictor and corrector are Mehrotra's; the corrector also carries the second-order term of X^-2.
    """
    m, d = points.shape
    size = d * (d + 1) // 2
    factor, weights = factor.copy(), weights.copy()
    features, scaled, normal = np.empty((m, size)), np.empty((m, size)), np.empty((size, size))
    slack, shift, change, aim = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    plain, curvature, residual, direction = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    k, w, root = np.empty(d), np.empty((d, d)), np.empty((d, d))
    value = gap = reweighting = np.inf
    _orthogonalise(factor)
    for _ in range(STEPS):
        _diagonal(factor, k, plain, curvature)
        _squares(np.dot(points, factor.T), features, slack)
        _minus(plain, np.dot(weights, features), residual)
        complementarity = _inner(weights, slack)
        value, gap, reweighting = _quality(residual, k, curvature, complementarity)
        if not gap > target:
            break
        for n in range(m):
            ratio = weights[n] / slack[n]
            for c in range(size):
                scaled[n, c] = ratio * features[n, c]
        np.dot(features.T, scaled, normal)
        for c in range(size):
            normal[c, c] += curvature[c]
        if not _cholesky(normal):
            break
        # Predictor: aim at complementarity zero.
        for c in range(size):
            direction[c] = plain[c]
        for n in range(m):
            aim[n] = 0.0
        reach = _step(normal, features, weights, slack, aim, direction, shift, change, 1.0)
        affine = 0.0
        for n in range(m):
            affine += (weights[n] + reach * change[n]) * (slack[n] + reach * shift[n])
        share = 1.0 if reweighting > LARGEST_REWEIGHTING else (affine / complementarity) ** 3
        # Corrector: aim at the centre, with the products of the predictor's changes taken into account.
        for n in range(m):
            aim[n] = (share * complementarity / m - change[n] * shift[n]) / slack[n]
        _unpack(direction, w)
        _second_order(w, k, residual)
        _minus(plain, np.dot(aim, features), direction)
        for c in range(size):
            direction[c] += residual[c]
        reach = _step(normal, features, weights, slack, aim, direction, shift, change, TO_BOUNDARY)
        reach = min(reach, LONGEST / np.sqrt(_inner(direction, direction)))
        _unpack(direction, w)
        for i in range(d):
            for j in range(d):
                root[i, j] = reach * w[i, j]
            root[i, i] += 1
        if not _cholesky(root):
            break
        # G becomes root' G, row by row: row i needs rows i, i + 1, ... only.
        for i in range(d):
            for c in range(d):
                total = 0.0
                for a in range(i, d):
                    total += root[a, i] * factor[a, c]
                factor[i, c] = total
        _orthogonalise(factor)
        for n in range(m):
            weights[n] += reach * change[n]
    return factor, weights, value, gap, reweighting


@compiled
def _step(normal, features, weights, slack, aim, direction, shift, change, share):
    """Solve for the packed W in place, write the changes of slacks and weights; return the length of the step."""
    _solve(normal, direction)
    np.dot(features, direction, shift)
    reach = np.inf
    for n in range(len(slack)):
        shift[n] = -shift[n]
        change[n] = aim[n] - weights[n] * (1 + shift[n] / slack[n])
        if shift[n] < 0:
            reach = min(reach, -slack[n] / shift[n])
        if change[n] < 0:
            reach = min(reach, -weights[n] / change[n])
    return min(1.0, share * reach)


@compiled
def _diagonal(factor, k, plain, curvature):
    """Write the diagonal of K = (G G')^-1 for orthogonal rows, K packed, and the curvature k_i + k_j packed."""
    d = len(k)
    for i in range(d):
        k[i] = 1 / _inner(factor[i], factor[i])
    c = 0
    for i in range(d):
        for j in range(i + 1):
            curvature[c] = k[i] + k[j]
            plain[c] = k[i] if i == j else 0.0
            c += 1


@compiled
def _squares(y, features, slack):
    """Write the lower triangles of y_n y_n', off-diagonal entries times sqrt 2, and 1 - |y_n|^2."""
    m, d = y.shape
    for n in range(m):
        slack[n] = 1.0
        c = 0
        for i in range(d):
            for j in range(i):
                features[n, c] = ROOT_2 * y[n, i] * y[n, j]
                c += 1
            features[n, c] = y[n, i] * y[n, i]
            slack[n] -= features[n, c]
            c += 1


@compiled
def _quality(residual, k, curvature, complementarity):
    """Return tr K, the relative gap to second order in the dual residual, and that residual relative to K."""
    value = quadratic = reweighting = 0.0
    c = 0
    for i in range(len(k)):
        value += k[i]
        for j in range(i + 1):
            quadratic += residual[c] ** 2 / curvature[c]
            reweighting += residual[c] ** 2 / (k[i] * k[j])
            c += 1
    return value, (complementarity + quadratic / 2) / value, np.sqrt(reweighting)


@compiled
def _second_order(w, k, out):
    """Write W W K + W K W + K W W, packed, damped where W is too large for it to be a small term."""
    d = len(k)
    size = 0.0
    for i in range(d):
        size += _inner(w[i], w[i])
    damping = min(1.0, 0.25 / size) if size > 0 else 0.0
    c = 0
    for i in range(d):
        for j in range(i + 1):
            total = 0.0
            for a in range(d):
                total += w[i, a] * w[j, a] * (k[i] + k[a] + k[j])
            out[c] = damping * total * (1.0 if i == j else ROOT_2)
            c += 1


@compiled
def _inner(a, b):
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@compiled
def _minus(a, b, out):
    for i in range(len(out)):
        out[i] = a[i] - b[i]


@compiled
def _unpack(packed, out):
    c = 0
    for i in range(len(out)):
        for j in range(i):
            out[i, j] = out[j, i] = packed[c] / ROOT_2
            c += 1
        out[i, i] = packed[c]
        c += 1


@compiled
def _cholesky(a):
    """Replace a symmetric matrix by its lower Cholesky factor, zeros above; tell whether it is positive definite."""
    n = len(a)
    column = np.empty(n)
    for begin in range(0, n, BLOCK):
        end = min(begin + BLOCK, n)
        for j in range(begin, end):
            if not (a[j, j] > 0 and a[j, j] < np.inf):
                return False
            a[j, j] = np.sqrt(a[j, j])
            for i in range(j + 1, n):
                a[i, j] /= a[j, j]
                column[i] = a[i, j]
                a[j, i] = 0.0
            for i in range(j + 1, n):
                for c in range(j + 1, min(i + 1, end)):
                    a[i, c] -= column[i] * column[c]
        if end < n:
            panel = a[end:, begin:end].copy()
            update = np.dot(panel, panel.T)
            for i in range(n - end):
                for c in range(i + 1):
                    a[end + i, end + c] -= update[i, c]
    return True


@compiled
def _solve(lower, b):
    """Solve L L' x = b in place."""
    n = len(b)
    for i in range(n):
        b[i] = (b[i] - _inner(lower[i, :i], b[:i])) / lower[i, i]
    for i in range(n - 1, -1, -1):
        b[i] /= lower[i, i]
        for j in range(i):
            b[j] -= lower[i, j] * b[i]


@compiled
def _orthogonalise(factor):
    """Rotate the rows of G until they are orthogonal (one-sided Jacobi, accurate in every row); G'G stays."""
    d = len(factor)
    for _ in range(SWEEPS):
        largest = 0.0
        for i in range(d):
            for j in range(i):
                a, b = _inner(factor[i], factor[i]), _inner(factor[j], factor[j])
                product = _inner(factor[i], factor[j])
                cosine = abs(product) / np.sqrt(a * b)
                largest = max(largest, cosine)
                if not cosine > ORTHOGONAL:
                    continue
                zeta = (b - a) / (2 * product)
                tangent = (1.0 if zeta >= 0 else -1.0) / (abs(zeta) + np.sqrt(1 + zeta * zeta))
                cosine = 1 / np.sqrt(1 + tangent * tangent)
                sine = cosine * tangent
                for c in range(d):
                    p, q = factor[i, c], factor[j, c]
                    factor[i, c] = cosine * p - sine * q
                    factor[j, c] = sine * p + cosine * q
        if largest <= ORTHOGONAL:
            break
