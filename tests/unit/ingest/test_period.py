"""A public period: rows outside are counted, and no meter can move another household's grid."""

import numpy as np
import pandas as pd
import pytest

from meterdp.core.parquet import read_table
from meterdp.errors import InputError
from meterdp.ingest.ingest import ingest
from meterdp.ingest.settings import ExportSettings
from meterdp.ingest.tables import INGEST_REPORT, READINGS

ZURICH = {"time_zone": "Europe/Zurich", "first_day": "2018-10-27", "last_day": "2018-10-28"}


def read(folder, frame, config):
    frame.to_csv(folder / "export.csv", index=False)
    ingest(
        folder / "export.csv",
        ExportSettings.from_config(config),
        readings_paths=[folder / "r.parquet"],
        meters_path=folder / "m.parquet",
        report_path=folder / "i.parquet",
    )
    report = read_table(folder / "i.parquet", INGEST_REPORT).to_pandas().set_index("reason")["row_count"]
    return read_table(folder / "r.parquet", READINGS).to_pandas(), report.to_dict()


@pytest.fixture
def frame():
    stamps = pd.date_range("2018-10-25", "2018-10-30 23:45", freq="15min", tz="Europe/Zurich")
    local = stamps.tz_localize(None).strftime("%Y-%m-%d %H:%M")
    return pd.DataFrame(
        {
            "meter_id": np.repeat(["a", "b"], len(local)),
            "interval_start": np.tile(local, 2),
            "kwh": np.random.default_rng(1).random(2 * len(local)).round(3),
        }
    )


def test_the_grid_is_the_period_in_local_days(tmp_path, frame):
    readings, report = read(tmp_path, frame, ZURICH)
    stamps = readings["interval_start_utc"].unique()
    assert (
        str(stamps[0]) == "2018-10-26 22:00:00+00:00" and len(stamps) == 96 + 100
    )  # the clock goes back on the 28th
    assert report == {"used": 2 * 196, "stamp_outside_period": len(frame) - 2 * 196}
    whole, _ = read(tmp_path, frame, {"time_zone": "Europe/Zurich"})
    both = readings.merge(whole, on=["household", "interval_start_utc"])
    assert len(both) == len(readings) and (both["energy_kwh_x"] == both["energy_kwh_y"]).all()


def test_a_stray_stamp_of_one_meter_moves_nothing_for_the_others(tmp_path, frame):
    before, _ = read(tmp_path, frame, ZURICH)
    stray = frame.copy()
    stray.loc[0, "interval_start"] = "2019-06-01 00:00"
    after, _ = read(tmp_path, stray, ZURICH)
    assert before.equals(after)
    moved, _ = read(tmp_path, stray, {"time_zone": "Europe/Zurich"})
    assert moved["interval_start_utc"].nunique() > 96 * 200, "without a period one stamp stretches every grid"


def test_missing_days_at_the_ends_stay_in_the_grid(tmp_path, frame):
    readings, _ = read(tmp_path, frame, {**ZURICH, "first_day": "2018-10-20"})
    assert readings["interval_start_utc"].nunique() == 96 * 8 + 100
    assert readings.groupby("household")["energy_kwh"].apply(lambda e: e.isna().sum()).tolist() == [480, 480]


@pytest.mark.parametrize("days", [{"last_day": None}, {"first_day": None}, {"last_day": "2018-10-01"}])
def test_half_a_period_is_refused(days):
    with pytest.raises(InputError, match=r"'export.last_day': does not form a period .*; give both"):
        ExportSettings.from_config({**ZURICH, **days})


def test_a_period_without_any_row_is_refused(tmp_path, frame):
    with pytest.raises(InputError, match=r"has no stamp on the interval grid; .* and the period"):
        read(tmp_path, frame, {**ZURICH, "first_day": "2012-01-01", "last_day": "2012-01-05"})
    assert not (tmp_path / "r.parquet").exists()
