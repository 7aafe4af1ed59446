"""Made-up records for tests of mechanisms, none of them a real reading; the oracle of (10); noise to look into."""

from functools import cache

import numpy as np

from meterdp.core.noise import StudyNoise
from meterdp.mechanisms.dpem.mechanism import to_unit_ball
from meterdp.mechanisms.interface import PublicSettings
from meterdp.mechanisms.proven.prior_mixture import PriorMixture
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
def prior_mixture(d: int = 12, k: int = 4) -> PriorMixture:
    """Return a public prior mixture: classes of other made-up households."""
    x = households(77, 2000, d, k)
    return PriorMixture(fit_labels(x, kmeans_labels(x, k, 0), FLOOR).mixture, f"made up, {d} hours")


def refitted_changes(private: LabelledRecords) -> list[np.ndarray]:
    """Return per class the changes (F, d) of its mean under all flips that leave no class empty."""
    x, labels = private.x, private.labels
    k = labels.max()
    means = [x[labels == j].mean(axis=0) for j in range(1, k + 1)]
    changes: list[list[np.ndarray]] = [[] for _ in range(k)]
    for n in range(len(x)):
        for target in range(1, k + 1):
            flipped = labels.copy()
            flipped[n] = target
            if target == labels[n] or not (flipped == labels[n]).any():
                continue
            for j in (labels[n], target):
                changes[j - 1].append(x[flipped == j].mean(axis=0) - means[j - 1])
    return [np.array(c).reshape(-1, x.shape[1]) for c in changes]


def largest_reach(private: LabelledRecords, covariances: np.ndarray) -> np.ndarray:
    """Return per class the largest v' Gamma_k v over all flips, Gamma_k^-1 the covariance (K, d, d) of the noise."""
    return np.array(
        [
            np.einsum("ni,ij,nj->n", v, np.linalg.inv(c), v).max()
            for v, c in zip(refitted_changes(private), covariances, strict=True)
        ]
    )


def labelled(x: np.ndarray, labels) -> LabelledRecords:
    """Return records with these labels 1..K and their fit."""
    return LabelledRecords(x, fit_labels(x, np.asarray(labels), FLOOR))


def fig_1(seed: int, n: int = 1000, k: int = 5, d: int = 3) -> LabelledRecords:
    """Return a fresh data set of Fig. 1; one with a class of d records or fewer is drawn again."""
    rng = np.random.default_rng([1, seed])
    while True:
        means, g = rng.uniform(-10, 10, (k, d)), rng.normal(size=(k, d, d + 1))
        labels = rng.choice(k, n, p=rng.dirichlet(np.ones(k)))
        if np.bincount(labels, minlength=k).min() > d:
            break
    # G G' is Wishart(d + 1, I).
    x = means[labels] + np.einsum("nij,nj->ni", g[labels], rng.normal(size=(n, d + 1)))
    return labelled(x, labels + 1)


def clusters(n: int, d: int, k: int, seed: int = 0, width: float = 0.1) -> np.ndarray:
    """Return (n, d) records of k round clusters in the unit ball."""
    rng = np.random.default_rng([seed, n, d, k])
    means = rng.normal(size=(k, d)) / np.sqrt(d) * 0.6
    x = means[rng.integers(0, k, n)] + width * rng.normal(size=(n, d)) * np.linspace(1, 0.3, d)
    return to_unit_ball(x, 1.0)


class NotedNoise(StudyNoise):
    """Study noise that keeps what was drawn, by distribution."""

    def __init__(self, *keys):
        super().__init__(0, *keys)
        self.drawn: list[tuple[str, np.ndarray]] = []

    def normal(self, shape):
        """Draw and keep."""
        self.drawn.append(("gaussian", super().normal(shape)))
        return self.drawn[-1][1]

    def laplace(self, shape):
        """Draw and keep."""
        self.drawn.append(("laplace", super().laplace(shape)))
        return self.drawn[-1][1]


def farthest(distance, starts) -> float:
    """Brute force: the largest distance that is found by random steps from any start, which shrink where none is up.

    From the starts of the tests it finds all that 1,200 iterations of Nelder and Mead do, in a seventh of the time.
    """
    rng, best = np.random.default_rng(0), np.array(starts, float)
    reached, step, row = distance(best), np.ones(len(best)), np.arange(len(best))
    for _ in range(120):
        some = rng.uniform(size=(40, *best.shape)) < 0.3
        tried = best + step[:, None] * some * rng.normal(size=some.shape)
        found = distance(tried)
        at = found.argmax(axis=0)
        up = found[at, row] > reached
        best[up], reached[up] = tried[at, row][up], found[at, row][up]
        step = np.where(up, np.minimum(1.5 * step, 4.0), 0.7 * step)
    return float(reached.max())
