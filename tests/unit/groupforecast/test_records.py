"""Records of the group forecast from the shards of an export: the same, and the same sums, however it is cut."""

from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from meterdp.core import pieces as module
from meterdp.core.log_scale import LogScale
from meterdp.core.parquet import open_table, write_table
from meterdp.core.stamps import utc_column
from meterdp.core.weekend import SATURDAY_SUNDAY
from meterdp.groupforecast.plan import cells_of, in_cells, prior_shape, window_of
from meterdp.groupforecast.records import ENTRIES, hourly, household_records, record_tables, stored_records
from meterdp.groupforecast.tables import GROUP_RECORDS
from meterdp.households.configured import calendar_of, period_of
from meterdp.privacy.noise import GRID
from meterdp.profiles.grid import LocalTime, Shard
from meterdp.profiles.shard import recent_load
from meterdp.profiles.tables import RECENT_LOAD
from tests.unit.groupforecast.made_up import calibrate, config

HOMES = 50
PERIOD = {"first_day": "2025-11-03", "last_day": "2025-12-07", "interval_minutes": 60}


@pytest.fixture(scope="module")
def export():
    """The log load of homes, some without readings and one that is in no shard, and the configuration."""
    of = config()
    of["export"] |= PERIOD
    calendar = calendar_of(*period_of(of["export"]), LocalTime(60, "Europe/Berlin"))
    kwh = np.random.default_rng(5).gamma(0.8, 0.4, (HOMES, calendar.slot_count))
    kwh[3, 200:] = np.nan
    kwh[7] = 0.0
    return of, calendar, LogScale.of_interval(of["profiles"], 60).clipped_log(kwh)


def shards(export, count, folder):
    """Write log load and records in so many shards; household 11 is in none."""
    of, calendar, log_kwh = export
    for number, some in enumerate(np.array_split(np.delete(np.arange(HOMES), 11), count)):
        rows = {
            "household": np.repeat(some, calendar.slot_count),
            "interval_start_utc": utc_column(np.tile(calendar.start_utc, len(some))),
            "log_kwh": pa.array(log_kwh[some].ravel(), from_pandas=True),
        }
        write_table(folder / f"load-{number}.parquet", RECENT_LOAD, rows)
        with open_table(folder / f"records-{number}.parquet", GROUP_RECORDS) as add:
            for table in record_tables(folder / f"load-{number}.parquet", of):
                add(table)
        yield folder / f"records-{number}.parquet"


def test_stored_records_are_those_of_the_readings(export, tmp_path):
    of, calendar, log_kwh = export
    days = window_of(of["export"])
    kwh = hourly(log_kwh, calendar, LogScale.of_interval(of["profiles"], 60), *days)
    expected = household_records(kwh, cells_of(days[0], 28, SATURDAY_SUNDAY), in_cells(prior_shape())).x
    expected[11] = np.nan
    found = stored_records(list(shards(export, 3, tmp_path)), np.arange(HOMES))
    assert found.shape == (HOMES, ENTRIES)
    whole = np.concatenate(list(found))
    assert np.array_equal(whole, expected, equal_nan=True)
    assert np.isnan(whole[[3, 11]]).all() and np.isfinite(np.delete(whole, [3, 11], axis=0)).all()


def test_sums_are_the_same_to_the_bit_however_households_are_cut(export, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PIECE", 16)
    mechanism, found = calibrate(count=HOMES, grid=GRID), []
    for count in (1, 2, 7):
        (tmp_path / str(count)).mkdir()
        records = stored_records(list(shards(export, count, tmp_path / str(count))), np.arange(HOMES))
        sums = []

        def measure(query, exact):
            sums.append(exact)  # noqa: B023
            return exact

        mechanism.run(records, measure)
        found.append(sums)
    for sums in found[1:]:
        assert all(np.array_equal(one, other) for one, other in zip(found[0], sums, strict=True))


def test_a_shard_without_usable_households_adds_none(export, tmp_path):
    (path,) = shards(export, 1, tmp_path)
    with open_table(tmp_path / "nobody.parquet", GROUP_RECORDS):
        pass
    whole, more = (stored_records(of, np.arange(HOMES)) for of in ([path], [path, tmp_path / "nobody.parquet"]))
    assert np.array_equal(np.concatenate(list(whole)), np.concatenate(list(more)), equal_nan=True)


def test_a_part_of_the_list_has_the_records_of_its_households(export, tmp_path):
    paths = list(shards(export, 4, tmp_path))
    whole, listed = np.concatenate(list(stored_records(paths, np.arange(HOMES)))), np.array([2, 11, 12, 40])
    assert np.array_equal(np.concatenate(list(stored_records(paths, listed))), whole[listed], equal_nan=True)


def test_days_before_the_window_do_not_move_a_record_and_no_other_rule_leaves_a_household_out(export, tmp_path):
    """Before the last 28 days of five weeks: a gap of a week, and a home that joined. One reads zero always."""
    of, calendar, _ = export
    kwh = np.random.default_rng(6).gamma(2.0, 0.2, (3, calendar.slot_count))
    kwh[2] = 0.0
    found = []
    for name, before in (("read", kwh[:2, : 7 * 24]), ("blank", np.nan)):
        own = kwh.copy()
        own[:2, : 7 * 24] = before
        shard = Shard(np.arange(3, dtype=np.int32), own, calendar)
        write_table(
            tmp_path / f"{name}.parquet",
            RECENT_LOAD,
            recent_load(shard, of["quality"], of["profiles"], date(2025, 11, 10)),
        )
        with open_table(tmp_path / f"{name}-records.parquet", GROUP_RECORDS) as add:
            for table in record_tables(tmp_path / f"{name}.parquet", of):
                add(table)
        found.append(np.concatenate(list(stored_records([tmp_path / f"{name}-records.parquet"], np.arange(3)))))
    assert np.isfinite(found[0]).all() and np.array_equal(*found)
