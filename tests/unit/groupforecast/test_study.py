"""The sound forecast in a study: errors, files, crosswalk."""

import dataclasses
import json
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from meterdp.core.errors import InputError
from meterdp.core.parquet import as_arrow, metadata_of, read_table
from meterdp.evaluation.tables import CLUSTER_FORECAST_ERRORS
from meterdp.exports.tables import METERS
from meterdp.forecasting.rolling import ForecastSet, forecast_columns
from meterdp.forecasting.tables import FORECASTS
from meterdp.release.group_forecasts import ClusterStudy
from meterdp.release.noise import salted_ids
from meterdp.release.tables import CROSSWALK, FORECAST_FILE

HOUSEHOLDS = np.arange(3, 43, dtype=np.int32)
ORIGINS, STEPS = 3, 4
SALT = "0123456789abcdef" * 2
SETTINGS = {
    "groups": ["one", "circuit", "cluster"],
    "epsilons": [1, 8],
    "delta": 1e-5,
    "most_groups": 6,
    "draws": 5,
    "file_groups": "cluster",
    "file_epsilon": 8,
}


def made_up():
    generator = np.random.default_rng(4)
    shape = (HOUSEHOLDS.size, ORIGINS, STEPS)
    level = -2.0 + generator.standard_normal((HOUSEHOLDS.size, 1, 1))
    values = [level + 0.3 * generator.standard_normal(shape) for _ in range(4)]
    values[3][5, 1, 2] = np.nan
    return ForecastSet(HOUSEHOLDS, *values, np.ones(shape))


def study(settings=SETTINGS, named=True, forecasts=None):
    judged = made_up() if forecasts is None else forecasts
    start = np.datetime64("2025-11-02T00:00") + np.arange(40) * np.timedelta64(60, "m")
    table = as_arrow(FORECASTS, forecast_columns(judged, np.array([0, 10, 20]), start))
    meters = {
        "household": np.arange(50),
        "meter_id": [f"m{i}" for i in range(50)],
        "circuit": pa.array([f"C{i % 3}" if named else None for i in range(50)], pa.string()),
        "shard": [0] * 50,
    }
    return ClusterStudy.from_tables(table, as_arrow(METERS, meters), 60, 0.5, settings, seed=7)


def test_every_method_scale_and_epsilon_has_one_row():
    rows = as_arrow(CLUSTER_FORECAST_ERRORS, study().error_columns()).to_pandas()
    assert not rows.duplicated(["method", "groups", "epsilon", "scale"]).any() and len(rows) == 2 * (5 + 3 * 2)
    bare = rows[rows["method"] != "cluster"]
    assert bare["epsilon"].isna().all() and bare["group_count"].isna().all() and (bare["draw_count"] == 1).all()
    sound = rows[rows["method"] == "cluster"]
    assert (sound["draw_count"] == 5).all() and (sound["origin_count"] == ORIGINS).all()
    assert (sound.loc[sound["groups"] == "circuit", "group_count"] == 3).all()
    assert ((sound["assignment_epsilon"] > 0) == (sound["group_count"] > 1) & (sound["groups"] == "cluster")).all()


def test_errors_are_those_of_the_definitions():
    """Oracle: loops over households and cells for the mean of all forecasts."""
    made = study()
    rows = as_arrow(CLUSTER_FORECAST_ERRORS, made.error_columns()).to_pandas().set_index(["method", "scale"])
    f = made.forecasts
    mean = f.forecast_log_kwh.mean(axis=0)
    for scale, to in (("log_kwh", lambda v: v), ("kwh", np.exp)):
        nmse, squares, spread = [], [], []
        for h in range(HOUSEHOLDS.size):
            actual = to(f.actual_log_kwh[h][np.isfinite(f.actual_log_kwh[h])])
            error = (to(mean[np.isfinite(f.actual_log_kwh[h])]) - actual) ** 2
            nmse.append(error.sum() / (actual**2).sum())
            squares += error.tolist()
            spread += ((actual - actual.mean()) ** 2).tolist()
        row = rows.loc[("mean_of_all", scale)]
        assert row["mse"] == pytest.approx(np.mean(squares), rel=1e-10)
        assert row["nmse"] == pytest.approx(np.mean(nmse), rel=1e-10)
        assert row["nmse_se"] == pytest.approx(np.std(nmse, ddof=1) / np.sqrt(len(nmse)), rel=1e-10)
        assert row["relative_mse"] == pytest.approx(np.sum(squares) / np.sum(spread), rel=1e-10)


def test_a_study_repeats_and_another_seed_does_not():
    one, two, other = study(), study(), dataclasses.replace(study(), seed=8)
    assert str(one.error_columns()) == str(two.error_columns()) != str(other.error_columns())


def test_circuits_must_be_named():
    with pytest.raises(InputError, match="does not name every meter's circuit"):
        study(named=False).error_columns()
    rows = study({**SETTINGS, "groups": ["one"]}, named=False).error_columns()
    assert set(rows["groups"]) == {"none", "one"}


def test_files_carry_one_forecast_per_group_their_own_ids_and_the_guarantee(tmp_path):
    made = study()
    crosswalk = as_arrow(CROSSWALK, made.write_files(tmp_path, SALT, (0.01, 100.0), "UTC", {"synthetic": "yes"}))
    files = sorted(tmp_path.glob("*.parquet"))
    assert [p.stem for p in files] == crosswalk["release_id"].to_pylist()
    assert sorted(crosswalk["household"].to_pylist()) == HOUSEHOLDS.tolist()
    assert not {p.stem for p in files} & set(salted_ids(SALT, HOUSEHOLDS)), "other ids than the class-based files"
    tables = [read_table(p, FORECAST_FILE) for p in files]
    different = {tuple(t["released_log_kwh"].to_pylist()) for t in tables}
    assert 1 < len(different) <= made.mechanism("cluster", 8.0).plan.groups
    assert tables[0]["interval_start_utc"][0].as_py() == datetime(2025, 11, 2, 20, tzinfo=UTC)
    facts = metadata_of(files[0])
    assert facts["synthetic"] == "yes" and "(8, 1e-05)" in facts["guarantee"]
    assert facts["guarantee"].startswith("not for release")
    manifest = json.loads(files[0].with_suffix(".json").read_text())
    assert manifest["privacy"]["adjacency"] == "replace_one" and manifest["release_id"] == files[0].stem
    again = tmp_path / "again"
    study().write_files(again, SALT, (0.01, 100.0), "UTC", {})
    assert read_table(again / files[0].name, FORECAST_FILE).equals(tables[0])


def test_no_file_holds_a_forecast_of_its_household(tmp_path):
    """Whatever the epsilon, a file's numbers are those of a noisy mean, never a record."""
    made = study({**SETTINGS, "file_epsilon": 30})
    crosswalk = made.write_files(tmp_path, SALT, (0.01, 100.0), "UTC", {})
    records = {round(v, 9) for v in made.forecasts.forecast_log_kwh[:, -1].ravel()}
    for name in crosswalk["release_id"]:
        released = read_table(tmp_path / f"{name}.parquet", FORECAST_FILE)["released_log_kwh"].to_pylist()
        assert not {round(v, 9) for v in released} & records
