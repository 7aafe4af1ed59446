"""Oracle of (10): refit after every label flip; and the synthetic data sets of Liu et al., Fig. 1."""

from __future__ import annotations

import numpy as np

from meterdp.mechanisms.reference.label_flip import LabelledRecords
from meterdp.mixture.gmm import fit_labels
from tests.unit.mechanisms.made_up import FLOOR


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
