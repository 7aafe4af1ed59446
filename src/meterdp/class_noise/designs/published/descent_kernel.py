"""The compiled loop of Algorithm 1 of Ramakrishna et al.: an iteration costs what the edges of one label cost.

Moving A_b changes g of (46) only on the edges of b, so the values of all edges and the largest one of every label are
kept; a label that lost its largest value is searched again only once it could hold the worst pair. Steps, checks and
stopping rules are those of recomputing (46) for all pairs. Arguments:
:mod:`meterdp.class_noise.designs.published.descent`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

NO_STEP, NO_DESCENT, ITERATION_LIMIT = range(3)


class Rows(NamedTuple):
    """For every label x the largest g_xy - ln|A_x| over its neighbours y; arrays (H,).

    Parameters
    ----------
    largest : float64 array
        The value; an upper bound where ``stale``.
    edge : int64 array
        Its edge among those of x, where not ``stale``.
    stale : bool array
        Whether the edge that had the largest value has fallen since.
    """

    largest: np.ndarray
    edge: np.ndarray
    stale: np.ndarray


@njit(cache=True, error_model="numpy")
def descend_in_place(state, members, first_step, smallest_step, halvings, floor, trace):
    """Lines 2-10 of Algorithm 1 on a DescentState; one iteration for every row of ``trace`` at most.

    Returns
    -------
    iterations, reason, rejected : int
        ``reason`` is one of the numbers above, ``rejected`` counts fractions of a last step that was not accepted.
    """
    graph, means, precision, covariance, log_det, value = state
    k, labels = means.shape
    rows = Rows(np.full(labels, -np.inf), np.full(labels, -1), np.ones(labels, np.bool_))
    for x in members:
        _search_row(x, graph, value, rows)
    widest = _largest_degree(graph)
    apart, quadratic, work = np.empty((k, widest)), np.empty(widest), np.empty(widest)
    gradient, trial, v = np.empty((k, k)), np.empty((k, k)), np.empty(k)
    new, inverse = np.empty((k, k)), np.empty((k, k))
    for iteration in range(trace.step.size):
        a = _worst_row(members, graph, value, log_det, rows)
        worst, edge = rows.largest[a] + log_det[a], rows.edge[a]
        b = graph.neighbour[edge]
        if rows.stale[b]:
            _search_row(b, graph, value, rows)
        others = graph.neighbour[graph.first[b] : graph.first[b + 1]]
        values = value[graph.first[b] : graph.first[b + 1]]
        to_a = graph.reverse[edge] - graph.first[b]
        _differences(means, b, others, apart)
        for i in range(k):
            v[i] = apart[i, to_a]
        for i in range(k):
            for j in range(k):
                gradient[i, j] = v[i] * v[j] - covariance[b, i, j]
        out_of_b = rows.largest[b] + log_det[b]
        step = _step_bound(worst, out_of_b, values, log_det, others, covariance[b], v, apart, quadratic, work)
        step = min(first_step, step)
        if step <= smallest_step:
            return iteration, NO_STEP, 0
        tries = 0
        while True:
            for i in range(k):
                for j in range(k):
                    trial[i, j] = precision[b, i, j] - step * gradient[i, j]
            new_log_det = _project(trial, floor, new, inverse)
            if rows.largest[b] + new_log_det <= worst:
                _quadratics(apart, others.size, new, quadratic, work)
                if _none_overtakes(quadratic, new_log_det, log_det, others, to_a, worst):
                    break
            if tries == halvings:
                return iteration, NO_DESCENT, tries + 1
            step *= 0.5
            tries += 1
        for i in range(k):
            for j in range(k):
                precision[b, i, j], covariance[b, i, j] = new[i, j], inverse[i, j]
        log_det[b] = new_log_det
        for e in range(others.size):
            values[e] = quadratic[e] - new_log_det
            _enter(others[e], graph.reverse[graph.first[b] + e], values[e], rows)
        trace.pair[iteration, 0], trace.pair[iteration, 1] = a, b
        trace.surrogate[iteration], trace.step[iteration], trace.halvings[iteration] = worst, step, tries
    return trace.step.size, ITERATION_LIMIT, 0


@njit(cache=True, error_model="numpy")
def _step_bound(worst, out_of_b, values, log_det, others, covariance, v, apart, quadratic, work):
    """Largest step of A_b along minus the gradient of g_ab for which no other pair overtakes it (Lemma 2).

    With gap = g_ab - g of the other pair (never negative) and A = A_b, appendix C gives

    * pair (b, X): gap / (tr A^-2 - v' A^-1 v) if the denominator is positive; ln|A| is concave, so this is safe;
    * pair (X, b): gap / (v_X' A^-1 v_X - (v_X' v)^2 + v' A^-1 v - tr A^-2) if positive, to first order in the step.

    A denominator that is not positive means that the pair falls with (a, b) and sets no bound; (51) as printed takes
    it as a negative bound, which leaves no step. (a, b) itself falls with slope -|gradient|^2. ``out_of_b`` is the
    largest g of the pairs (b, X), ``values`` and ``apart`` belong to the pairs (X, b) with X in ``others``.
    """
    rise = 0.0
    for i in range(v.size):
        for j in range(v.size):
            rise += (covariance[i, j] - v[i] * v[j]) * covariance[i, j]
    bound = (worst - out_of_b) / rise if rise > 0 else np.inf
    _quadratics(apart, others.size, covariance, quadratic, work)
    for e in range(others.size):
        work[e] = 0.0
    for i in range(v.size):
        for e in range(others.size):
            work[e] += v[i] * apart[i, e]
    for e in range(others.size):
        slope = quadratic[e] - work[e] * work[e] - rise
        if slope > 0:
            bound = min(bound, (worst - (values[e] + log_det[others[e]])) / slope)
    return bound


@njit(cache=True, error_model="numpy")
def _project(matrix, floor, projected, inverse):
    """Projection (49), floor relative to the largest modulus, and its inverse; returns ln of its determinant."""
    k = matrix.shape[0]
    values, vectors = np.linalg.eigh(matrix)
    least = floor * max(abs(values[0]), abs(values[-1]))
    log_det = 0.0
    for m in range(k):
        values[m] = max(values[m], least)
        log_det += np.log(values[m])
    for i in range(k):
        for j in range(i + 1):
            entry, inverse_entry = 0.0, 0.0
            for m in range(k):
                product = vectors[i, m] * vectors[j, m]
                entry += values[m] * product
                inverse_entry += product / values[m]
            projected[i, j], projected[j, i] = entry, entry
            inverse[i, j], inverse[j, i] = inverse_entry, inverse_entry
    return log_det


@njit(cache=True)
def _largest_degree(graph):
    widest = 0
    for b in range(graph.first.size - 1):
        widest = max(widest, graph.first[b + 1] - graph.first[b])
    return widest


@njit(cache=True)
def _none_overtakes(quadratic, new_log_det, log_det, others, to_a, worst):
    """Whether g_ab falls and no g_Xb is above the old worst value (claim ram-6); NaN counts as above."""
    for e in range(others.size):
        new = quadratic[e] - new_log_det + log_det[others[e]]
        if not (new < worst if e == to_a else new <= worst):
            return False
    return True


@njit(cache=True)
def all_values(graph, means, precision, log_det):
    """Return g_Xb - ln|A_X| of (46) for every edge, X its neighbour and b its label; (P,)."""
    widest = _largest_degree(graph)
    value, apart, work = np.empty(graph.neighbour.size), np.empty((means.shape[0], widest)), np.empty(widest)
    for b in range(log_det.size):
        own = value[graph.first[b] : graph.first[b + 1]]
        _differences(means, b, graph.neighbour[graph.first[b] : graph.first[b + 1]], apart)
        _quadratics(apart, own.size, precision[b], own, work)
        for e in range(own.size):
            own[e] -= log_det[b]
    return value


@njit(cache=True)
def _differences(means, b, others, apart):
    """mu_b - mu_X for the neighbours X of b, into the columns of ``apart``."""
    for i in range(means.shape[0]):
        for e in range(others.size):
            apart[i, e] = means[i, b] - means[i, others[e]]


@njit(cache=True)
def _quadratics(apart, count, matrix, out, work):
    """v' M v for the first ``count`` columns v of ``apart`` and symmetric M; columns innermost, for vector units."""
    for e in range(count):
        out[e] = 0.0
    for i in range(matrix.shape[0]):
        for e in range(count):
            work[e] = matrix[i, i] * apart[i, e]
        for j in range(i):
            twice = 2.0 * matrix[i, j]
            for e in range(count):
                work[e] += twice * apart[j, e]
        for e in range(count):
            out[e] += work[e] * apart[i, e]


@njit(cache=True)
def _search_row(x, graph, value, rows):
    """Find the largest value of x among its edges; the first of equal ones."""
    largest, edge = -np.inf, -1
    for p in range(graph.first[x], graph.first[x + 1]):
        if value[graph.reverse[p]] > largest:
            largest, edge = value[graph.reverse[p]], p
    rows.largest[x], rows.edge[x], rows.stale[x] = largest, edge, False


@njit(cache=True)
def _worst_row(members, graph, value, log_det, rows):
    """Label a of the worst pair; a label that lost its largest value is searched only if it comes out on top."""
    while True:
        worst, a = -np.inf, members[0]
        for x in members:
            if rows.largest[x] + log_det[x] > worst:
                worst, a = rows.largest[x] + log_det[x], x
        if not rows.stale[a]:
            return a
        _search_row(a, graph, value, rows)


@njit(cache=True)
def _enter(x, edge, new, rows):
    """Take the new value of one of the edges of x into what is known of its largest."""
    if new > rows.largest[x]:
        rows.largest[x], rows.edge[x], rows.stale[x] = new, edge, False
    elif edge == rows.edge[x]:
        rows.stale[x] = new < rows.largest[x]
