"""How much an adversary's view says about the record of one node: mutual information, estimated and exact.

The estimator is the first one of Kraskov, Stögbauer and Grassberger (2004), which Li et al. use through npeet: k = 3
neighbours in the maximum norm. It is written here because the maintained package (infomeasure 0.6) breaks ties by
noise without a seed and brings two more compiled packages along, and scikit-learn's takes one column at a time.
Its bias is downwards where two quantities hang closely together: an infinite information it puts at about ln N.

What corrupt nodes see of one summation, as a linear map of everybody's values and random numbers.

Secure summation and subspace perturbation are linear, so a run on unit vectors gives the map. A combination of what
is seen in which no random number is left is learned exactly; everything else is hidden by them as far as they spread.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import digamma
from scipy.stats import t as student

from meterdp.errors import InputError
from meterdp.federated.graph import Graph
from meterdp_papers.li.pdmm import Schedule, consensus

NEIGHBOURS = 3
# Standard deviations of a column; noise of this size breaks ties, which would be neighbours at distance zero.
JITTER = 1e-10
BATCHES = 20
_ROUNDING = 1e-12


def mutual_information(
    x: np.ndarray, view: np.ndarray, generator: np.random.Generator, neighbours: int = NEIGHBOURS
) -> float:
    """Estimate the mutual information (nats) of x (N, p) and the view (N, r) from N independent trials.

    It is below zero at times, where there is none. ``generator`` breaks ties. Raises :class:`InputError` if there are
    no more trials than neighbours k.
    """
    if len(x) <= neighbours:
        raise InputError("has too few trials", field="trials", hint=f"use more than {neighbours}")
    x, view = _spread_out(x, generator), _spread_out(view, generator)
    joint = np.hstack([x, view])
    reach = cKDTree(joint).query(joint, k=[neighbours + 1], p=np.inf)[0][:, 0]
    strictly = np.nextafter(reach, 0)
    counts = [cKDTree(part).query_ball_point(part, strictly, p=np.inf, return_length=True) for part in (x, view)]
    # A point counts itself, which is the "+ 1" of the paper's (8).
    return float(digamma(neighbours) + digamma(len(x)) - sum(digamma(c).mean() for c in counts))


def _spread_out(part: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return columns of unit standard deviation without ties; a column that never changes says nothing and goes."""
    part = np.asarray(part, dtype=np.float64)
    std = part.std(axis=0)
    # What varies by rounding alone does not vary.
    varies = std > _ROUNDING * np.abs(part).max(axis=0, initial=0.0)
    scaled = part[:, varies] / std[varies] if varies.any() else np.zeros((len(part), 1))
    return scaled + JITTER * generator.standard_normal(scaled.shape)


@dataclass(frozen=True)
class Information:
    """A mutual information (nats) estimated from all trials together, with a standard error from batches: NaN where
    there are too few trials for them.
    """

    value: float
    standard_error: float
    batches: int

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval by Student's t. It covers chance, not the estimator's bias."""
        reach = student.ppf((1 + confidence) / 2, max(self.batches - 1, 1)) * self.standard_error
        return self.value - reach, self.value + reach


def estimate(
    x: np.ndarray,
    view: np.ndarray,
    generator: np.random.Generator,
    neighbours: int = NEIGHBOURS,
    batches: int = BATCHES,
) -> Information:
    """Estimate the mutual information of :func:`mutual_information` with its standard error.

    A bootstrap repeats trials, and two equal trials are each other's nearest neighbours; so the trials are cut into
    independent batches, whose variance shrinks with their size (Holmes and Nemenman 2019).
    """
    whole = mutual_information(x, view, generator, neighbours)
    if len(x) < batches * (neighbours + 1):
        return Information(whole, float("nan"), 1)
    parts = np.array_split(np.arange(len(x)), batches)
    values = [mutual_information(x[part], view[part], generator, neighbours) for part in parts]
    return Information(whole, float(np.std(values, ddof=1) / np.sqrt(batches)), batches)


def linfoot(information):
    """Return sqrt(1 - exp(-2 I)), Linfoot's informational correlation: |rho| of a normal pair, from 0 to 1."""
    return np.sqrt(-np.expm1(-2 * np.maximum(information, 0.0)))


# --- closed forms ---------------------------------------------------------------------------------------------------


def of_a_sum(group: int) -> float:
    """Return I(X_1; X_1 + ... + X_h) of h independent normal records of one variance: 1/2 ln(h/(h - 1)).

    The sum over one node is its record, and the information infinite.
    """
    return float("inf") if group == 1 else 0.5 * np.log(group / (group - 1))


def of_masked(laplacian: np.ndarray, mask_std: float, node: int, record_std: float = 1.0) -> float:
    """Return what corrupt nodes learn of one number of an honest node by subspace perturbation with finite masks.

    They see z_i = s_i + (masks on the edges to honest nodes), where the masks of an edge cancel between its ends: the
    covariance of z is that of s plus mask_std^2/2 times the Laplacian (h, h) of the graph of honest nodes. The
    numbers s are independent and normal of ``record_std``, ``mask_std`` is of a dual variable at the start, ``node``
    a row.
    """
    # A determinant with and without one node; in the space of the Laplacian, where masks of any size are no trouble.
    values, vectors = np.linalg.eigh(laplacian)
    values[values < _ROUNDING * values[-1]] = 0.0
    shares = vectors[node] ** 2 / (1 + mask_std**2 / (2 * record_std**2) * values)
    left = 1 - shares.sum()
    return float("inf") if left < _ROUNDING else float(-0.5 * np.log(left))


# Singular values below this share of the largest are rounding.
_NOTHING = 1e-9


@dataclass(frozen=True)
class View:
    """What an adversary sees of one entry of the nodes' vectors, as a linear map.

    Row by row, of every number it sees: what it holds of each node's value (r, n), and of the random numbers that
    hide them (r, s).
    """

    of_values: np.ndarray
    of_secrets: np.ndarray

    def exact(self) -> np.ndarray:
        """Return an orthonormal basis (r', n) of the combinations of values seen without a random number."""
        seen = self._cleared() @ self.of_values
        _, singular, basis = np.linalg.svd(seen, full_matrices=False)
        return basis[singular > _NOTHING * max(singular[0], 1.0)]

    def knows(self, group: Sequence[int]) -> bool:
        """Return whether the sum over some nodes is learned exactly."""
        wanted, basis = self._indicator(group), self.exact()
        return bool(np.linalg.norm(wanted - basis.T @ (basis @ wanted)) < 1e-6)

    def weights(self, group: Sequence[int]) -> np.ndarray:
        """Return how to add up what is seen, (r,), so that the sum over some nodes is left."""
        cleared = self._cleared()
        return np.linalg.lstsq((cleared @ self.of_values).T, self._indicator(group), rcond=_NOTHING)[0] @ cleared

    def information(self, node: int, value_std: float, secret_std: float) -> float:
        """Return the mutual information (nats) of one node's value and all that is seen, all numbers normal and
        independent.
        """
        # Least squares of the node's value on what is seen, in the space of all independent numbers.
        seen = np.hstack([value_std * self.of_values, secret_std * self.of_secrets])
        _, singular, right = np.linalg.svd(seen, full_matrices=False)
        explained = (right[singular > _NOTHING * singular[0], node] ** 2).sum()
        return float("inf") if explained > 1 - 1e-12 else float(-0.5 * np.log1p(-explained))

    def _cleared(self) -> np.ndarray:
        """Return combinations of what is seen, one a row, that hold no random number."""
        left, singular, _ = np.linalg.svd(self.of_secrets)
        rank = int((singular > _NOTHING * max(singular[0], 1.0)).sum())
        return left[:, rank:].T

    def _indicator(self, group: Sequence[int]) -> np.ndarray:
        return np.isin(np.arange(self.of_values.shape[1]), group).astype(float)


def seen_on_ring(partials: np.ndarray, cycle: Sequence[int], corrupt: Collection[int]) -> np.ndarray:
    """Return the messages (r, q) of secure summation to and from corrupt nodes, and the total, from
    ``RingSum.partials``.
    """
    n = len(cycle)
    # Message p, 1 <= p <= n, goes from place p - 1 to place p.
    ends = [p for p in range(1, n + 1) if {cycle[p - 1], cycle[p % n]} & set(corrupt)]
    own = [partials[:1]] if cycle[0] in corrupt else []
    return np.vstack([partials[ends], *own, partials[-1:] - partials[:1]])


def ring_view(cycle: Sequence[int], corrupt: Collection[int]) -> View:
    """Return what corrupt nodes see of secure summation."""
    n = len(cycle)
    values = np.eye(n, n + 1)  # the last column is the random number
    partials = np.cumsum(np.vstack([np.eye(n + 1)[n], values[list(cycle)]]), axis=0)
    own = values[sorted(corrupt)]
    seen = np.vstack([seen_on_ring(partials, cycle, corrupt), own])
    return View(seen[:, :n], seen[:, n:])


def sums_on_ring(
    partials: np.ndarray, cycle: Sequence[int], corrupt: Collection[int]
) -> dict[tuple[int, ...], np.ndarray]:
    """Return the sums (q,) over every stretch between corrupt nodes, from what they see of secure summation.

    Differences of messages: in whole numbers modulo 2^64, and exact in them. The groups are those of
    :func:`~meterdp.federated.adversary.known_sums`, where one node or more is corrupt.
    """
    n = len(cycle)
    cuts = [place for place, node in enumerate(cycle) if node in corrupt]
    found = {}
    for cut, following in zip(cuts, [*cuts[1:], cuts[0] + n], strict=True):
        stretch = [cycle[place % n] for place in range(cut + 1, following)]
        if not stretch:
            continue
        # Message p is the sum up to place p - 1; what comes after the first node again has the total besides.
        into = partials[following] if following < n else partials[-1] - partials[0] + partials[following - n]
        found[tuple(sorted(stretch))] = into - partials[cut + 1]
    return found


def seen_in_consensus(graph: Graph, values: np.ndarray, dual_noise: np.ndarray, trace, corrupt) -> np.ndarray:
    """Return what corrupt nodes that also hear every channel see of a consensus, (r, q).

    They hear y of all nodes after every round, ``trace`` (T, n, q), as these messages are not encrypted, and know
    their own values (of n, q) and the dual variables at both ends of their edges.
    """
    at = np.isin(graph.arcs.tail, list(corrupt)) | np.isin(graph.arcs.head, list(corrupt))
    return np.vstack([trace.reshape(-1, values.shape[1]), dual_noise[at], values[sorted(corrupt)]])


def consensus_view(
    graph: Graph, corrupt: Collection[int], rounds: int, c: float, schedule: Schedule = "synchronous", generator=None
) -> View:
    """Return what corrupt nodes that also hear every channel see of so many rounds of a consensus."""
    n, arcs = graph.nodes, len(graph.arcs.tail)
    both = np.eye(n + arcs)
    values, dual_noise = both[:n], both[n:]
    out = consensus(graph, values, dual_noise, rounds, c=c, schedule=schedule, generator=generator, traced=True)
    seen = seen_in_consensus(graph, values, dual_noise, out.trace, corrupt)
    return View(seen[:, :n], seen[:, n:])
