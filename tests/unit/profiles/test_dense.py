"""Log load of shards as dense arrays; one shard through the whole package."""

from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meterdp.core.parquet import write_table
from meterdp.core.stamps import utc_column
from meterdp.ingest.tables import READINGS
from meterdp.profiles.dense import log_load_batches, read_log_load
from meterdp.profiles.grid import Calendar, LocalTime, Shard, read_shard
from meterdp.profiles.shard import process_shard, recent_load
from meterdp.profiles.tables import LOG_LOAD, PROFILES, QUALITY, RECENT_LOAD
from tests.conftest import config_of

QUALITY_CONFIG = config_of()["quality"]
PROFILES_CONFIG = {
    "vector": "half_day",
    "date": "auto",
    "start_hour": 12,
    "hours": 12,
    "clip_kwh_per_hour": [0.01, 100],
    "max_floor_share": 0.5,
    "default_kwh_per_hour": 0.5,
    "seasonal": "smoothed",
    "smoothing_hours": 1.0,
    "seasonal_scale": "log",
    "rolling_days": 14,
    "rolling_day_decay": 0.85,
    "rolling_other_day_weight": 0.5,
}

ZURICH, AT_GREENWICH = LocalTime(15, "Europe/Zurich"), LocalTime(15, "UTC")


@pytest.fixture
def part(tmp_path):
    """One part of canonical readings: five households, the second of them all zero."""
    calendar = Calendar(datetime(2025, 3, 20, 23, tzinfo=UTC), 96 * 17, 15, "Europe/Zurich")
    energy = np.random.default_rng(2).gamma(2.0, 0.1, (5, calendar.slot_count))
    energy[1] = 0.0
    energy[3, 50:60] = np.nan
    columns = {
        "household": np.repeat(np.arange(3, 8), calendar.slot_count),
        "interval_start_utc": utc_column(np.tile(calendar.start_utc, 5)),
        "energy_kwh": pa.array(energy.ravel(), from_pandas=True),
    }
    write_table(tmp_path / "part-000.parquet", READINGS, columns)
    return tmp_path / "part-000.parquet", energy, calendar


def test_a_shard_comes_back_as_it_was_written(part):
    path, energy, calendar = part
    shard = read_shard(path, ZURICH)
    assert shard.household.tolist() == [3, 4, 5, 6, 7]
    assert np.array_equal(shard.energy_kwh, energy, equal_nan=True)
    assert np.array_equal(shard.calendar.start_utc, calendar.start_utc)


def test_log_load_round_trip_holds_the_kept_households_only(part, tmp_path):
    path, energy, calendar = part
    tables = process_shard(read_shard(path, ZURICH), QUALITY_CONFIG, PROFILES_CONFIG, 15, 12)
    for name, table in (("quality", QUALITY), ("log_load", LOG_LOAD), ("profiles", PROFILES)):
        write_table(tmp_path / f"{name}.parquet", table, getattr(tables, name))
    assert tables.read_months["month"].tolist() == ["2025-03", "2025-04"]
    local = pd.DatetimeIndex(calendar.start_utc).tz_localize("UTC").tz_convert("Europe/Zurich").strftime("%Y-%m")
    missing = pd.DataFrame(np.isnan(energy).T).groupby(local)
    assert tables.read_months["missing_readings"].tolist() == missing.sum().sum(axis=1).tolist()
    assert tables.read_months["expected_readings"].tolist() == (5 * missing.size()).tolist()
    load = read_log_load([tmp_path / "log_load.parquet"], np.array([4, 6, 7, 99]), ZURICH)
    assert load.household.tolist() == [6, 7]
    assert np.allclose(load.log_kwh, np.log(np.clip(energy[[3, 4]], 0.0025, 25)), equal_nan=True)
    assert np.isfinite(load.seasonal_log_kwh).all()
    assert np.array_equal(load.residual_log_kwh, load.log_kwh - load.seasonal_log_kwh, equal_nan=True)
    assert tables.profiles["valid"].tolist() == [True, False, True, True, True]
    nobody = read_log_load([tmp_path / "log_load.parquet"], np.array([99]), ZURICH)
    assert nobody.log_kwh.shape[0] == 0 and nobody.residual_log_kwh.shape[0] == 0


@pytest.mark.parametrize("numbers", [1, 4000, 10**9])
def test_batches_of_households_are_the_part_whatever_its_row_groups(part, tmp_path, numbers):
    path, _, calendar = part
    tables = process_shard(read_shard(path, ZURICH), QUALITY_CONFIG, PROFILES_CONFIG, 15, 12)
    write_table(tmp_path / "log_load.parquet", LOG_LOAD, tables.log_load)
    pq.write_table(pq.read_table(tmp_path / "log_load.parquet"), tmp_path / "cut.parquet", row_group_size=1001)
    whole = read_log_load([tmp_path / "log_load.parquet"], None, ZURICH)
    found = list(log_load_batches(tmp_path / "cut.parquet", ZURICH, numbers))
    assert [len(ids) for ids, _, _ in found] == {1: [1] * 4, 4000: [2, 2], 10**9: [4]}[numbers]
    assert np.concatenate([ids for ids, _, _ in found]).tolist() == whole.household.tolist() == [3, 5, 6, 7]
    assert np.array_equal(np.concatenate([log for _, log, _ in found]), whole.log_kwh, equal_nan=True)
    assert all(own == calendar for _, _, own in found)


def test_recent_load_is_the_last_days_of_every_household_judged_as_for_a_study(part, tmp_path):
    """Oracle: the log load of those a study keeps. Local days begin at 23:00 UTC, from the 30th on at 22:00."""
    _, energy, calendar = part
    energy[2, 900] = 1e6
    shard = Shard(np.arange(3, 8, dtype=np.int32), energy, calendar)
    whole = process_shard(shard, QUALITY_CONFIG, PROFILES_CONFIG, 15, 12).log_load
    own = recent_load(shard, QUALITY_CONFIG, PROFILES_CONFIG, date(2025, 3, 30))
    write_table(tmp_path / "recent.parquet", RECENT_LOAD, own)
    ((ids, log_kwh, days),) = log_load_batches(tmp_path / "recent.parquet", ZURICH, table=RECENT_LOAD)
    begin = calendar.slot_at(date(2025, 3, 30), 0)
    assert ids.tolist() == [3, 4, 5, 6, 7] and np.array_equal(days.start_utc, calendar.start_utc[begin:])
    kept = whole["log_kwh"].to_numpy(zero_copy_only=False).reshape(4, -1)[:, begin:]
    assert np.array_equal(log_kwh[[0, 2, 3, 4]], kept, equal_nan=True) and np.isnan(log_kwh[2, 900 - begin])
    assert (log_kwh[1] == np.log(0.0025)).all()


def test_a_part_without_households_passes_through(tmp_path):
    write_table(
        tmp_path / "empty.parquet", READINGS, {c: [] for c in ("household", "interval_start_utc", "energy_kwh")}
    )
    tables = process_shard(
        read_shard(tmp_path / "empty.parquet", AT_GREENWICH), QUALITY_CONFIG, PROFILES_CONFIG, 15, 12
    )
    write_table(tmp_path / "log_load.parquet", LOG_LOAD, tables.log_load)
    assert len(tables.quality) == 0 and len(tables.profiles["valid"]) == 0
    assert read_log_load([tmp_path / "log_load.parquet"], np.array([1]), AT_GREENWICH).calendar is None
    assert list(log_load_batches(tmp_path / "log_load.parquet", AT_GREENWICH)) == []
    shard = read_shard(tmp_path / "empty.parquet", AT_GREENWICH)
    write_table(
        tmp_path / "recent.parquet",
        RECENT_LOAD,
        recent_load(shard, QUALITY_CONFIG, PROFILES_CONFIG, date(2025, 3, 30)),
    )
    assert list(log_load_batches(tmp_path / "recent.parquet", AT_GREENWICH, table=RECENT_LOAD)) == []
