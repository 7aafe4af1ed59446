"""NEM12 on hand-made files: sums over registers, qualities, intervals, market time; what is refused or counted."""

import csv
import gzip
import os
import re
from dataclasses import replace
from itertools import chain

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from meterdp.__main__ import main
from meterdp.core.config import complete, load_schema
from meterdp.errors import InputError
from meterdp.ingest.dense import REASONS
from meterdp.ingest.meter_list import MeterList
from meterdp.ingest.readers import nem12
from meterdp.ingest.readers.interface import READERS
from meterdp.ingest.settings import ExportSettings
from tests.conftest import ROOT
from tests.unit.ingest.made_up import fuzz, ingested, pack, read_all, refusal

MUTATIONS = int(os.environ.get("METERDP_REWRITES", "120"))
HEAD, END = "100,NEM12,202304120954,MDP,RETAILER", "900"
DAY = "20230401"
MIDNIGHT = pd.Timestamp("2023-03-31T14:00", tz="UTC")  # of that day in UTC+10


def details(nmi="NMI0000001", suffix="E1", configured="E1", minutes=30, unit="kWh") -> str:
    return f"200,{nmi},{configured},,{suffix},N1,SERIAL,{unit},{minutes},"


def day(values, quality="A", date=DAY) -> str:
    return ",".join(["300", date, *map(str, values), quality, "", "", "20230402000000", ""])


def write(tmp_path, *rows, head=HEAD, end=END, name="e.csv"):
    path = tmp_path / name
    path.write_text("\n".join(filter(None, (head, *rows, end))) + "\n")
    return path


def options(**other) -> ExportSettings:
    return ExportSettings(**{"format": "nem12", "time_zone": "Australia/Sydney", "interval_minutes": 30, **other})


def refused(path, **other) -> str:
    return refusal(path, lambda: read_all(nem12, path, options(**other)), ("NMI0000001", DAY))


HALF_HOURS = np.arange(1, 49) / 8


@pytest.mark.parametrize("zone", ["Australia/Sydney", "Australia/Perth", "UTC", "America/Los_Angeles"])
def test_days_start_at_midnight_of_market_time_wherever_the_households_live(tmp_path, zone):
    result = ingested(write(tmp_path, details(), day(HALF_HOURS)), options(time_zone=zone))
    assert result.counts == {"used": 48}
    assert result.energy_kwh.index[0] == MIDNIGHT and result.energy_kwh["NMI0000001"].tolist() == HALF_HOURS.tolist()


@pytest.mark.parametrize("date", ["20230402", "20231001"])  # Sydney sets its clock back, and forward
def test_market_time_knows_no_summer_time(tmp_path, date):
    result = ingested(write(tmp_path, details(), day(HALF_HOURS, date=date)), options())
    assert result.counts == {"used": 48}
    assert (np.diff(result.energy_kwh.index) == pd.Timedelta("30min")).all()


@pytest.mark.parametrize("minutes", [5, 10, 15, 30, 60])
@pytest.mark.parametrize(("unit", "per_kwh"), [("kWh", 1), ("KWH", 1), ("Wh", 1000), ("wh", 1000), ("MWh", 0.001)])
def test_every_interval_length_and_unit(tmp_path, minutes, unit, per_kwh):
    values = np.arange(1440 // minutes)
    path = write(tmp_path, details(minutes=minutes, unit=unit), day([repr(v * per_kwh) for v in values.tolist()]))
    result = ingested(path, options(interval_minutes=minutes))
    np.testing.assert_allclose(result.energy_kwh["NMI0000001"], values, rtol=1e-15)


def test_whole_watt_hours_become_the_nearest_kilowatt_hours(tmp_path):
    path = write(tmp_path, details(unit="Wh"), day([123] * 48))
    assert ingested(path, options()).at("NMI0000001", "2023-03-31T14:00") == 0.123


def test_registers_are_summed_and_each_reading_is_counted_once(tmp_path):
    rows = [details(suffix="E1", configured="B1E1E2Q1"), day(HALF_HOURS)]
    rows += [details(suffix="E2", configured="B1E1E2Q1", unit="Wh"), day(HALF_HOURS * 1000)]
    rows += [details(suffix="B1", configured="B1E1E2Q1"), day([1] * 48)]
    rows += [details(suffix="Q1", configured="B1E1E2Q1", unit="kVArh", minutes=15), day([9] * 96)]
    consumption = ingested(write(tmp_path, *rows), options())
    assert consumption.counts == {"used": 48, "part_of_sum": 48, "other_register": 48 + 96}
    assert consumption.energy_kwh["NMI0000001"].tolist() == (2 * HALF_HOURS).tolist()
    net = ingested(write(tmp_path, *rows), options(flow="net"))
    assert net.counts == {"used": 48, "part_of_sum": 96, "other_register": 96}
    assert net.energy_kwh["NMI0000001"].tolist() == (2 * HALF_HOURS - 1).tolist()


def test_equal_registers_leave_exactly_nothing(tmp_path):
    values = np.random.default_rng(0).gamma(1, 0.1, 288).round(3)
    rows = [row for s in ("E1", "B1") for row in (details(suffix=s, configured="E1B1", minutes=5), day(values))]
    assert (ingested(write(tmp_path, *rows), options(flow="net")).energy_kwh["NMI0000001"] == 0).all()


@pytest.mark.parametrize("configured", ["E1E2", "", "no list"])
def test_a_register_that_is_missing_on_a_day_leaves_the_day_missing(tmp_path, configured):
    rows = [details(configured=configured), day(HALF_HOURS), day(HALF_HOURS, date="20230402")]
    rows += [details(suffix="E2", configured=configured), day(HALF_HOURS)]
    result = ingested(write(tmp_path, *rows), options())
    assert result.counts == {"used": 48, "part_of_sum": 48, "sum_incomplete": 48}
    assert len(result.energy_kwh) == 48


WORDS_FOR_MISSING = {"missing_words": ("", "NULL", "-999")}
COUNTED = {
    "a change of meter": (
        [details(), day(HALF_HOURS), details(suffix="E2", configured="E2B2"), day(HALF_HOURS, date="20230402")],
        *({}, {"used": 96}),
    ),
    "null readings and empty cells": (
        [details(), day(["", " ", "NaN", "Null", *["0"] * 44]), day(["0"] * 48, "N", "20230402")],
        *({}, {"used": 44, "value_missing": 4 + 48}),
    ),
    "an empty cell where no word means a missing one": (
        [details(), day(["", *["1"] * 47])],
        *({"missing_words": ()}, {"used": 47, "value_missing": 1}),
    ),
    **{
        f"a missing word that is a number beside '{other}'": (
            [details(), day(["-999", other, *["0.5"] * 46])],
            *(WORDS_FOR_MISSING, {"used": 46 + used, "value_missing": 2 - used}),
        )
        for other, used in {"0.25": 1, "": 0, "NULL": 0}.items()
    },
    **{
        f"estimated or substituted as {quality}": ([details(), day(HALF_HOURS, quality)], {}, {"used": 48})
        for quality in ("A", "E52", "F14", "S14", "s14")
    },
}


@pytest.mark.parametrize(("rows", "other", "counts"), COUNTED.values(), ids=COUNTED)
def test_what_becomes_of_readings(tmp_path, rows, other, counts):
    result = ingested(write(tmp_path, *rows), options(**other))
    assert result.counts == counts
    # A missing reading is never zero.
    assert result.energy_kwh["NMI0000001"].notna().sum() == counts["used"]


def test_event_records_say_which_readings_of_a_day_are_null(tmp_path):
    rows = [details(), day(HALF_HOURS, "V"), "400,1,20,A,,", "400,21,24,N,,", "400,25,48,S14,1,", "500,O,S01,,"]
    result = ingested(write(tmp_path, *rows), options())
    assert result.counts == {"used": 44, "value_missing": 4}
    energy = result.energy_kwh["NMI0000001"].to_numpy()
    assert np.isnan(energy[20:24]).all() and energy[19] == HALF_HOURS[19] and energy[24] == HALF_HOURS[24]


EVENTS = {
    "none": ([], 48),
    "not all": (["400,1,20,A,,", "400,31,48,N,,"], 10),
    "beyond the day": (["400,1,49,A,,"], 48),
    "backwards": (["400,20,1,A,,"], 48),
    "no number": (["400,1,x,A,,"], 48),
    "no quality": (["400,1,48,,,"], 48),
    "varies itself": (["400,1,48,V,,"], 48),
}


@pytest.mark.parametrize(("events", "unknown"), EVENTS.values(), ids=EVENTS)
def test_a_quality_that_varies_but_is_not_given_is_refused_or_counted(tmp_path, events, unknown):
    path = write(tmp_path, details(), day(HALF_HOURS, "V"), *events)
    assert ", row " in refused(path)
    assert read_all(nem12, path, options(bad_rows="missing")).became["quality_unknown"] == unknown


def test_shorter_intervals_are_summed_only_if_all_parts_are_there(tmp_path):
    values = ["", *["0.5"] * 287]
    result = ingested(write(tmp_path, details(minutes=5), day(values)), options(interval_minutes=15))
    assert result.counts == {"used": 95, "part_of_sum": 190, "sum_incomplete": 2, "value_missing": 1}
    assert (result.energy_kwh["NMI0000001"] == 1.5).all()


@pytest.mark.parametrize(("minutes", "interval_minutes"), [(30, 15), (10, 15), (60, 30)])
def test_intervals_that_cannot_be_summed_are_never_used(tmp_path, minutes, interval_minutes):
    other = [details(nmi="NMI0000002", minutes=interval_minutes), day([1] * (1440 // interval_minutes))]
    path = write(tmp_path, details(minutes=minutes), day([1] * (1440 // minutes)), *other)
    result = ingested(path, options(interval_minutes=interval_minutes))
    assert result.counts == {"used": 1440 // interval_minutes, "interval_differs": 1440 // minutes}
    alone = write(tmp_path, details(minutes=minutes), day([1] * (1440 // minutes)))
    assert "set export.interval_minutes" in refused(alone, interval_minutes=interval_minutes)


def test_intervals_of_an_hour_follow_the_local_clock(tmp_path):
    """Full hours of Adelaide, UTC+9:30, lie between those of market time, also over midnight."""
    rows = [details(), day(HALF_HOURS), day(HALF_HOURS, date="20230402")]
    result = ingested(write(tmp_path, *rows), options(interval_minutes=60, time_zone="Australia/Adelaide"))
    assert result.counts == {"used": 47, "part_of_sum": 47, "sum_incomplete": 2}
    expected = np.tile(HALF_HOURS, 2)[1:-1].reshape(-1, 2).sum(axis=1)
    assert result.energy_kwh["NMI0000001"].tolist() == expected.tolist()
    assert set(result.energy_kwh.index.tz_convert("Australia/Adelaide").minute) == {0}


def test_a_day_sent_again_supersedes_reading_by_reading(tmp_path):
    again = [*[""] * 8, *HALF_HOURS[8:24], *[7] * 24]
    other = [details(nmi="NMI0000002"), day(HALF_HOURS)]
    result = ingested(write(tmp_path, details(), day(HALF_HOURS), *other, details(), day(again)), options())
    counts = {"used": 96, "value_missing": 8, "duplicate_identical": 16, "superseded_by_later_row": 24}
    assert result.counts == counts
    assert result.energy_kwh["NMI0000001"].tolist() == [*HALF_HOURS[:24], *[7] * 24]


def test_a_day_sent_again_in_other_intervals_supersedes(tmp_path):
    rows = [details(), day(HALF_HOURS), details(minutes=15), day([1] * 96)]
    result = ingested(write(tmp_path, *rows), options())
    assert result.counts == {"used": 48, "part_of_sum": 48, "superseded_by_later_row": 48}
    assert (result.energy_kwh["NMI0000001"] == 2).all()
    result = ingested(write(tmp_path, *rows[2:], *rows[:2]), options())
    assert result.counts == {"used": 48, "superseded_by_later_row": 96}


def test_where_the_blocks_of_a_household_stand_does_not_matter(tmp_path):
    blocks = [
        [details(nmi=nmi, suffix=suffix, configured="E1E2"), day(HALF_HOURS * (i + 1))]
        for i, (nmi, suffix) in enumerate((n, s) for n in ("NMI0000001", "NMI0000002") for s in ("E1", "E2"))
    ]
    tables = []
    for order in ([0, 1, 2, 3], [0, 2, 1, 3], [3, 1, 2, 0]):
        path = write(tmp_path, *(row for i in order for row in blocks[i]))
        tables.append(ingested(path, options(), batch_bytes=100).energy_kwh)
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])


@pytest.mark.parametrize("packing", ["gz", "zip", "windows", "mark"])
def test_packings_and_line_ends(tmp_path, packing):
    plain = write(tmp_path, details(), day(HALF_HOURS)).read_bytes()
    changed = {
        "gz": gzip.compress(plain),
        "zip": pack(tmp_path / "e.zip", {"e.csv": plain}, zipped=True).read_bytes(),
        "windows": plain.replace(b"\n", b"\r\n"),
        "mark": b"\xef\xbb\xbf" + plain,
    }
    path = tmp_path / "changed"
    path.write_bytes(changed[packing])
    assert ingested(path, options()).counts == {"used": 48}


BROKEN = {
    "fewer values": ([details(), day(HALF_HOURS[:47])], ", row 3: has 47 values", {"row_malformed": 47}),
    "more values": ([details(), day([*HALF_HOURS, 1])], ", row 3: has 49 values", {"row_malformed": 49}),
    "5 minutes under 15": (
        [details(minutes=15), day([1] * 288)],
        ", row 3: has 288 values where the interval length of its 200 record asks for 96",
        {"row_malformed": 288},
    ),
    "no quality": ([details(), day(HALF_HOURS, "")], ", row 3: has no quality", {"row_malformed": 53}),
    "no values": ([details(), f"300,{DAY},V,,,"], ", row 3: has 0 values", {"row_malformed": 1}),
    "cut short": ([details(), f"300,{DAY},1,2"], ", row 3: has 2 values", {"row_malformed": 2}),
    "no date": ([details(), day(HALF_HOURS, date="20230231")], "IntervalDate", {"stamp_unreadable": 48}),
    "no number": ([details(), day(["x1", *[1] * 47])], "field 'IntervalValue1'", {"value_unreadable": 1, "used": 47}),
    "no block": ([day(HALF_HOURS)], ", row 2: has no 200 record above it", {"row_malformed": 48}),
    "no NMI": ([details(nmi=" "), day(HALF_HOURS)], ", row 2, field 'NMI'", {"meter_missing": 48}),
    "no suffix": ([details(suffix="1"), day(HALF_HOURS)], "field 'NMISuffix'", {"row_malformed": 48}),
    "no unit": ([details(unit=""), day(HALF_HOURS)], "field 'UOM'", {"unit_differs": 48}),
    "reactive unit": ([details(unit="kVArh"), day(HALF_HOURS)], "field 'UOM'", {"unit_differs": 48}),
    "no interval": ([details(minutes=""), day(HALF_HOURS)], "field 'IntervalLength'", {"row_malformed": 48}),
    "odd interval": ([details(minutes=7), day(HALF_HOURS)], "field 'IntervalLength'", {"row_malformed": 48}),
    "unknown record": ([details(), "301,x"], ", row 3: is not a NEM12 record", {"row_malformed": 1}),
    "a NEM13 file behind": ([details(), "100,NEM13,1"], ", row 3: is not a NEM12 record", {"row_malformed": 1}),
    "no text": ([details(), "300,\udcff"], ", row 3: is not a NEM12 record", {"row_malformed": 1}),
}


@pytest.mark.parametrize(("rows", "sentence", "counts"), BROKEN.values(), ids=BROKEN)
def test_a_row_that_cannot_be_read_is_refused_by_its_number_or_counted(tmp_path, rows, sentence, counts):
    path = tmp_path / "e.csv"
    path.write_bytes("\n".join([HEAD, *rows, END, ""]).encode(errors="surrogateescape"))
    assert sentence in refused(path)
    good = [details(nmi="NMI0000002", configured="E1"), day(HALF_HOURS)]
    path.write_bytes("\n".join([HEAD, *rows, *good, END, ""]).encode(errors="surrogateescape"))
    result = read_all(nem12, path, options(bad_rows="missing"))
    expected = {**counts, "used": counts.get("used", 0) + 48}
    assert {k: v for k, v in result.became.items() if v} == expected
    assert [v for k, v in sorted(result.kwh.items()) if k[0] == "NMI0000002"] == HALF_HOURS.tolist()


def test_a_broken_row_does_not_give_its_days_to_the_household_above(tmp_path):
    rows = [details(nmi="NMI0000002"), day(HALF_HOURS), "2O0,NMI0000001,E1,,E1,N1,S,kWh,30,", day([9] * 48)]
    result = read_all(nem12, write(tmp_path, *rows), options(bad_rows="missing"))
    assert sorted(result.kwh.values()) == HALF_HOURS.tolist()
    assert {k: v for k, v in result.became.items() if v} == {"used": 48, "row_malformed": 1 + 48}


def test_a_file_without_its_header_or_end_is_refused(tmp_path):
    rows = [details(), day(HALF_HOURS)]
    assert "has no header record" in refused(write(tmp_path, *rows, head=""))
    assert "it is cut short" in refused(write(tmp_path, *rows, end=""))
    assert "holds no readings" in refused(write(tmp_path))
    assert "is NEM13" in refused(write(tmp_path, *rows, head="100,NEM13,200405011135,MDA1,Ret1"))
    path = tmp_path / "e.csv"
    path.write_bytes(b"\n" + write(tmp_path, *rows).read_bytes())
    assert "has no header record" in refused(path)


@pytest.mark.parametrize("end", ["no end record", "within a row"])
@pytest.mark.parametrize("files", [1, 2, 3, 7])
def test_with_a_list_a_file_that_is_cut_short_is_counted_and_named(tmp_path, end, files):
    """What stands before the cut counts. The last file is whole, unless there is one alone."""
    whole = write(tmp_path, details(), day(HALF_HOURS)).read_bytes()
    cut = whole.removesuffix(b"900\n") + (b"200,NMI0000002,E1,,E1,N1," if end == "within a row" else b"")
    (tmp_path / "export").mkdir()
    texts = {f"{n}.csv": whole if 0 < n == files - 1 else cut for n in range(files)}
    path = pack(tmp_path / "export", texts)
    settings = {"format": "nem12", "interval_minutes": 30, "time_zone": "Australia/Brisbane", "meters": "list.csv"}
    settings |= {"first_day": "2023-04-01", "last_day": "2023-04-01"}
    listed = ["NMI0000001"]
    for _ in range(2):  # from the files, and from what was kept of them
        result = ingested(path, settings, listed=listed, folder=tmp_path, kept_folder=tmp_path / "kept")
        assert result.given == {"NMI0000001": HALF_HOURS.tolist()}
        assert result.counts["file_unreadable"] == max(files - 1, 1)
        report = pd.read_parquet(tmp_path / "report.parquet").set_index("reason")
        where = {1: ".", 2: " (file 1 of 2, in order of names).", 3: " (files 1 and 2 of 3, in order of names)."}
        where = where.get(files, " (files 1, 2, 3, 4 and 2 more of 7, in order of names).")
        assert report["meaning"]["file_unreadable"].endswith(f"counted once for each such file{where}")


@pytest.mark.parametrize("end", ["no end record", "within a row"])
@pytest.mark.parametrize("listed", [True, False])
def test_a_check_names_a_file_that_is_cut_short(tmp_path, capsys, end, listed):
    """Also where rows above the cut cannot be read; without a list both would end a study, and one is enough."""
    files, ends = {}, {2: details(suffix="") if end == "within a row" else ""}
    for number in range(1, 4):
        dates = pd.date_range(f"2023-0{number}-01", periods=20).strftime("%Y%m%d")
        rows = [row for nmi in "AB" for row in (details(nmi=nmi), *(day(HALF_HOURS, date=date) for date in dates))]
        files[f"{number}.csv"] = write(tmp_path, *rows, end=ends.get(number, END)).read_bytes()
    (tmp_path / "export").mkdir()
    export = {"path": str(pack(tmp_path / "export", files)), "format": "nem12", "interval_minutes": 30}
    export |= {"time_zone": "Australia/Brisbane", "first_day": "2023-01-01", "last_day": "2023-03-20"}
    (tmp_path / "list.csv").write_text("meter_id\nA\nB\n")
    export |= {"meters": str(tmp_path / "list.csv")} if listed else {}
    (tmp_path / "my.yaml").write_text(yaml.safe_dump({"export": export}))
    assert main(["check", "--config", str(tmp_path / "my.yaml")]) == (not listed)
    said = capsys.readouterr().out
    where, words = "export, file 2 of 3, in order of names", ": has no end record (900): it is cut short"
    if end == "within a row":
        row = ", row 44, field 'NMISuffix': is not a letter"
        words = ": cut short or damaged, and what should follow there is missing" if listed else row
    assert said.split("\n\n")[0].count(where + words) == 1
    assert "nothing in them counts" not in said


@pytest.fixture
def months(tmp_path, monkeypatch):
    """An export of three months of twenty meters with panels, of which a check looks at the first meters of each."""
    monkeypatch.setitem(READERS, "nem12", replace(READERS["nem12"], trial_bytes=70_000))
    values, files = np.where(np.arange(48) // 8 == 3, 0.1, 0.5), {}
    for number, days in enumerate((31, 28, 31), start=1):
        dates = pd.date_range(f"2023-0{number}-01", periods=days).strftime("%Y%m%d").tolist()
        rows = []
        for meter in range(20):
            corrected = ["20230130", "20230131"] if number == 2 and meter == 1 else []
            rows += [details(nmi=f"M{meter:02}"), *(day(values, date=date) for date in [*corrected, *dates])]
        files[f"{number}.csv"] = write(tmp_path, *rows).read_bytes()
    (tmp_path / "export").mkdir()
    (tmp_path / "list.csv").write_text("\n".join(["meter_id", *(f"M{meter:02}" for meter in range(20))]))
    return pack(tmp_path / "export", files)


def test_beginnings_of_files_tell_of_their_meters_alone(tmp_path, capsys, months):
    """Those of the shortest month name meters that others do not, and that are no less whole for it."""
    assert main(["check", str(months), "--time-zone", "Australia/Sydney"]) == 0
    said = capsys.readouterr().out
    meters = re.search(r"^  (\d+) meters, .* usable readings \(first rows only\)$", said, re.MULTILINE)[1]
    assert 7 <= int(meters) < 20 and "have enough of them for a study" not in said
    assert "0.0% of a typical meter's readings are missing" in said
    assert "later days follow" not in said and "is a guess" not in said
    # Days of market time begin at 1:00 of summer time.
    assert "first_day: '2023-01-01'" in said and "last_day: '2023-03-31'" in said
    lowest = "use is lowest around 15:00 by Australia/Sydney; in most homes that is before dawn, in those with solar"
    assert lowest in said


def test_meters_that_are_not_in_the_beginnings_of_files_may_stand_further_down(tmp_path, capsys, months):
    export = {"path": str(months), "format": "nem12", "interval_minutes": 30, "time_zone": "Australia/Sydney"}
    export |= {"first_day": "2023-01-01", "last_day": "2023-03-31", "meters": str(tmp_path / "list.csv")}
    (tmp_path / "my.yaml").write_text(yaml.safe_dump({"export": export}))
    assert main(["check", "--config", str(tmp_path / "my.yaml")]) == 0
    said = capsys.readouterr().out
    assert re.search(r"\(3 files; (\d+) listed meters in the first rows, \1 of them with readings\)", said)
    assert "seem to name all meters" not in said and "have no reading" not in said


def test_a_file_of_other_registers_alone_is_refused_in_a_sentence(tmp_path):
    path = write(tmp_path, details(suffix="B1", configured="B1"), day(HALF_HOURS))
    assert "most are other_register (" in refused(path) and "set export.flow" in refused(path)
    assert ingested(path, options(flow="net")).energy_kwh["NMI0000001"].tolist() == (-HALF_HOURS).tolist()


@pytest.mark.parametrize("other", [{"unit": "Wh"}, {"stamp": "end"}])
def test_settings_that_the_file_says_itself_are_refused(other):
    with pytest.raises(InputError, match="leave it out"):
        options(**other)
    with pytest.raises(InputError, match="leave it out"):
        ExportSettings.from_config({"format": "nem12", "stamp_time_zone": "UTC"})


def test_what_a_file_looks_like():
    assert nem12.version(b"100,NEM12,2004") == nem12.version(b'\xef\xbb\xbf"100","NEM12"') == "NEM12"
    assert nem12.version(b"100,nem13,2004") == "NEM13"
    assert nem12.version(b"meter_id,kwh\n100,NEM12") is None and nem12.version(b"") is None


def test_a_public_list_of_meters_and_the_settings_of_a_configuration(tmp_path):
    """Sydney is an hour ahead of market time: the last hour of a market day is the first of the next."""
    rows = [details(), day(HALF_HOURS), day(HALF_HOURS[:9], date="20230402"), details(nmi="OTHER"), day(HALF_HOURS)]
    export = {"format": "nem12", "first_day": "2023-04-01", "last_day": "2023-04-01", "interval_minutes": 30}
    export |= {"time_zone": "Australia/Sydney"}
    config = complete({"export": export}, load_schema(ROOT / "workflow/schemas/config.schema.yaml"))
    listed = MeterList({"NMI0000001": "north", "SILENT": None})
    result = ingested(write(tmp_path, *rows), config["export"] | {"meters": "list.csv"}, meter_list=listed)
    circuits = result.meters.set_index("meter_id")["circuit"].fillna("none").to_dict()
    assert circuits == {"NMI0000001": "north", "SILENT": "none"}
    assert result.counts == {"used": 46, "meter_not_listed": 48, "row_malformed": 9, "stamp_outside_period": 2}
    assert len(result.readings) == 2 * 48


OTHER_DAYS = {
    "half hours": [details(), day(HALF_HOURS)],
    "two registers": [
        row for suffix in ("E1", "E2") for row in (details(suffix=suffix, configured="E1E2"), day(HALF_HOURS))
    ],
    "a change to 5 minutes": [details(), day(HALF_HOURS), details(minutes=5), day([1] * 288, date="20230402")],
    "a day sent again": [details(), day(HALF_HOURS), details(), day(HALF_HOURS * 2)],
}


@pytest.mark.parametrize("listed", [None, ["NMI0000001", "NMI0000002"]])
@pytest.mark.parametrize("rows", OTHER_DAYS.values(), ids=OTHER_DAYS)
@pytest.mark.parametrize("period", ["2023-04-05", "2023-02-01"])
def test_a_meter_with_no_day_in_the_period_has_no_reading(tmp_path, rows, period, listed):
    """As in the months of a year of which a quarter is studied, with and without other meters in the file."""
    inside = [details(nmi="NMI0000002"), *(day(HALF_HOURS, date=date) for date in ("20230131", "20230201"))]
    inside += [day(HALF_HOURS, date=date) for date in ("20230404", "20230405")]
    files = {"1.csv": write(tmp_path, *rows), "2.csv": write(tmp_path, *rows, *inside, name="f.csv")}
    folder = tmp_path / "export"
    folder.mkdir()
    path = pack(folder, {name: file.read_bytes() for name, file in files.items()})
    settings = {"format": "nem12", "interval_minutes": 30, "time_zone": "Australia/Sydney"}
    settings |= {"first_day": period, "last_day": period} | ({"meters": "list.csv"} if listed else {})
    result = ingested(path, settings, listed=listed)
    assert {meter: len(kwh) for meter, kwh in result.given.items()} == {"NMI0000002": 48}
    assert result.counts["stamp_outside_period"] >= 2 * 48


def test_households_that_stand_together_are_let_go_one_by_one(tmp_path):
    rows = [row for i in range(40) for row in (details(nmi=f"M{i}"), day(HALF_HOURS))]
    sizes = [len(batch.energy) for batch in nem12.batches(write(tmp_path, *rows), options(), batch_bytes=32 * 48)]
    assert sizes == [48] * 40


ORDINARY = [
    [details("A", "E1", "E1E2", 15), day(range(96)), details("A", "E2", "E1E2"), day(range(48)), "400,1,48,A,,"],
    [details("B", "E1", "E1", 30), day(range(48), "V"), "400,1,40,A,,", "400,41,48,N,,", "500,O,S,,"],
    [details("C", "B1", "B1E1", 5, "Wh"), day(range(288)), details("C", "E1", "B1E1", 5, "Wh"), day(range(288))],
]
WORDS = ["", *'x 1e999 -1 nan 200 300 400 900 V N E2 kVArh 5 20231332 " \0'.split()]


@st.composite
def mutants(draw, rows=None) -> list[str]:
    """Rows of an ordinary file after some accidents."""
    rows = list(rows or chain(*ORDINARY))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(rows) - 1))
        fields = rows[at].split(",")
        field = draw(st.sampled_from([0, 1, 2, 4, 7, 8, len(fields) - 6, len(fields) - 1])) % len(fields)
        accident = draw(st.sampled_from(["field", "cut", "grow", "drop", "copy", "swap", "text"]))
        if accident == "field":
            fields[field] = draw(st.sampled_from(WORDS))
            rows[at] = ",".join(fields)
        elif accident == "cut":
            rows[at] = ",".join(fields[: draw(st.integers(0, len(fields)))])
        elif accident == "grow":
            rows[at] = ",".join([*fields[:field], *["1"] * draw(st.integers(1, 300)), *fields[field:]])
        elif accident == "drop" and len(rows) > 1:
            del rows[at]
        elif accident == "copy":
            rows.insert(draw(st.integers(0, len(rows))), rows[at])
        elif accident == "swap":
            other = draw(st.integers(0, len(rows) - 1))
            rows[at], rows[other] = rows[other], rows[at]
        else:
            rows[at] = draw(st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), max_size=40))
    return rows


@fuzz(MUTATIONS)
@given(rows=mutants(), flow=st.sampled_from(["consumption", "net"]))
def test_accidents_lose_nothing(tmp_path, rows, flow):
    """Every reading of the file is used or counted, and a strict run does the same or says a sentence."""
    path = write(tmp_path, *rows)
    result = read_all(nem12, path, options(bad_rows="missing", flow=flow))
    assert set(result.became) <= set(REASONS) and min(result.became.values(), default=0) >= 0
    assert sum(result.became.values()) == naive_readings(rows)
    try:
        strict = read_all(nem12, path, options(flow=flow))
    except InputError as error:
        assert str(error).endswith(".")
    else:
        assert strict.kwh == result.kwh and strict.became == result.became


BEFORE = {}  # what the rows below hold as they were


@fuzz(MUTATIONS)
@given(data=st.data(), victim=st.integers(0, 2))
def test_a_household_that_rewrites_its_rows_moves_no_other(tmp_path, data, victim):
    """As far as the format allows: rows before its first 200 record are those of the household above."""
    tolerant = options(bad_rows="missing", flow="net")
    if not BEFORE:
        BEFORE.update(read_all(nem12, write(tmp_path, *chain(*ORDINARY)), tolerant).kwh)
    rows = data.draw(mutants(ORDINARY[victim]))
    rewritten = [["2O0,nobody", *rows] if i == victim else household for i, household in enumerate(ORDINARY)]
    after = read_all(nem12, write(tmp_path, *chain(*rewritten)), tolerant)
    name = "ABC"[victim]
    others = [
        {key: kwh for key, kwh in found.items() if key[0] in {*"ABC"} - {name}} for found in (BEFORE, after.kwh)
    ]
    assert others[0] == others[1] and len(others[0]) > 48


QUALITIES = {letter + method for letter in "AEFNSV" for method in ("", *(f"{n:02}" for n in range(100)))}


def naive_readings(rows: list[str]) -> int:
    """What stands between date and quality of the 300 records, and one for each row that is nothing at all."""
    count = 0
    for row in rows:
        try:
            fields = [field.strip() for field in next(csv.reader([row], strict=True), [])]
        except csv.Error:
            fields = ["cannot be split"]
        if not any(fields):
            continue
        if fields[0] == "300":
            letters = [i for i, field in enumerate(fields) if i > 1 and field.upper() in QUALITIES]
            count += max(1, (letters[0] if letters else len(fields)) - 2)
        elif fields[0] not in ("200", "400", "500", "900"):
            count += not (fields[0] == "100" and fields[1:2] == ["NEM12"])
    return count
