"""How far one label flip moves the fitted parameters of Liu et al., (2a)-(2c): exact, over all flips.

A flip takes record n out of one class and puts it into another; per class that is N changes, one per record. Flips
that would empty a class leave the set S of (3) and are not neighbours, so the only record of a class cannot move.
These are per-data-set ("local") sensitivities as in the paper, which is defect L4: a guarantee built on them is not
differential privacy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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


def mean_changes(x: np.ndarray, labels: np.ndarray, means: np.ndarray, component: int) -> np.ndarray:
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

    Returns
    -------
    (M, d) float64
        (x_n - mu_k)/(N_k - 1) for members, (x_n - mu_k)/(N_k + 1) for all others, up to sign, one row per record
        that can move.
    """
    member = labels == component
    count = member.sum()
    steps = np.where(member, count - 1, count + 1)
    moves = movable(labels)
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
        Same rows as :func:`mean_changes`; entries in the order of ``numpy.triu_indices``.
    """
    moves = movable(labels)
    member = labels[moves] == component
    count = int((labels == component).sum())
    upper = np.triu_indices(x.shape[1])
    sigma = covariances[component - 1][upper]
    residual = x[moves] - means[component - 1]
    outer = residual[:, upper[0]] * residual[:, upper[1]]
    entering = outer / (count + 1) - sigma / max(count, 1)
    leaving = -np.broadcast_to(sigma, outer.shape)
    if count > 2:
        leaving = (sigma - count / (count - 1) * outer) / (count - 2)
    return np.where(member[:, None], leaving, entering)


def flip_sensitivities(
    x: np.ndarray, labels: np.ndarray, means: np.ndarray, covariances: np.ndarray
) -> FlipSensitivities:
    """Enumerate all label flips and return the largest change of every released parameter.

    Parameters
    ----------
    x, labels, means, covariances
        As in :func:`covariance_changes`.
    """
    k, n = len(means), len(x)
    norms = np.empty((4, k))
    for j in range(k):
        mean = mean_changes(x, labels, means, j + 1)
        covariance = covariance_changes(x, labels, means, covariances, j + 1)
        norms[:, j] = _largest(mean, 1), _largest(mean, 2), _largest(covariance, 1), _largest(covariance, 2)
    return FlipSensitivities(2 / n, np.sqrt(2) / n, *norms)


def _largest(changes: np.ndarray, order: int) -> float:
    return float(np.linalg.norm(changes, ord=order, axis=1).max(initial=0.0))
