"""Released files: named by release id only, with a guarantee in words, and the designed noise in them."""

import io

import numpy as np
import pyarrow.parquet as pq
import pytest

from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import as_arrow, metadata_of, read_table
from meterdp.publish import forecast_files
from meterdp.publish.forecast_files import (
    Forecasts,
    Intervals,
    crosswalk_columns,
    forecast_tables,
    log_forecasts,
    write_forecast_files,
)
from meterdp.publish.tables import CROSSWALK, FORECAST_FILE, RELEASED_FORECASTS

IDS = np.array(["q7", "a1", "m3-x_"])
STAMPS = np.datetime64("2024-03-01T00:00", "us") + np.arange(4) * np.timedelta64(15, "m")
BOUNDS = (0.2, 3.0)
INTERVALS = Intervals(STAMPS, 15, "Europe/Zurich", LogScale(*BOUNDS))
GUARANTEE = "Study only: no guarantee."
MANIFEST = {"guarantee": GUARANTEE}


def test_files_are_complete_and_carry_the_guarantee(tmp_path):
    released = np.random.default_rng(2).standard_normal((3, 4))
    rows = log_forecasts(released, INTERVALS.scale)
    write_forecast_files(tmp_path / "out", IDS, rows, INTERVALS, MANIFEST, {"synthetic": "yes"})
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
    write_forecast_files(tmp_path, IDS, log_forecasts(np.zeros((3, 4)), INTERVALS.scale), INTERVALS, MANIFEST, {})
    schemas = [pq.read_schema(p) for p in tmp_path.glob("*.parquet")]
    assert len(schemas) == 3 and all(s.equals(schemas[0], check_metadata=True) for s in schemas)


@pytest.mark.parametrize("ids", [["a", "a", "b"], ["a", "b", "../c"], ["a", "b", ""]])
def test_ids_that_collide_or_leave_the_folder_are_refused(tmp_path, ids):
    with pytest.raises(ValueError, match="release id"):
        write_forecast_files(
            tmp_path, np.array(ids), log_forecasts(np.zeros((3, 4)), INTERVALS.scale), INTERVALS, MANIFEST, {}
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("different", [1, 5, 60])
def test_a_release_has_every_household_and_every_forecast_in_an_order_that_random_names_alone_set(
    different, monkeypatch
):
    """Oracle: the forecasts themselves, looked up by name; 60 are cut into pieces of 7."""
    monkeypatch.setattr(forecast_files, "FORECASTS_OF_A_PIECE", 7)
    generator = np.random.default_rng(different)
    of = generator.permutation(np.arange(60) % different)
    ids = [f"{number:016x}" for number in generator.permutation(60)]
    released = generator.standard_normal((different, 4))
    given = Forecasts(of, log_forecasts(released, INTERVALS.scale).columns)
    files = forecast_tables(RELEASED_FORECASTS, ids, given, INTERVALS, {"guarantee": GUARANTEE})
    recipients, rows = (pq.read_table(io.BytesIO(files[f"{name}.parquet"])) for name in ("recipients", "forecasts"))
    assert recipients["release_id"].to_pylist() == sorted(ids)
    numbers = recipients["forecast"].to_pylist()
    assert list(dict.fromkeys(numbers)) == list(range(1, different + 1)), "numbered as they come by name"
    assert rows["forecast"].to_pylist() == np.repeat(np.arange(1, different + 1), 4).tolist()
    assert rows["step"].to_pylist() == [1, 2, 3, 4] * different
    log_kwh = rows["released_log_kwh"].to_numpy().reshape(different, 4)
    for name, number in zip(sorted(ids), numbers, strict=True):
        assert np.array_equal(log_kwh[number - 1], released[of[ids.index(name)]])


def test_the_crosswalk_joins_ids_and_households():
    table = as_arrow(CROSSWALK, crosswalk_columns(IDS, np.array([5, 8, 2]))).to_pylist()
    assert {row["release_id"]: row["household"] for row in table} == {"q7": 5, "a1": 8, "m3-x_": 2}
