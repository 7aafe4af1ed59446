"""What corrupt nodes see of one summation, as a linear map of everybody's values and random numbers.

Secure summation and subspace perturbation are linear, so a run on unit vectors gives the map. A combination of what
is seen in which no random number is left is learned exactly; everything else is hidden by them as far as they spread.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from meterdp.federated.graph import Graph
from meterdp.federated.pdmm import Schedule, Stop, consensus

# Singular values below this share of the largest are rounding.
_NOTHING = 1e-9


@dataclass(frozen=True)
class View:
    """What an adversary sees of one entry of the nodes' vectors.

    Parameters
    ----------
    of_values : (r, n) float64
        What every number it sees holds of each node's value.
    of_secrets : (r, s) float64
        And of the random numbers that hide them.
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
        """Return the mutual information (nats) of one node's value and all that is seen, all numbers normal.

        Parameters
        ----------
        node : int
        value_std, secret_std : float
            Of independent values and random numbers.
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
    """Return the messages of secure summation to and from corrupt nodes, and the total.

    Parameters
    ----------
    partials : (n + 1, q) array
        From :meth:`~meterdp.federated.ring_sum.RingSum.partials`.
    cycle : sequence of int
    corrupt : collection of int

    Returns
    -------
    (r, q) array
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
    """Return what corrupt nodes that also hear every channel see of a consensus.

    Parameters
    ----------
    graph : Graph
    values : (n, q) float64
    dual_noise : (2m, q) float64
    trace : (T, n, q) float64
        y of all nodes after every round; these messages are not encrypted.
    corrupt : collection of int
        They know their own values and the dual variables at both ends of their edges.

    Returns
    -------
    (r, q) float64
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
    out = consensus(
        graph, values, dual_noise, Stop(rounds=rounds), c=c, schedule=schedule, generator=generator, traced=True
    )
    seen = seen_in_consensus(graph, values, dual_noise, out.trace, corrupt)
    return View(seen[:, :n], seen[:, n:])
