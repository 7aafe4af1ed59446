"""Forecast files of a study: seeded noise, ids from the salt, manifests, and Fig. 3; those of groups."""

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from meterdp.class_noise.neighbourhoods import graph_columns
from meterdp.class_noise.query_models import Noise
from meterdp.class_noise.study import design_all, design_columns
from meterdp.class_noise.tables import DELTA_CURVES, NEIGHBOUR_GRAPH, NOISE_DESIGNS
from meterdp.core.log_scale import LogScale
from meterdp.core.noise import salted_ids
from meterdp.core.parquet import as_arrow, metadata_of, read_table
from meterdp.forecasting.tables import FORECAST_DISTRIBUTIONS
from meterdp.groupforecast.study import public_list
from meterdp.profiles.dense import LogLoad
from meterdp.profiles.grid import Calendar
from meterdp.publish.tables import CROSSWALK, FORECAST_EXAMPLES, FORECAST_FILE, GROUP_FORECAST_FILE
from meterdp.release.study_forecasts import (
    example_columns,
    public_settings,
    release_forecasts,
    release_study_forecasts,
    write_group_forecasts,
)
from tests.unit.class_noise.examples import wishart
from tests.unit.groupforecast import made_up

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


def test_the_noise_has_the_designed_distribution():
    """200,000 draws; entries of the sample covariance within 6.5 standard errors, seeded."""
    covariance = wishart(np.random.default_rng(0), 1, 3, 5)
    draws = np.random.default_rng(1).standard_normal((200_000, 3))
    released = release_forecasts(np.ones((200_000, 3)), Noise(np.repeat(covariance, 200_000, axis=0)), draws)
    error = np.sqrt((np.outer(np.diag(covariance[0]), np.diag(covariance[0])) + covariance[0] ** 2) / 200_000)
    assert np.all(np.abs(np.cov(released.T) - covariance[0]) <= 6.5 * error)
    assert np.allclose(released.mean(axis=0), 1.0, atol=6.5 * np.sqrt(np.diag(covariance[0]).max() / 200_000))


def test_a_singular_covariance_is_no_error():
    released = release_forecasts(
        np.zeros((2, 2)), Noise(np.stack([np.zeros((2, 2)), np.ones((2, 2))])), np.ones((2, 2))
    )
    assert not released[0].any()
    assert released[1, 0] == pytest.approx(released[1, 1])


def test_examples_are_the_chosen_rows():
    bounds = (0.2, 3.0)
    generator = np.random.default_rng(3)
    chosen = np.array([7, 2, 4])
    history, truth, forecast, released = (generator.standard_normal((10, n)) for n in (6, 4, 4, 4))
    history[:, 2] = np.nan
    table = as_arrow(
        FORECAST_EXAMPLES,
        example_columns(chosen, history, truth, forecast, released, 0.25, LogScale(*bounds), "white", 0.45),
    ).to_pandas()
    assert table.groupby("example").size().to_dict() == {1: 18, 2: 18, 3: 18}
    for number, row in enumerate(chosen, start=1):
        part = table[table["example"] == number].groupby("part")
        assert part.get_group("history")["hours_from_origin"].tolist() == [-1.5, -1.25, -1.0, -0.75, -0.5, -0.25]
        assert part.get_group("truth")["hours_from_origin"].tolist() == [0.0, 0.25, 0.5, 0.75]
        assert np.allclose(part.get_group("released")["energy_kwh"], np.clip(np.exp(released[row]), *bounds))
        assert part.get_group("history")["energy_kwh"].isna().sum() == 1
    assert "household" not in table
    assert table["design"].unique().tolist() == ["white"] and table["rho"].unique().tolist() == [0.45]


def write_groups(folder, metadata=None, hours=None, **release):
    given = made_up.config(**{"forecast_epsilon": 8} | release)
    listed, circuit = public_list(made_up.meters(), None)
    hours = made_up.town() if hours is None else hours
    columns = write_group_forecasts(listed, circuit, hours, given, folder, made_up.SALT, metadata or {})
    return as_arrow(CROSSWALK, columns)


def test_files_carry_the_forecast_of_the_group_their_own_ids_and_the_guarantee(tmp_path):
    crosswalk = write_groups(tmp_path, {"synthetic": "yes"}, forecast_groups="circuit")
    files = sorted(tmp_path.glob("*.parquet"))
    assert [p.stem for p in files] == crosswalk["release_id"].to_pylist()
    assert not {p.stem for p in files} & set(salted_ids(made_up.SALT, np.arange(made_up.METER_COUNT))), (
        "other ids than the class-based files"
    )
    tables = [read_table(p, GROUP_FORECAST_FILE) for p in files]
    assert len({tuple(t["expected_kwh"].to_pylist()) for t in tables}) == 3
    # Of the last week, which was not looked at: 28 days before it are.
    first = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=made_up.FIRST_DAY + 28, hours=-1)
    assert tables[0]["interval_start_utc"][0].as_py() == first and tables[0].num_rows == 168
    facts = metadata_of(files[0])
    assert facts["synthetic"] == "yes" and "(8, 1e-05)" in facts["guarantee"]
    assert facts["guarantee"].startswith("not for release")
    manifest = json.loads(files[0].with_suffix(".json").read_text())
    assert manifest["privacy"]["adjacency"] == "replace_one" and manifest["release_id"] == files[0].stem
    again = tmp_path / "again"
    write_groups(again, forecast_groups="circuit")
    assert read_table(again / files[0].name, GROUP_FORECAST_FILE).equals(tables[0])


def test_every_meter_of_the_list_gets_a_file_with_or_without_readings(tmp_path):
    crosswalk = write_groups(tmp_path)
    assert sorted(crosswalk["household"].to_pylist()) == list(range(made_up.METER_COUNT))
    assert len(list(tmp_path.glob("*.parquet"))) == len(list(tmp_path.glob("*.json"))) == made_up.METER_COUNT
    names = crosswalk["release_id"].to_pylist()
    shown = {
        tuple(read_table(tmp_path / f"{n}.parquet", GROUP_FORECAST_FILE)["expected_kwh"].to_pylist()) for n in names
    }
    assert len(shown) == 1 and np.isfinite(shown.pop()).all()


def test_what_comes_after_the_forecast_is_not_looked_at(tmp_path):
    hours = made_up.town()
    hours.kwh[:, 28 * 24 :] *= 9
    one, two = (write_groups(tmp_path / name, hours=h) for name, h in (("one", None), ("two", hours)))
    name = one["release_id"][0].as_py()
    tables = [read_table(tmp_path / folder / f"{name}.parquet", GROUP_FORECAST_FILE) for folder in ("one", "two")]
    assert one.equals(two) and tables[0].equals(tables[1])
