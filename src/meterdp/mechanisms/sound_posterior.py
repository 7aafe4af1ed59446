"""Post-processing of the sound release: noisy sums to a usable mixture, from released numbers and noise levels only.

Empirical Bayes throughout: each statistic is drawn towards something better known by as much as its own noise
deserves, so classes without records end as a small weight on a pooled shape instead of as nonsense. Nothing here
sees a record (docs/proofs/sound.md, 5).
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx

from meterdp.mechanisms.sound_stack import RADIUS_EDGES, StackWeights, smat

# Public constants, tuned on simulated households only.
RADIUS_QUANTILE = 0.92
RADIUS_FACTOR = 0.75
# Shrinkage charges noise a tenth above its expectation, so that a lucky draw is not taken for structure.
NOISE_MARGIN = 1.1
LOWEST_EIGENVALUE_RATIO = 0.6
# Squared lengths that mean residuals (in radii) and differences of shape (per dimension, target at I) hardly exceed.
LARGEST_MEAN_SQUARE = 0.5
LARGEST_SHAPE_PER_DIMENSION = 1.0
# Mean |u|^2 per record of a population whose 92 % quantile sets the radius is never far below this.
LOWEST_MEAN_SQUARE = 0.15
SCALE_PRIOR_VARIANCE = 0.5
SCALE_RANGE = (0.25, 4.0)


def radius_from(histogram: np.ndarray, records: int, d: int) -> np.ndarray:
    """Return the clip radius (R,) from noisy histograms (R, B): a fixed share of their 92 % quantile."""
    above = np.cumsum(histogram[:, ::-1], axis=1)[:, ::-1] / records
    # Share of records above each upper edge; the last edge has none.
    above = np.concatenate([above[:, 1:], np.zeros((len(above), 1))], axis=1)
    edge = RADIUS_EDGES[1:][(above <= 1 - RADIUS_QUANTILE).argmax(axis=1)]
    return RADIUS_FACTOR * np.sqrt(d * 2.0**edge)


def positive_counts(noisy: np.ndarray, std: float) -> np.ndarray:
    """Return the posterior mean of non-negative counts under a flat prior, given Gaussian noise of ``std``."""
    z = noisy / std
    hazard = np.sqrt(2 / np.pi) / erfcx(-z / np.sqrt(2))
    return np.maximum(noisy + std * hazard, 1e-3 * std)


def structure_share(square: np.ndarray, noise: np.ndarray, largest: float) -> np.ndarray:
    """Return how much of a noisy difference is structure: James and Stein, capped by public knowledge.

    Parameters
    ----------
    square : (...) float64
        Squared length of the noisy difference.
    noise : (...) float64
        Squared length expected of the noise alone.
    largest : float
        Squared length the structure hardly exceeds: caps the share at largest / (largest + noise), so that a lucky
        draw of overwhelming noise is not taken for structure.
    """
    found = 1 - noise / np.maximum(square, np.maximum(noise, np.finfo(float).tiny))
    return np.minimum(found, largest / (largest + noise))


def shrink_means(means: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Shrink residual means (R, K, d), in radii, of known noise variance (R, K) per entry towards zero."""
    d = means.shape[-1]
    share = structure_share((means**2).sum(axis=-1), d * variance, LARGEST_MEAN_SQUARE)
    return share[..., None] * means


def shrink_covariances(raw: np.ndarray, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Shrink noisy symmetric matrices towards positive definite targets by their known noise level.

    In coordinates where the target is I: raw = I + structure + noise, noise = A E A' with svec(E) white. The
    difference is scaled by its share of structure, 1 - margin E|noise|^2 / |raw - I|^2, and eigenvalues that the
    noise's own spectrum explains are not allowed far below one.

    Parameters
    ----------
    raw, target : (..., d, d) float64
    variance : (...) float64
        Variance of each entry of svec(raw).

    Returns
    -------
    (..., d, d) float64, positive definite
    """
    d = raw.shape[-1]
    lower = np.linalg.cholesky(target)
    inverse = np.linalg.inv(lower)
    difference = inverse @ raw @ np.swapaxes(inverse, -1, -2) - np.eye(d)
    gram = np.swapaxes(inverse, -1, -2) @ inverse
    # E |A E A'|_F^2 for svec(E) white of variance v: v/2 ((tr G)^2 + |G|_F^2), G = A'A.
    energy = 0.5 * variance * (np.trace(gram, axis1=-2, axis2=-1) ** 2 + (gram**2).sum(axis=(-2, -1)))
    square = (difference**2).sum(axis=(-2, -1))
    share = structure_share(square, NOISE_MARGIN * energy, LARGEST_SHAPE_PER_DIMENSION * d)
    values, vectors = np.linalg.eigh(share[..., None, None] * difference)
    # Largest eigenvalue of the noise alone, if it were isotropic.
    edge = np.sqrt(4 * energy / (d + 1))
    lowest = np.clip(edge, 1e-3, LOWEST_EIGENVALUE_RATIO)
    kept = (vectors * np.maximum(1 + values, lowest[..., None])[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return lower @ kept @ np.swapaxes(lower, -1, -2)


def centroid_update(noisy: np.ndarray, std: float, weights: StackWeights) -> np.ndarray:
    """Return shrunken mean residuals (R, K, d), in radii, from a noisy stack of one K-means round."""
    counts = positive_counts(noisy[..., 0] / weights.count, std / weights.count)
    means = noisy[..., 1:] / weights.mean / counts[..., None]
    return shrink_means(means, (std / weights.mean / counts) ** 2)


def mixture_parameters(
    noisy: np.ndarray, std: float, weights: StackWeights, records: int, d: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weights (R, K), mean residuals (R, K, d) and covariances (R, K, d, d) from the final noisy stack.

    Units are whitened radii. Covariances are shrunk in two stages: the pooled one towards a multiple of the
    identity, that of each class towards the pooled one times the class's own shrunken scale.

    Parameters
    ----------
    noisy : (R, K, 1 + d + d (d + 1)/2) float64
    std : float
        Noise of each entry.
    weights : StackWeights
    records : int
        N, public.
    d : int
    """
    k = noisy.shape[1]
    counts = positive_counts(noisy[..., 0] / weights.count, std / weights.count)
    counts *= records / counts.sum(axis=1, keepdims=True)
    means = noisy[..., 1 : 1 + d] / weights.mean / counts[..., None]
    means = shrink_means(means, (std / weights.mean / counts) ** 2)
    moments = smat(noisy[..., 1 + d :] / weights.moment, d)
    variance = (std / weights.moment) ** 2

    shares = counts / records
    centred = moments - counts[..., None, None] * means[..., :, None] * means[..., None, :]
    pooled = centred.sum(axis=1) / records
    scale = np.maximum(np.trace(pooled, axis1=-2, axis2=-1), LOWEST_MEAN_SQUARE) / d
    target = scale[:, None, None] * np.eye(d)
    pooled = shrink_covariances(pooled, target, np.full(len(noisy), k * variance / records**2))

    own = np.trace(centred, axis1=-2, axis2=-1) / counts
    typical = np.trace(pooled, axis1=-2, axis2=-1)[:, None]
    relative_noise = d * variance / (counts * typical) ** 2
    trust = SCALE_PRIOR_VARIANCE / (SCALE_PRIOR_VARIANCE + relative_noise)
    relative = np.clip(1 + trust * (own / typical - 1), *SCALE_RANGE)
    covariances = shrink_covariances(
        centred / counts[..., None, None],
        relative[..., None, None] * pooled[:, None],
        variance / counts**2,
    )
    return shares, means, covariances
