"""Hostile files: what becomes of every row, with counts that add up to the rows read, and every canonical reading."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp.ingest.settings import ExportSettings
from tests.unit.ingest.made_up import ingested, pack

HEADER = "meter_id,interval_start,kwh\n"
HOURS = {"interval_minutes": 60}
DAY = {"first_day": "2021-06-01", "last_day": "2021-06-01"}
NAN = float("nan")


@dataclass(frozen=True)
class Case:
    """A file and its verdict."""

    name: str
    files: str | bytes | dict  # one file, or several in a folder
    counts: dict  # rows per reason
    kwh: dict  # canonical readings of each meter from the first slot of the grid on
    rows: int  # of data in the files, counted by hand
    settings: dict = field(default_factory=dict)  # as in the section ``export``


def lines(*rows: str) -> str:
    """Return a long CSV of hours of 1 June 2021: 'meter hour reading', or 'meter stamp reading'."""
    out = []
    for row in rows:
        meter, stamp, *value = row.split(" ")
        when = f"2021-06-01 {stamp}:00" if len(stamp) == 2 else stamp.replace("T", " ")
        out.append(",".join([meter, when, *value]))
    return HEADER + "\n".join(out) + "\n"


def clock_day(zone: str, day: str, minutes: int, *, backwards: bool = False) -> str:
    """Return a local day of a clock change as a wall clock shows it; reading k is that of the k-th interval."""
    start = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone))
    end = (datetime.fromisoformat(day) + timedelta(days=1)).replace(tzinfo=ZoneInfo(zone))
    count = round((end.timestamp() - start.timestamp()) / 60 / minutes)
    instants = [datetime.fromtimestamp(start.timestamp() + 60 * minutes * k, ZoneInfo(zone)) for k in range(count)]
    rows = [f"m,{t:%Y-%m-%d %H:%M},{k}" for k, t in enumerate(instants)]
    return HEADER + "\n".join(reversed(rows) if backwards else rows) + "\n"


def plain_day(day: str, minutes: int) -> str:
    """Return a day of 24 hours of a clock that is never changed; reading k is that of the k-th label."""
    labels = [datetime.fromisoformat(day) + timedelta(minutes=minutes * k) for k in range(1440 // minutes)]
    return HEADER + "".join(f"m,{t:%Y-%m-%d %H:%M},{k}\n" for k, t in enumerate(labels))


def one_day(zone: str, day: str, minutes: int) -> dict:
    return {"time_zone": zone, "interval_minutes": minutes, "first_day": day, "last_day": day}


ZURICH_SPRING = one_day("Europe/Zurich", "2021-03-28", 15)
ZURICH_AUTUMN = one_day("Europe/Zurich", "2021-10-31", 15)
LONDON_SPRING = one_day("Europe/London", "2013-03-31", 30)
LONDON_AUTUMN = one_day("Europe/London", "2013-10-27", 30)

# Of the hour at 02:00 on in half hours; the one at 04:00 is missing, and of 03:00 there is one alone.
CHANGED = lines("m 00 1", "m 01 2", "m 02 3", "m 2021-06-01T02:30 4", "m 03 9", "m 05 9", "m 2021-06-01T05:30 4")

CASES = [
    Case(
        "46 half-hours of a spring day",
        clock_day("Europe/London", "2013-03-31", 30), {"used": 46}, {"m": list(range(46))}, 46, LONDON_SPRING,
    ),
    Case(
        "50 half-hours of an autumn day",
        clock_day("Europe/London", "2013-10-27", 30), {"used": 50}, {"m": list(range(50))}, 50, LONDON_AUTUMN,
    ),
    Case(
        "92 quarter-hours of a spring day",
        clock_day("Europe/Zurich", "2021-03-28", 15), {"used": 92}, {"m": list(range(92))}, 92, ZURICH_SPRING,
    ),
    Case(
        "100 quarter-hours of an autumn day",
        clock_day("Europe/Zurich", "2021-10-31", 15), {"used": 100}, {"m": list(range(100))}, 100, ZURICH_AUTUMN,
    ),
    Case(
        "100 quarter-hours, newest first",
        clock_day("Europe/Zurich", "2021-10-31", 15, backwards=True),
        {"used": 100}, {"m": list(range(100))}, 100, ZURICH_AUTUMN,
    ),
    Case(
        "96 labels on an autumn day: the second pass of the hour is missing",
        plain_day("2021-10-31", 15), {"used": 96},
        {"m": [*range(12), *[NAN] * 4, *range(12, 96)]}, 96, ZURICH_AUTUMN,
    ),
    Case(
        "48 labels on a spring day: a clock that was not changed",
        plain_day("2013-03-31", 30), {"used": 46, "nonexistent_local_time": 2},
        {"m": [0, 1, *range(4, 48)]}, 48, LONDON_SPRING,
    ),
    Case(
        "an autumn day in UTC with a Z",
        HEADER + "".join(f"m,2021-10-30T{h:02d}:00:00Z,{h}\n" for h in (22, 23))
        + "".join(f"m,2021-10-31T{h:02d}:00:00Z,{h}\n" for h in range(23)),
        {"used": 25}, {"m": [22, 23, *range(23)]}, 25,
        one_day("Europe/Zurich", "2021-10-31", 60) | {"time_format": "ISO8601"},
    ),
    Case("an equal row twice", lines("m 00 1", "m 00 1"), {"used": 1, "duplicate_identical": 1}, {"m": [1]}, 2),
    Case(
        "an equal row written otherwise",
        lines("m 00 1", "m 00 1.000"), {"used": 1, "duplicate_identical": 1}, {"m": [1]}, 2,
    ),
    Case(
        "different rows: the last counts",
        lines("m 00 1", "m 00 2", "m 01 5"), {"used": 2, "superseded_by_later_row": 1}, {"m": [2, 5]}, 3,
    ),
    Case(
        "different rows: none counts",
        lines("m 00 1", "m 00 2", "m 01 5"), {"used": 1, "conflicting_rows": 2}, {"m": [NAN, 5]}, 3,
        {"conflicting_rows": "missing"},
    ),
    Case(
        "three different rows: none counts",
        lines("m 00 1", "m 00 2", "m 01 5", "m 00 3"), {"used": 1, "conflicting_rows": 3}, {"m": [NAN, 5]}, 4,
        {"conflicting_rows": "missing"},
    ),
    Case(
        "back to the first of two different readings: none counts",
        lines("m 00 1", "m 00 2", "m 00 1", "m 01 5"), {"used": 1, "conflicting_rows": 3}, {"m": [NAN, 5]}, 4,
        {"conflicting_rows": "missing"},
    ),
    Case(
        "back to the first of two different readings: the last counts",
        lines("m 00 1", "m 00 2", "m 00 1"), {"used": 1, "superseded_by_later_row": 2}, {"m": [1]}, 3,
    ),
    Case(
        "equal, then different: none counts",
        lines("m 00 1", "m 00 1", "m 00 2", "m 01 5"),
        {"used": 1, "duplicate_identical": 1, "conflicting_rows": 2}, {"m": [NAN, 5]}, 4,
        {"conflicting_rows": "missing"},
    ),
    Case(
        "a missing word contradicts nothing",
        lines("m 00 1", "m 00 Null", "m 01 5"), {"used": 2, "value_missing": 1}, {"m": [1, 5]}, 3,
        {"conflicting_rows": "missing"},
    ),
    Case(
        "different rows of one meter are no matter of another's",
        lines("a 00 1", "b 00 2", "b 00 3", "a 01 4", "b 01 5"), {"used": 3, "conflicting_rows": 2},
        {"a": [1, 4], "b": [NAN, 5]}, 5, {"conflicting_rows": "missing"},
    ),
    Case(
        "a file sent again below itself, one reading revised",
        lines(*(f"m {h:02d} {h}" for h in range(24)), *(f"m {h:02d} {h if h != 7 else 70}" for h in range(24))),
        {"used": 24, "duplicate_identical": 23, "superseded_by_later_row": 1},
        {"m": [h if h != 7 else 70 for h in range(24)]}, 48, DAY,
    ),
    Case(
        "a file sent again in a folder, two readings revised",
        {"1.csv": lines(*(f"m {h:02d} {h}" for h in range(4))), "2.csv": lines("m 01 10", "m 02 20", "m 03 3")},
        {"used": 4, "duplicate_identical": 1, "superseded_by_later_row": 2}, {"m": [0, 10, 20, 3]}, 7,
    ),
    Case(
        "a file sent again in a folder, of which nobody says which is right",
        {"1.csv": lines(*(f"m {h:02d} {h}" for h in range(5))), "2.csv": lines("m 01 10", "m 02 20", "m 03 3")},
        {"used": 3, "duplicate_identical": 1, "conflicting_rows": 4}, {"m": [0, NAN, NAN, 3, 4]}, 8,
        {"conflicting_rows": "missing"},
    ),
    Case(
        "end stamps",
        lines(*(f"m {h:02d} {h}" for h in range(1, 24)), "m 2021-06-02T00:00 24"), {"used": 24},
        {"m": list(range(1, 25))}, 24, DAY | {"stamp": "end"},
    ),
    Case(
        "end stamps taken for starts: the last falls off the day and the first is missing",
        lines(*(f"m {h:02d} {h}" for h in range(1, 24)), "m 2021-06-02T00:00 24"),
        {"used": 23, "stamp_outside_period": 1}, {"m": [NAN, *range(1, 24)]}, 24, DAY,
    ),
    Case(
        "leading zeros make another meter",
        lines("007 00 1", "7 00 2", "0007 00 3"), {"used": 3}, {"0007": [3], "007": [1], "7": [2]}, 3,
    ),
    Case("blanks around an id", HEADER + "  007 ,2021-06-01 00:00, 1 \n", {"used": 1}, {"007": [1]}, 1),
    Case("ids that are numbers to others", lines("1e3 00 1", "1000 00 2"), {"used": 2}, {"1000": [2], "1e3": [1]}, 2),
    Case("a byte order mark", b"\xef\xbb\xbf" + lines("m 00 1", "m 01 2").encode(), {"used": 2}, {"m": [1, 2]}, 2),
    Case(
        "byte order marks in every file of a folder",
        {f"{h}.csv": b"\xef\xbb\xbf" + lines(f"m 0{h} {h}").encode() for h in range(3)},
        {"used": 3}, {"m": [0, 1, 2]}, 3,
    ),
    Case("lines of another system", lines("m 00 1", "m 01 2").replace("\n", "\r\n"), {"used": 2}, {"m": [1, 2]}, 2),
    Case("no end of the last line", lines("m 00 1", "m 01 2").rstrip("\n"), {"used": 2}, {"m": [1, 2]}, 2),
    Case(
        "quotes around everything",
        HEADER + '"m","2021-06-01 00:00","1"\n"m","2021-06-01 01:00","2"\n', {"used": 2}, {"m": [1, 2]}, 2,
    ),
    Case(
        "a header in the middle", lines("m 00 1") + lines("m 01 2"), {"used": 2, "header_repeated": 1},
        {"m": [1, 2]}, 3, {"bad_rows": "missing"},
    ),
    Case(
        "words for missing readings",
        lines("m 00 1", "m 01 NULL", "m 02 nan", "m 03 ", "m 04 5", "m 05 6"),
        {"used": 3, "value_missing": 3}, {"m": [1, NAN, NAN, NAN, 5, 6]}, 6,
    ),
    Case(
        "infinite readings",
        lines("m 00 1", "m 01 inf", "m 02 -1e999", "m 03 4", "m 04 5"), {"used": 3, "value_not_finite": 2},
        {"m": [1, NAN, NAN, 4, 5]}, 5,
    ),
    Case(
        "readings that are infinite only in kWh",
        lines("m 00 0.001", "m 01 1e308", "m 02 -1e308", "m 03 0.004", "m 04 0.005"),
        {"used": 3, "value_not_finite": 2}, {"m": [1, NAN, NAN, 4, 5]}, 5, {"unit": "MWh"},
    ),
    Case(
        "no numbers",
        lines("m 00 1", "m 01 oops", "m 02 1.2.3", "m 03 4", "m 04 5"), {"used": 3, "value_unreadable": 2},
        {"m": [1, NAN, NAN, 4, 5]}, 5, {"bad_rows": "missing"},
    ),
    Case(
        "a line cut off",
        lines("m 00 1", "m 02 3", "m 03 4") + "m,2021-06-01 01", {"used": 3, "row_malformed": 1},
        {"m": [1, NAN, 3, 4]}, 4,
        {"bad_rows": "missing"},
    ),
    Case(
        "stamps off the grid",
        lines("m 00 1", "m 2021-06-01T00:07 9", "m 01 2"), {"used": 2, "off_grid_stamp": 1}, {"m": [1, 2]}, 3,
    ),
    Case(
        "a meter that is read every half hour, beside one every hour",
        lines("a 00 1", "m 00 9", "m 2021-06-01T00:30 9", "m 01 9", "m 2021-06-01T01:30 9", "a 01 2"),
        {"used": 2, "off_grid_stamp": 2, "finer_interval": 2}, {"a": [1, 2], "m": [NAN, NAN]}, 6,
    ),
    Case(
        "a meter that changes to half hours, with a gap before and after which one of them stands alone",
        CHANGED,
        {"used": 2, "off_grid_stamp": 2, "finer_interval": 3}, {"m": [1, 2, NAN, NAN, NAN, NAN]}, 7,
    ),
    Case(
        "the same, added up",
        CHANGED,
        {"used": 4, "part_of_sum": 2, "finer_interval": 1}, {"m": [1, 2, 7, NAN, NAN, 13]}, 7,
        {"shortest_interval_minutes": 30},
    ),
    Case(
        "half hours and ends of hours, a part of one of which is sent twice and one of which is missing",
        lines(
            "m 01 1", "m 02 2", "m 2021-06-01T02:30 3", "m 03 4", "m 2021-06-01T03:30 5", "m 2021-06-01T03:30 6",
            "m 04 7", "m 05 8",
        ),
        {"used": 4, "part_of_sum": 2, "superseded_by_later_row": 1, "finer_interval": 1},
        {"m": [1, 2, 7, 13, NAN]}, 8,
        {"shortest_interval_minutes": 30, "stamp": "end"},
    ),
    Case(
        "power of half hours, of which the mean counts",
        lines("m 00 1", "m 01 2", "m 02 3", "m 2021-06-01T02:30 4"), {"used": 3, "part_of_sum": 1},
        {"m": [1, 2, 3.5]}, 4,
        {"shortest_interval_minutes": 30, "unit": "kW"},
    ),
    Case(
        "an hourly meter's repeated hour, beside half hours",
        lines(
            "m 2021-10-31T01:00 1", "m 2021-10-31T02:00 2", "m 2021-10-31T02:00 3", "m 2021-10-31T03:00 4",
            *(f"n 2021-10-31T{t} {k}" for k, t in enumerate(("01:30", "02:00", "02:30", "02:00", "02:30", "03:00"))),
        ),
        {"used": 6, "part_of_sum": 2, "sum_incomplete": 1, "finer_interval": 1},
        {"m": [1, 2, 3, 4], "n": [NAN, 3, 7, NAN]}, 10,
        {"shortest_interval_minutes": 30},
    ),
    Case(
        "a meter's clock after a reset, and one far ahead",
        lines("m 00 1", "m 1970-01-01T00:00 9", "m 9999-12-31T23:00 9", "m 01 2"),
        {"used": 2, "stamp_out_of_range": 2}, {"m": [1, 2]}, 4,
    ),
    Case(
        "a wrong year in a public period",
        lines(*(f"m {h:02d} {h}" for h in range(24)), "m 2012-06-01T00:00 9"),
        {"used": 24, "stamp_outside_period": 1}, {"m": list(range(24))}, 25, DAY,
    ),
    Case(
        "a decimal comma, and points between thousands",
        lines("m 00 1", "m 01 1").replace(",", ";").replace(";1\n", ";1,5\n", 1).replace(";1\n", ";1.234,5\n"),
        {"used": 2}, {"m": [1.5, 1234.5]}, 2, {"delimiter": ";", "decimal": ",", "thousands": "."},
    ),
    Case(
        "net load, and minus nothing",
        lines("m 00 -1.5", "m 01 -0", "m 02 2"), {"used": 3}, {"m": [-1.5, 0, 2]}, 3,
    ),
    Case(
        "another unit in some rows",
        "meter_id,interval_start,kwh,unit\n"
        "m,2021-06-01 00:00,1,kWh\nm,2021-06-01 01:00,500,Wh\nm,2021-06-01 02:00,3,kWh\n"
        "m,2021-06-01 03:00,4,MWh\nm,2021-06-01 04:00,5,m3\nm,2021-06-01 04:00,5,kvarh\nm,2021-06-01 05:00,6,kWh\n",
        {"used": 5, "unit_differs": 1, "other_register": 1}, {"m": [1, 0.5, 3, 4000, NAN, 6]}, 7,
        {"unit_column": "unit", "bad_rows": "missing"},
    ),
    Case("rows without a stamp", lines("m 00 1") + "m,,1\nm,NA,1\n", {"used": 1, "stamp_missing": 2}, {"m": [1]}, 3),
    Case(
        "the last row wins, and a later missing word takes nothing away",
        lines(*(f"m 00 {value}" for value in ("1", "2", "2", "1", "", "Null"))),
        {"used": 1, "duplicate_identical": 1, "superseded_by_later_row": 2, "value_missing": 2}, {"m": [1]}, 6,
    ),
    Case(
        "a meter without a reading keeps its place",
        lines("a 00 ", "b 02 1"), {"used": 1, "value_missing": 1}, {"a": [NAN] * 3, "b": [NAN, NAN, 1]}, 2,
    ),
    Case(
        "days at the ends of the period without a row stay in the grid",
        lines(*(f"m {h:02d} {h}" for h in range(24))), {"used": 24}, {"m": [*[NAN] * 24, *range(24)]}, 24,
        {"first_day": "2021-05-31", "last_day": "2021-06-01"},
    ),
    Case(
        "half-hours off the grid of the local clock are not rounded",
        lines("m 00 1", "m 01 2", "m 02 3", "m 2021-06-01T02:30 9", "m 03 4", "m 04 5"),
        {"used": 4, "off_grid_stamp": 1, "finer_interval": 1}, {"m": [1, 2, NAN, 4, 5]}, 6,
        {"time_zone": "Asia/Kolkata"},
    ),
    Case(
        "whole hours before and after a change by half an hour: the first stamp places the grid",
        HEADER + "".join(f"m,2024-04-{t}:00,1\n" for t in ("06 22", "06 23", "07 04")),
        {"used": 2, "off_grid_stamp": 1}, {"m": [1, 1]}, 3, {"time_zone": "Australia/Lord_Howe"},
    ),
    Case(
        "rows of nobody do not stretch the grid",
        lines(" 2021-05-31T00:00 1", "m 00 1", " 2021-06-02T00:00 1"), {"used": 1, "meter_missing": 2}, {"m": [1]}, 3,
    ),
    Case(
        "a row per day leaves the repeated hour to its first pass",
        ",".join(["meter_id", "date", *(f"{h:02}:00" for h in range(24))])
        + "".join(f"\nm,2018-10-{day},{','.join(map(str, range(24)))}" for day in (27, 28, 29)),
        {"used": 72}, {"m": [*range(24), 0, 1, 2, NAN, *range(3, 24), *range(24)]}, 72, {"format": "wide_csv"},
    ),
    Case(
        "a column of starts called midnight is the start of its day wherever it stands",
        "meter_id,date,01:00,00:00\nm,2021-06-01,1,2\n", {"used": 2}, {"m": [2, 1]}, 2, {"format": "wide_csv"},
    ),
    Case(
        "ids that a spreadsheet is to keep as text",
        lines("m 00 1").replace("m,", '="007",') + '="007",2021-06-01 01:00,2\n"007",2021-06-01 02:00,3\n',
        {"used": 3}, {"007": [1, 2, 3]}, 3,
    ),
    Case(
        "rows of nobody",
        lines("m 00 1", " 01 9", "NULL 01 9", "m 01 2"), {"used": 2, "meter_missing": 2}, {"m": [1, 2]}, 4,
    ),
]  # fmt: skip


def written(folder, files):
    """Write a file, or a folder of files, and return its path."""
    if isinstance(files, dict):
        return pack(folder / "export", files)
    return pack(folder / "export", {"e.csv": files}) / "e.csv"


@pytest.mark.parametrize("batch_bytes", [64, 1 << 20])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_row_of_a_hostile_file_has_its_verdict(tmp_path, case, batch_bytes):
    settings = ExportSettings.from_config(HOURS | {"time_zone": "Europe/Zurich"} | case.settings)
    result = ingested(written(tmp_path, case.files), settings, batch_bytes=batch_bytes)
    assert result.counts == case.counts
    assert sum(result.counts.values()) == case.rows
    assert list(result.energy_kwh) == list(case.kwh)
    for meter, kwh in case.kwh.items():
        np.testing.assert_array_equal(result.energy_kwh[meter].to_numpy(), np.array(kwh, float))
    assert result.counts["used"] == np.isfinite(result.energy_kwh.to_numpy()).sum()
    repeated = result.meters[["duplicate_rows", "conflicting_rows"]].sum()
    assert repeated["duplicate_rows"] == case.counts.get("duplicate_identical", 0)
    assert repeated["conflicting_rows"] == sum(
        case.counts.get(reason, 0) for reason in ("superseded_by_later_row", "conflicting_rows")
    )


def test_there_are_as_many_as_the_page_says(repository):
    said = f"The {len(CASES)} cases of `tests/unit/ingest/test_hostile.py`"
    assert (
        len({case.name for case in CASES}) == len(CASES) and said in (repository / "docs/data_quality.md").read_text()
    )


def rising(days: int) -> str:
    return HEADER + "".join(
        f"m,{datetime(2021, 6, 1) + timedelta(hours=h):%Y-%m-%d %H:%M},{5000 + 0.3 * h:.1f}\n"
        for h in range(24 * days)
    )


@pytest.mark.parametrize(
    ("text", "settings", "sentence"),
    [
        (
            HEADER + "".join(f"m,2021-06-01 {h:02d}:{m:02d},1\n" for h in range(24) for m in range(0, 60, 20)),
            {"max_unusable_share": 0.1},
            "20 minutes apart: set export.interval_minutes",
        ),
        (
            lines(*(f"m {h:02d} 1" for h in range(24))),
            {"interval_minutes": 30},
            "readings 60 minutes apart, but the setting says 30",
        ),
        (rising(20), {}, "values that only rise"),
        (
            lines("m 00 1"),
            {"first_day": "2012-01-01", "last_day": "2012-01-05"},
            "has no stamp on the interval grid; .* and the period",
        ),
        (
            lines(*(f"m {h:02d} {300 + h}" for h in range(24))),
            {"typical_daily_kwh": [0.1, 1000]},
            "set export.unit to Wh",
        ),
    ],
)
def test_files_that_end_a_study_do_so_with_one_sentence(tmp_path, text, settings, sentence):
    with pytest.raises(InputError, match=sentence):
        ingested(written(tmp_path, text), ExportSettings.from_config(HOURS | {"time_zone": "UTC"} | settings))


@pytest.mark.parametrize("name", ["nem12", "green_button"])
def test_formats_that_say_which_reading_counts_take_no_other_policy(name):
    with pytest.raises(InputError, match=f"conflicting_rows.*does not go with {name}"):
        ExportSettings(format=name, conflicting_rows="missing")
