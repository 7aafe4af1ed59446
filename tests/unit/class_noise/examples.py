"""Queries the tests of this room share."""

import numpy as np

from meterdp.class_noise.neighbourhoods import full_cluster_graph
from meterdp.class_noise.query_models import ClassQueries


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


def two_distributions(mean, covariance, other_mean, other_covariance) -> ClassQueries:
    """Two labels with the given distributions; pair 0 is (X, X'), pair 1 the reverse."""
    means = np.array([mean, other_mean], dtype=float)
    return ClassQueries(means, np.array([covariance, other_covariance], dtype=float), all_pairs(2))


def nearest_pairs(means: np.ndarray, neighbours: int) -> np.ndarray:
    """Each label and its nearest ones, made symmetric."""
    distance = np.linalg.norm(means[:, None] - means[None], axis=2)
    near = np.argsort(distance, axis=1)[:, 1 : neighbours + 1]
    edges = np.zeros(distance.shape, dtype=bool)
    np.put_along_axis(edges, near, True, axis=1)
    np.fill_diagonal(edges, False)
    return np.argwhere(edges | edges.T)


def nasty_queries() -> dict[str, ClassQueries]:
    """Queries of 12 labels, 4 entries but for one, that are hard for a descent."""
    generator = np.random.default_rng(11)
    means = 2 * generator.standard_normal((12, 4))
    covariance = 0.5 * wishart(generator, 12, 4, 6)
    zero = np.zeros_like(covariance)
    twins = np.repeat(means[:6], 2, axis=0)
    thin = wishart(generator, 12, 4, 1) + 1e-9 * np.eye(4)
    circuits = full_cluster_graph(np.repeat([1, 2, 3, 4, 5], [5, 3, 2, 1, 1]))
    return {
        "stochastic": ClassQueries(means, covariance, all_pairs(12)),
        "deterministic": ClassQueries(means, zero, all_pairs(12)),
        "k nearest": ClassQueries(means, covariance, nearest_pairs(means, 2)),
        "k nearest, deterministic": ClassQueries(means, zero, nearest_pairs(means, 2)),
        "circuits, two labels isolated": ClassQueries(means, covariance, circuits),
        "duplicate means": ClassQueries(twins, covariance, all_pairs(12)),
        "duplicate labels": ClassQueries(twins, zero, all_pairs(12)),
        "near-singular covariances": ClassQueries(means, thin, all_pairs(12)),
        "one pair": ClassQueries(means, covariance, np.array([[7, 3], [3, 7]])),
        "one entry": ClassQueries(means[:, :1], covariance[:, :1, :1], all_pairs(12)),
        "far apart": ClassQueries(1e3 * means, zero, all_pairs(12)),
        "far from the origin": ClassQueries(means + 1e6, covariance, all_pairs(12)),
        "one outlier": ClassQueries(means + 20 * (np.arange(12) == 5)[:, None], covariance, all_pairs(12)),
    }
