"""Which households must not be told apart: the graph (1) of ordered pairs, from clusters, labels, likeness or edges.

Sections II-A and VI-B of Ramakrishna et al.: K-means into six clusters, all households of a cluster neighbours of
one another. Clusters, groups of a size and nearest households are computed from private readings and are not charged:
a study tool, never a release.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

HOURS = 24
ALONE = (
    "there is nobody to be mistaken for, so class_label privacy says nothing about the household, whatever the noise"
)


@dataclass(frozen=True)
class Neighbours:
    """The graph (1) of H households.

    Parameters
    ----------
    neighbourhood : (H,) int32 array
        Neighbourhood of each household, 1 the largest; pairs lie within one.
    pairs : (P, 2) int64 array
        Ordered pairs (X, X') of positions, both directions, sorted, no self-loops.
    outside_pair_count : (H,) int64 array
        Given pairs whose other household is not in the study.
    """

    neighbourhood: np.ndarray
    pairs: np.ndarray
    outside_pair_count: np.ndarray


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
    # Scikit-learn takes a second to import; the designs and curves, which import this module, need none of it.
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    different = len(np.unique(features, axis=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = KMeans(min(clusters, different), n_init=10, random_state=seed).fit(features)
    return by_label(fitted.labels_)


def by_label(labels: np.ndarray) -> np.ndarray:
    """Neighbourhoods from given labels, for example the circuit a household is on.

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


def all_within(neighbourhood: np.ndarray) -> Neighbours:
    """Return the graph in which all households of a neighbourhood, (H,) int, are neighbours."""
    pairs = full_cluster_graph(neighbourhood)
    return Neighbours(np.asarray(neighbourhood, np.int32), pairs, np.zeros(len(neighbourhood), np.int64))


def nearest_households(features: np.ndarray, nearest: int) -> Neighbours:
    """Return the graph in which every household has the ones most like it as neighbours.

    Parameters
    ----------
    features : (H, m) float64 array
        From :func:`daily_profiles`; likeness is Euclidean distance.
    nearest : int
        Households each one gets; fewer where there are not so many. Either direction counts, so one may have more.
    """
    households = len(features)
    count = min(nearest, households - 1)
    if count < 1:
        return from_edges(np.empty((0, 2), np.int64), households)
    from sklearn.neighbors import NearestNeighbors

    found = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(features).kneighbors(return_distance=False)
    return from_edges(np.stack([np.repeat(np.arange(households), count), found.ravel()], axis=1), households)


def from_edges(edges: np.ndarray, households: int, outside_pair_count: np.ndarray | None = None) -> Neighbours:
    """Return the graph with given edges; its connected components are the neighbourhoods.

    Parameters
    ----------
    edges : (E, 2) int array
        Pairs of different positions, in either direction, repeated or not.
    households : int
        H.
    outside_pair_count : (H,) int array, optional
        See :class:`Neighbours`.
    """
    edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    pairs = np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0)
    matrix = coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(households, households))
    neighbourhood = by_label(connected_components(matrix, directed=False)[1])
    outside = np.zeros(households, np.int64) if outside_pair_count is None else outside_pair_count
    return Neighbours(neighbourhood, pairs, outside)


def neighbourhood_columns(household: np.ndarray, neighbourhood: np.ndarray) -> dict:
    """Return the columns of table ``neighbourhoods``; both arrays (H,)."""
    return {"household": np.asarray(household, np.int32), "neighbourhood": np.asarray(neighbourhood, np.int32)}


def graph_columns(household: np.ndarray, neighbourhood: np.ndarray, pairs: np.ndarray | None = None) -> dict:
    """Return the columns of table ``neighbour_graph``; (H,) arrays, and all pairs within if ``pairs`` is left out."""
    household = np.asarray(household, np.int32)
    pairs = full_cluster_graph(neighbourhood) if pairs is None else pairs
    return {
        "household": household[pairs[:, 0]],
        "neighbour": household[pairs[:, 1]],
        "neighbourhood": np.asarray(neighbourhood, np.int32)[pairs[:, 0]],
    }


def summary_columns(graph: Neighbours) -> dict:
    """Return the columns of table ``neighbourhood_summary``, a row per neighbourhood."""
    households = graph.neighbourhood.size
    alone = np.bincount(graph.pairs[:, 0], minlength=households) == 0
    label, position, size = np.unique(graph.neighbourhood, return_inverse=True, return_counts=True)
    pairs = np.bincount(position[graph.pairs[:, 0]], minlength=label.size)
    lonely = np.bincount(position, weights=alone, minlength=label.size).astype(np.int64)
    outside = np.bincount(position, weights=graph.outside_pair_count, minlength=label.size).astype(np.int64)
    return {
        "neighbourhood": label.astype(np.int32),
        "household_count": size,
        "pair_count": pairs,
        "households_alone": lonely,
        "outside_pair_count": outside,
        "meaning": [ALONE if one else "" for one in lonely],
    }
