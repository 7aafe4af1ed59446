"""The Wasserstein geodesic from the distribution of a query to a centre, as gain, move and noise; also for singular
distributions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meterdp.class_noise.designs.transport.barycentre import Centre

# Eigenvalues of a distribution below this share of its largest count as zero.
SINGULAR = 1e-10


class Moved(NamedTuple):
    """q~ - E q~ = gain (q - mu) + noise, E q~ = mu + move."""

    gain: np.ndarray
    move: np.ndarray
    covariance: np.ndarray


def towards(mean, covariance, centre: Centre, allowed: float) -> Moved:
    """Return what moves N(mean, covariance) along the geodesic to the centre.

    Parameters
    ----------
    mean, covariance : (k,), (k, k) float64 arrays
        Distribution of the query.
    centre : Centre
    allowed : float
        Squared error of the move, (log kWh)^2.

    Notes
    -----
    The best coupling of N(0, L L'), L (k, r) of full rank, with N(0, S) is y = S L M^-1/2 L^+ x + noise, M = L'S L,
    with noise covariance S - S L M^-1 L'S, zero where the distribution is regular. Its squared error is W2^2, and a
    share s of the way costs s^2 of it.
    """
    k = len(mean)
    values, vectors = np.linalg.eigh(covariance)
    kept = values > SINGULAR * max(values[-1], 0.0)
    target = centre.covariance
    if kept.any():
        root = np.sqrt(values[kept])
        factor = vectors[:, kept] * root
        inner, axes = np.linalg.eigh(factor.T @ target @ factor)
        inverse = np.where(inner > SINGULAR * max(inner[-1], 0.0), 1 / np.sqrt(np.maximum(inner, 1e-300)), 0.0)
        carried = target @ factor @ ((axes * inverse) @ axes.T)
        map_ = carried @ (vectors[:, kept] / root).T
        rest = target - carried @ carried.T if kept.sum() < k or not inverse.all() else np.zeros((k, k))
    else:
        map_, rest = np.zeros((k, k)), target
    left, axes = np.linalg.eigh(0.5 * (rest + rest.T))
    rest = (axes * np.maximum(left, 0.0)) @ axes.T
    change = map_ - np.eye(k)
    cost = np.sum((centre.mean - mean) ** 2) + np.trace(change @ covariance @ change.T) + np.trace(rest)
    share = 1.0 if cost <= allowed else np.sqrt(allowed / cost)
    return Moved(np.eye(k) + share * change, share * (centre.mean - mean), share**2 * rest)
