"""Class-based noise of a study, from table to table."""

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from meterdp.classnoise.neighbourhoods import graph_columns
from meterdp.classnoise.study import (
    all_errors,
    design_all,
    design_columns,
    noises_of,
    pair_positions,
    report_columns,
    study_neighbourhoods,
)
from meterdp.classnoise.tables import NEIGHBOUR_GRAPH, NOISE_DESIGN_REPORTS, NOISE_DESIGNS
from meterdp.core.errors import InputError
from meterdp.core.parquet import as_arrow
from meterdp.forecasting.tables import FORECAST_LAWS, FORECASTS
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.grid import Calendar

HOUSEHOLDS = np.array([3, 4, 8, 11], np.int32)
CALENDAR = Calendar(datetime(2025, 1, 6, tzinfo=UTC), 24 * 10, 60, "UTC")
SETTINGS = {
    "designs": ["none", "white", "published"],
    "query_models": ["deterministic", "stochastic"],
    "rhos": [0.4, 4.0],
    "accuracy_convention": "total",
}


@pytest.fixture
def load():
    level = np.array([[-3.0], [-2.9], [1.0], [1.1]])
    values = level + 0.1 * np.random.default_rng(1).standard_normal((4, CALENDAR.slot_count))
    return LogLoad(HOUSEHOLDS, values, np.zeros_like(values), CALENDAR)


@pytest.fixture
def laws():
    generator = np.random.default_rng(2)
    roots = generator.standard_normal((4, 3, 3))
    columns = {
        "household": HOUSEHOLDS,
        "origin_utc": pa.array([datetime(2025, 1, 15, tzinfo=UTC)] * 4),
        "mean_log_kwh": list(generator.standard_normal((4, 3))),
        "covariance": [(r @ r.T).ravel() for r in roots],
    }
    return as_arrow(FORECAST_LAWS, columns)


@pytest.fixture
def graph():
    return as_arrow(NEIGHBOUR_GRAPH, graph_columns(HOUSEHOLDS, np.array([1, 1, 2, 2])))


def test_neighbourhoods_are_clusters_of_daily_load(load):
    found = study_neighbourhoods(load, {}, {"by": "cluster", "clusters": 2}, train_days=7, seed=1)
    assert found[0] == found[1] != found[2] == found[3]


def test_neighbourhoods_look_at_the_training_window_only(load):
    changed = load.log_kwh.copy()
    changed[:, 24 * 7 :] = np.random.default_rng(3).standard_normal((4, 24 * 3)) * 50
    other = LogLoad(HOUSEHOLDS, changed, load.seasonal_log_kwh, CALENDAR)
    settings = {"by": "cluster", "clusters": 2}
    first, second = (study_neighbourhoods(x, {}, settings, train_days=7, seed=1) for x in (load, other))
    assert np.array_equal(first, second)


def test_neighbourhoods_by_circuit_need_circuits(load):
    circuits = {3: "east", 4: "west", 8: "east", 11: "east"}
    found = study_neighbourhoods(load, circuits, {"by": "circuit", "clusters": 9}, train_days=7, seed=1)
    assert found.tolist() == [1, 2, 1, 1]
    with pytest.raises(InputError, match=r"'neighbourhoods.by': is 'circuit' and .*; set export.circuit_column"):
        study_neighbourhoods(load, {**circuits, 4: None}, {"by": "circuit", "clusters": 9}, train_days=7, seed=1)


def test_no_household_to_forecast_is_refused():
    nobody = LogLoad(np.empty(0, np.int32), np.empty((0, 0)), np.empty((0, 0)), None)
    with pytest.raises(InputError, match="left no household to forecast"):
        study_neighbourhoods(nobody, {}, {"by": "cluster", "clusters": 2}, train_days=7, seed=1)


def test_edges_become_positions(graph):
    assert pair_positions(HOUSEHOLDS, graph).tolist() == [[0, 1], [1, 0], [2, 3], [3, 2]]


def test_designs_round_trip_and_keep_their_budget(laws, graph):
    noises = design_all(laws, graph, SETTINGS)
    assert len(noises) == 3 * 2 * 2
    table = as_arrow(NOISE_DESIGNS, design_columns(HOUSEHOLDS, noises))
    back = noises_of(table)
    assert set(back) == set(noises)
    for (design, _, rho), (household, noise) in back.items():
        assert np.array_equal(household, HOUSEHOLDS)
        expected = 0.0 if design == "none" else rho
        assert np.allclose(np.trace(noise.covariance, axis1=1, axis2=2), expected)
    reports = as_arrow(NOISE_DESIGN_REPORTS, report_columns(noises)).to_pylist()
    assert {r["stop_reason"] for r in reports if r["design"] == "white"} == {"closed form"}
    assert all((r["surrogate_white"] is None) == (r["design"] != "published") for r in reports)


def test_errors_cover_every_method_once(laws, graph):
    designs = as_arrow(NOISE_DESIGNS, design_columns(HOUSEHOLDS, design_all(laws, graph, SETTINGS)))
    generator = np.random.default_rng(5)
    n = 4 * 6 * 3
    index = np.indices((4, 6, 3)).reshape(3, -1)
    values = {name: generator.standard_normal(n) for name in ("forecast", "last_value", "last_week", "actual")}
    columns = {
        "household": HOUSEHOLDS[index[0]],
        "origin": index[1],
        "step": index[2] + 1,
        "interval_start_utc": pa.array([datetime(2025, 1, 15, tzinfo=UTC)] * n),
        **{f"{name}_log_kwh": v for name, v in values.items()},
    }
    rows = all_errors(as_arrow(FORECASTS, columns), designs, (0.0025, 25.0))
    keys = [(r["method"], r["design"], r["rho"], r["scale"]) for r in rows]
    assert len(set(keys)) == len(keys) == 2 * (3 + 2 * 2)
    log = {k[:3]: r["mse"] for k, r in zip(keys, rows, strict=True) if k[3] == "log_kwh"}
    assert log["released", "white", 4.0] == pytest.approx(log["arma", "none", 0.0] + 4.0 / 3)
