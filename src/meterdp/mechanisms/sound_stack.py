"""The statistics the sound release measures, with their replace-one sensitivities (docs/proofs/sound.md, 2 and 3).

Each function maps clipped records and things already released to one real vector per draw, the stack. One record
enters a stack through one bounded vector, which is all the privacy proof uses. Arrays carry a leading axis of draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

# Public bins of log2(|z|^2 / d), z the residual from the nearest start point after public whitening.
RADIUS_EDGES = np.arange(-6.0, 4.01, 0.5)


@dataclass(frozen=True)
class Step:
    """One Gaussian measurement of the sequence.

    Parameters
    ----------
    name : str
    sensitivity : float
        Replace-one l2 sensitivity of the stack.
    noise_std : float
        Standard deviation of the noise on every entry.
    """

    name: str
    sensitivity: float
    noise_std: float

    @property
    def mu(self) -> float:
        """GDP parameter, sensitivity / noise_std."""
        return self.sensitivity / self.noise_std


@dataclass(frozen=True)
class StackWeights:
    """Public weights of a stack (a, b u, c svec(u u')) per class; c = 0 leaves the moments out.

    Parameters
    ----------
    count, mean, moment : float
        a, b and c.
    """

    count: float
    mean: float
    moment: float

    @property
    def sensitivity(self) -> float:
        """Replace-one l2 sensitivity, exact: the larger of the two cases of Lemma 2 in docs/proofs/sound.md."""
        a2, b2, c2 = self.count**2, self.mean**2, self.moment**2
        same_class = 4 * b2 if b2 >= 2 * c2 else 2 * b2 + 2 * c2 + b2**2 / (2 * c2)
        return math.sqrt(max(2 * (a2 + b2 + c2), same_class))


def radius_stack(z: np.ndarray) -> np.ndarray:
    """Return the histogram (B,) of log2(|z|^2 / d) over the public bins; outer bins take what lies beyond.

    Replace-one l2 sensitivity sqrt(2): one record leaves a bin and enters another.

    Parameters
    ----------
    z : (N, d) float64
        Whitened residuals from the nearest public start point.
    """
    mean_square = (z**2).mean(axis=1)
    with np.errstate(divide="ignore"):
        bins = np.searchsorted(RADIUS_EDGES[1:-1], np.log2(mean_square), side="right")
    return np.bincount(bins, minlength=len(RADIUS_EDGES) - 1).astype(float)


def nearest(x: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """Return the index (R, N) of the nearest centroid, a function of one's own record and of released numbers.

    Parameters
    ----------
    x : (N, d) float64
    centroids : (R, K, d) float64
    """
    distance = (centroids**2).sum(axis=-1)[..., None] - 2 * centroids @ x.T
    return distance.argmin(axis=1)


def clipped_residuals(y: np.ndarray, centroids: np.ndarray, labels: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return u = clip((y - centroid)/radius, unit ball): (R, N, d) float64.

    Parameters
    ----------
    y : (N, d) float64
        Whitened records.
    centroids : (R, K, d) float64
        Whitened centroids.
    labels : (R, N) int
        Index of each record's centroid.
    radius : (R,) float64
    """
    own = np.take_along_axis(centroids, labels[..., None], axis=1)
    u = (y - own) / radius[:, None, None]
    norm = np.sqrt(np.einsum("rnd,rnd->rn", u, u))
    u /= np.maximum(norm, 1.0)[..., None]
    return u


def class_stack(u: np.ndarray, labels: np.ndarray, k: int, weights: StackWeights) -> np.ndarray:
    """Return the stacks sum_n e_{label n} (a, b u_n, c svec(u_n u_n')): (R, K, q) float64.

    q is 1 + d, or 1 + d + d (d + 1)/2 with moments.

    Parameters
    ----------
    u : (R, N, d) float64
        Clipped residuals.
    labels : (R, N) int
        Class index of each record, from 0.
    k : int
        Number of classes K.
    weights : StackWeights
    """
    draws, _, d = u.shape
    out = np.empty((draws, k, 1 + d + (d * (d + 1) // 2 if weights.moment else 0)))
    for j in range(k):
        member = labels == j
        own = u * member[..., None]
        out[:, j, 0] = weights.count * member.sum(axis=1)
        out[:, j, 1 : 1 + d] = weights.mean * own.sum(axis=1)
        if weights.moment:
            out[:, j, 1 + d :] = weights.moment * svec(np.swapaxes(own, 1, 2) @ u)
    return out


def svec(matrices: np.ndarray) -> np.ndarray:
    """Return symmetric matrices (..., d, d) as vectors (..., d (d + 1)/2) of the same Euclidean norm."""
    rows, columns = np.triu_indices(matrices.shape[-1])
    return matrices[..., rows, columns] * np.where(rows == columns, 1.0, math.sqrt(2))


def smat(vectors: np.ndarray, d: int) -> np.ndarray:
    """Invert :func:`svec`."""
    rows, columns = np.triu_indices(d)
    upper = vectors / np.where(rows == columns, 1.0, math.sqrt(2))
    out = np.empty((*vectors.shape[:-1], d, d))
    out[..., rows, columns] = upper
    out[..., columns, rows] = upper
    return out
