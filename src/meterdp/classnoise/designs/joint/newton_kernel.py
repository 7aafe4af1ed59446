"""The Newton matrix of :mod:`meterdp.classnoise.designs.joint.common_noise`, compiled.

Every constraint touches few variables: written out, the Jacobian of a hundred edges is zeros nearly everywhere, and
products of it are what a step would take most of its time for.
"""

from __future__ import annotations

import math

from numba import njit


@njit(cache=True)
def fill(inverse, w, moves, first, second, reach, weight, ratio, rows, columns, jacobian, normal):
    """Fill the Jacobian of the constraints and add to the upper triangle of the Newton matrix.

    Parameters
    ----------
    inverse : (r, r) float64 array
        C^-1.
    w : (e, r) float64 array
        C^-1 d of every edge.
    moves : (n, r) float64 array
    first, second : (e,) int64 arrays
        Labels at the ends of an edge; d is that of the second less that of the first.
    reach : float
        Length of a unit of the moves.
    weight, ratio : (e + n,) float64 arrays
        Multipliers, and what the outer products of the rows of the Jacobian count.
    rows, columns : (s,) int64 arrays
        Entries of svec.
    jacobian : (e + n, v) float64 array
        Zeros; filled. Variables are t, svec of C and the moves, v = 1 + s + n r.
    normal : (v, v) float64 array
        The Hessian of the weighted constraints and J' diag(ratio) J, but for the block of t and svec of C, are added
        above and on the diagonal.
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
        for p in range(1, at):
            scaled = share * jacobian[k, p]
            for i in range(r):
                normal[p, to + i] += scaled * jacobian[k, to + i]
                normal[p, back + i] += scaled * jacobian[k, back + i]
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
        # Second derivative by C and the moves.
        pull = 2.0 * reach * weight[k]
        for p in range(s):
            i, j = rows[p], columns[p]
            half = 1.0 if i == j else 0.5 * root
            for m in range(r):
                bent = pull * half * (inverse[m, i] * w[k, j] + (inverse[m, j] * w[k, i] if i != j else 0.0))
                normal[1 + p, to + m] -= bent
                normal[1 + p, back + m] += bent
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
