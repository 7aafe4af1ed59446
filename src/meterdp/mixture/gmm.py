"""Fit the Gaussian mixture every release is measured against, (2a)-(2c) and Remark 1 of Liu et al.

Sample statistics of labels, given or of K-means; a mixture that was fitted elsewhere has its frequencies discretised
onto the set S of (3). Covariances that are singular are raised to a public eigenvalue floor and counted, never
silently.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from meterdp.errors import InputError
from meterdp.mixture.density import class_log_densities, class_shares, class_shares_and_total
from meterdp.mixture.draws import Mixture

# Public floor of the eigenvalues of a covariance, (log kWh)^2: a standard deviation of 3 % of a load.
EIGENVALUE_FLOOR = 1e-3
KMEANS_STARTS = 10


@dataclass(frozen=True)
class Fit:
    """A mixture fitted without privacy, and what it was fitted to."""

    mixture: Mixture  # every weight a multiple of 1/N, as in (3)
    labels: np.ndarray  # (N,) int32, 1..K
    counts: np.ndarray  # (K,) int64, N pi_k, summing to N
    sample_covariances: np.ndarray  # (K, d, d), before the floor; zero for a class of one record
    floored: np.ndarray  # (K,) bool, whether eigenvalues were raised to the public floor


def raise_eigenvalues(matrices: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Raise eigenvalues of matrices (..., d, d) below a positive ``floor`` to it, and say which (...) had any.

    The Frobenius projection onto {A : A >= floor I}; the others are returned untouched.
    """
    with suppress(np.linalg.LinAlgError):  # a tenth of the work, and most often enough
        np.linalg.cholesky(matrices - floor * np.eye(matrices.shape[-1]))
        return matrices, np.zeros(matrices.shape[:-2], bool)
    raised = np.linalg.eigvalsh(matrices)[..., 0] < floor
    if not raised.any():
        return matrices, raised
    out = np.array(matrices)
    values, vectors = np.linalg.eigh(matrices[raised])
    out[raised] = (vectors * np.maximum(values, floor)[:, None, :]) @ np.swapaxes(vectors, -1, -2)
    return out, raised


def class_statistics(x: np.ndarray, labels: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return counts (K,), means (K, d) and scatter matrices (K, d, d) per class; zeros for an empty class."""
    members = labels[:, None] == np.arange(1, k + 1)
    counts = members.sum(axis=0)
    means = (members.T.astype(float) @ x) / np.maximum(counts, 1)[:, None]
    scatter = np.empty((k, x.shape[1], x.shape[1]))
    for j in range(k):
        residual = x[members[:, j]] - means[j]
        scatter[j] = residual.T @ residual
    return counts, means, scatter


def share_statistics(
    x: np.ndarray, mixture: Mixture, fewest: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return shares (K, n), counts (K,), means (K, d) and scatter (K, d, d) of records under classes of a mixture.

    The half-way house of one step of EM: posterior probabilities of the classes, their sums, and weighted means and
    sums of squares and products about these. A class that fewer records than ``fewest`` belong to keeps its mean.
    """
    shares = class_shares(class_log_densities(x, mixture))
    counts = shares.sum(axis=1)
    own = (shares @ x) / np.maximum(counts, 1e-9)[:, None]
    means = np.where(counts[:, None] >= fewest, own, mixture.means)
    scatter = np.empty_like(mixture.covariances)
    for k, share in enumerate(shares):
        residual = x.T - means[k][:, None]
        scatter[k] = (share * residual) @ residual.T
    return shares, counts, means, scatter


def kmeans_labels(x: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Return K-means classes 1..K of the records, (N,) int32, largest first; ties by the first entry of the mean.

    The paper's source of classes where none are given (Liu et al., Section V-C). The labels depend on every private
    record and are not charged by the published mechanisms (defect L11): they serve the study and the published family
    only. The seed is that of the restarts. Refuses fewer distinct records than classes.
    """
    from sklearn.cluster import KMeans  # takes a second to import

    hint = "lower the number of classes or supply more households"
    if k < 1:
        raise InputError("the number of classes is below one", field="classes", hint="use one class or more")
    if len(x) < k:
        raise InputError("there are fewer households than classes", field="classes", hint=hint)
    if len(np.unique(x, axis=0)) < k:
        raise InputError("there are fewer distinct profiles than classes", field="classes", hint=hint)
    model = KMeans(n_clusters=k, n_init=KMEANS_STARTS, random_state=seed).fit(x)
    counts = np.bincount(model.labels_, minlength=k)
    return _numbered(counts, model.cluster_centers_)[1][model.labels_]


def fit_labels(x: np.ndarray, labels: np.ndarray, eigenvalue_floor: float) -> Fit:
    """Fit by the sample statistics of labelled records, (2a)-(2c); every class 1..K needs a record.

    ``eigenvalue_floor`` is a positive, public lower bound of covariance eigenvalues, (log kWh)^2. (2c) is 0/0 for a
    class of one record: its covariance is zero before the floor.
    """
    _check_floor(eigenvalue_floor)
    k = int(labels.max())
    counts, means, scatter = class_statistics(x, labels, k)
    if (counts == 0).any():
        raise InputError("a class has no household", field="labels", hint="number the classes 1 to K without a gap")
    sample = scatter / np.maximum(counts - 1, 1)[:, None, None]
    covariances, floored = raise_eigenvalues(sample, eigenvalue_floor)
    mixture = Mixture(counts / len(x), means, covariances)
    return Fit(mixture, labels.astype(np.int32), counts.astype(np.int64), sample, floored)


def discretise(weights: np.ndarray, n: int) -> np.ndarray:
    """Return counts (K,) of the element of S, (3), nearest to ``weights`` by largest remainders (Remark 1).

    Every class keeps at least one record, the counts sum to ``n``.
    """
    counts = np.maximum(np.floor(weights * n).astype(np.int64), 1)
    while (missing := n - counts.sum()) != 0:
        remainder = weights * n - counts
        if missing > 0:
            counts[np.argsort(-remainder, kind="stable")[: min(missing, len(counts))]] += 1
        else:
            remainder[counts == 1] = np.inf
            counts[np.argmin(remainder)] -= 1
    return counts


def fit_given(x: np.ndarray, mixture: Mixture, eigenvalue_floor: float) -> Fit:
    """Return what a mixture that was fitted elsewhere makes of the records it was fitted to.

    Frequencies are discretised onto S (Remark 1), and classes are numbered by their discretised count, whatever their
    order. Eigenvalues are at the floor or above. ``labels`` of the fit are the most probable classes,
    ``sample_covariances`` those of the mixture. A class may be the most probable one of no record.
    """
    _check_floor(eigenvalue_floor)
    counts = discretise(mixture.weights, len(x))
    order, rank = _numbered(counts, mixture.means)
    covariances = mixture.covariances[order]
    floored = np.linalg.eigvalsh(covariances)[:, 0] < (1 + 1e-6) * eigenvalue_floor
    own = Mixture(counts[order] / len(x), mixture.means[order], covariances)
    return Fit(own, rank[most_probable(x, mixture) - 1], counts[order], covariances, floored)


def most_probable(x: np.ndarray, mixture: Mixture) -> np.ndarray:
    """Return the most probable class of every record, (n,) int32 in 1..K."""
    return (class_log_densities(x, mixture).argmax(axis=0) + 1).astype(np.int32)


def _numbered(counts: np.ndarray, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of classes, largest first, ties by the first entry of the mean, and the number of each."""
    order = np.lexsort((means[:, 0], -counts))
    rank = np.empty(len(counts), dtype=np.int32)
    rank[order] = np.arange(1, len(counts) + 1, dtype=np.int32)
    return order, rank


def _check_floor(eigenvalue_floor: float) -> None:
    if not eigenvalue_floor > 0:
        raise InputError(
            "the eigenvalue floor is not positive",
            field="eigenvalue_floor",
            hint="use a small positive variance in (log kWh)^2",
        )


# Columns of a root handled at a time: fewer waste less on its zeros, more make better matrix products.
_BLOCK = 25
# Of one block of all classes, so that it stays in the second-level cache.
_CHUNK_BYTES = 800_000
# What such shares of records in the unit ball add to a sum is lost in rounding.
_NEGLIGIBLE_SHARE = 1e-20


@dataclass(frozen=True)
class ClassSums:
    """Expected sums of records over the classes of a mixture, with responsibilities g_nk."""

    counts: np.ndarray  # (K,), sum of g_nk
    sums: np.ndarray  # (K, d), sum of g_nk x_n
    second_moments: np.ndarray  # (K, d, d), sum of g_nk x_n x_n', about the origin
    log_likelihood: float  # sum of ln p(x_n)


def class_sums(x: np.ndarray, mixture: Mixture, dtype: type = np.float64) -> ClassSums:
    """Return the sums of the records over the classes, under the responsibilities of ``mixture``.

    One pass whose memory does not grow with the records: a chunk is standardised for all classes by a few matrix
    products that skip the zeros of the triangular roots, and its second moments are symmetric products of the records
    that belong to a class at all. ``dtype`` is that of the arithmetic with records. Chunks are added up in float64
    either way. With float32 a record of unit norm loses about 1e-7 of its square, and its log-density 1e-6 times the
    largest precision's root.
    """
    n, d = x.shape
    classes = mixture.classes
    blocks, log_scale = _affine_blocks(mixture, dtype)
    counts, sums = np.zeros(classes), np.zeros((classes, d))
    second_moments = np.zeros((classes, d, d))
    log_likelihood = 0.0
    most = max(64, _CHUNK_BYTES // (np.dtype(dtype).itemsize * classes * min(d, _BLOCK)))
    rows = math.ceil(n / math.ceil(n / most))
    one_and_x = np.ones((rows, 1 + d), dtype=dtype)
    for start in range(0, n, rows):
        part = one_and_x[: len(x[start : start + rows])]
        part[:, 1:] = x[start : start + rows]
        log_density = log_scale[:, None] - 0.5 * _squared_lengths(part, blocks, classes)
        shares, log_total = class_shares_and_total(log_density)
        log_likelihood += float(log_total.sum())
        counts += shares.sum(axis=1)
        for k, share in enumerate(shares):
            own = slice(None) if share.min() > _NEGLIGIBLE_SHARE else np.flatnonzero(share > _NEGLIGIBLE_SHARE)
            root = part[own] * np.sqrt(share[own])[:, None].astype(dtype)
            # The first row and column hold the count and the sum; NumPy takes half the product, it being symmetric.
            product = root.T @ root
            sums[k] += product[0, 1:]
            second_moments[k] += product[1:, 1:]
    return ClassSums(counts, sums, second_moments, log_likelihood)


def _affine_blocks(mixture: Mixture, dtype: type) -> tuple[list[np.ndarray], np.ndarray]:
    """Return what maps (1, x) to L_k^-1 (x - mu_k), a block of entries at a time for all classes, and ln-scales (K,).

    Block j is (1 + last entry of the block, K * entries): entries further on meet zeros of L_k^-1.
    """
    d = mixture.dimension
    lower = np.linalg.cholesky(mixture.covariances)
    whiten = np.linalg.inv(lower)
    affine = np.concatenate([-np.einsum("kij,kj->ki", whiten, mixture.means)[..., None], whiten], axis=2)
    blocks = []
    for first in range(0, d, _BLOCK):
        last = min(first + _BLOCK, d)
        block = affine[:, first:last, : 1 + last]
        blocks.append(np.ascontiguousarray(block.reshape(-1, 1 + last).T, dtype=dtype))
    with np.errstate(divide="ignore"):
        log_weights = np.log(mixture.weights)
    log_roots = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    return blocks, log_weights - log_roots - 0.5 * d * np.log(2 * np.pi)


def _squared_lengths(one_and_x: np.ndarray, blocks: list[np.ndarray], classes: int) -> np.ndarray:
    """Return |L_k^-1 (x_n - mu_k)|^2, (K, n) float64."""
    out = np.zeros((classes, len(one_and_x)))
    for block in blocks:
        z = (one_and_x[:, : len(block)] @ block).reshape(len(one_and_x), classes, -1)
        out += np.einsum("nkb,nkb->kn", z, z)
    return out
