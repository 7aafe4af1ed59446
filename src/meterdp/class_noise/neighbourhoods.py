"""Which households must be indistinguishable: the graph (1) of pairs, from clusters, labels, likeness or edges.

Sections II-A and VI-B of Ramakrishna et al.: K-means into six clusters, all households of a cluster neighbours of one
another. Clusters, groups of a size and nearest households are computed from private readings and are not charged: a
study tool, never a release.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from meterdp.errors import InputError

HOURS = 24
CLUSTERS = 6  # of section VI-B
ALONE = (
    "there is nobody to be mistaken for, so class_label privacy says nothing about the household, whatever the noise"
)


@dataclass(frozen=True)
class Neighbours:
    """The graph (1) of H households.

    ``neighbourhood`` (H,) is 1 for the largest; ``pairs`` (P, 2) are ordered pairs (X, X') of positions within one,
    both directions, sorted, no self-loops; ``outside_pair_count`` (H,) counts given pairs whose other household is
    not in the study.
    """

    neighbourhood: np.ndarray
    pairs: np.ndarray
    outside_pair_count: np.ndarray


def daily_profiles(log_kwh: np.ndarray, local_hour: np.ndarray) -> np.ndarray:
    """Return the mean log load per local hour of day, (H, 24), the features of the clustering.

    ``log_kwh`` (H, T) is of the training window, NaN where a reading is missing, ``local_hour`` (T,) in 0..23. An
    hour without a reading takes the household's mean; a household without any, the mean of all households.
    """
    seen = np.isfinite(log_kwh)
    indicator = np.equal.outer(np.asarray(local_hour), np.arange(HOURS)).astype(float)
    total, count = np.where(seen, log_kwh, 0.0) @ indicator, seen.astype(float) @ indicator
    overall = total.sum() / count.sum() if count.any() else 0.0
    own_count = count.sum(axis=1, keepdims=True)
    own = np.where(own_count > 0, total.sum(axis=1, keepdims=True) / np.maximum(own_count, 1), overall)
    return np.where(count > 0, total / np.maximum(count, 1), own)


def cluster_households(features: np.ndarray, clusters: int, seed: int) -> np.ndarray:
    """Return K-means neighbourhoods (section VI-B) of rows of features (H, m), (H,) int32, 1 the largest.

    With fewer different rows than clusters there are as many as different rows. The seed is of the start points; a
    study has one, a release never uses this function.
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
    """Return neighbourhoods from labels (H,), for example circuits: 1..C in order of size, equal sizes in order of
    the label.
    """
    _, position, size = np.unique(labels, return_inverse=True, return_counts=True)
    rank = np.empty(size.size, dtype=np.int32)
    rank[np.argsort(-size, kind="stable")] = np.arange(1, size.size + 1)
    return rank[position]


def full_cluster_graph(neighbourhood: np.ndarray) -> np.ndarray:
    """Return the edges of (1): every household of a neighbourhood is the neighbour of every other one.

    Ordered pairs (P, 2) of positions, both directions, sorted; a neighbourhood of one has none.
    """
    same = np.equal.outer(neighbourhood, neighbourhood)
    np.fill_diagonal(same, False)
    return np.argwhere(same)


def all_within(neighbourhood: np.ndarray) -> Neighbours:
    """Return the graph in which all households of a neighbourhood, (H,) int, are neighbours."""
    pairs = full_cluster_graph(neighbourhood)
    return Neighbours(np.asarray(neighbourhood, np.int32), pairs, np.zeros(len(neighbourhood), np.int64))


def nearest_households(features: np.ndarray, nearest: int) -> Neighbours:
    """Return the graph in which every household has the ``nearest`` ones most like it as neighbours, or as many as
    there are.

    Likeness is Euclidean distance of features (H, m). Either direction counts, so one may have more.
    """
    households = len(features)
    count = min(nearest, households - 1)
    if count < 1:
        return from_edges(np.empty((0, 2), np.int64), households)
    from sklearn.neighbors import NearestNeighbors

    found = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(features).kneighbors(return_distance=False)
    return from_edges(np.stack([np.repeat(np.arange(households), count), found.ravel()], axis=1), households)


def from_edges(edges: np.ndarray, households: int, outside_pair_count: np.ndarray | None = None) -> Neighbours:
    """Return the graph with given edges (E, 2), in either direction, repeated or not; its connected components are
    the neighbourhoods.
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


_FIELD = "neighbourhoods.file"


def read_edges(path, columns: Sequence[str], households: Mapping[str, int]) -> np.ndarray:
    """Return the pairs of households a file names in two columns of meter ids, (E, 2) int64, in its order.

    A file is ``.parquet``, or anything else as CSV with a header; ``households`` are dense indices by meter id.
    Whatever is wrong is said with the row, never with a meter id: a file that cannot be read or lacks a column, a
    meter the export does not have, or one paired with itself.
    """
    table = _read(path)
    for name in columns:
        if table.column_names.count(name) != 1:
            raise InputError(
                f"has no column '{name}', or more than one",
                file=path,
                field=_FIELD,
                hint=f"call its two columns of meter ids {' and '.join(columns)}",
            )
    first = 1 if Path(path).suffix == ".parquet" else 2  # a CSV has a header
    ends = [[str(v).strip() if v is not None else "" for v in table[name].to_pylist()] for name in columns]
    edges = np.empty((len(ends[0]), 2), dtype=np.int64)
    for row, pair in enumerate(zip(*ends, strict=True)):
        for side, meter in enumerate(pair):
            if meter not in households:
                raise InputError(
                    "names a meter that is not in the export",
                    file=path,
                    row=row + first,
                    field=columns[side],
                    hint="write meter ids as in the export, or remove the row",
                )
            edges[row, side] = households[meter]
        if edges[row, 0] == edges[row, 1]:
            raise InputError("names a meter as its own neighbour", file=path, row=row + first, hint="remove the row")
    return edges


def _read(path) -> pa.Table:
    try:
        if Path(path).suffix == ".parquet":
            return pq.read_table(path, partitioning=None)
        names = pa.csv.open_csv(path).schema.names
        # As text: a meter id with leading zeros must keep them.
        text = pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
        return pa.csv.read_csv(path, convert_options=text)
    except (OSError, pa.ArrowException):
        # Arrow's message quotes the row, and a meter id must not end in a log.
        raise InputError(
            "cannot be read as a table", file=path, field=_FIELD, hint="give a CSV file with a header, or Parquet"
        ) from None


def components(pairs: np.ndarray, labels: int) -> list[np.ndarray]:
    """Return the positions of the labels of every component with at least one edge: each is a design problem of its
    own.
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


# What a step must lower the sum by, as a share of the sum around the common mean: more than rounding.
LEAST_GAIN = 1e-12
# Rounds over all households; the last ones find next to nothing.
MOST_ROUNDS = 50


def balanced_groups(features: np.ndarray, size: int) -> np.ndarray:
    """Return groups of at least ``size`` rows and at most 2 ``size`` - 1, (H,) int64 labels from 0.

    Microaggregation, as statistical disclosure control calls it: a partition of the rows (H, m) into groups of k to
    2k - 1 with the least sum of squared distances from the means of the groups. Groups are seeded by maximum distance
    to the average vector (MDAV: Domingo-Ferrer and Mateo-Sanz 2002; Domingo-Ferrer and Torra 2005), then single
    moves, exchanges of two households and whole groups given away lower the sum until none of them does. The optimum
    is NP-hard to find; it never has a group of 2k or more, because that can be cut in two without raising the sum.

    Labels are in the order of the first row of each group by its features. The order of the households does not
    matter, but among those with equal features. Fewer than 2k are one group. Raises :class:`InputError` if the size
    hides nobody or there are too few households.
    """
    if size < 2:
        raise InputError(
            "hides nobody: a household must have at least one other beside it",
            file="config",
            field="neighbourhoods.size",
            hint="use 2 or more",
        )
    if len(features) < size:
        raise InputError(
            "is more than the households to forecast",
            file="config",
            field="neighbourhoods.size",
            hint="use a smaller one, or forecast more households by forecast.households",
        )
    # In an order of the rows' own, so that that of the households changes nothing, not even by rounding.
    order = np.lexsort(features.T[::-1])
    x = features[order] - features[order].mean(axis=0)
    search = _Search(x, _by_largest_distance(x, size), size)
    search.run()
    found = np.empty(len(x), np.int64)
    found[order] = np.unique(search.label, return_inverse=True)[1]
    first = np.unique(found[order], return_index=True)[1]
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[found]


def _by_largest_distance(x: np.ndarray, size: int) -> np.ndarray:
    """MDAV: the row farthest from the mean and the nearest ones, then the row farthest from that, and so on."""
    label, left, groups = np.empty(len(x), np.int64), np.arange(len(x)), 0

    def take(centre: np.ndarray) -> None:
        nonlocal left, groups
        nearest = np.argsort(_squared(x[left] - centre), kind="stable")[:size]
        label[left[nearest]] = groups
        left, groups = np.delete(left, nearest), groups + 1

    while len(left) >= 3 * size:
        far = x[left[np.argmax(_squared(x[left] - x[left].mean(axis=0)))]]
        opposite = x[left[np.argmax(_squared(x[left] - far))]]
        take(far)
        take(opposite)
    if len(left) >= 2 * size:
        take(x[left[np.argmax(_squared(x[left] - x[left].mean(axis=0)))]])
    label[left] = groups
    return label


class _Search:
    """Local search over partitions of rows x (H, m) into groups of k to 2k - 1, from labels (H,) in 0..G-1."""

    def __init__(self, x: np.ndarray, label: np.ndarray, size: int):
        self.x, self.label, self.size = x, label.copy(), size
        self.least = LEAST_GAIN * float(_squared(x).sum())
        groups = int(label.max()) + 1
        self.count = np.bincount(label, minlength=groups).astype(float)
        self.centre = np.stack([x[label == g].mean(axis=0) for g in range(groups)])
        self.norm = _squared(x)
        # c_B'x_j of every row j and its group B.
        self.own = np.einsum("ij,ij->i", self.centre[label], x)

    def run(self) -> None:
        """Take steps that lower the sum of squares until none does."""
        for _ in range(MOST_ROUNDS):
            taken = [self._step(row) for row in range(len(self.x))]
            if not any(taken) and not self._give_one_away():
                return

    def _step(self, row: int) -> bool:
        """Take the best move of a row or exchange with another, if one lowers the sum."""
        own, x, centre = self.label[row], self.x, self.centre
        along = centre @ x[row]
        squared = self.norm[row] - 2 * along + _squared(centre)
        gain = np.full(len(self.count), -np.inf)
        if self.count[own] > self.size:
            room = self.count < 2 * self.size - 1
            leaves = self.count[own] / (self.count[own] - 1) * squared[own]
            gain[room] = leaves - (self.count / (self.count + 1) * squared)[room]
        gain[own] = -np.inf
        # An exchange of rows i of A and j of B changes the sum by
        # 2 (c_B - c_A)'(x_j - x_i) - (1/a + 1/b) |x_j - x_i|^2.
        swap = (1 / self.count[own] + 1 / self.count)[self.label]
        swap *= self.norm + self.norm[row] - 2 * (x @ x[row])
        swap -= 2 * (self.own - x @ centre[own] - along[self.label] + along[own])
        swap[self.label == own] = -np.inf
        group, other = int(np.argmax(gain)), int(np.argmax(swap))
        if max(gain[group], swap[other]) <= self.least:
            return False
        if gain[group] >= swap[other]:
            self._put({row: group})
        else:
            self._put({row: self.label[other], other: own})
        return True

    def _give_one_away(self) -> bool:
        """Give all rows of the group from which that lowers the sum most to others that have room."""
        best, chosen, gone = self.least, {}, -1
        for group in range(len(self.count)):
            count, centre, to = self.count.copy(), self.centre.copy(), {}
            rows = np.flatnonzero(self.label == group)
            gain = _squared(self.x[rows] - centre[group]).sum()
            full = count >= 2 * self.size - 1
            full[group] = True
            for row in rows:
                if full.all():
                    break
                rise = np.where(full, np.inf, count / (count + 1) * _squared(self.x[row] - centre))
                into = int(np.argmin(rise))
                gain -= rise[into]
                if gain <= best:
                    break
                centre[into] += (self.x[row] - centre[into]) / (count[into] + 1)
                count[into] += 1
                full[into] = count[into] >= 2 * self.size - 1
                to[int(row)] = into
            else:
                best, chosen, gone = gain, to, group
        if not chosen:
            return False
        self._put(chosen)
        self.label -= self.label > gone
        self.count, self.centre = np.delete(self.count, gone), np.delete(self.centre, gone, axis=0)
        return True

    def _put(self, into: dict) -> None:
        """Put rows into groups; means are computed again, so that rounding does not add up."""
        changed = {*self.label[list(into)], *into.values()}
        for row, group in into.items():
            self.label[row] = group
        for group in changed:
            inside = self.label == group
            self.count[group] = inside.sum()
            if inside.any():
                self.centre[group] = self.x[inside].mean(axis=0)
                self.own[inside] = self.x[inside] @ self.centre[group]


def _squared(rows: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", rows, rows)
