"""Constraints, Newton matrix and gap of :mod:`meterdp.class_noise.designs.joint.common_noise`, compiled.

Every constraint touches few variables: written out, the Jacobian of a hundred edges is zeros nearly everywhere, and
products of it are what a step would take most of its time for.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from meterdp.solvers.interior_point import fill_product, unpacked


@njit(cache=True, error_model="numpy")
def noise(packed, floor, rows, columns):
    """Return C = floor I + K, (r, r), of svec K and its entries."""
    out = unpacked(packed, rows, columns)
    for i in range(out.shape[0]):
        out[i, i] += floor
    return out


@njit(cache=True, error_model="numpy")
def edges(covariance, apart, moves, first, second, reach):
    """Return C^-1 (r, r), w = C^-1 d (e, r) and d'C^-1 d (e,); ``apart`` (e, r) is d without the moves."""
    inverse = np.linalg.inv(covariance)
    moved = _moved(apart, moves, first, second, reach)
    w = moved @ inverse
    squares = np.zeros(w.shape[0])
    for k in range(w.shape[0]):
        for i in range(w.shape[1]):
            squares[k] += w[k, i] * moved[k, i]
    return inverse, w, squares


@njit(cache=True, error_model="numpy")
def _moved(apart, moves, first, second, reach):
    """Return d of every edge, with the moves."""
    out = apart.copy()
    for k in range(apart.shape[0]):
        for i in range(apart.shape[1]):
            out[k, i] += reach * (moves[second[k], i] - moves[first[k], i])
    return out


@njit(cache=True, error_model="numpy")
def row_squares(rows):
    """Return the squared length of every row."""
    out = np.zeros(rows.shape[0])
    for k in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            out[k] += rows[k, i] * rows[k, i]
    return out


@njit(cache=True, error_model="numpy")
def constraints(level, covariance, moves, squares):
    """Return d'C^-1 d - t of all edges, and |move|^2 + tr C - 1 of all labels."""
    e, noise_total, spent_on_moves = squares.size, 0.0, row_squares(moves)
    for i in range(covariance.shape[0]):
        noise_total += covariance[i, i]
    out = np.empty(e + moves.shape[0])
    for k in range(e):
        out[k] = squares[k] - level
    for k in range(moves.shape[0]):
        out[e + k] = spent_on_moves[k] + noise_total - 1.0
    return out


@njit(cache=True, error_model="numpy")
def newton(inverse, w, moves, first, second, reach, weight, ratio, rows, columns):
    """Return the Jacobian J of the constraints and the Newton matrix, its upper triangle only; see :func:`_fill`."""
    e, at = w.shape[0], 1 + rows.size
    jacobian = np.zeros((ratio.size, at + moves.size))
    normal = np.zeros((at + moves.size, at + moves.size))
    _fill(inverse, w, moves, first, second, reach, weight, ratio, rows, columns, jacobian, normal)
    common, scaled = np.empty((ratio.size, at)), np.empty_like(w)
    for k in range(ratio.size):
        for i in range(at):
            common[k, i] = math.sqrt(ratio[k]) * jacobian[k, i]
    for k in range(e):
        for i in range(w.shape[1]):
            scaled[k, i] = weight[k] * w[k, i]
    outer, curved = common.T @ common, np.empty((rows.size, rows.size))
    fill_product(inverse, scaled.T @ w, rows, columns, curved)
    for i in range(at):
        for j in range(i, at):
            normal[i, j] += outer[i, j] + (2.0 * curved[i - 1, j - 1] if i else 0.0)
    return jacobian, normal


@njit(cache=True, error_model="numpy")
def dual(w, apart, weight, first, second, labels, reach, floor):
    """Lower bound on the optimum from the multipliers, made feasible by scaling; see docs/proofs/joint.md."""
    e, r = w.shape
    total = np.sum(weight[:e])
    force = np.zeros((labels, r))
    outer = np.zeros((r, r))
    a = 0.0
    for k in range(e):
        share = weight[k] / total
        for i in range(r):
            pull = share * w[k, i]
            force[first[k], i] -= pull
            force[second[k], i] += pull
            a += pull * apart[k, i]
            for j in range(r):
                outer[i, j] += pull * w[k, j]
    squared, q = row_squares(force), 0.0
    for k in range(labels):
        q += reach * reach * squared[k] / (weight[e + k] / total)
    on_labels = np.sum(weight[e:]) / total
    room = on_labels * (1.0 - floor * r)
    floored = 0.0
    for i in range(r):
        floored += floor * outer[i, i]
    size = on_labels / np.linalg.eigvalsh(outer)[-1]
    if a <= 0:
        return 0.0
    if q > 0:
        size = min(size, max((a * math.sqrt(room / q) - room) / floored, 0.0))
    return max(size * a * a / (room + floored * size) - size * q, 0.0)


@njit(cache=True, error_model="numpy")
def spent(covariance, moves, floor):
    """Return C scaled above its floor so that the farthest move and the noise together spend the budget of one."""
    r = covariance.shape[0]
    left, trace, out = 1.0 - row_squares(moves).max() - floor * r, 0.0, covariance.copy()
    for i in range(r):
        out[i, i] -= floor
        trace += out[i, i]
    out *= max(left, 0.0) / trace
    for i in range(r):
        out[i, i] += floor
    return out


@njit(cache=True, error_model="numpy")
def squares_of(difference, covariance):
    """d'C^-1 d of differences (E, k)."""
    root = np.linalg.inv(np.linalg.cholesky(covariance))
    return row_squares(difference @ np.ascontiguousarray(root.T))


@njit(cache=True, error_model="numpy")
def gap(covariance, w, apart, moves, weight, first, second, reach, floor, negligible):
    """Return how far the worst edge is from :func:`dual`, relative, once the budget is met exactly."""
    if row_squares(moves).max() + floor * covariance.shape[0] >= 1:
        return np.inf
    bound = max(dual(w, apart, weight, first, second, moves.shape[0], reach, floor), negligible)
    moved = _moved(apart, moves, first, second, reach)
    return squares_of(moved, spent(covariance, moves, floor)).max() / bound - 1.0


@njit(cache=True, error_model="numpy")
def nearest(points, values, level, limit, low, high, steps):
    """Return tau, how far points are pulled towards the ellipsoid sum x^2 / values <= level, (n,).

    The nearest point of the ellipsoid is x v / (v + tau): ln tau is bisected in [``low``, ``high``] until there, or
    until the squared length of the move is ``limit``. tau is zero for a point that need not move.
    """
    out = np.zeros(points.shape[0])
    for n in range(points.shape[0]):
        least, most = low, high
        for _ in range(steps):
            middle = 0.5 * (least + most)
            tau = math.exp(middle)
            there, length = 0.0, 0.0
            for i in range(values.size):
                near = values[i] / (values[i] + tau)
                there += (points[n, i] * near) ** 2 / values[i]
                length += (points[n, i] * (1.0 - near)) ** 2
            if there > level and length <= limit:
                least = middle
            else:
                most = middle
        if least > low:
            out[n] = math.exp(least)
    return out


@njit(cache=True, error_model="numpy")
def _fill(inverse, w, moves, first, second, reach, weight, ratio, rows, columns, jacobian, normal):
    """Fill the Jacobian of the constraints and add to the upper triangle of the Newton matrix.

    Of e edges: ``w`` (e, r) is C^-1 d, ``first`` and ``second`` (e,) are the labels at their ends, d that of the
    second less that of the first. ``inverse`` (r, r) is C^-1, ``moves`` (n, r), ``reach`` the length of a unit of
    them. ``weight`` and ``ratio`` (e + n,) are the multipliers, and what the outer products of the rows of the
    Jacobian count; ``rows`` and ``columns`` (s,) the entries of svec.

    The variables are t, svec of C and the moves, v = 1 + s + n r. ``jacobian`` (e + n, v) comes as zeros. To
    ``normal`` (v, v) the Hessian of the weighted constraints and J' diag(ratio) J, except for the block of t and svec
    of C, are added above and on the diagonal.
    """
    e, r = w.shape
    n, s = moves.shape[0], rows.size
    at = 1 + s
    root = math.sqrt(2.0)
    for k in range(e):
        jacobian[k, 0] = -1.0
        for p in range(s):
            i, j = rows[p], columns[p]
            jacobian[k, 1 + p] = -w[k, i] * w[k, j] * (1.0 if i == j else root)
        to, back = at + second[k] * r, at + first[k] * r
        for i in range(r):
            jacobian[k, to + i] = 2.0 * reach * w[k, i]
            jacobian[k, back + i] = -2.0 * reach * w[k, i]
        share = ratio[k]
        # By C and the moves: outer product of the Jacobian's row, less the second derivative.
        pull = 2.0 * reach * weight[k]
        for p in range(s):
            i, j = rows[p], columns[p]
            half = pull * (1.0 if i == j else 0.5 * root)
            by_i, by_j = (0.0 if i == j else half * w[k, i]), half * w[k, j]
            scaled = 2.0 * reach * share * jacobian[k, 1 + p]
            for m in range(r):
                change = scaled * w[k, m] - inverse[i, m] * by_j - inverse[j, m] * by_i
                normal[1 + p, to + m] += change
                normal[1 + p, back + m] -= change
        curved = 2.0 * reach * reach * weight[k]
        low, high = min(to, back), max(to, back)
        for i in range(r):
            normal[0, to + i] -= share * jacobian[k, to + i]
            normal[0, back + i] -= share * jacobian[k, back + i]
            for j in range(r):
                outer = 4.0 * reach * reach * share * w[k, i] * w[k, j] + curved * inverse[i, j]
                normal[low + i, high + j] -= outer
                if j >= i:
                    normal[to + i, to + j] += outer
                    normal[back + i, back + j] += outer
    for k in range(n):
        own, share = at + k * r, ratio[e + k]
        for p in range(s):
            if rows[p] != columns[p]:
                continue
            jacobian[e + k, 1 + p] = 1.0
            for m in range(r):
                normal[1 + p, own + m] += 2.0 * share * moves[k, m]
        for i in range(r):
            jacobian[e + k, own + i] = 2.0 * moves[k, i]
            normal[own + i, own + i] += 2.0 * weight[e + k]
            for j in range(i, r):
                normal[own + i, own + j] += 4.0 * share * moves[k, i] * moves[k, j]
