"""Released files: named by release id only, with a guarantee in words, and the designed noise in them."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from meterdp.class_noise.query_models import Noise
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import as_arrow, metadata_of, read_table
from meterdp.publish.forecast_files import crosswalk_columns, write_forecast_files
from meterdp.publish.tables import CROSSWALK, FORECAST_EXAMPLES, FORECAST_FILE
from meterdp.release.study_forecasts import example_columns, release_forecasts
from tests.unit.class_noise.examples import wishart

IDS = np.array(["q7", "a1", "m3-x_"])
STAMPS = np.datetime64("2024-03-01T00:00", "us") + np.arange(4) * np.timedelta64(15, "m")
BOUNDS = (0.2, 3.0)
SCALE = LogScale(*BOUNDS)
GUARANTEE = "Study only: no guarantee."
MANIFEST = {"guarantee": GUARANTEE, "time": {"zone": "Europe/Zurich"}}


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


def test_files_are_complete_and_carry_the_guarantee(tmp_path):
    released = np.random.default_rng(2).standard_normal((3, 4))
    write_forecast_files(tmp_path / "out", IDS, released, STAMPS, SCALE, MANIFEST, {"synthetic": "yes"})
    names = sorted(f"{i}.{kind}" for i in IDS for kind in ("json", "parquet"))
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == names
    for row, release_id in enumerate(IDS):
        path = tmp_path / "out" / f"{release_id}.parquet"
        table = read_table(path, FORECAST_FILE)
        assert table["release_id"].unique().to_pylist() == [release_id]
        assert table["step"].to_pylist() == [1, 2, 3, 4]
        assert table["interval_start_local"][3].as_py() == "2024-03-01T01:45:00+01:00"
        assert np.array_equal(table["released_log_kwh"].to_numpy(), released[row])
        assert np.allclose(table["released_kwh"].to_numpy(), np.clip(np.exp(released[row]), *BOUNDS))
        metadata = metadata_of(path)
        assert (metadata["guarantee"], metadata["synthetic"]) == (GUARANTEE, "yes")
        assert metadata["release"] == "not for release"


def test_files_differ_in_nothing_but_id_and_readings(tmp_path):
    """Nothing else may tell households apart: same schema, metadata, row count."""
    write_forecast_files(tmp_path, IDS, np.zeros((3, 4)), STAMPS, SCALE, MANIFEST, {})
    schemas = [pq.read_schema(p) for p in tmp_path.glob("*.parquet")]
    assert len(schemas) == 3 and all(s.equals(schemas[0], check_metadata=True) for s in schemas)


@pytest.mark.parametrize("ids", [["a", "a", "b"], ["a", "b", "../c"], ["a", "b", ""]])
def test_ids_that_collide_or_leave_the_folder_are_refused(tmp_path, ids):
    with pytest.raises(ValueError, match="release id"):
        write_forecast_files(tmp_path, np.array(ids), np.zeros((3, 4)), STAMPS, SCALE, MANIFEST, {})
    assert not list(tmp_path.iterdir())


def test_the_crosswalk_joins_ids_and_households():
    table = as_arrow(CROSSWALK, crosswalk_columns(IDS, np.array([5, 8, 2]))).to_pylist()
    assert {row["release_id"]: row["household"] for row in table} == {"q7": 5, "a1": 8, "m3-x_": 2}


def test_examples_are_the_chosen_rows():
    generator = np.random.default_rng(3)
    chosen = np.array([7, 2, 4])
    history, truth, forecast, released = (generator.standard_normal((10, n)) for n in (6, 4, 4, 4))
    history[:, 2] = np.nan
    table = as_arrow(
        FORECAST_EXAMPLES, example_columns(chosen, history, truth, forecast, released, 0.25, SCALE, "white", 0.45)
    ).to_pandas()
    assert table.groupby("example").size().to_dict() == {1: 18, 2: 18, 3: 18}
    for number, row in enumerate(chosen, start=1):
        part = table[table["example"] == number].groupby("part")
        assert part.get_group("history")["hours_from_origin"].tolist() == [-1.5, -1.25, -1.0, -0.75, -0.5, -0.25]
        assert part.get_group("truth")["hours_from_origin"].tolist() == [0.0, 0.25, 0.5, 0.75]
        assert np.allclose(part.get_group("released")["energy_kwh"], np.clip(np.exp(released[row]), *BOUNDS))
        assert part.get_group("history")["energy_kwh"].isna().sum() == 1
    assert "household" not in table
    assert table["design"].unique().tolist() == ["white"] and table["rho"].unique().tolist() == [0.45]


def test_one_household_gives_one_example():
    columns = example_columns(np.array([0]), *(np.zeros((1, n)) for n in (2, 1, 1, 1)), 1.0, SCALE, "white", 0.45)
    assert set(columns["example"]) == {1}
