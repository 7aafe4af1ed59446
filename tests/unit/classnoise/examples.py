"""Queries the tests of this room share."""

import numpy as np

from meterdp.classnoise.designs.interface import ClassQueries


def all_pairs(labels: int) -> np.ndarray:
    """Everybody the neighbour of everybody else."""
    return np.argwhere(~np.eye(labels, dtype=bool))


def wishart(generator: np.random.Generator, count: int, size: int, freedom: int) -> np.ndarray:
    """``count`` draws of Wishart(I, freedom), (count, size, size)."""
    root = generator.standard_normal((count, size, freedom))
    return root @ np.swapaxes(root, 1, 2)


def synthetic(seed: int, spacing: float = 1.0) -> ClassQueries:
    """Section VI-A: four 2-D classes, means on a line, covariances Wishart(I, 2), all neighbours."""
    means = spacing * np.arange(4)[:, None] * np.array([1.0, 1.0]) / np.sqrt(2)
    return ClassQueries(means, wishart(np.random.default_rng(seed), 4, 2, 2), all_pairs(4))


def random_queries(seed: int, labels: int = 6, entries: int = 4, deterministic: bool = False) -> ClassQueries:
    """Random means and well-conditioned covariances, all neighbours."""
    generator = np.random.default_rng(seed)
    covariance = wishart(generator, labels, entries, entries + 2) * (not deterministic)
    return ClassQueries(2 * generator.standard_normal((labels, entries)), covariance, all_pairs(labels))


def two_laws(mean, covariance, other_mean, other_covariance) -> ClassQueries:
    """Two labels with the given laws; pair 0 is (X, X'), pair 1 the reverse."""
    means = np.array([mean, other_mean], dtype=float)
    return ClassQueries(means, np.array([covariance, other_covariance], dtype=float), all_pairs(2))
