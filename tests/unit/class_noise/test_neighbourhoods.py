"""Neighbourhoods are numbered by size, and the graph (1) is symmetric and free of self-loops.

Groups of at least k: sizes, the same whatever the order, and against every partition there is. A user's pairs of
neighbours: read as text, refused in one sentence that never names a meter.
"""

import itertools

import numpy as np
import pandas as pd
import pytest

from meterdp.class_noise.neighbourhoods import (
    all_within,
    balanced_groups,
    by_label,
    cluster_households,
    daily_profiles,
    from_edges,
    full_cluster_graph,
    graph_columns,
    nearest_households,
    neighbourhood_columns,
    read_edges,
    summary_columns,
)
from meterdp.class_noise.tables import NEIGHBOUR_GRAPH, NEIGHBOURHOOD_SUMMARY, NEIGHBOURHOODS
from meterdp.core.parquet import as_arrow
from meterdp.errors import InputError


def test_well_separated_groups_are_found_and_numbered_by_size():
    generator = np.random.default_rng(0)
    truth = np.repeat([3, 1, 2], [5, 20, 9])
    features = 100 * np.eye(4)[truth] + generator.standard_normal((34, 4))
    assert np.array_equal(cluster_households(features, 3, seed=1), truth)


def test_clusters_are_the_same_for_the_same_seed():
    features = np.random.default_rng(0).standard_normal((60, 24))
    found = cluster_households(features, 6, seed=5)
    assert np.array_equal(found, cluster_households(features, 6, seed=5))
    sizes = np.bincount(found)[1:]
    assert sizes.size == 6
    assert np.all(np.diff(sizes) <= 0)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_fewer_households_than_clusters(rows):
    features = np.random.default_rng(0).standard_normal((rows, 3))
    assert set(cluster_households(features, 6, seed=0)) == set(range(1, rows + 1))


def test_equal_households_share_one_cluster():
    assert set(cluster_households(np.ones((8, 3)), 6, seed=0)) == {1}


def test_labels_are_ranked_by_size_then_name():
    assert by_label(np.array(["north", "east", "south", "east"])).tolist() == [2, 1, 3, 1]


def test_the_graph_joins_all_of_a_neighbourhood_and_nobody_else():
    neighbourhood = np.array([1, 2, 1, 3, 1, 2])
    pairs = full_cluster_graph(neighbourhood)
    expected = {(a, b) for a in range(6) for b in range(6) if a != b and neighbourhood[a] == neighbourhood[b]}
    assert {tuple(p) for p in pairs.tolist()} == expected
    assert len(pairs) == len(expected) == 3 * 2 + 2 * 1


def test_tables_hold_household_indices_not_positions():
    household, neighbourhood = np.array([40, 11, 7]), np.array([1, 2, 1])
    as_arrow(NEIGHBOURHOODS, neighbourhood_columns(household, neighbourhood))
    graph = as_arrow(NEIGHBOUR_GRAPH, graph_columns(household, neighbourhood)).to_pylist()
    assert graph == [
        {"household": 40, "neighbour": 7, "neighbourhood": 1},
        {"household": 7, "neighbour": 40, "neighbourhood": 1},
    ]
    summary = as_arrow(NEIGHBOURHOOD_SUMMARY, summary_columns(all_within(neighbourhood))).to_pylist()
    assert [row["household_count"] for row in summary] == [2, 1]
    assert [row["pair_count"] for row in summary] == [2, 0]
    assert [row["households_alone"] for row in summary] == [0, 1]
    assert [row["outside_pair_count"] for row in summary] == [0, 0]
    assert summary[0]["meaning"] == "" and "nobody to be mistaken for" in summary[1]["meaning"]


def test_the_nearest_are_neighbours_in_either_direction():
    """Brute force: an edge where one is among the other's two nearest."""
    features = np.random.default_rng(3).standard_normal((25, 4))
    graph = nearest_households(features, 2)
    distance = np.linalg.norm(features[:, None] - features[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    nearest = np.argsort(distance, axis=1)[:, :2]
    expected = {(i, int(j)) for i in range(25) for j in nearest[i]}
    assert {tuple(p) for p in graph.pairs.tolist()} == expected | {(j, i) for i, j in expected}
    assert np.all(graph.neighbourhood[graph.pairs[:, 0]] == graph.neighbourhood[graph.pairs[:, 1]])
    assert np.bincount(graph.pairs[:, 0], minlength=25).min() >= 2


@pytest.mark.parametrize(("households", "degree"), [(1, 0), (2, 1), (4, 3)])
def test_fewer_households_than_nearest(households, degree):
    graph = nearest_households(np.zeros((households, 24)), 9)
    assert len(graph.pairs) == households * degree
    assert not np.any(graph.pairs[:, 0] == graph.pairs[:, 1])


def test_given_edges_become_undirected_and_their_components_neighbourhoods():
    graph = from_edges([(0, 5), (5, 0), (5, 3), (2, 1), (2, 1)], 7, np.array([0, 0, 4, 0, 1, 0, 0]))
    assert graph.pairs.tolist() == [[0, 5], [1, 2], [2, 1], [3, 5], [5, 0], [5, 3]]
    assert graph.neighbourhood.tolist() == [1, 2, 2, 1, 3, 1, 4]
    summary = as_arrow(NEIGHBOURHOOD_SUMMARY, summary_columns(graph)).to_pylist()
    assert [row["pair_count"] for row in summary] == [4, 2, 0, 0]
    assert [row["households_alone"] for row in summary] == [0, 0, 1, 1]
    assert [row["outside_pair_count"] for row in summary] == [0, 4, 1, 0]
    alone = from_edges(np.empty((0, 2)), 3)
    assert alone.neighbourhood.tolist() == [1, 2, 3] and alone.pairs.shape == (0, 2)


def test_profiles_are_means_per_local_hour():
    hour = np.array([0, 0, 1, 23, 0])
    log_kwh = np.array([[1.0, 3.0, 5.0, -1.0, np.nan], [np.nan] * 5, [np.nan, np.nan, 2.0, np.nan, np.nan]])
    profiles = daily_profiles(log_kwh, hour)
    assert profiles.shape == (3, 24)
    assert profiles[0, [0, 1, 23]].tolist() == [2.0, 5.0, -1.0]
    assert profiles[0, 5] == 2.0  # an hour without a reading: the household's mean
    assert np.all(profiles[1] == np.nanmean(log_kwh))  # a household without readings: the mean of all
    assert np.all(profiles[2] == 2.0)
    assert not daily_profiles(np.full((2, 3), np.nan), np.arange(3)).any()


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


@pytest.mark.parametrize("size", [2, 5, 17])
@pytest.mark.parametrize("rows", [17, 33, 34, 53, 100])
def test_no_group_is_smaller_than_asked_or_twice_as_large(size, rows):
    features = np.random.default_rng(rows).lognormal(sigma=2, size=(rows, 4))
    label = balanced_groups(features, size)
    count = np.bincount(label)
    assert count.min() >= size and (count.max() < 2 * size or rows < 2 * size)
    assert (len(count) == 1) == (rows < 2 * size)  # fewer than two groups are one
    # Numbered by their smallest rows, which nobody's place in the list changes.
    assert np.all(np.diff(np.unique(label[np.lexsort(features.T[::-1])], return_index=True)[1]) > 0)


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


HOUSEHOLDS = {"007": 0, "7": 1, "secret-9": 2, "12": 3}
COLUMNS = ("meter_id", "neighbour_id")


def test_a_csv_keeps_leading_zeros_and_the_order_of_its_rows(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("note,neighbour_id,meter_id\n1,7,007\nx, secret-9 ,12\n")
    assert read_edges(path, COLUMNS, HOUSEHOLDS).tolist() == [[0, 1], [3, 2]]


@pytest.mark.parametrize("kind", [str, int])
def test_a_parquet_file_may_hold_numbers(tmp_path, kind):
    path = tmp_path / "pairs.parquet"
    pd.DataFrame({"meter_id": [kind(7)], "neighbour_id": [kind(12)]}).to_parquet(path)
    assert read_edges(path, COLUMNS, HOUSEHOLDS).tolist() == [[1, 3]]


def test_a_file_without_rows_has_no_pairs(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("meter_id,neighbour_id\n")
    assert read_edges(path, COLUMNS, HOUSEHOLDS).shape == (0, 2)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("meter_id,other\n7,12\n", r"pairs.csv, field 'neighbourhoods.file': has no column 'neighbour_id', .*; call"),
        (
            "meter_id,neighbour_id\n7,12\nsecret-9,secret-8\n",
            r"row 3, field 'neighbour_id': names a meter that",
        ),
        ("meter_id,neighbour_id\nsecret-9,secret-9\n", r"row 2: names a meter as its own neighbour; remove"),
        (
            "meter_id,neighbour_id\nsecret-9,\n",
            r"row 2, field 'neighbour_id': names a meter that is not in",
        ),
        ("meter_id,neighbour_id\nsecret-9,12,secret-9\n", r"cannot be read as a table; give a CSV"),
        ("", r"cannot be read as a table; give a CSV"),
    ],
)
def test_a_bad_file_is_one_sentence_without_a_meter_id(tmp_path, text, pattern):
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=pattern) as caught:
        read_edges(path, COLUMNS, HOUSEHOLDS)
    assert "secret" not in str(caught.value) and caught.value.__cause__ is None


@pytest.mark.parametrize("name", ["pairs.parquet", "absent.csv"])
def test_a_file_that_is_no_table_is_one_sentence(tmp_path, name):
    (tmp_path / "pairs.parquet").write_text("secret-9")
    with pytest.raises(InputError, match="cannot be read as a table"):
        read_edges(tmp_path / name, COLUMNS, HOUSEHOLDS)
