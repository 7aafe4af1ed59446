"""Class-based noise of a study, from table to table."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from meterdp.accounting.gaussian_loss import pair_losses
from meterdp.class_noise import study
from meterdp.class_noise.designs.registry import noise_design
from meterdp.class_noise.neighbourhoods import all_within, graph_columns, summary_columns
from meterdp.class_noise.query_models import Budget, class_queries
from meterdp.class_noise.study import (
    design_all,
    design_columns,
    noises_of,
    pair_positions,
    study_neighbourhoods,
)
from meterdp.class_noise.tables import NEIGHBOUR_GRAPH, NEIGHBOURHOOD_SUMMARY, NOISE_DESIGNS
from meterdp.core.parquet import as_arrow
from meterdp.errors import InputError
from meterdp.forecasting.arma import ArmaFit
from meterdp.forecasting.distribution import query_covariance
from meterdp.forecasting.tables import FORECAST_DISTRIBUTIONS
from meterdp.ingest.tables import METERS
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.grid import Calendar

HOUSEHOLDS = np.array([3, 4, 8, 11], np.int32)
CALENDAR = Calendar(datetime(2025, 1, 6, tzinfo=UTC), 24 * 10, 60, "UTC")
SETTINGS = {
    "designs": ["none", "white", "published"],
    "stochastic_designs": ["none", "white", "published"],
    "query_models": ["deterministic", "stochastic", "published"],
    "rhos": [0.4, 4.0],
    "accuracy_convention": "total",
}


@pytest.fixture
def load():
    level = np.array([[-3.0], [-2.9], [1.0], [1.1]])
    values = level + 0.1 * np.random.default_rng(1).standard_normal((4, CALENDAR.slot_count))
    return LogLoad(HOUSEHOLDS, values, np.zeros_like(values), CALENDAR)


@pytest.fixture
def distributions():
    generator = np.random.default_rng(2)
    roots = generator.standard_normal((4, 3, 3))
    columns = {
        "household": HOUSEHOLDS,
        "origin_utc": pa.array([datetime(2025, 1, 15, tzinfo=UTC)] * 4),
        "mean_log_kwh": list(generator.standard_normal((4, 3))),
        "covariance": [(r @ r.T).ravel() for r in roots],
        "query_mean_log_kwh": list(generator.standard_normal((4, 3))),
        "query_covariance": [2 * (r @ r.T).ravel() for r in roots],
    }
    return as_arrow(FORECAST_DISTRIBUTIONS, columns)


@pytest.fixture
def graph():
    return as_arrow(NEIGHBOUR_GRAPH, graph_columns(HOUSEHOLDS, np.array([1, 1, 2, 2])))


CLUSTERS = {"by": "cluster", "size": 1, "file": None}


def meters(circuits):
    columns = {"household": HOUSEHOLDS, "meter_id": [f"m-{h}" for h in HOUSEHOLDS], "circuit": circuits}
    return as_arrow(METERS, {**columns, **dict.fromkeys(("shard", "duplicate_rows", "conflicting_rows"), [0] * 4)})


@pytest.mark.parametrize("settings", [{"by": "cluster"}, {"by": "nearest"}, {"by": "size", "size": 2}], ids=str)
def test_neighbours_are_alike_in_daily_load_of_the_training_window_alone(load, settings, monkeypatch):
    """Later days change nothing: groups stay as long as the window does."""
    monkeypatch.setattr(study, "CLUSTERS", 2)
    settings, changed = CLUSTERS | settings, load.log_kwh.copy()
    changed[:, 24 * 7 :] = np.random.default_rng(3).standard_normal((4, 24 * 3)) * 50
    for one in (load, replace(load, log_kwh=changed)):
        found = study_neighbourhoods(one, meters([None] * 4), settings, train_days=7, seed=1)
        assert found.pairs.tolist() == [[0, 1], [1, 0], [2, 3], [3, 2]]
        assert found.neighbourhood[0] == found.neighbourhood[1] != found.neighbourhood[2] == found.neighbourhood[3]


def test_groups_of_more_than_all_households_are_refused(load):
    with pytest.raises(InputError, match=r"neighbourhoods.size.*more than the households"):
        study_neighbourhoods(load, meters([None] * 4), CLUSTERS | {"by": "size", "size": 5}, 7, 1)


def test_neighbourhoods_by_circuit_need_circuits(load):
    settings = {**CLUSTERS, "by": "circuit"}
    found = study_neighbourhoods(load, meters(["east", "west", "east", "east"]), settings, train_days=7, seed=1)
    assert found.neighbourhood.tolist() == [1, 2, 1, 1]
    with pytest.raises(InputError, match=r"'neighbourhoods.by': is 'circuit', but .*; set export.circuit_column"):
        study_neighbourhoods(load, meters(["east", None, "east", "east"]), settings, train_days=7, seed=1)


def test_given_neighbours_may_name_households_that_are_not_forecast(load, tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("meter_id,neighbour_id\nm-3,m-4\nm-8,m-3\nm-11,m-8\n")
    rows = [0, 1, 3]
    some = LogLoad(HOUSEHOLDS[rows], load.log_kwh[rows], load.seasonal_log_kwh[rows], CALENDAR)
    settings = {**CLUSTERS, "by": "file", "file": str(path)}
    found = study_neighbourhoods(some, meters([None] * 4), settings, train_days=7, seed=1)
    assert found.pairs.tolist() == [[0, 1], [1, 0]]
    assert found.neighbourhood.tolist() == [1, 1, 2]
    assert found.outside_pair_count.tolist() == [1, 0, 1]


@pytest.mark.parametrize("by", ["cluster", "circuit", "nearest", "file"])
def test_one_household_has_no_neighbour_and_the_study_goes_on(load, distributions, tmp_path, by):
    """A neighbourhood of one: counted, explained, and every design still has a noise for it."""
    path = tmp_path / "pairs.csv"
    path.write_text("meter_id,neighbour_id\n")
    one = LogLoad(HOUSEHOLDS[:1], load.log_kwh[:1], load.seasonal_log_kwh[:1], CALENDAR)
    settings = {**CLUSTERS, "by": by, "file": str(path)}
    found = study_neighbourhoods(one, meters(["east"] * 4), settings, train_days=7, seed=1)
    summary = as_arrow(NEIGHBOURHOOD_SUMMARY, summary_columns(found)).to_pylist()
    assert [(r["household_count"], r["households_alone"]) for r in summary] == [(1, 1)]
    assert summary[0]["meaning"]
    graph = as_arrow(NEIGHBOUR_GRAPH, graph_columns(one.household, found.neighbourhood, found.pairs))
    noises = design_all(distributions.slice(0, 1), graph, SETTINGS)
    assert all(np.isfinite(noise.covariance).all() for noise in noises.values())
    designs = as_arrow(NOISE_DESIGNS, design_columns(one.household, noises))
    assert set(noises_of(designs)) == set(noises)


def test_no_household_to_forecast_is_refused():
    nobody = LogLoad(np.empty(0, np.int32), np.empty((0, 0)), np.empty((0, 0)), None)
    for all_read, hint in (
        (True, "quality_summary"),
        (False, "not every file of the export could be read to its end"),
    ):
        with pytest.raises(InputError, match=f"left no household to forecast; .*{hint}"):
            study_neighbourhoods(nobody, meters([None] * 4), CLUSTERS, train_days=7, seed=1, all_read=all_read)


def test_a_graph_of_other_households_is_no_graph_of_these(graph):
    with pytest.raises(ValueError, match="without a forecast"):
        pair_positions(HOUSEHOLDS[:3], graph)


def test_edges_become_positions(graph):
    assert pair_positions(HOUSEHOLDS, graph).tolist() == [[0, 1], [1, 0], [2, 3], [3, 2]]


def test_designs_round_trip_and_keep_their_budget(distributions, graph):
    noises = design_all(distributions, graph, SETTINGS)
    assert len(noises) == 3 * 3 * 2
    table = as_arrow(NOISE_DESIGNS, design_columns(HOUSEHOLDS, noises))
    back = noises_of(table)
    assert set(back) == set(noises)
    for (design, _, rho), (household, noise) in back.items():
        assert np.array_equal(household, HOUSEHOLDS)
        expected = 0.0 if design == "none" else rho
        assert np.allclose(np.trace(noise.covariance, axis1=1, axis2=2), expected)
    reports = {key: noise.report for key, noise in noises.items()}
    assert {report.stop_reason for (design, *_), report in reports.items() if design == "white"} == {"closed form"}
    assert all((report.surrogate_white is None) == (key[0] != "published") for key, report in reports.items())


def test_without_noise_random_queries_of_low_rank_are_told_apart_for_certain():
    """Defect R9: the distribution of a 12-step ARMA(6, 5) forecast has rank 6; rounding must not lend it a
    density."""
    generator = np.random.default_rng(4)
    past = np.where(generator.random(600) < 0.05, np.nan, 0.0)
    covariance = []
    for _ in range(40):
        ar, ma = (np.poly(generator.uniform(-0.999, 0.999, n))[1:] for n in (6, 5))
        fit = ArmaFit("kernel", -ar, ma, 0.0, generator.uniform(0.01, 3), np.nan, 0)
        covariance.append(query_covariance(fit, 12, past))
    mean = generator.standard_normal((40, 12))
    pairs = all_within(np.ones(40, int)).pairs
    distribution = {"query_mean_log_kwh": mean, "query_covariance": covariance}
    queries = class_queries(mean, np.zeros((40, 12, 12)), pairs, "stochastic", **distribution)
    assert pair_losses(queries.mean_log_kwh, queries.covariance, pairs).singular.all()
    noisy = noise_design("white")(queries, Budget(0.45)).released(queries)
    assert not pair_losses(noisy.mean_log_kwh, noisy.covariance, pairs).singular.any()
