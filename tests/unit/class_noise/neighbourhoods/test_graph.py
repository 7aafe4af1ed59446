"""Neighbourhoods are numbered by size, and the graph (1) is symmetric and free of self-loops."""

import numpy as np
import pytest

from meterdp.class_noise.neighbourhoods.graph import (
    all_within,
    by_label,
    cluster_households,
    daily_profiles,
    from_edges,
    full_cluster_graph,
    graph_columns,
    nearest_households,
    neighbourhood_columns,
    summary_columns,
)
from meterdp.class_noise.tables import NEIGHBOUR_GRAPH, NEIGHBOURHOOD_SUMMARY, NEIGHBOURHOODS
from meterdp.core.parquet import as_arrow


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


def test_a_graph_of_single_households_is_empty():
    assert full_cluster_graph(np.array([1, 2, 3])).shape == (0, 2)


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


def test_no_edge_at_all_leaves_everybody_alone():
    graph = from_edges(np.empty((0, 2)), 3)
    assert graph.neighbourhood.tolist() == [1, 2, 3] and graph.pairs.shape == (0, 2)


def test_profiles_are_means_per_local_hour():
    hour = np.array([0, 0, 1, 23, 0])
    log_kwh = np.array([[1.0, 3.0, 5.0, -1.0, np.nan], [np.nan] * 5, [np.nan, np.nan, 2.0, np.nan, np.nan]])
    profiles = daily_profiles(log_kwh, hour)
    assert profiles.shape == (3, 24)
    assert profiles[0, [0, 1, 23]].tolist() == [2.0, 5.0, -1.0]
    assert profiles[0, 5] == 2.0  # an hour without a reading: the household's mean
    assert np.all(profiles[1] == np.nanmean(log_kwh))  # a household without readings: the mean of all
    assert np.all(profiles[2] == 2.0)


def test_profiles_of_an_export_without_readings_are_finite():
    assert not daily_profiles(np.full((2, 3), np.nan), np.arange(3)).any()
