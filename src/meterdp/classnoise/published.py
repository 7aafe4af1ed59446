"""Algorithm 1 of Ramakrishna et al.: block descent on the surrogate (46)-(47), then the rescaling (50).

Family ``published``: study only. It minimises a surrogate of a bound, and after (50) the covariance is not the one
that was optimised (defect R2), so the design carries no guarantee; its privacy is read off its curve
(:mod:`meterdp.classnoise.loss`). Lemma 2 is used as its proof in appendix C derives it, not as (51)-(53) print it,
and every step is checked; derivation and differences are in docs/proofs/published_class_noise.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from meterdp.classnoise.interface import Budget, ClassQueries, DesignReport, Noise

STOP_REASONS = {
    "no step": "the step size of Lemma 2 is zero: the published stopping rule",
    "no descent": "no fraction of the step lowered the worst pair of the updated label",
    "iteration limit": "the configured number of iterations was reached",
    "no pairs": "nobody has a neighbour",
}


@dataclass(frozen=True)
class Algorithm1Settings:
    """Public settings of Algorithm 1.

    Parameters
    ----------
    first_step : float
        alpha at the start, the upper limit of every step (the paper's 0.1).
    smallest_step : float
        A step bound below this counts as "no step left"; it only keeps rounding from replacing an exact zero.
    halvings : int
        How often a step that does not lower the worst pair is halved. Lemma 2 bounds one of its terms to first order
        only, so its step can be too long.
    iteration_limit : int
        Iterations, per component if ``scope`` is "component".
    eigenvalue_floor : float
        The projection (49) keeps eigenvalues of A above this times the largest; a zero one would have no inverse.
    scope : {"graph", "component"}
        "graph", as written: one worst pair over all labels, so the descent ends for all neighbourhoods when it ends
        for the worst one. "component": each connected component of the graph, an independent problem, on its own.
    """

    first_step: float = 0.1
    smallest_step: float = 1e-12
    halvings: int = 30
    iteration_limit: int = 5000
    eigenvalue_floor: float = 1e-9
    scope: Literal["graph", "component"] = "graph"


@dataclass
class DescentState:
    """Iterate of the descent over n labels; the only mutable thing here, one per call."""

    means: np.ndarray  # (n, k)
    precision: np.ndarray  # (n, k, k), A_X
    log_det: np.ndarray  # (n,), ln |A_X|
    quadratic: np.ndarray  # (n, n), entry (X, X') is v' A_X' v with v = mu_X' - mu_X
    edges: np.ndarray  # (n, n) bool

    def surrogate(self) -> np.ndarray:
        """g of (46) for all ordered pairs, -inf where there is no edge."""
        return np.where(self.edges, self.quadratic - self.log_det[None, :] + self.log_det[:, None], -np.inf)


def published_noise(queries: ClassQueries, budget: Budget, settings: Algorithm1Settings | None = None) -> Noise:
    """Run Algorithm 1 from white noise and rescale to the budget by (50).

    Parameters
    ----------
    queries : ClassQueries
        For deterministic queries Sigma_X is zero.
    budget : Budget
        A positive budget; with zero the result is no noise.
    settings : Algorithm1Settings, optional
        Limits and step sizes.

    Returns
    -------
    Noise
        Covariances (H, k, k) of trace exactly the budget's. The report counts iterations and halved steps, says why
        the descent ended, and gives J of (47) at the white start, where the descent ended, and after (50).
    """
    settings = settings or Algorithm1Settings()
    labels, entries = queries.mean_log_kwh.shape
    trace = budget.squared_error(entries)
    if trace == 0.0:
        return Noise(np.zeros_like(queries.covariance))
    white = queries.covariance + trace / entries * np.eye(entries)
    edges = np.zeros((labels, labels), dtype=bool)
    edges[queries.pairs[:, 0], queries.pairs[:, 1]] = True
    # Distances are all that matters; centring keeps their rounding small.
    means = queries.mean_log_kwh - queries.mean_log_kwh.mean(axis=0)
    start = descent_state(means, np.linalg.inv(white), edges)
    covariance = white.copy()
    stops, iterations, halved = set(), 0, 0
    for group in _groups(queries.pairs, labels, settings.scope):
        state = descent_state(means[group], start.precision[group], edges[np.ix_(group, group)])
        done, halvings, stop = _descend(state, settings)
        covariance[group] = np.linalg.inv(state.precision)
        stops.add(stop)
        iterations, halved = iterations + done, halved + halvings
    noise, replaced = _rescale(covariance - queries.covariance, trace)
    descended = descent_state(means, np.linalg.inv(covariance), edges)
    released = descent_state(means, np.linalg.inv(queries.covariance + noise), edges)
    report = DesignReport(
        iteration_count=iterations,
        halved_step_count=halved,
        white_label_count=replaced,
        stop_reason="; ".join(sorted(stops)) or "no pairs",
        surrogate_white=_worst(start),
        surrogate_descended=_worst(descended),
        surrogate_released=_worst(released),
    )
    return Noise(noise, report=report)


def step_bounds(state: DescentState, a: int, b: int, gradient: np.ndarray) -> float:
    """Largest step of A_b along minus the gradient of g_ab for which no other pair overtakes it (Lemma 2).

    With gap = g_ab - g of the other pair (never negative) and A = A_b, appendix C gives

    * pair (b, X): gap / (tr A^-2 - v' A^-1 v) if the denominator is positive; ln|A| is concave, so this is safe;
    * pair (X, b): gap / (v_X' A^-1 v_X - (v_X' v)^2 + v' A^-1 v - tr A^-2) if positive, to first order in the step.

    A denominator that is not positive means that the pair falls with (a, b) and sets no bound; (51) as printed takes
    it as a negative bound, which leaves no step.
    """
    surrogate = state.surrogate()
    worst = surrogate[a, b]
    inverse = np.linalg.inv(state.precision[b])
    rise_of_log_det = -np.sum(inverse * gradient)  # tr A^-2 - v' A^-1 v
    bounds = [np.inf]
    if rise_of_log_det > 0:
        out = state.edges[b]
        bounds += list((worst - surrogate[b, out]) / rise_of_log_det)
    into = state.edges[:, b]  # a among them: its own slope is -|gradient|^2 and sets no bound
    to_b = state.means[b] - state.means[into]
    slope = -np.einsum("ni,ij,nj->n", to_b, gradient, to_b) - rise_of_log_det
    rising = slope > 0
    bounds += list((worst - surrogate[into, b][rising]) / slope[rising])
    return max(0.0, float(min(bounds)))


def descent_state(means: np.ndarray, precision: np.ndarray, edges: np.ndarray) -> DescentState:
    """State of the descent for means (n, k), precisions A_X (n, k, k) and edges (n, n)."""
    log_det = np.linalg.slogdet(precision)[1]
    quadratic = np.stack([_quadratics(means, m, p) for m, p in zip(means, precision, strict=True)], axis=1)
    return DescentState(means, precision.copy(), log_det, quadratic, edges)


def _quadratics(means: np.ndarray, mean: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """v' A v for v = mean - each of ``means``; (n,)."""
    v = mean - means
    return np.sum((v @ precision) * v, axis=1)


def _worst(state: DescentState) -> float:
    return float(state.surrogate().max()) if state.edges.any() else float("nan")


def _groups(pairs: np.ndarray, labels: int, scope: str) -> list[np.ndarray]:
    """Positions of the labels that are descended together; labels without a neighbour stay white."""
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(labels, labels))
    _, component = connected_components(graph, directed=False)
    involved = np.isin(np.arange(labels), pairs)
    if scope == "graph":
        return [np.flatnonzero(involved)] if involved.any() else []
    return [np.flatnonzero(component == c) for c in np.unique(component[involved])]


def _descend(state: DescentState, settings: Algorithm1Settings) -> tuple[int, int, str]:
    """Lines 2-10 of Algorithm 1, in place; returns iterations, halvings and a key of :data:`STOP_REASONS`."""
    halved = 0
    for iteration in range(settings.iteration_limit):
        surrogate = state.surrogate()
        a, b = np.unravel_index(surrogate.argmax(), surrogate.shape)
        v = state.means[b] - state.means[a]
        gradient = np.outer(v, v) - np.linalg.inv(state.precision[b])
        step = min(settings.first_step, step_bounds(state, a, b, gradient))
        if step <= settings.smallest_step:
            return iteration, halved, "no step"
        for _ in range(settings.halvings + 1):
            precision = _project(state.precision[b] - step * gradient, settings.eigenvalue_floor)
            if _try_update(state, a, b, precision, surrogate):
                break
            step, halved = 0.5 * step, halved + 1
        else:
            return iteration, halved, "no descent"
    return settings.iteration_limit, halved, "iteration limit"


def _try_update(state: DescentState, a: int, b: int, precision: np.ndarray, surrogate: np.ndarray) -> bool:
    """Set A_b if that lowers g_ab and lets no pair of b overtake the old worst pair (claim ram-6)."""
    log_det = np.linalg.slogdet(precision)[1]
    quadratic = _quadratics(state.means, state.means[b], precision)
    into = (quadratic - log_det + state.log_det)[state.edges[:, b]]
    out = (surrogate[b] + log_det - state.log_det[b])[state.edges[b]]
    lowered = quadratic[a] - log_det + state.log_det[a] < surrogate[a, b]
    if not lowered or max(into.max(), out.max()) > surrogate[a, b]:
        return False
    state.precision[b], state.log_det[b], state.quadratic[:, b] = precision, log_det, quadratic
    return True


def _project(matrix: np.ndarray, floor: float) -> np.ndarray:
    """Projection (49) with a floor on the eigenvalues, relative to the largest modulus."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return (vectors * np.maximum(values, floor * np.abs(values).max())) @ vectors.T


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
