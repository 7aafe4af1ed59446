"""``meterdp check`` looks at no more of a large export than it takes to refuse it."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meterdp.errors import InputError
from meterdp.ingest.dense import USED
from meterdp.ingest.inference import examine as module
from meterdp.ingest.inference.examine import examine
from meterdp.ingest.readers.interface import READERS
from meterdp.ingest.shapes import FORMATS, formats_that_fit
from tests.unit.ingest.made_up_exports import ZONE, against
from tests.unit.ingest.test_green_button import START, block, meter_reading, reading_type, usage_point
from tests.unit.ingest.test_green_button import write as write_feed

METERS, DAYS = 12, 60
NEM12 = {"format": "nem12", "interval_minutes": 30, "time_zone": "Australia/Sydney", "meters": None}


def export(path, *, freq: str, by_time: bool, value) -> None:
    """A long CSV of ``value(kwh)``, large against what the test lets be read."""
    stamps = pd.date_range("2024-02-01", periods=DAYS * 48, freq=freq).strftime("%Y-%m-%d %H:%M")
    kwh = value(np.random.default_rng(3).gamma(2.0, 0.2, (METERS, len(stamps))))
    frame = pd.DataFrame(
        {
            "meter_id": np.repeat([f"M{h}" for h in range(METERS)], len(stamps)),
            "interval_start": np.tile(stamps, METERS),
            "kwh": kwh.ravel().round(3),
        }
    )
    frame = frame.sort_values("interval_start", kind="stable") if by_time else frame
    frame.to_csv(path, index=False)


@pytest.fixture
def most_read(monkeypatch):
    """The numbers of readings that were asked for."""
    asked = []

    def counted(self, most_readings):
        asked.append(most_readings)
        return read(self, most_readings)

    read = module.FirstReadings.read
    monkeypatch.setattr(module.FirstReadings, "read", counted)
    monkeypatch.setattr(module, "_FIRST_LOOK", METERS * 400)
    monkeypatch.setattr("meterdp.ingest.inference.first_readings.BATCH_BYTES", 1 << 12)
    return asked


@pytest.mark.parametrize("by_time", [True, False])
def test_registers_are_told_by_the_first_readings(tmp_path, most_read, by_time):
    export(tmp_path / "e.csv", freq="30min", by_time=by_time, value=lambda kwh: 500 + np.cumsum(kwh, axis=1))
    found = examine(tmp_path / "e.csv", time_zone=ZONE)
    assert "only rise" in str(found.findings[0])
    assert most_read == [METERS * 400] and not found.trial.whole


@pytest.mark.parametrize("by_time", [True, False])
def test_daily_sums_are_told_by_the_first_readings(tmp_path, most_read, by_time):
    export(tmp_path / "e.csv", freq="D", by_time=by_time, value=lambda kwh: 20 * kwh)
    with pytest.raises(InputError, match="daily or monthly sums"):
        examine(tmp_path / "e.csv", time_zone=ZONE)
    assert most_read == [METERS * 400]


@pytest.mark.parametrize("by_time", [True, False])
def test_an_export_of_intervals_is_looked_at_further(tmp_path, most_read, by_time):
    export(tmp_path / "e.csv", freq="30min", by_time=by_time, value=lambda kwh: kwh)
    found = examine(tmp_path / "e.csv", time_zone=ZONE)
    assert found.findings == [] and found.trial.whole and len(most_read) == 2


def test_another_unit_scales_what_was_read_as_reading_it_again_would(tmp_path):
    export(tmp_path / "e.csv", freq="30min", by_time=False, value=lambda kwh: 1000 * kwh)
    found = examine(tmp_path / "e.csv", time_zone=ZONE)
    again = module.try_out(tmp_path / "e.csv", found.trial.settings, found.trial.batches, found.trial.whole)
    assert found.settings["unit"] == "Wh"
    np.testing.assert_allclose(found.trial.energy_kwh, again.energy_kwh, rtol=1e-12)
    assert (found.trial.counts == again.counts).all() and found.trial.settings == again.settings


def nem12_of_homes(path, homes: int, days: int = 3) -> None:
    """Two registers per home, so that a home that is cut off lacks one of them."""
    rows = ["100,NEM12,202304120954,MDP,RETAILER"]
    for home in range(homes):
        for register in ("E1", "E2"):
            rows.append(f"200,NMI{home:07d},E1E2,,{register},N1,SERIAL,kWh,30,")
            for day in range(days):
                values = ",".join(f"{(home + day + i) % 7 / 8}" for i in range(48))
                rows.append(f"300,2023040{day + 1},{values},A,,,20230412000000,")
    path.write_text("\n".join([*rows, "900"]) + "\n")


def look_at(monkeypatch, name: str, trial_bytes: int) -> None:
    """Let a check look at so much of a file of a format."""
    monkeypatch.setitem(READERS, name, replace(READERS[name], trial_bytes=trial_bytes))


@pytest.mark.parametrize("most_bytes", [5000, 12_345])
def test_of_a_large_nem12_file_whole_households_are_looked_at(tmp_path, monkeypatch, most_bytes):
    look_at(monkeypatch, "nem12", most_bytes)
    nem12_of_homes(tmp_path / "e.csv", homes=40)
    found = examine(tmp_path / "e.csv")
    assert found.findings == [] and not found.trial.whole
    homes = len(found.trial.survey.meter_ids)
    assert 1 <= homes < 40
    nem12_of_homes(tmp_path / "few.csv", homes=homes)
    few = examine(tmp_path / "few.csv")
    assert few.trial.whole and (few.trial.counts == found.trial.counts).all()
    np.testing.assert_array_equal(few.trial.energy_kwh, found.trial.energy_kwh)


def test_a_nem12_file_whose_start_holds_no_whole_household_is_looked_at_to_its_end(tmp_path, monkeypatch):
    look_at(monkeypatch, "nem12", 1000)
    nem12_of_homes(tmp_path / "e.csv", homes=5)
    found = examine(tmp_path / "e.csv")
    assert found.findings == [] and found.trial.whole and len(found.trial.survey.meter_ids) == 5


def test_a_large_nem12_file_is_not_refused_because_its_end_is_not_looked_at(tmp_path, monkeypatch):
    nem12_of_homes(tmp_path / "e.csv", homes=40)
    complete = against(tmp_path / "e.csv", NEM12)
    look_at(monkeypatch, "nem12", 5000)
    assert complete == against(tmp_path / "e.csv", NEM12) == []
    text = (tmp_path / "e.csv").read_text().replace(",0.5,", ",oops,", 1)
    (tmp_path / "e.csv").write_text(text)
    assert "row 3" in str(against(tmp_path / "e.csv", NEM12)[0])


def green_button_of_homes(path, homes: int, *, types_last: bool) -> None:
    """Hourly days of some usage points, with the one reading type before or behind all readings."""
    entries = [reading_type()] if not types_last else []
    for home in range(homes):
        point = f"https://utility/espi/1_1/resource/RetailCustomer/5/UsagePoint/{home}"
        entries += [usage_point(point), meter_reading(point=point)]
        entries += [block(np.full(24, 500), point=point, start=START + 86400 * day, name=day) for day in range(2)]
    write_feed(path.parent, *entries, *([reading_type()] if types_last else []), name=path.name)


@pytest.mark.parametrize("types_last", [False, True])
def test_of_a_large_feed_no_more_is_looked_at_than_tells_what_its_readings_are(tmp_path, monkeypatch, types_last):
    green_button_of_homes(tmp_path / "e.xml", homes=12, types_last=types_last)
    whole = examine(tmp_path / "e.xml")
    look_at(monkeypatch, "green_button", (tmp_path / "e.xml").stat().st_size // 3)
    found = examine(tmp_path / "e.xml")
    assert found.findings == [] and found.trial.whole is types_last and whole.trial.whole
    homes = len(found.trial.survey.meter_ids)
    assert homes == 12 if types_last else 2 <= homes <= 4
    assert found.trial.counts[USED] == homes * 48 == found.trial.counts.sum()
    assert found.settings == whole.settings
    section = {**found.settings, "meters": None}
    assert against(tmp_path / "e.xml", section) == []
    text = (tmp_path / "e.xml").read_text().replace("<value>500</value>", "<value>oops</value>", 1)
    (tmp_path / "e.xml").write_text(text)
    assert "is not a number" in str(against(tmp_path / "e.xml", section)[0])


_DIGITS = st.sampled_from(["1", "12", "25", "13", "2025", "00", "59"])
_MARKS = st.sampled_from(["-", "/", ".", ":", " ", "  ", "Mar", "mar", "PM", "am", "T"])


@settings(deadline=None)
@given(st.lists(st.one_of(_DIGITS, _MARKS), min_size=1, max_size=11).map("".join))
def test_no_format_is_passed_over_that_pandas_would_read(text):
    """Where nothing stands for the year pandas reads the year 0."""
    read = {known: pd.to_datetime(text.strip(), format=known, errors="coerce") for known in FORMATS}
    expected = [known for known, time in read.items() if pd.notna(time) and time.year > 0]
    bare = re.fullmatch(r"\d{8}|\d{12}|\d{14}", text.strip())
    if expected and not bare:
        assert formats_that_fit([text]) == expected
