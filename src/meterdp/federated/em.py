"""Expectation maximisation over nodes: each turns its own records into sums, and a scheme adds them up.

(2)-(5) of Li et al., for records of any dimension and any number of them at a node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from meterdp.errors import InputError
from meterdp.federated.summation import Summation
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import class_sums, raise_eigenvalues
from meterdp.solvers.svec import smat, svec

Update = Literal["printed", "textbook"]
# A class that fewer records than this belong to keeps its mean and its covariance.
FEWEST_RECORDS = 1e-6


def entries_of(classes: int, dimension: int) -> int:
    """Return how many numbers a node's statistics are: a_j, b_j and half of C_j for every class."""
    return classes * (1 + dimension + dimension * (dimension + 1) // 2)


def local_statistics(x: np.ndarray, mixture: Mixture) -> tuple[np.ndarray, float]:
    """Return a node's intermediate updates (4), summed over its records x (n_i, d), and their log-likelihood.

    The statistics (q,) are a_j (K), then b_j (K d), then svec of C_j about the means of ``mixture``, that of the last
    iteration. The log-likelihood is no part of what is sent.
    """
    if not len(x):
        return np.zeros(entries_of(mixture.classes, mixture.dimension)), 0.0
    sums = class_sums(x, mixture)
    means = mixture.means
    cross = sums.sums[:, :, None] * means[:, None]
    about = sums.second_moments - cross - np.swapaxes(cross, 1, 2)
    about += sums.counts[:, None, None] * means[:, :, None] * means[:, None]
    return np.concatenate([sums.counts, sums.sums.ravel(), svec(about).ravel()]), sums.log_likelihood


def m_step(total: np.ndarray, mixture: Mixture, update: Update, eigenvalue_floor: float) -> Mixture:
    """Return the mixture that follows from the sums (q,) of :func:`local_statistics` over all nodes, (5).

    "printed" is (3) with the deviations from the old means in the new covariances (defect D2), "textbook" from the
    new ones, which the same sums give. Covariances have no eigenvalue below the public ``eigenvalue_floor``.
    """
    k, d = mixture.means.shape
    counts, sums, about = total[:k], total[k : k + k * d].reshape(k, d), smat(total[k + k * d :].reshape(k, -1), d)
    known = counts > FEWEST_RECORDS
    safe = np.where(known, counts, 1.0)
    means = np.where(known[:, None], sums / safe[:, None], mixture.means)
    covariances = about / safe[:, None, None]
    if update == "textbook":
        move = means - mixture.means
        covariances = covariances - move[:, :, None] * move[:, None]
    covariances = np.where(known[:, None, None], covariances, mixture.covariances)
    weights = np.maximum(counts, 0.0)
    return Mixture(weights / weights.sum(), means, raise_eigenvalues(covariances, eigenvalue_floor)[0])


@dataclass(frozen=True)
class EmRun:
    """What a fit over nodes came to.

    ``log_likelihood`` (T + 1,) is of all records under the mixtures of all iterations, the start first, each node's
    records under its own mixture; ``spread`` the largest difference between node 0's parameters and another's at the
    end; the counts are of all iterations.
    """

    mixture: Mixture
    log_likelihood: np.ndarray
    spread: float
    rounds: int
    messages: int
    numbers: int


def distributed_em(
    parts: Sequence[np.ndarray],
    start: Mixture,
    iterations: int,
    summation: Summation,
    update: Update = "textbook",
    eigenvalue_floor: float = 1e-6,
) -> EmRun:
    """Fit one mixture to the records (n_i, d) of all nodes, from a public start (Algorithm 2)."""
    n = summation.graph.nodes
    if len(parts) != n:
        raise InputError(f"are of {len(parts)} nodes where the graph has {n}", field="parts", hint="give one each")
    mixtures, log_likelihood = [start] * n, []
    rounds = messages = numbers = 0
    for _ in range(iterations):
        local = [local_statistics(x, own) for x, own in zip(parts, mixtures, strict=True)]
        log_likelihood.append(sum(of for _, of in local))
        totals = summation.total(np.stack([statistics for statistics, _ in local]))
        rounds, messages, numbers = rounds + totals.rounds, messages + totals.messages, numbers + totals.numbers
        known: dict[bytes, Mixture] = {}
        after = []
        for own, total in zip(mixtures, totals.at_node, strict=True):
            # Nodes that received the very same sum are taken one step together.
            key = total.tobytes() + own.means.tobytes() + own.covariances.tobytes()
            if key not in known:
                known[key] = m_step(total, own, update, eigenvalue_floor)
            after.append(known[key])
        mixtures = after
    log_likelihood.append(sum(local_statistics(x, own)[1] for x, own in zip(parts, mixtures, strict=True)))
    first = mixtures[0]
    spread = max(
        float(np.abs(getattr(one, name) - getattr(first, name)).max())
        for one in mixtures
        for name in ("weights", "means", "covariances")
    )
    return EmRun(first, np.array(log_likelihood), spread, rounds, messages, numbers)
