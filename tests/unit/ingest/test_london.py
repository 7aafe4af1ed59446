"""Low Carbon London: its header styles, padded numbers, the word Null, odd stamps and repeated rows."""

import pytest

from meterdp.errors import InputError
from meterdp.ingest.settings import ExportSettings
from tests.unit.ingest.made_up import ingested, write_csv

ROWS = [
    ("MAC000002", "Std", "2012-10-12 00:30:00.0000000", " 0 "),
    ("MAC000002", "Std", "2012-10-12 01:00:00.0000000", " 0.123 "),
    ("MAC000002", "Std", "2012-10-12 01:00:00.0000000", " 0.123 "),
    ("MAC000002", "Std", "2012-10-12 15:13:41.0000000", "Null"),
    ("MAC000002", "Std", "2012-10-12 15:13:41.0000000", " 0.5 "),
    ("MAC000003", "ToU", "2012-10-12 01:00:00.0000000", " Null "),
    ("MAC000003", "ToU", "2012-10-12 01:30:00.0000000", " 1.2559999 "),
    ("MAC000003", "ToU", "2012-10-12 01:30:00.0000000", " 1.5 "),
]
HEADERS = {
    "LCLid,stdorToU,DateTime,KWH/hh (per half hour) ": lambda row: row,
    "LCLid,DateTime,KWH/hh (per half hour) ": lambda row: (row[0], *row[2:]),
    "LCLid,tstp,energy(kWh/hh)": lambda row: (row[0], *row[2:]),
}


@pytest.mark.parametrize("header", HEADERS)
def test_every_header_style(tmp_path, header):
    result = ingested(write_csv(tmp_path / "lcl.csv", map(HEADERS[header], ROWS), header), {"format": "lcl_csv"})
    twice = {"duplicate_identical": 1, "superseded_by_later_row": 1}
    assert result.counts == {"used": 3, "value_missing": 2, "off_grid_stamp": 1, **twice}
    assert result.at("MAC000002", "2012-10-12T00:30") == 0
    assert result.at("MAC000002", "2012-10-12T01:00") == 0.123
    assert result.at("MAC000003", "2012-10-12T01:30") == 1.5
    assert result.energy_kwh.isna().sum().sum() == 3


def test_column_settings_are_not_needed_and_not_looked_at(tmp_path):
    path = write_csv(tmp_path / "lcl.csv", ROWS, next(iter(HEADERS)))
    other = {"meter_column": "x", "time_format": "%d", "delimiter": ";", "unit_column": "u"}
    assert ingested(path, {"format": "lcl_csv", **other}).counts["used"] == 3


def test_british_summer_time_if_the_zone_says_so(tmp_path):
    path = write_csv(tmp_path / "lcl.csv", ROWS, next(iter(HEADERS)))
    result = ingested(path, {"format": "lcl_csv", "time_zone": "Europe/London"})
    assert result.at("MAC000002", "2012-10-12T00:00") == 0.123


def test_another_header_is_refused(tmp_path):
    with pytest.raises(
        InputError, match=r"row 1, field 'DateTime or tstp': is missing from the header; the header has"
    ):
        ingested(write_csv(tmp_path / "lcl.csv", ROWS, "LCLid,a,b,c"), {"format": "lcl_csv"})


@pytest.mark.parametrize("other", [{"interval_minutes": 15}, {"unit": "Wh"}])
def test_it_is_half_hourly_and_in_kwh(other):
    with pytest.raises(InputError, match="half-hourly"):
        ExportSettings.from_config({"format": "lcl_csv", **other})
