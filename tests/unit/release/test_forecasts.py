"""Forecast files of a study: seeded noise, ids from the salt, manifests, and Fig. 3."""

import json
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from meterdp.class_noise.neighbourhoods import graph_columns
from meterdp.class_noise.query_models import Noise
from meterdp.class_noise.study import design_all, design_columns
from meterdp.class_noise.tables import DELTA_CURVES, NEIGHBOUR_GRAPH, NOISE_DESIGNS
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import as_arrow, metadata_of, read_table
from meterdp.forecasting.tables import FORECAST_DISTRIBUTIONS
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.grid import Calendar
from meterdp.publish.tables import CROSSWALK, FORECAST_EXAMPLES, FORECAST_FILE
from meterdp.release.study_forecasts import public_settings, release_study_forecasts

NOISE = {
    "designs": ["none", "white"],
    "stochastic_designs": ["none", "white"],
    "query_models": ["deterministic", "stochastic"],
    "rhos": [3.0],
    "accuracy_convention": "total",
    "file_design": "white",
}
PUBLIC = public_settings(
    {"time_zone": "Europe/Zurich", "interval_minutes": 60, "path": "private.csv"},
    {"ar_order": 6, "ma_order": 5, "train_days": 8, "households": 6},
    {"seasonal": "smoothed"},
    {"by": "cluster", "file": "private.csv"},
)
SALT, SEED, SCALE = "0123456789abcdef" * 2, 90210, LogScale(0.01, 100.0)
HOUSEHOLDS = np.arange(10, 16, dtype=np.int32)
CALENDAR = Calendar(datetime(2025, 1, 6, tzinfo=UTC), 24 * 10, 60, "Europe/Zurich")


@pytest.fixture(scope="module")
def forecasts():
    generator = np.random.default_rng(6)
    columns = {
        "household": HOUSEHOLDS,
        "origin_utc": pa.array([datetime(2025, 1, 15, 21, tzinfo=UTC)] * 6),
        "mean_log_kwh": list(generator.standard_normal((6, 3))),
        "covariance": [np.eye(3).ravel()] * 6,
        "query_mean_log_kwh": list(generator.standard_normal((6, 3))),
        "query_covariance": [np.eye(3).ravel()] * 6,
    }
    distributions = as_arrow(FORECAST_DISTRIBUTIONS, columns)
    graph = as_arrow(NEIGHBOUR_GRAPH, graph_columns(HOUSEHOLDS, np.array([1, 1, 1, 2, 2, 2])))
    designs = as_arrow(NOISE_DESIGNS, design_columns(HOUSEHOLDS, design_all(distributions, graph, NOISE)))
    load = LogLoad(HOUSEHOLDS, generator.standard_normal((6, 240)), np.zeros((6, 240)), CALENDAR)
    rows = [
        ("white", model, 3.0, sides, epsilon, delta, 1e-9, None, 12)
        for model in ("deterministic", "stochastic")
        for sides, shift in (("one", 0.3), ("hockey_stick", 0.0))
        for epsilon, delta in ((1.0, 0.25 + shift), (0.5, 0.5 + shift))
    ]
    curves = as_arrow(DELTA_CURVES, pd.DataFrame(rows, columns=[c.name for c in DELTA_CURVES.columns]))
    return distributions, designs, curves, load


def release(forecasts, salt=SALT, noise=NOISE, seed=SEED):
    distributions, designs, curves, load = forecasts
    return release_study_forecasts(distributions, designs, curves, load, noise, PUBLIC, SCALE, seed, salt)


def test_forecast_files_hold_the_released_forecasts_and_the_crosswalk_finds_them(forecasts, tmp_path):
    released = release(forecasts)
    released.write_files(tmp_path, {"synthetic": "yes"})
    crosswalk = as_arrow(CROSSWALK, released.crosswalk).to_pylist()
    mean = dict(zip(HOUSEHOLDS.tolist(), forecasts[0]["mean_log_kwh"].to_pylist(), strict=True))
    noise = []
    for row in crosswalk:
        path = tmp_path / f"{row['release_id']}.parquet"
        table = read_table(path, FORECAST_FILE)
        noise.append(table["released_log_kwh"].to_numpy() - mean[row["household"]])
        assert "not for release" in metadata_of(path)["guarantee"]
        assert table["interval_start_utc"][0].as_py() == datetime(2025, 1, 15, 21, tzinfo=UTC)
        assert table["interval_start_local"][0].as_py() == "2025-01-15T22:00:00+01:00"
    assert len(noise) == 6 and 0.2 < np.std(noise) < 3  # white noise of variance one each
    assert np.array_equal(released.released_log_kwh, release(forecasts).released_log_kwh)
    other = release(forecasts, salt=SALT[::-1])
    assert not set(other.release_ids) & set(released.release_ids), "the seed must not give the ids away"


def test_a_households_noise_does_not_depend_on_who_else_is_forecast(forecasts):
    distributions, designs, curves, load = forecasts
    rows = [1, 4]
    some = LogLoad(HOUSEHOLDS[rows], load.log_kwh[rows], load.seasonal_log_kwh[rows], CALENDAR)
    keep = designs.to_pandas()
    keep = as_arrow(NOISE_DESIGNS, keep[keep["household"].isin(HOUSEHOLDS[rows])].to_dict("list"))
    few = release((distributions.take(rows), keep, curves, some))
    assert np.array_equal(release(forecasts).released_log_kwh[rows], few.released_log_kwh)


def test_the_files_alone_reproduce_figure_3(forecasts, tmp_path):
    """To the last bit; the examples are the households with the first three release ids."""
    released = release(forecasts)
    released.write_files(tmp_path, {})
    files = [read_table(path, FORECAST_FILE) for path in sorted(tmp_path.glob("*.parquet"))[:3]]
    examples = as_arrow(FORECAST_EXAMPLES, released.examples).to_pandas()
    drawn = examples[examples["part"] == "released"].groupby("example")
    truth = examples[examples["part"] == "truth"].groupby("example")["energy_kwh"]
    household = dict(zip(released.crosswalk["release_id"], released.crosswalk["household"], strict=True))
    for number, table in enumerate(files, start=1):
        start = table["interval_start_utc"].cast(pa.timestamp("us")).to_numpy()
        one = drawn.get_group(number)
        assert one["energy_kwh"].tolist() == table["released_kwh"].to_pylist()
        assert one["hours_from_origin"].tolist() == ((start - start[0]) / np.timedelta64(1, "h")).tolist()
        row = np.searchsorted(HOUSEHOLDS, household[table["release_id"][0].as_py()])
        origin = np.searchsorted(CALENDAR.start_utc, start[0])
        assert np.allclose(truth.get_group(number), np.exp(forecasts[3].log_kwh[row, origin : origin + 3]))


def test_every_manifest_states_the_guarantee_and_nothing_private(forecasts, tmp_path):
    released = release(forecasts)
    released.write_files(tmp_path, {"synthetic": "no"})
    manifests = [json.loads(p.read_text()) for p in sorted(tmp_path.glob("*.json"))]
    assert [m["release_id"] for m in manifests] == sorted(released.release_ids)
    for found in manifests:
        text = json.dumps(found)
        assert str(SEED) not in text and SALT not in text and "private.csv" not in text
        assert found["status"].startswith("not for release") and found["synthetic"] == "no"
        assert found["privacy"]["unit"] == "class_label"
        pairs = found["privacy"]["epsilon_delta"]
        assert [p["epsilon"] for p in pairs] == [0.5, 1.0]  # of the hockey stick, error added
        assert [p["delta"] for p in pairs] == [0.5 + 1e-9, 0.25 + 1e-9]
        assert any("replace_one" in line for line in found["privacy"]["does_not_hide"])
        assert "this one file" in found["privacy"]["epsilon_delta_means"]
        assert any("no neighbour" in line for line in found["privacy"]["does_not_hide"])
        assert found["noise"]["query_model"] == "deterministic"
        assert "distribution of every household's noise" in found["noise"]["query_model_means"]
        assert found["time"]["first_interval_start_local"] == "2025-01-15T22:00:00+01:00"
        assert found["time"]["zone"] == "Europe/Zurich" and found["time"]["steps"] == 3
        assert found["columns"]["released_kwh"]["unit"] == "kWh"
        assert found["generation"]["neighbourhoods_clusters"] == 6
        path = tmp_path / found["file"]
        assert metadata_of(path)["guarantee"] == found["guarantee"]
        assert "(0.5, 0.501), (1, 0.251)" in found["guarantee"], "a rounded delta is rounded up"
    common = [{k: v for k, v in m.items() if k not in ("release_id", "file", "sha256")} for m in manifests]
    assert all(m == common[0] for m in common), "a manifest must not tell households apart"


def test_a_release_for_other_queries_says_that_it_hides_nothing_from_who_can_predict(forecasts):
    distributions, designs, curves, load = forecasts
    stochastic = designs.filter(pa.compute.equal(designs["query_model"], "stochastic"))
    noise = release((distributions, stochastic, curves, load)).manifest["noise"]
    assert noise["query_model"] == "stochastic"
    assert "No protection against anyone who knows or can predict this household's readings." in str(noise)


def test_without_curves_no_guarantee_is_invented(forecasts):
    distributions, designs, curves, load = forecasts
    found = release((distributions, designs, curves.slice(0, 0), load)).manifest
    assert found["privacy"]["epsilon_delta"] == [] and "no class_label statement" in found["guarantee"]


def test_a_design_that_moves_forecasts_is_applied(forecasts):
    distributions, _, curves, load = forecasts
    shift = np.arange(18.0).reshape(6, 3)
    noise = Noise(np.zeros((6, 3, 3)), shift, 0.5 * np.stack([np.eye(3)] * 6))
    columns = design_columns(HOUSEHOLDS, {("white", "deterministic", 3.0): noise})
    released = release((distributions, as_arrow(NOISE_DESIGNS, columns), curves, load))
    mean = np.array(distributions["mean_log_kwh"].to_pylist())
    assert np.allclose(released.released_log_kwh, 0.5 * mean + shift)
