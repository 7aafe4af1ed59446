"""Fit the Gaussian mixture every release is measured against, (2a)-(2c) and Remark 1 of Liu et al.

Two ways: sample statistics of given labels, or EM started at them, whose frequencies are discretised onto the set S
of (3). Covariances that are singular are raised to a public eigenvalue floor and counted, never silently.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from meterdp.errors import InputError
from meterdp.mixture.density import class_log_densities, class_shares
from meterdp.mixture.draws import Mixture

EM_ITERATIONS = 500


@dataclass(frozen=True)
class Fit:
    """A mixture fitted without privacy, and what it was fitted to.

    Parameters
    ----------
    mixture : Mixture
        Every weight a multiple of 1/N, as in (3).
    labels : (N,) int32
        Class of each record, 1..K.
    counts : (K,) int64
        N pi_k, summing to N.
    sample_covariances : (K, d, d) float64
        Covariances before the floor; zero for a class of one record.
    floored : (K,) bool
        Whether a class's eigenvalues were raised to the public floor.
    converged : bool
        False if EM stopped at its iteration limit.
    """

    mixture: Mixture
    labels: np.ndarray
    counts: np.ndarray
    sample_covariances: np.ndarray
    floored: np.ndarray
    converged: bool = True


def raise_eigenvalues(matrices: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Raise eigenvalues below ``floor`` to it: the Frobenius projection onto {A : A >= floor I}.

    Parameters
    ----------
    matrices : (..., d, d) float64, symmetric
    floor : float
        Positive.

    Returns
    -------
    matrices : (..., d, d) float64
    raised : (...) bool
        Which of them changed; the others are returned untouched.
    """
    values, vectors = np.linalg.eigh(matrices)
    raised = values[..., 0] < floor
    if not raised.any():
        return matrices, raised
    out = np.array(matrices)
    basis = vectors[raised]
    out[raised] = (basis * np.maximum(values[raised], floor)[..., None, :]) @ np.swapaxes(basis, -1, -2)
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
    """Return the statistics of the records under the classes of a mixture: the half-way house of one step of EM.

    Parameters
    ----------
    x : (n, d) float64
        Log profile vectors, log kWh.
    mixture : Mixture
    fewest : float
        A class that fewer records than this belong to keeps its mean.

    Returns
    -------
    shares : (K, n) float64
        Posterior probabilities of the classes.
    counts : (K,) float64
        Their sums.
    means : (K, d) float64
    scatter : (K, d, d) float64
        Weighted sum of squares and products about these means.
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


def fit_labels(x: np.ndarray, labels: np.ndarray, eigenvalue_floor: float) -> Fit:
    """Fit by the sample statistics of labelled records, (2a)-(2c).

    Parameters
    ----------
    x : (N, d) float64
        Log profile vectors, log kWh.
    labels : (N,) int
        Classes 1..K, each with at least one record.
    eigenvalue_floor : float
        Public lower bound of covariance eigenvalues, (log kWh)^2. (2c) is 0/0 for a class of one record: its
        covariance is zero before the floor.

    Returns
    -------
    Fit

    Raises
    ------
    InputError
        If a class is empty or the floor is not positive.
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


def fit_em(x: np.ndarray, labels: np.ndarray, eigenvalue_floor: float) -> Fit:
    """Fit by EM started at the statistics of ``labels``; frequencies discretised onto S (Remark 1).

    Parameters, errors and order as in :func:`fit_labels`; classes are numbered by their discretised count.

    Returns
    -------
    Fit
        ``labels`` are the most probable classes, ``sample_covariances`` those of EM. A class may be the most
        probable one of no record.
    """
    # Takes a second to import, and whoever reads a mixture imports this module.
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    start = fit_labels(x, labels, eigenvalue_floor).mixture
    model = GaussianMixture(
        n_components=start.classes,
        # scikit-learn adds this to the diagonal at every step; without it EM can collapse onto one record.
        reg_covar=eigenvalue_floor,
        max_iter=EM_ITERATIONS,
        weights_init=start.weights,
        means_init=start.means,
        precisions_init=np.linalg.inv(start.covariances),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # reported in Fit.converged
        model.fit(x)
    counts, order, rank = _numbered(model.weights_, model.means_, len(x))
    covariances, raised = raise_eigenvalues(model.covariances_[order], eigenvalue_floor)
    own = np.linalg.eigvalsh(model.covariances_[order])[:, 0] - eigenvalue_floor
    mixture = Mixture(counts[order] / len(x), model.means_[order], covariances)
    floored = raised | (own < eigenvalue_floor)
    return Fit(mixture, rank[model.predict(x)], counts[order], model.covariances_[order], floored, model.converged_)


def fit_given(x: np.ndarray, mixture: Mixture, eigenvalue_floor: float) -> Fit:
    """Return what a mixture that was fitted elsewhere makes of records, numbered as in :func:`fit_em`.

    Parameters
    ----------
    x : (N, d) float64
        The records it was fitted to, log kWh.
    mixture : Mixture
        Classes in any order, eigenvalues at the floor or above.
    eigenvalue_floor : float

    Returns
    -------
    Fit
        ``sample_covariances`` are those of the mixture.
    """
    _check_floor(eigenvalue_floor)
    counts, order, rank = _numbered(mixture.weights, mixture.means, len(x))
    covariances = mixture.covariances[order]
    floored = np.linalg.eigvalsh(covariances)[:, 0] < (1 + 1e-6) * eigenvalue_floor
    own = Mixture(counts[order] / len(x), mixture.means[order], covariances)
    return Fit(own, rank[most_probable(x, mixture) - 1], counts[order], covariances, floored)


def most_probable(x: np.ndarray, mixture: Mixture) -> np.ndarray:
    """Return the most probable class of every record, (n,) int32 in 1..K."""
    return (class_log_densities(x, mixture).argmax(axis=0) + 1).astype(np.int32)


def _numbered(weights: np.ndarray, means: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return discretised counts (K,), the order of classes by them, and the number 1..K each class gets."""
    counts = discretise(weights, n)
    order = np.lexsort((means[:, 0], -counts))
    rank = np.empty(len(counts), dtype=np.int32)
    rank[order] = np.arange(1, len(counts) + 1, dtype=np.int32)
    return counts, order, rank


FITS: dict[str, Callable[[np.ndarray, np.ndarray, float], Fit]] = {"labels": fit_labels, "em": fit_em}


def _check_floor(eigenvalue_floor: float) -> None:
    if not eigenvalue_floor > 0:
        raise InputError(
            "the eigenvalue floor is not positive",
            field="eigenvalue_floor",
            hint="use a small positive variance in (log kWh)^2",
        )
