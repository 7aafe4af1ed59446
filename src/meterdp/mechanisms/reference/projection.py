"""Bring perturbed parameters back to the feasible set: weights to the simplex, covariances above a public floor."""

from __future__ import annotations

import numpy as np

from meterdp.mixture.gmm import raise_eigenvalues


def project_simplex(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest point of the probability simplex (Euclidean), per row.

    Parameters
    ----------
    weights : (R, K) float64

    Returns
    -------
    weights : (R, K) float64
    projected : (R,) bool
        Whether a weight had to be cut to zero; a shift of all of them to sum to one does not count.
    """
    k = weights.shape[1]
    descending = -np.sort(-weights, axis=1)
    excess = (np.cumsum(descending, axis=1) - 1) / np.arange(1, k + 1)
    kept = (descending > excess).sum(axis=1)
    shift = np.take_along_axis(excess, kept[:, None] - 1, axis=1)
    shifted = weights - shift
    return np.maximum(shifted, 0.0), (shifted < 0).any(axis=1)


def symmetric(upper: np.ndarray, d: int) -> np.ndarray:
    """Return symmetric matrices (..., d, d) from upper triangles (..., d (d + 1) / 2) in numpy's order."""
    out = np.empty((*upper.shape[:-1], d, d))
    rows, columns = np.triu_indices(d)
    out[..., rows, columns] = upper
    out[..., columns, rows] = upper
    return out


def project_covariances(covariances: np.ndarray, eigenvalue_floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Raise eigenvalues below the public floor; see :func:`meterdp.mixture.gmm.raise_eigenvalues`.

    Parameters
    ----------
    covariances : (R, K, d, d) float64

    Returns
    -------
    covariances : (R, K, d, d) float64
    projected : (R,) bool
        Whether any class of the draw changed.
    """
    out, raised = raise_eigenvalues(covariances, eigenvalue_floor)
    return out, raised.any(axis=1)
