"""Algorithm 1 of Ramakrishna et al.: block descent on the surrogate (46)-(47), then the rescaling (50).

Family ``published``: study only. It minimises a surrogate of a bound, and after (50) the covariance is not the one
that was optimised (defect R2), so the design carries no guarantee; its privacy is read off its curve
(:mod:`meterdp.accounting`). Lemma 2 is used as its proof in appendix C derives it, not as (51)-(53) print it,
and every step is checked; derivation and differences are in docs/proofs/published_class_noise.md.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from meterdp.class_noise.designs.interface import Budget, ClassQueries, DesignReport, Noise
from meterdp.class_noise.designs.published.descent import descend, descent_state, neighbour_graph
from meterdp.class_noise.neighbourhoods.components import components
from meterdp.errors import InputError

STOP_REASONS = {
    "no step": "the step size of Lemma 2 is zero: the published stopping rule",
    "no descent": "no fraction of the step lowered the worst pair of the updated label",
    "iteration limit": "the configured number of iterations was reached",
    "no pairs": "nobody has a neighbour",
    "no budget": "the budget is zero",
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


def published_noise(queries: ClassQueries, budget: Budget, settings: Algorithm1Settings | None = None) -> Noise:
    """Run Algorithm 1 from white noise and rescale to the budget by (50).

    Parameters
    ----------
    queries : ClassQueries
        For deterministic queries Sigma_X is zero.
    budget : Budget
        With zero the result is no noise.
    settings : Algorithm1Settings, optional
        Limits and step sizes.

    Returns
    -------
    Noise
        Covariances (H, k, k) of trace exactly the budget's. The report counts iterations and halved steps, says why
        the descent ended, and gives J of (47) at the white start, where the descent ended, and after (50).

    Raises
    ------
    InputError
        If the pairs are no undirected graph, or the queries are not finite or too far apart for the budget.
    """
    settings = settings or Algorithm1Settings()
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
    limits = {name: value for name, value in asdict(settings).items() if name != "scope"}
    groups = components(queries.pairs, labels)
    if groups and settings.scope == "graph":
        groups = [np.sort(np.concatenate(groups))]
    descents = [descend(state, group, **limits) for group in groups]
    noise, replaced = _rescale(state.covariance - queries.covariance, trace)
    report = DesignReport(
        iteration_count=sum(d.trace.step.size for d in descents),
        halved_step_count=sum(int(d.trace.halvings.sum()) + d.rejected_count for d in descents),
        white_label_count=replaced,
        stop_reason="; ".join(sorted({d.stop_reason for d in descents})) or "no pairs",
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
