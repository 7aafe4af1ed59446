"""K-means labels of profile vectors, the paper's source of classes where none are given (Liu et al., Section V-C).

The labels depend on every private record and are not charged by the published mechanisms (defect L11): they serve
the study and the published family only.
"""

from __future__ import annotations

import numpy as np

from meterdp.errors import InputError

STARTS = 10


def kmeans_labels(x: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Cluster records and number the classes from the largest to the smallest.

    Parameters
    ----------
    x : (N, d) float64
        Log profile vectors, log kWh.
    k : int
        Number of classes K.
    seed : int
        Seed of the restarts; same seed, same labels.

    Returns
    -------
    (N,) int32
        Classes 1..K, class 1 the largest; ties by the first entry of the mean.

    Raises
    ------
    InputError
        If there are fewer distinct records than classes.
    """
    from sklearn.cluster import KMeans  # takes a second to import

    hint = "lower the number of classes or supply more households"
    if k < 1:
        raise InputError("the number of classes is below one", field="classes", hint="use one class or more")
    if len(x) < k:
        raise InputError("there are fewer households than classes", field="classes", hint=hint)
    if len(np.unique(x, axis=0)) < k:
        raise InputError("there are fewer distinct profiles than classes", field="classes", hint=hint)
    model = KMeans(n_clusters=k, n_init=STARTS, random_state=seed).fit(x)
    counts = np.bincount(model.labels_, minlength=k)
    order = np.lexsort((model.cluster_centers_[:, 0], -counts))
    rank = np.empty(k, dtype=np.int32)
    rank[order] = np.arange(1, k + 1, dtype=np.int32)
    return rank[model.labels_]
