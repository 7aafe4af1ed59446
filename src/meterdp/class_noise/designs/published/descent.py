"""The descent of Algorithm 1 of Ramakrishna et al.: the graph (1) by label, the iterate, and what a run leaves.

The loop itself is compiled (:mod:`meterdp.class_noise.designs.published.descent_kernel`). J of (47) never rises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from meterdp.class_noise.designs.published.descent_kernel import all_values, descend_in_place
from meterdp.errors import InputError

STOP_REASONS = ("no step", "no descent", "iteration limit")  # in the order of the kernel's numbers


class NeighbourGraph(NamedTuple):
    """The graph (1) by label: the edges of label b are ``first[b]`` to ``first[b + 1]``.

    Parameters
    ----------
    first : (H + 1,) int64 array
        Where the edges of each label start.
    neighbour : (P,) int64 array
        The other end of each edge, ascending for every label.
    reverse : (P,) int64 array
        Position of the same edge among those of its other end.
    """

    first: np.ndarray
    neighbour: np.ndarray
    reverse: np.ndarray


class Trace(NamedTuple):
    """What every iteration did; arrays of one row per iteration.

    Parameters
    ----------
    pair : (t, 2) int64 array
        The worst pair (a, b), lowered by moving A_b.
    surrogate : (t,) float64 array
        J before the step.
    step : (t,) float64 array
        The accepted step.
    halvings : (t,) int64 array
        How often the step of Lemma 2 was halved before that.
    """

    pair: np.ndarray
    surrogate: np.ndarray
    step: np.ndarray
    halvings: np.ndarray


class DescentState(NamedTuple):
    """Iterate of the descent, changed in place; one per call.

    Parameters
    ----------
    graph : NeighbourGraph
    means : (k, H) float64 array
        One column per label, log kWh.
    precision, covariance : (H, k, k) float64 arrays
        A_X and its inverse.
    log_det : (H,) float64 array
        ln|A_X|.
    value : (P,) float64 array
        g_Xb - ln|A_X| for the edge of label b to X.
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
    """How a descent went.

    Parameters
    ----------
    stop_reason : str
        One of :data:`STOP_REASONS`.
    trace : Trace
        The iterations.
    rejected_count : int
        Fractions of a last step that were not accepted.
    """

    stop_reason: str
    trace: Trace
    rejected_count: int


def neighbour_graph(pairs: np.ndarray, labels: int) -> NeighbourGraph:
    """Return the graph of the ordered ``pairs`` (P, 2) among ``labels`` labels; a pair given twice counts once.

    Raises
    ------
    InputError
        If a pair names no label, a label is its own neighbour, or a pair is given in one direction only.
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

    Raises
    ------
    InputError
        If the values of (46) are too large for a float.
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
    first_step: float,
    smallest_step: float,
    halvings: int,
    iteration_limit: int,
    eigenvalue_floor: float,
) -> Descent:
    """Run lines 2-10 of Algorithm 1 on ``state``, in place.

    Parameters
    ----------
    state : DescentState
        Start, and afterwards the end, of the descent.
    members : (m,) int array
        Labels to descend, ascending: each has a neighbour, and all neighbours are among them.
    first_step, smallest_step, halvings, iteration_limit, eigenvalue_floor
        As in :class:`meterdp.class_noise.designs.published.design.Algorithm1Settings`.
    """
    size = iteration_limit
    trace = Trace(np.empty((size, 2), np.int64), np.empty(size), np.empty(size), np.empty(size, np.int64))
    members = np.ascontiguousarray(members, dtype=np.int64)
    steps = (float(first_step), float(smallest_step), halvings)
    done, stop, rejected = descend_in_place(state, members, *steps, float(eigenvalue_floor), trace)
    return Descent(STOP_REASONS[stop], Trace(*(column[:done] for column in trace)), rejected)
