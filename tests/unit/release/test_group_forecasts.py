"""Files of the group forecast: one per household of the public list, with a forecast of its own or without."""

import json
from datetime import UTC, datetime

import numpy as np

from meterdp.core.noise import salted_ids
from meterdp.core.parquet import as_arrow, metadata_of, read_table
from meterdp.groupforecast.mechanism import GroupForecast
from meterdp.publish.tables import CROSSWALK, FORECAST_FILE
from meterdp.release.study_forecasts import write_group_forecasts
from tests.unit.groupforecast.made_up import HOUSEHOLDS, METER_COUNT, SALT, study


def write(folder, made, metadata=None, epsilon=8):
    columns = write_group_forecasts(made, "assigned", epsilon, folder, 7, SALT, "UTC", metadata or {})
    return as_arrow(CROSSWALK, columns)


def test_files_carry_one_forecast_per_group_their_own_ids_and_the_guarantee(tmp_path):
    made = study()
    crosswalk = write(tmp_path, made, {"synthetic": "yes"})
    files = sorted(tmp_path.glob("*.parquet"))
    assert [p.stem for p in files] == crosswalk["release_id"].to_pylist()
    assert not {p.stem for p in files} & set(salted_ids(SALT, made.household)), "other ids than the class-based files"
    tables = [read_table(p, FORECAST_FILE) for p in files]
    different = {tuple(t["released_log_kwh"].to_pylist()) for t in tables}
    assert 1 < len(different) <= GroupForecast.calibrate(made.public("assigned", 8.0)).plan.groups
    assert tables[0]["interval_start_utc"][0].as_py() == datetime(2025, 11, 2, 20, tzinfo=UTC)
    facts = metadata_of(files[0])
    assert facts["synthetic"] == "yes" and "(8, 1e-05)" in facts["guarantee"]
    assert facts["guarantee"].startswith("not for release")
    manifest = json.loads(files[0].with_suffix(".json").read_text())
    assert manifest["privacy"]["adjacency"] == "replace_one" and manifest["release_id"] == files[0].stem
    again = tmp_path / "again"
    write(again, study())
    assert read_table(again / files[0].name, FORECAST_FILE).equals(tables[0])


def test_every_meter_of_the_list_gets_a_file_with_or_without_a_forecast(tmp_path):
    crosswalk = write(tmp_path, study())
    assert sorted(crosswalk["household"].to_pylist()) == list(range(METER_COUNT)) and METER_COUNT > HOUSEHOLDS.size
    assert len(list(tmp_path.glob("*.parquet"))) == len(list(tmp_path.glob("*.json"))) == METER_COUNT
    shown = {}
    for row in crosswalk.to_pylist():
        table = read_table(tmp_path / f"{row['release_id']}.parquet", FORECAST_FILE)
        shown[row["household"]] = tuple(table["released_log_kwh"].to_pylist())
    with_forecast = {shown[h] for h in HOUSEHOLDS.tolist()}
    assert all(np.isfinite(values).all() for values in shown.values())
    assert {shown[h] for h in set(shown) - set(HOUSEHOLDS.tolist())} <= with_forecast, "the forecast of some group"


def test_no_file_holds_a_forecast_of_its_household(tmp_path):
    """Whatever the epsilon, a file's numbers are those of a noisy mean, never a record."""
    made = study()
    crosswalk = write(tmp_path, made, epsilon=30)
    records = {round(v, 9) for v in made.forecasts.forecast_log_kwh[:, -1].ravel()}
    for name in crosswalk["release_id"].to_pylist():
        released = read_table(tmp_path / f"{name}.parquet", FORECAST_FILE)["released_log_kwh"].to_pylist()
        assert not {round(v, 9) for v in released} & records
