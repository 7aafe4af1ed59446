"""Groups of at least k: sizes, the same whatever the order, and against every partition there is."""

import itertools

import numpy as np
import pytest

from meterdp.class_noise.neighbourhoods.graph import balanced_groups
from meterdp.errors import InputError


def spread(features, label):
    """Sum of squared distances from the means of the groups."""
    return sum(((features[label == g] - features[label == g].mean(axis=0)) ** 2).sum() for g in np.unique(label))


def partitions(rows, size):
    """Every partition of positions into groups of size to 2 size - 1, as lists of tuples."""
    if not rows:
        yield []
        return
    first, others = rows[0], rows[1:]
    for count in range(size, min(2 * size, len(rows) + 1)):
        for mates in itertools.combinations(others, count - 1):
            left = [row for row in others if row not in mates]
            if not left or len(left) >= size:
                for rest in partitions(left, size):
                    yield [(first, *mates), *rest]


def as_label(groups, rows):
    label = np.empty(rows, int)
    for number, group in enumerate(groups):
        label[list(group)] = number
    return label


@pytest.mark.parametrize(("size", "rows"), [(2, 5), (2, 6), (2, 7), (3, 7), (3, 8), (4, 9)])
def test_close_to_the_best_of_all_partitions(size, rows):
    """Oracle: all partitions. No group sum is above 1.5 times the least, the average within 5 %."""
    every = [as_label(groups, rows) for groups in partitions(list(range(rows)), size)]
    ratio = []
    for seed in range(30):
        generator = np.random.default_rng(seed)
        features = generator.standard_normal((rows, 2)) if seed % 2 else generator.lognormal(size=(rows, 3))
        best = min(spread(features, label) for label in every)
        ratio.append(spread(features, balanced_groups(features, size)) / best)
    assert min(ratio) > 1 - 1e-9 and max(ratio) < 1.5 and np.mean(ratio) < 1.05


@pytest.mark.parametrize("size", [2, 3, 5, 10, 17])
@pytest.mark.parametrize("rows", [17, 34, 53, 100])
def test_no_group_is_smaller_than_asked_or_twice_as_large(size, rows):
    features = np.random.default_rng(rows).lognormal(sigma=2, size=(rows, 4))
    label = balanced_groups(features, size)
    count = np.bincount(label)
    assert count.min() >= size and (count.max() < 2 * size or rows < 2 * size)
    # Numbered by their smallest rows, which nobody's place in the list changes.
    assert np.all(np.diff(np.unique(label[np.lexsort(features.T[::-1])], return_index=True)[1]) > 0)


@pytest.mark.parametrize(("size", "rows"), [(2, 2), (2, 3), (5, 5), (5, 9)])
def test_fewer_than_two_groups_are_one(size, rows):
    assert not balanced_groups(np.random.default_rng(0).standard_normal((rows, 3)), size).any()


def test_separate_clumps_of_the_size_asked_for_are_found():
    truth = np.random.default_rng(1).permutation(np.repeat(np.arange(6), 5))
    features = 50 * np.eye(6)[truth] + np.random.default_rng(2).standard_normal((30, 6))
    label = balanced_groups(features, 5)
    assert np.array_equal(np.equal.outer(label, label), np.equal.outer(truth, truth))


def test_an_outlier_does_not_break_the_other_groups():
    features = np.concatenate([np.random.default_rng(3).standard_normal((20, 2)), [[1e6, -1e6]]])
    label = balanced_groups(features, 3)
    assert spread(features[:20], label[:20]) < 25 and np.bincount(label).min() >= 3


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_the_households_does_not_matter(seed):
    generator = np.random.default_rng(seed)
    features = generator.lognormal(size=(41, 5))
    order = generator.permutation(41)
    label, again = balanced_groups(features, 4), balanced_groups(features[order], 4)
    assert np.array_equal(np.equal.outer(label, label)[order][:, order], np.equal.outer(again, again))


@pytest.mark.parametrize("seed", range(5))
def test_equal_households_are_exchangeable(seed):
    """How many of each kind of row a group has does not hang on their order."""
    generator = np.random.default_rng(seed)
    features = generator.integers(0, 3, (30, 2)).astype(float)
    order = generator.permutation(30)

    def contents(x):
        label = balanced_groups(x, 4)
        return sorted(sorted(map(tuple, x[label == g])) for g in range(label.max() + 1))

    assert contents(features) == contents(features[order])


@pytest.mark.parametrize("rows", [6, 7, 25])
def test_households_that_are_all_alike_still_make_groups(rows):
    count = np.bincount(balanced_groups(np.full((rows, 24), -1.7), 3))
    assert count.min() >= 3 and count.max() <= 5


def test_far_from_the_origin_and_tiny_units_change_nothing():
    features = np.random.default_rng(4).standard_normal((40, 3))
    label = balanced_groups(features, 4)
    assert np.array_equal(label, balanced_groups(1e-6 * features, 4))
    assert np.array_equal(label, balanced_groups(features + 2.0**20, 4))


def test_a_local_optimum_no_move_or_exchange_lowers():
    """Oracle: every single move and exchange, tried by hand."""
    features = np.random.default_rng(5).standard_normal((24, 3))
    label = balanced_groups(features, 3)
    best, count = spread(features, label), np.bincount(label)
    for row, group in itertools.product(range(24), range(len(count))):
        if count[label[row]] > 3 and count[group] < 5 and group != label[row]:
            assert spread(features, np.where(np.arange(24) == row, group, label)) > best - 1e-9
    for one, other in itertools.combinations(range(24), 2):
        changed = label.copy()
        changed[[one, other]] = label[[other, one]]
        assert spread(features, changed) > best - 1e-9


@pytest.mark.parametrize(
    ("size", "words"), [(1, "hides nobody"), (0, "hides nobody"), (6, "more than the households")]
)
def test_sizes_that_hide_nobody_or_do_not_exist_are_refused_in_a_sentence(size, words):
    with pytest.raises(InputError, match=f"neighbourhoods.size.*{words}"):
        balanced_groups(np.zeros((5, 2)), size)
