"""How far one label flip moves the fitted parameters of Liu et al., (2a)-(2c): exact, over all flips.

A flip takes record n out of one class and puts it into another; per class that is N changes, one per record. Flips
that would empty a class leave the set S of (3) and are not neighbours, so the only record of a class cannot move.
These are per-data-set ("local") sensitivities as in the paper, which is defect L4: a guarantee built on them is not
differential privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

# Whose difference vectors (10) ranges over: "all" is every record whose label may flip, "leaving" the members of the
# class alone, as (10) is printed; a record that enters is then not covered.
Flips = Literal["all", "leaving"]


@dataclass(frozen=True)
class FlipSensitivities:
    """Largest change under one label flip, per class; l1 and l2 norms.

    Parameters
    ----------
    weights_l1, weights_l2 : float
        Of the frequency vector: 2/N and sqrt(2)/N.
    means_l1, means_l2 : (K,) float64
        log kWh.
    covariances_l1, covariances_l2 : (K,) float64
        (log kWh)^2, over the upper triangle with the diagonal: those d(d+1)/2 numbers are what gets noise, the
        lower triangle is a copy.
    """

    weights_l1: float
    weights_l2: float
    means_l1: np.ndarray
    means_l2: np.ndarray
    covariances_l1: np.ndarray
    covariances_l2: np.ndarray


def movable(labels: np.ndarray) -> np.ndarray:
    """Return which records (N,) share their class with another and can therefore change it."""
    return np.bincount(labels)[labels] > 1


def mean_changes(
    x: np.ndarray, labels: np.ndarray, means: np.ndarray, component: int, flips: Flips = "all"
) -> np.ndarray:
    """Return the difference vectors v_n of (10) and (19) for one class.

    Parameters
    ----------
    x : (N, d) float64
    labels : (N,) int
        Classes 1..K.
    means : (K, d) float64
        Class means, (2b).
    component : int
        The class, 1..K.
    flips : {"all", "leaving"}
        Which records.

    Returns
    -------
    (M, d) float64
        (x_n - mu_k)/(N_k - 1) for members, (x_n - mu_k)/(N_k + 1) for all others, up to sign, one row per record
        that can move. Nothing can leave a class of one record: then there is one row of zeros.
    """
    member = labels == component
    count = member.sum()
    steps = np.where(member, count - 1, count + 1)
    moves = movable(labels) if flips == "all" else movable(labels) & member
    if not moves.any():
        return np.zeros((1, x.shape[1]))
    return (x - means[component - 1])[moves] / steps[moves, None]


def covariance_changes(
    x: np.ndarray, labels: np.ndarray, means: np.ndarray, covariances: np.ndarray, component: int
) -> np.ndarray:
    """Return the change of (2c) of one class under every flip, as upper triangles.

    With u = x_n - mu_k: a member that leaves changes Sigma_k by (Sigma_k - N_k/(N_k - 1) u u')/(N_k - 2), a record
    that enters by -Sigma_k/N_k + u u'/(N_k + 1). A class of one record has covariance zero by convention, so the
    change when one of two leaves is -Sigma_k.

    Parameters
    ----------
    x, labels, means, component
        As in :func:`mean_changes`.
    covariances : (K, d, d) float64
        Sample covariances (2c), before any floor.

    Returns
    -------
    (M, d (d + 1) / 2) float64
        Same rows as :func:`mean_changes`, with the sign of (new - old); entries in the order of
        ``numpy.triu_indices``.
    """
    moves = movable(labels)
    member = labels[moves] == component
    outer, old = _shares(np.array((labels == component).sum()), member)
    upper = np.triu_indices(x.shape[1])
    return _changes(x[moves] - means[component - 1], outer, old, covariances[component - 1][upper])


def _shares(counts: np.ndarray, member: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the factors of u u' and of Sigma_k in the change of Sigma_k, for members and for all others."""
    n, many = np.maximum(counts, 3), counts > 2
    leaving = np.where(many, -n / ((n - 1) * (n - 2)), 0.0), np.where(many, 1 / (n - 2), -1.0)
    entering = 1 / (counts + 1), -1 / np.maximum(counts, 1)
    return np.where(member, leaving[0], entering[0]), np.where(member, leaving[1], entering[1])


def _changes(residual: np.ndarray, outer: np.ndarray, old: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """Return outer u u' + old Sigma_k as upper triangles (M, q), with Sigma_k as (q,) or one (M, q) a row."""
    rows, columns = np.triu_indices(residual.shape[1])
    return outer[:, None] * residual[:, rows] * residual[:, columns] + old[:, None] * sigma


def flip_sensitivities(
    x: np.ndarray, labels: np.ndarray, means: np.ndarray, covariances: np.ndarray
) -> FlipSensitivities:
    """Return the largest change of every released parameter over all label flips.

    Parameters
    ----------
    x, labels, means, covariances
        As in :func:`covariance_changes`.
    """
    k, n = len(means), len(x)
    moves = movable(labels)
    if not moves.any():
        return FlipSensitivities(2 / n, np.sqrt(2) / n, *np.zeros((4, k)))
    counts = np.bincount(labels, minlength=k + 1)[1:, None]
    member = labels[moves] == np.arange(1, k + 1)[:, None]
    steps = np.where(member, counts - 1, counts + 1)
    residual = x[moves].T - means[:, :, None]  # (K, d, M): sums over d are fast this way round
    squares = residual**2
    l1, square, fourth = np.abs(residual).sum(axis=1), squares.sum(axis=1), (squares**2).sum(axis=1)
    # Norms of the upper triangle of u u'.
    sizes = (l1**2 + square) / 2, np.sqrt((square**2 + fourth) / 2)

    outer, old = _shares(counts, member)
    sigma = covariances[:, *np.triu_indices(x.shape[1])]
    largest = np.zeros((2, k))
    for order, size in zip((1, 2), sizes, strict=True):
        size, base = np.abs(outer) * size, np.abs(old) * np.linalg.norm(sigma, order, axis=1)[:, None]
        # The triangle inequality rules most records out.
        at = np.nonzero(size + base >= np.abs(size - base).max(axis=1, keepdims=True))
        changes = _changes(residual[at[0], :, at[1]], outer[at], old[at], sigma[at[0]])
        np.maximum.at(largest[order - 1], at[0], np.linalg.norm(changes, order, axis=1))
    return FlipSensitivities(
        2 / n, np.sqrt(2) / n, (l1 / steps).max(axis=1), np.sqrt((square / steps**2).max(axis=1)), *largest
    )
