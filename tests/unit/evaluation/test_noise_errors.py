"""Errors of released forecasts over all origins, whatever a design does to the forecasts."""

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from meterdp.class_noise.neighbourhoods import graph_columns
from meterdp.class_noise.query_models import Noise
from meterdp.class_noise.study import design_all, design_columns
from meterdp.class_noise.tables import NEIGHBOUR_GRAPH, NOISE_DESIGNS
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import as_arrow
from meterdp.evaluation import forecast_errors as judge
from meterdp.evaluation.forecast_errors import judge_forecasts, released_forecasts
from meterdp.evaluation.tables import FORECAST_ERRORS, FORECAST_INTERVALS
from meterdp.forecasting.rolling import forecast_set, interval_columns
from meterdp.forecasting.tables import FORECAST_DISTRIBUTIONS, FORECASTS, INTERVAL_ENDS

HOUSEHOLDS = np.array([3, 4, 8, 11], np.int32)
H, N, K = 4, 6, 3
SCALE = LogScale(0.0025, 25.0)
SETTINGS = {
    "designs": ["none", "white", "published"],
    "stochastic_designs": ["none", "white", "published"],
    "query_models": ["deterministic", "published"],
    "rhos": [0.4, 4.0],
    "accuracy_convention": "total",
}


@pytest.fixture
def tables():
    generator = np.random.default_rng(5)
    index = np.indices((H, N, K)).reshape(3, -1)
    names = ("forecast", "last_value", "last_week", "actual")
    values = {f"{name}_log_kwh": generator.standard_normal((H, N, K)) for name in names}
    values["forecast_std_log_kwh"] = generator.uniform(0.1, 1, (H, N, K))
    columns = {
        "household": HOUSEHOLDS[index[0]],
        "origin": index[1],
        "step": index[2] + 1,
        "interval_start_utc": pa.array([datetime(2025, 1, 15, tzinfo=UTC)] * (H * N * K)),
        **{name: v.ravel() for name, v in values.items()},
    }
    roots = generator.standard_normal((H, K, K))
    distributions = {
        "household": HOUSEHOLDS,
        "origin_utc": pa.array([datetime(2025, 1, 15, tzinfo=UTC)] * H),
        "mean_log_kwh": list(values["forecast_log_kwh"][:, -1]),
        "covariance": [(r @ r.T).ravel() for r in roots],
        "query_mean_log_kwh": list(generator.standard_normal((H, K))),
        "query_covariance": [2 * (r @ r.T).ravel() for r in roots],
    }
    graph = graph_columns(HOUSEHOLDS, np.array([1, 1, 2, 2]))
    return (
        as_arrow(FORECASTS, columns),
        as_arrow(FORECAST_DISTRIBUTIONS, distributions),
        as_arrow(NEIGHBOUR_GRAPH, graph),
    )


def ends(forecasts, *levels):
    """Intervals of half a log kWh to either side."""
    mean = forecast_set(forecasts).forecast_log_kwh
    made = np.stack([np.stack([mean - 0.5, mean + 0.5], axis=2)] * len(levels), axis=2)
    return as_arrow(INTERVAL_ENDS, interval_columns(HOUSEHOLDS, levels, made))


def designed(noises):
    return as_arrow(NOISE_DESIGNS, design_columns(HOUSEHOLDS, noises))


def to_the_middle(queries, budget):
    """A design that follows the forecasts: half way to the mean of all labels, with noise of variance |q|^2."""
    gain = 0.5 * np.stack([np.eye(K)] * len(queries.mean_log_kwh))
    shift = np.tile(0.5 * queries.mean_log_kwh.mean(axis=0), (len(gain), 1))
    size = np.sum(queries.mean_log_kwh**2, axis=1) + np.trace(queries.covariance, axis1=1, axis2=2)
    return Noise(size[:, None, None] * np.eye(K), shift, gain)


def test_every_method_is_judged_once(tables):
    forecasts, distributions, graph = tables
    designs = designed(design_all(distributions, graph, SETTINGS))
    errors, intervals = judge_forecasts(forecasts, ends(forecasts, 0.5, 0.9), graph, designs, SCALE)
    for table, rows in ((FORECAST_ERRORS, errors), (FORECAST_INTERVALS, intervals)):
        as_arrow(table, {name: [row[name] for row in rows] for name in rows[0]})
    keys = [(r["method"], r["design"], r["query_model"], r["rho"], r["scale"]) for r in errors]
    assert len(set(keys)) == len(keys) == 2 * (3 + 2 * 2)
    assert {k[2] for k in keys if k[0] == "released"} == {"deterministic"}
    log = {(*k[:2], k[3]): r["mse"] for k, r in zip(keys, errors, strict=True) if k[4] == "log_kwh"}
    assert log["released", "white", 4.0] == pytest.approx(log["arma", "none", 0.0] + 4.0 / 3)
    assert len(intervals) == 2 * 2 * (1 + 2 * 2)


def test_a_design_that_follows_the_forecasts_is_designed_anew_at_every_origin(tables, monkeypatch):
    """Oracle: the design at each origin written out."""
    forecasts, _, graph = tables
    monkeypatch.setattr(judge, "noise_design", {"joint": to_the_middle}.__getitem__)
    judged = forecast_set(forecasts)
    noise = Noise(np.zeros((H, K, K)), np.zeros((H, K)), np.zeros((H, K, K)))  # not what may be used
    designs = designed({("joint", "deterministic", 1.0): noise, ("joint", "stochastic", 1.0): noise})
    ((own, released),) = released_forecasts(judged, graph, designs)
    assert own is judged
    assert (released.design, released.query_model, released.rho) == ("joint", "deterministic", 1.0)
    for origin in range(N):
        forecast = judged.forecast_log_kwh[:, origin]
        assert np.allclose(released.mean_log_kwh[:, origin], 0.5 * forecast + 0.5 * forecast.mean(axis=0))
        assert np.allclose(released.noise_std_log_kwh[:, origin] ** 2, np.sum(forecast**2, axis=1)[:, None])


def test_a_design_for_random_queries_that_maps_them_is_judged_at_the_last_origin(tables):
    """Oracle: the squared error of the map at that origin, written out."""
    forecasts, _, graph = tables
    generator = np.random.default_rng(8)
    noise = Noise(
        np.stack([np.diag(generator.uniform(0, 1, K)) for _ in range(H)]),
        generator.standard_normal((H, K)),
        generator.standard_normal((H, K, K)),
    )
    designs = designed({("transport", "stochastic", 1.0): noise})
    errors, intervals = judge_forecasts(forecasts, ends(forecasts, 0.9), graph, designs, SCALE)
    judged = forecast_set(forecasts)
    squared = 0.0
    for h in range(H):
        moved = noise.gain[h] @ judged.forecast_log_kwh[h, -1] + noise.shift[h]
        squared += np.sum((moved - judged.actual_log_kwh[h, -1]) ** 2) + np.trace(noise.covariance[h])
    (row,) = [r for r in errors if r["design"] == "transport" and r["scale"] == "log_kwh"]
    assert row["mse"] == pytest.approx(squared / (H * K))
    assert (row["query_model"], row["origin_count"], intervals[-1]["origin_count"]) == ("stochastic", 1, 1)


def test_a_last_origin_without_readings_has_no_error_and_is_no_crash(tables):
    forecasts, _, graph = tables
    columns = forecasts.to_pandas()
    columns.loc[columns["origin"] == N - 1, "actual_log_kwh"] = None
    noise = Noise(np.zeros((H, K, K)), np.zeros((H, K)))
    designs = designed({("transport", "stochastic", 1.0): noise})
    made = as_arrow(FORECASTS, columns.to_dict("list"))
    errors, intervals = judge_forecasts(made, ends(made, 0.9), graph, designs, SCALE)
    assert errors[-1]["household_count"] == intervals[-1]["household_count"] == 0
    assert np.isnan(errors[-1]["mse"]) and np.isnan(intervals[-1]["coverage"])


def test_the_other_query_models_are_judged_where_there_is_no_deterministic_noise(tables):
    forecasts, distributions, graph = tables
    only = {**SETTINGS, "stochastic_designs": ["white"], "query_models": ["published"]}
    designs = designed(design_all(distributions, graph, only))
    found = list(released_forecasts(forecast_set(forecasts), graph, designs))
    assert [(r.design, r.query_model, r.rho) for _, r in found] == [
        ("white", "published", 0.4),
        ("white", "published", 4),
    ]


def test_noise_of_other_households_is_a_mistake_of_ours(tables):
    forecasts, distributions, graph = tables
    designs = designed(design_all(distributions, graph, SETTINGS))
    keep = designs.filter(pa.compute.not_equal(designs["household"], 11))
    with pytest.raises(ValueError, match="same households"):
        list(released_forecasts(forecast_set(forecasts), graph, keep))
