"""Groups of at least k similar households: everybody is hidden among k, and as few as that allows.

Microaggregation in the words of statistical disclosure control: a partition of the rows into groups of k to 2k - 1
with the least sum of squared distances from the means of the groups. Groups are seeded by maximum distance to the
average vector (MDAV: Domingo-Ferrer and Mateo-Sanz 2002; Domingo-Ferrer and Torra 2005), then single moves, exchanges
of two households and whole groups given away lower the sum until none of them does. The optimum is NP-hard to find;
it never has a group of 2k or more, because that can be cut in two without raising the sum.
"""

from __future__ import annotations

import numpy as np

from meterdp.errors import InputError

# What a step must lower the sum by, as a share of the sum around the common mean: more than rounding.
LEAST_GAIN = 1e-12
# Rounds over all households; the last ones find next to nothing.
MOST_ROUNDS = 50


def balanced_groups(features: np.ndarray, size: int) -> np.ndarray:
    """Return groups of at least ``size`` rows and at most 2 ``size`` - 1, (H,) int64 labels from 0.

    Parameters
    ----------
    features : (H, m) float64 array
        One finite row per household; likeness is Euclidean distance.
    size : int
        k, at least 2.

    Returns
    -------
    (H,) int64 array
        Labels in the order of the first row of each group by its features, the first of them before the second. The
        order of the households does not matter, but among those with equal features. Fewer than 2k are one group.

    Raises
    ------
    InputError
        If the size hides nobody or there are too few households.
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
    """Local search over partitions of rows into groups of k to 2k - 1.

    Parameters
    ----------
    x : (H, m) array
    label : (H,) int array
        Start, groups 0..G-1.
    size : int
        k.
    """

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
        """Put rows into groups; means are taken anew, so that rounding does not add up."""
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
