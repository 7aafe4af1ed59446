"""Where private EM starts: public rules that make K classes of a released pooled mean and covariance."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from meterdp.core.noise import fixed_normals

# Share of the variance of household levels that start classes differ by.
LEVEL_SHARE = 0.85
# Start classes of one level differ in scale between these factors of the pooled covariance.
START_SCALES = (0.15, 2.0)
CLASSES_PER_LEVEL = 3
# Of records in a ball: share of the variance along each of the K - 1 largest axes, and the range of scales.
SPREAD = 0.3
SPREAD_SCALES = (0.5, 1.2)


def start_classes(mean: np.ndarray, covariance: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return start means (R, K, d) and covariances (R, K, d, d) from a released pooled mean and covariance.

    Classes differ in level, along the response of every hour to the household's mean, and in scale: a wide class
    for restless households beside narrow ones. About three scales to a level.

    Parameters
    ----------
    mean : (R, d) float64
    covariance : (R, d, d) float64
    classes : int
        K.
    """
    levels = max(1, classes // CLASSES_PER_LEVEL)
    per_level = np.full(levels, classes // levels)
    per_level[: classes % levels] += 1
    quantiles = ndtri((np.arange(levels) + 0.5) / levels)
    total = covariance.sum(axis=(-1, -2))
    direction = covariance.sum(axis=-1) / np.sqrt(total)[:, None]
    within = covariance - LEVEL_SHARE * quantiles.var() * direction[:, :, None] * direction[:, None, :]
    means, covariances = [], []
    for quantile, count in zip(quantiles, per_level, strict=True):
        scales = [1.0] if classes == 1 else np.geomspace(*START_SCALES, count) if count > 1 else [0.5]
        for scale in scales:
            means.append(mean + math.sqrt(LEVEL_SHARE) * quantile * direction)
            covariances.append(scale * within)
    return np.stack(means, axis=1), np.stack(covariances, axis=1)


def spread_classes(mean: np.ndarray, covariance: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return start means (R, K, d) and covariances (R, K, d, d) where nothing is known about the records.

    Means are normal numbers, the same for everybody, along the K - 1 largest axes of the pooled covariance; what
    they explain is taken out of it, and the classes differ in scale.

    Parameters
    ----------
    mean : (R, d) float64
    covariance : (R, d, d) float64
    classes : int
        K.
    """
    if classes == 1:
        return mean[:, None], covariance[:, None]
    axes = min(covariance.shape[-1], classes - 1)
    values, vectors = np.linalg.eigh(covariance)
    top = (vectors * np.sqrt(values)[:, None, :])[..., ::-1][..., :axes]
    at = fixed_normals(f"start classes in a ball, {classes} along {axes}", (classes, axes))
    means = mean[:, None] + math.sqrt(SPREAD) * np.einsum("rda,ka->rkd", top, at - at.mean(axis=0))
    within = covariance - SPREAD * top @ np.swapaxes(top, -1, -2)
    return means, np.geomspace(*SPREAD_SCALES, classes)[:, None, None] * within[:, None]
