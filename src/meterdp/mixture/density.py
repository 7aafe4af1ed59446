"""The log-density of a Gaussian mixture, for every caller."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from meterdp.mixture.draws import Mixture

# Of all classes, handled at a time: fits the cache, and malloc has such blocks at hand.
CHUNK_BYTES = 120_000


def standardised(x: np.ndarray, means: np.ndarray, whiten: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return L^-1 (x - mu) of every record for every class.

    Parameters
    ----------
    x : (n, d) float64
        Log profiles, log kWh.
    means : (K, d) float64
        log kWh.
    whiten : (K, d, d) float64
        Inverse of any root L of the class covariances L L'.
    out : (K, n, d) float64, optional
        Memory for the result.

    Returns
    -------
    (K, n, d) float64
    """
    z = np.matmul(x, np.swapaxes(whiten, 1, 2), out=out)
    z -= np.einsum("kij,kj->ki", whiten, means)[:, None]
    return z


def log_densities(z: np.ndarray, weights: np.ndarray, whiten: np.ndarray) -> np.ndarray:
    """Return ln(pi_k N(x; mu_k, Sigma_k)) from standardised records, but for the constant -d/2 ln(2 pi).

    Parameters
    ----------
    z : (K, n, d) float64
        From :func:`standardised`.
    weights : (K,) float64
    whiten : (K, d, d) float64
        As in :func:`standardised`.

    Returns
    -------
    (K, n) float64
        -inf for a class of weight zero.
    """
    return log_scales(weights, whiten)[:, None] - 0.5 * np.einsum("knd,knd->kn", z, z)


def log_scales(weights: np.ndarray, whiten: np.ndarray) -> np.ndarray:
    """Return ln(pi_k |Sigma_k|^(-1/2)), (K,) float64; parameters as in :func:`log_densities`."""
    with np.errstate(divide="ignore"):
        return np.log(weights) + np.linalg.slogdet(whiten)[1]


def class_log_densities(x: np.ndarray, mixture: Mixture) -> np.ndarray:
    """Return ln(pi_k N(x; mu_k, Sigma_k)) for every class and record.

    Parameters
    ----------
    x : (n, d) float64
        Log profiles, log kWh.
    mixture : Mixture

    Returns
    -------
    (K, n) float64
        -inf for a class of weight zero.
    """
    whiten = np.linalg.inv(np.linalg.cholesky(mixture.covariances))
    out = np.empty((mixture.classes, len(x)))
    rows = max(1, CHUNK_BYTES // (8 * mixture.means.size))
    for start in range(0, len(x), rows):
        z = standardised(x[start : start + rows], mixture.means, whiten)
        out[:, start : start + rows] = log_densities(z, mixture.weights, whiten)
    return out - 0.5 * x.shape[1] * np.log(2 * np.pi)


def record_log_densities(x: np.ndarray, mixture: Mixture) -> np.ndarray:
    """Return ln p(x) of every record under the mixture, (n,) float64; parameters as above."""
    return logsumexp(class_log_densities(x, mixture), axis=0)


def class_shares(log_density: np.ndarray) -> np.ndarray:
    """Return how much of each record belongs to each class: its posterior probabilities.

    Parameters
    ----------
    log_density : (K, n) float64
        From :func:`class_log_densities`.

    Returns
    -------
    (K, n) float64
        Columns sum to one.
    """
    return class_shares_and_total(log_density)[0]


def class_shares_and_total(log_density: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return :func:`class_shares` (K, n) and the log-density of the whole mixture (n,), from one exponential."""
    largest = log_density.max(axis=0)
    share = np.exp(log_density - largest)
    total = share.sum(axis=0)
    share /= total
    return share, largest + np.log(total)
