"""Made-up households for tests of mechanisms: classes of the sizes of Table I, none of them a real reading."""

from __future__ import annotations

from functools import cache

import numpy as np

from meterdp.mechanisms.interface import PublicSettings
from meterdp.mechanisms.proven.library import Library
from meterdp.mechanisms.reference.label_flip import LabelledRecords
from meterdp.mixture.gmm import fit_labels, kmeans_labels

TABLE_1 = np.array([687, 428, 102, 147, 14, 31])
LEVELS_LOG_KWH = np.array([-1.1, -0.4, -2.4, 0.3, 1.3, -3.6])
LOW, HIGH = np.log(0.005), np.log(20.0)
FLOOR = 1e-3


def households(seed: int, n: int = 1409, d: int = 12, k: int = 6) -> np.ndarray:
    """Return (n, d) log kWh from a Gaussian mixture whose covariances differ by class and have no simple form."""
    rng = np.random.default_rng([seed, n, d, k])
    hours = np.arange(d)
    share = TABLE_1[:k] / TABLE_1[:k].sum()
    labels = rng.choice(k, size=n, p=share)
    x = np.empty((n, d))
    for j in range(k):
        shape = np.cos(2 * np.pi * (hours - rng.uniform(0, d)) / 16) * rng.uniform(0.1, 0.6)
        common, rho = rng.uniform(0.05, 0.35), rng.uniform(0.4, 0.85)
        scale = rng.uniform(0.3, 0.75) * np.exp(0.25 * rng.normal(size=d))
        covariance = scale[:, None] * ((1 - common) * rho ** np.abs(hours[:, None] - hours) + common) * scale
        own = labels == j
        x[own] = rng.multivariate_normal(LEVELS_LOG_KWH[j] + shape, covariance, size=own.sum())
    return np.clip(x, LOW, HIGH)


def records(seed: int, n: int = 1409, d: int = 12, k: int = 6) -> LabelledRecords:
    """Return private records with K-means labels."""
    x = households(seed, n, d, k)
    return LabelledRecords(x, fit_labels(x, kmeans_labels(x, k, 0), FLOOR))


def public(private: LabelledRecords, epsilon: float = 1.0, delta: float = 1e-5, **others) -> PublicSettings:
    """Return public settings of the shape of ``private``."""
    n, d = private.x.shape
    return PublicSettings(epsilon, delta, len(private.fit.counts), d, n, LOW, HIGH, FLOOR, **others)


@cache
def library(d: int = 12, k: int = 4) -> Library:
    """Return a public library: classes of other made-up households."""
    x = households(77, 2000, d, k)
    return Library(fit_labels(x, kmeans_labels(x, k, 0), FLOOR).mixture, f"made up, {d} hours")
