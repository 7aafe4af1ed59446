"""Which households must not be told apart: clusters or given labels, and the graph (1) of ordered pairs.

Sections II-A and VI-B of Ramakrishna et al.: K-means into six clusters, all households of a cluster neighbours of
one another. The clusters are computed from private readings and are not charged: a study tool, never a release.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

HOURS = 24


def daily_profiles(log_kwh: np.ndarray, local_hour: np.ndarray) -> np.ndarray:
    """Mean log load per local hour of day, the features of the clustering.

    Parameters
    ----------
    log_kwh : (H, T) float64 array
        Log load of the training window, NaN where a reading is missing.
    local_hour : (T,) int array
        Local hour of day of each slot, 0..23.

    Returns
    -------
    (H, 24) float64 array
        An hour without a reading takes the household's mean; a household without any, the mean of all households.
    """
    seen = np.isfinite(log_kwh)
    indicator = np.equal.outer(np.asarray(local_hour), np.arange(HOURS)).astype(float)
    total, count = np.where(seen, log_kwh, 0.0) @ indicator, seen.astype(float) @ indicator
    overall = total.sum() / count.sum() if count.any() else 0.0
    own_count = count.sum(axis=1, keepdims=True)
    own = np.where(own_count > 0, total.sum(axis=1, keepdims=True) / np.maximum(own_count, 1), overall)
    return np.where(count > 0, total / np.maximum(count, 1), own)


def cluster_households(features: np.ndarray, clusters: int, seed: int) -> np.ndarray:
    """K-means neighbourhoods (section VI-B), 1 the largest.

    Parameters
    ----------
    features : (H, m) float64 array
        One row per household.
    clusters : int
        Clusters asked for; with fewer different rows, as many as there are different rows.
    seed : int
        Of the start points; a study has one, a release never uses this function.

    Returns
    -------
    (H,) int32 array
        Neighbourhood of each household, 1..C.
    """
    different = len(np.unique(features, axis=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = KMeans(min(clusters, different), n_init=10, random_state=seed).fit(features)
    return by_label(fitted.labels_)


def by_label(labels: np.ndarray) -> np.ndarray:
    """Neighbourhoods from given labels, for example the circuit a household hangs on.

    Parameters
    ----------
    labels : (H,) array
        Any sortable labels.

    Returns
    -------
    (H,) int32 array
        1..C in order of size; equal sizes in order of the label.
    """
    _, position, size = np.unique(labels, return_inverse=True, return_counts=True)
    rank = np.empty(size.size, dtype=np.int32)
    rank[np.argsort(-size, kind="stable")] = np.arange(1, size.size + 1)
    return rank[position]


def full_cluster_graph(neighbourhood: np.ndarray) -> np.ndarray:
    """Return the edges of (1): every household of a neighbourhood is the neighbour of every other one.

    Parameters
    ----------
    neighbourhood : (H,) int array
        From :func:`cluster_households` or :func:`by_label`.

    Returns
    -------
    (P, 2) int64 array
        Ordered pairs (X, X') of positions, both directions, sorted; a neighbourhood of one has none.
    """
    same = np.equal.outer(neighbourhood, neighbourhood)
    np.fill_diagonal(same, False)
    return np.argwhere(same)


def neighbourhood_columns(household: np.ndarray, neighbourhood: np.ndarray) -> dict:
    """Return the columns of table ``neighbourhoods``; both arrays (H,)."""
    return {"household": np.asarray(household, np.int32), "neighbourhood": np.asarray(neighbourhood, np.int32)}


def graph_columns(household: np.ndarray, neighbourhood: np.ndarray) -> dict:
    """Return the columns of table ``neighbour_graph``; both arrays (H,)."""
    household, pairs = np.asarray(household, np.int32), full_cluster_graph(neighbourhood)
    return {
        "household": household[pairs[:, 0]],
        "neighbour": household[pairs[:, 1]],
        "neighbourhood": np.asarray(neighbourhood, np.int32)[pairs[:, 0]],
    }


def summary_columns(neighbourhood: np.ndarray) -> dict:
    """Return the columns of table ``neighbourhood_summary`` from the (H,) neighbourhoods."""
    label, size = np.unique(neighbourhood, return_counts=True)
    return {"neighbourhood": label.astype(np.int32), "household_count": size, "pair_count": size * (size - 1)}
