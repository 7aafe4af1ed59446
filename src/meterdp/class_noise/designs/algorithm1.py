"""Algorithm 1 of Ramakrishna et al.: block descent on the surrogate (46)-(47), then the rescaling (50).

Family ``published``: study only. It minimises a surrogate of a bound, and after (50) the covariance is not the one
that was optimised (defect R2), so the design carries no guarantee; its privacy is read off its curve
(:mod:`meterdp.accounting`). Lemma 2 is used as its proof in appendix C derives it, not as (51)-(53) print it, and
every step is checked; derivation and differences are in docs/proofs/published_class_noise.md.

The loop is compiled, and an iteration costs what the edges of one label cost: moving A_b changes g of (46) only on
the edges of b, so the values of all edges and the largest one of every label are kept, and a label that lost its
largest value is searched again only once it could hold the worst pair. Steps, checks and stopping rules are those of
recomputing (46) for all pairs. J of (47) never rises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from meterdp.class_noise.query_models import Budget, ClassQueries, DesignReport, Noise
from meterdp.errors import InputError

NO_STEP, NO_DESCENT, ITERATION_LIMIT = range(3)
# alpha at the start, the upper limit of every step, as in the paper.
FIRST_STEP = 0.1
# A step bound below this counts as "no step left"; it only keeps rounding from replacing an exact zero.
SMALLEST_STEP = 1e-12
# How often a step that does not lower the worst pair is halved. Lemma 2 bounds one of its terms to first order only,
# so its step can be too long.
HALVINGS = 30
MOST_ITERATIONS = 5000
# The projection (49) keeps eigenvalues of A above this times the largest; a zero one would have no inverse.
EIGENVALUE_FLOOR = 1e-9


class Rows(NamedTuple):
    """For every label x, (H,), the largest g_xy - ln|A_x| over its neighbours y, an upper bound where ``stale``, and
    its edge.

    A row is stale if the edge that had the largest value has fallen since.
    """

    largest: np.ndarray
    edge: np.ndarray
    stale: np.ndarray


@njit(cache=True, error_model="numpy")
def descend_in_place(state, members, first_step, smallest_step, halvings, floor, trace):
    """Lines 2-10 of Algorithm 1 on a DescentState; one iteration for every row of ``trace`` at most.

    Returns iterations, one of the reasons above, and the fractions of a last step that were not accepted.
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


# In the order of the kernel's numbers: the step size of Lemma 2 is zero, the published stopping rule; no fraction of
# the step lowered the worst pair of the updated label; the configured number of iterations was reached.
DESCENT_STOP_REASONS = ("no step", "no descent", "iteration limit")


class NeighbourGraph(NamedTuple):
    """The graph (1) by label: the edges of label b are ``first[b]`` to ``first[b + 1]``.

    Of every edge (P,): the other end, ascending for every label, and the position of the same edge among those of
    that end.
    """

    first: np.ndarray
    neighbour: np.ndarray
    reverse: np.ndarray


class Trace(NamedTuple):
    """What every iteration did; arrays of one row per iteration.

    ``pair`` (t, 2) is the worst pair (a, b), lowered by moving A_b, ``surrogate`` J before the step, ``step`` the
    accepted one, ``halvings`` how often that of Lemma 2 was halved before.
    """

    pair: np.ndarray
    surrogate: np.ndarray
    step: np.ndarray
    halvings: np.ndarray


class DescentState(NamedTuple):
    """Iterate of the descent, changed in place; one per call.

    ``means`` (k, H) has one column per label, log kWh; ``precision`` and ``covariance`` (H, k, k) are A_X and its
    inverse, ``log_det`` (H,) is ln|A_X|, ``value`` (P,) g_Xb - ln|A_X| for the edge of label b to X.
    """

    graph: NeighbourGraph
    means: np.ndarray
    precision: np.ndarray
    covariance: np.ndarray
    log_det: np.ndarray
    value: np.ndarray

    def surrogate(self) -> np.ndarray:
        """g_Xb of (46), X the neighbour and b the label, in the order of the graph's edges; (P,)."""
        return self.value + self.log_det[self.graph.neighbour]

    def worst(self) -> float:
        """J of (47), NaN without edges."""
        return float(self.surrogate().max()) if self.value.size else float("nan")


@dataclass(frozen=True)
class Descent:
    """How a descent went: one of :data:`DESCENT_STOP_REASONS`, its iterations, and the fractions of a last step that
    were not accepted.
    """

    stop_reason: str
    trace: Trace
    rejected_count: int


def neighbour_graph(pairs: np.ndarray, labels: int) -> NeighbourGraph:
    """Return the graph of the ordered ``pairs`` (P, 2) among ``labels`` labels; a pair given twice counts once.

    Refuses a pair that names no label, a label that is its own neighbour, and a pair given in one direction only.
    """
    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    if pairs.size and (pairs.min() < 0 or pairs.max() >= labels):
        raise InputError("names a label that does not exist", field="pairs", hint="use positions of the queries")
    key = np.sort(pairs[:, 0] * labels + pairs[:, 1], kind="stable")  # np.unique hashes, which is slower
    label, other = np.divmod(key[np.diff(key, prepend=-1) > 0], max(labels, 1))
    if np.any(label == other):
        raise InputError("makes a label its own neighbour", field="pairs", hint="leave such pairs out")
    reverse = np.argsort(other * labels + label, kind="stable")
    if not (np.array_equal(label, other[reverse]) and np.array_equal(other, label[reverse])):
        raise InputError("gives an edge in one direction only", field="pairs", hint="give both (X, X') and (X', X)")
    return NeighbourGraph(np.searchsorted(label, np.arange(labels + 1)), other, reverse)


def descent_state(graph: NeighbourGraph, means: np.ndarray, covariance: np.ndarray) -> DescentState:
    """Return the state for means (H, k) and covariances (A_X)^-1 (H, k, k).

    Eigenvalues within rounding of zero, relative to the largest, are raised to that level: J is then finite and huge.
    Values of (46) that are too large for a float are refused.
    """
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, values[:, -1:] * means.shape[1] * np.finfo(float).eps)
    precision = (vectors / values[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    log_det = -np.log(values).sum(axis=1)
    columns = np.ascontiguousarray(means.T)
    value = all_values(graph, columns, precision, log_det)
    if not np.isfinite(value).all():
        raise InputError("are too far apart for the budget", field="queries", hint="give a larger budget")
    return DescentState(graph, columns, precision, covariance.copy(), log_det, value)


def descend(
    state: DescentState,
    members: np.ndarray,
    *,
    first_step: float = FIRST_STEP,
    smallest_step: float = SMALLEST_STEP,
    halvings: int = HALVINGS,
    iteration_limit: int = MOST_ITERATIONS,
    eigenvalue_floor: float = EIGENVALUE_FLOOR,
) -> Descent:
    """Run lines 2-10 of Algorithm 1 on ``state``, in place.

    ``members`` (m,) are the labels to descend, ascending: each has a neighbour, and all neighbours are among them.
    """
    size = iteration_limit
    trace = Trace(np.empty((size, 2), np.int64), np.empty(size), np.empty(size), np.empty(size, np.int64))
    members = np.ascontiguousarray(members, dtype=np.int64)
    steps = (float(first_step), float(smallest_step), halvings)
    done, stop, rejected = descend_in_place(state, members, *steps, float(eigenvalue_floor), trace)
    return Descent(DESCENT_STOP_REASONS[stop], Trace(*(column[:done] for column in trace)), rejected)


def published_noise(queries: ClassQueries, budget: Budget) -> Noise:
    """Run Algorithm 1 from white noise and rescale to the budget by (50).

    Covariances (H, k, k) have exactly the budget's trace; the report counts iterations and halved steps, says why the
    descent ended, and gives J of (47) at the white start, where the descent ended, and after (50). Raises
    :class:`InputError` if the pairs are no undirected graph, or the queries are not finite or too far apart for the
    budget.
    """
    labels, entries = queries.mean_log_kwh.shape
    graph = neighbour_graph(queries.pairs, labels)
    trace = budget.squared_error(entries)
    if trace == 0.0:
        return Noise(np.zeros_like(queries.covariance), report=DesignReport(stop_reason="no budget"))
    if not (np.isfinite(queries.mean_log_kwh).all() and np.isfinite(queries.covariance).all()):
        raise InputError("are not finite", field="queries", hint="leave out households without a forecast")
    white = queries.covariance + trace / entries * np.eye(entries)
    # Distances are all that matters; centring keeps their rounding small.
    means = queries.mean_log_kwh - queries.mean_log_kwh.mean(axis=0)
    state = descent_state(graph, means, white)
    surrogate_white = state.worst()
    # One worst pair over all labels, as written: the descent ends for all when it ends for the worst neighbourhood.
    members = np.unique(queries.pairs)
    descents = [descend(state, members, iteration_limit=MOST_ITERATIONS)] if members.size else []
    noise, replaced = _rescale(state.covariance - queries.covariance, trace)
    report = DesignReport(
        iteration_count=sum(d.trace.step.size for d in descents),
        halved_step_count=sum(int(d.trace.halvings.sum()) + d.rejected_count for d in descents),
        white_label_count=replaced,
        stop_reason=descents[0].stop_reason if descents else "no pairs",
        surrogate_white=surrogate_white,
        surrogate_descended=state.worst(),
        surrogate_released=descent_state(graph, means, queries.covariance + noise).worst(),
    )
    return Noise(noise, report=report)


def _rescale(excess: np.ndarray, trace: float) -> tuple[np.ndarray, int]:
    """Apply (50) to (A_X)^-1 - Sigma_X; returns the covariances and how many labels fell back to white noise.

    A label whose projection is zero, for which (50) is 0/0, gets white noise.
    """
    values, vectors = np.linalg.eigh(0.5 * (excess + np.swapaxes(excess, 1, 2)))
    values = np.maximum(values, 0.0)
    empty = values.sum(axis=1) <= 0.0
    values[empty] = 1.0
    values *= trace / values.sum(axis=1, keepdims=True)
    return np.einsum("nij,nj,nlj->nil", vectors, values, vectors), int(empty.sum())
