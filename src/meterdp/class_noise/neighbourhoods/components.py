"""Connected components of the neighbourhood graph (1): each is a design problem of its own."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components


def components(pairs: np.ndarray, labels: int) -> list[np.ndarray]:
    """Return the positions of the labels of every component with at least one edge.

    Parameters
    ----------
    pairs : (P, 2) int array
        Edges, as positions.
    labels : int
        Number of labels H.
    """
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(labels, labels))
    _, component = connected_components(graph, directed=False)
    involved = np.isin(np.arange(labels), pairs)
    return [np.flatnonzero(component == c) for c in np.unique(component[involved])]


def edges_within(pairs: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return the undirected edges of a component as positions in ``group``, (E, 2), first below second, sorted."""
    inside = pairs[np.isin(pairs[:, 0], group)]
    local = np.sort(np.searchsorted(group, inside), axis=1)
    return np.unique(local[local[:, 0] < local[:, 1]], axis=0)
