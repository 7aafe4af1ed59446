"""What is counted as what, one row at a time, and which of several rows wins."""

import pytest

from meterdp.ingest.dense import REASONS
from meterdp.ingest.settings import ExportSettings
from tests.unit.ingest.made_up import ingested, write_csv

ZURICH = ExportSettings(time_zone="Europe/Zurich")
GOOD = ("m", "2018-10-29 00:00", "1")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("", "2018-10-29 00:15", "1"), "meter_missing"),
        (("NULL", "2018-10-29 00:15", "1"), "meter_missing"),
        (("m", "", "1"), "stamp_missing"),
        (("m", "NA", "1"), "stamp_missing"),
        (("m", "2018-10-29 00:15", "Null"), "value_missing"),
        (("m", "2018-10-29 00:15", "  nan "), "value_missing"),
        (("m", "2018-10-29 00:15", "inf"), "value_not_finite"),
        (("m", "2018-10-29 00:15", "-1e999"), "value_not_finite"),
        (("m", "1970-01-01 00:00", "1"), "stamp_out_of_range"),
        (("m", "9999-12-31 00:00", "1"), "stamp_out_of_range"),
        (("m", "2018-03-25 02:30", "1"), "nonexistent_local_time"),
        (("m", "2018-10-29 00:07", "1"), "off_grid_stamp"),
        (("m", "2018-10-29 00:00", "1.0"), "duplicate_identical"),
        (("m", "2018-10-29 00:00", "2"), "superseded_by_later_row"),
    ],
)
def test_a_row_that_is_not_used_is_counted_under_its_reason(tmp_path, row, reason):
    result = ingested(write_csv(tmp_path / "e.csv", [GOOD, row]), ZURICH)
    assert result.counts == {"used": 1, reason: 1}
    assert list(result.energy_kwh.columns) == ["m"]


def test_every_reason_has_a_meaning_in_words():
    assert all(meaning.endswith(".") and len(meaning) > 20 for meaning in REASONS.values())


def test_the_last_row_wins_and_a_later_missing_word_takes_nothing_away(tmp_path):
    rows = [("m", "2020-01-01 00:00", v) for v in ("1", "2", "2", "1", "", "Null")]
    result = ingested(write_csv(tmp_path / "e.csv", rows), ExportSettings())
    assert result.at("m", "2020-01-01") == 1
    assert result.counts == {"used": 1, "duplicate_identical": 1, "superseded_by_later_row": 2, "value_missing": 2}


def test_a_meter_without_a_reading_stays_in_the_crosswalk(tmp_path):
    rows = [("a", "2020-01-01 00:00", ""), ("b", "2020-01-01 00:30", "1")]
    result = ingested(write_csv(tmp_path / "e.csv", rows), ExportSettings())
    assert result.meters["meter_id"].tolist() == ["a", "b"]
    assert result.energy_kwh["a"].isna().all() and len(result.energy_kwh) == 3


def test_ids_keep_leading_zeros_and_lose_blanks(tmp_path):
    rows = [("007", "2020-01-01 00:00", "1"), (" 007 ", "2020-01-01 00:15", "1"), ("7", "2020-01-01 00:00", "1")]
    result = ingested(write_csv(tmp_path / "e.csv", rows), ExportSettings())
    assert result.meters["meter_id"].tolist() == ["007", "7"]


def test_a_newest_first_file_resolves_the_repeated_hour(tmp_path):
    labels = ["03:00", *["02:45", "02:30", "02:15", "02:00"] * 2, "01:45"]
    rows = [("m", f"2018-10-28 {t}", i) for i, t in enumerate(labels)]
    result = ingested(write_csv(tmp_path / "e.csv", rows), ZURICH)
    assert result.energy_kwh["m"].tolist() == list(range(9, -1, -1))


def test_wide_days_leave_the_repeated_hour_to_its_first_pass_and_skip_no_cell(tmp_path):
    header = ",".join(["meter_id", "date", *(f"{h:02}:00" for h in range(24))])
    rows = [("m", day, *range(24)) for day in ("2018-10-27", "2018-10-28", "2018-10-29")]
    path = write_csv(tmp_path / "e.csv", rows, header)
    setting = ExportSettings(format="wide_csv", time_zone="Europe/Zurich", interval_minutes=60)
    result = ingested(path, setting)
    assert result.counts == {"used": 72} and len(result.energy_kwh) == 73
    assert result.energy_kwh.index[result.energy_kwh["m"].isna()].strftime("%dT%H").tolist() == ["28T01"]


def test_a_stray_stamp_of_one_meter_does_not_count_for_its_neighbours(tmp_path):
    """Half-hours off the grid of the local clock are counted, not rounded."""
    rows = [("m", "2020-01-01 00:00", 1), ("m", "2020-01-01 00:30", 2), ("m", "2020-01-01 01:00", 3)]
    setting = ExportSettings(time_zone="Asia/Kolkata", interval_minutes=60)
    result = ingested(write_csv(tmp_path / "e.csv", rows), setting)
    assert result.counts == {"used": 2, "off_grid_stamp": 1}
    assert result.energy_kwh.index.strftime("%H:%M").tolist() == ["18:30", "19:30"]


@pytest.mark.parametrize("batch_bytes", [64, 1 << 20])
def test_the_first_stamp_places_the_grid_where_a_clock_change_does_not_fit_the_interval(tmp_path, batch_bytes):
    """Whole hours of Lord Howe Island before and after its half-hour change cannot lie on one grid."""
    stamps = ["2024-04-06 22:00", "2024-04-06 23:00", "2024-04-07 03:00", "2024-04-07 04:00", "2024-04-07 05:00"]
    path = write_csv(tmp_path / "e.csv", [("m", stamp, 1) for stamp in stamps])
    setting = ExportSettings(time_zone="Australia/Lord_Howe", interval_minutes=60)
    assert ingested(path, setting, batch_bytes=batch_bytes).counts == {"used": 2, "off_grid_stamp": 3}


def test_a_row_without_a_meter_does_not_stretch_the_grid(tmp_path):
    rows = [("", "2020-01-01 00:00", 1), ("m", "2020-01-02 00:00", 1), ("", "2020-01-03 00:00", 1)]
    assert len(ingested(write_csv(tmp_path / "e.csv", rows), ExportSettings()).energy_kwh) == 1


def test_a_wide_column_called_midnight_that_names_starts_is_the_start_of_its_day_wherever_it_stands(tmp_path):
    path = write_csv(tmp_path / "e.csv", [("m", "2020-01-01", 1, 2)], "meter_id,date,00:15,00:00")
    result = ingested(path, ExportSettings(format="wide_csv"))
    assert result.energy_kwh["m"].tolist() == [2, 1]
