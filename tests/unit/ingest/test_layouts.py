"""Exports as utilities deliver them: several files, a file per meter, title and unit lines, comma decimals, numbers
for times. Each says the same as the plain long CSV of the same content."""

import gzip
import os
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from meterdp.errors import InputError
from meterdp.ingest.batch import NO_SUCH_TIME
from meterdp.ingest.clock import elapsed_us, midnights_us
from meterdp.ingest.members import members, state_of
from meterdp.ingest.readers.wide_csv import numbered_columns, repeated_columns
from meterdp.ingest.settings import ExportSettings
from meterdp.ingest.streams import open_bytes
from tests.unit.ingest.made_up import ingested, pack, two_days, write_csv
from tests.unit.ingest.test_bad_input import refused

ZONE = "Europe/Zurich"
LOCAL = ExportSettings(time_zone=ZONE)
HEADER = "meter_id,interval_start,kwh"


@pytest.fixture(scope="module")
def frame():
    return two_days()


@pytest.fixture(scope="module")
def whole(frame, tmp_path_factory):
    return ingested(write_csv(tmp_path_factory.mktemp("whole") / "e.csv", rows_of(frame)), LOCAL)


def text(kwh) -> str:
    return "" if np.isnan(kwh) else repr(float(kwh))


def rows_of(frame):
    return [(m, t, text(v)) for m, t, v in zip(frame["meter"], frame["local"], frame["kwh"], strict=True)]


def csv_text(rows, header=HEADER, delimiter=",") -> str:
    return "\n".join([header, *(delimiter.join(map(str, row)) for row in rows)]) + "\n"


def same(result, whole):
    pd.testing.assert_frame_equal(result.energy_kwh, whole.energy_kwh)
    assert result.counts == whole.counts


@pytest.mark.parametrize("zipped", [False, True])
def test_files_of_one_layout_are_one_export(tmp_path, frame, whole, zipped):
    """The second has its columns in another order and one more, the third no rows; what is no data is passed over."""
    rows = rows_of(frame)
    files = {
        "2021/a.csv": csv_text(rows[:100]),
        "2021/b.TXT": csv_text([(t, "x", v, m) for m, t, v in rows[100:]], "interval_start,more,kwh,meter_id"),
        "c.csv": HEADER + "\n",
        "d.csv": "",
        ".hidden": "x",
        "__MACOSX/._a.csv": "x",
        "~$a.csv": "x",
        "README.md": "x",
        "LICENSE": "x",
    }
    for batch_bytes in (300, 1 << 20):
        path = pack(tmp_path / f"e{batch_bytes}", files, zipped=zipped)
        same(ingested(path, LOCAL, batch_bytes=batch_bytes), whole)


def test_files_in_a_folder_may_be_packed(tmp_path, frame, whole):
    rows = rows_of(frame)
    packed = gzip.compress(csv_text(rows[:200]).encode())
    folder = pack(tmp_path / "e", {"1.csv.gz": packed, "3.csv": csv_text(rows[300:])})
    pack(folder / "2.csv.zip", {"any.name": csv_text(rows[200:300]), "readme.txt": "x"}, zipped=True)
    same(ingested(folder, LOCAL), whole)
    pack(folder / "4.zip", {"SECRET5.csv": HEADER, "6.csv": HEADER}, zipped=True)
    assert refused(folder).startswith(", file 4 of 4, in order of names: holds 2 files; put them into one folder")


@pytest.mark.parametrize("zipped", [False, True])
def test_the_last_row_wins_in_the_order_of_names(tmp_path, zipped):
    files = {f"{name}.csv": csv_text([("m", "2020-01-01 00:00", name)]) for name in ("10", "9", "2")}
    result = ingested(pack(tmp_path / "e", files, zipped=zipped), ExportSettings())
    assert result.at("m", "2020-01-01") == 9 and result.counts == {"used": 1, "superseded_by_later_row": 2}


@pytest.mark.parametrize("zipped", [False, True])
def test_a_refusal_says_the_place_of_the_file_and_not_its_name(tmp_path, zipped):
    good = csv_text([("SECRET1", "2020-01-01 00:00", 1)])
    where = ", file 2 of 2, in order of names"

    def said(second, name="e", **options):
        files = {"SECRET1.csv": good, "SECRET2.csv": second, "README": "x"}
        return refused(pack(tmp_path / (name + str(len(list(tmp_path.iterdir())))), files, zipped=zipped), **options)

    bad = csv_text([("SECRET2", "2020-01-01 00:00", 1), ("SECRET2", "2020-01-01 00:15", "oops")])
    assert said(bad).startswith(f"{where}, row 3, field 'kwh': is not a number")
    assert said("meter_id,kwh\n").startswith(f"{where}, row 1, field 'interval_start': is missing from the header; ")
    assert said("\n" + bad).startswith(f"{where}, row 1: has no header")
    assert said(HEADER + "\nSECRET2\n").startswith(f"{where}, row 2: has more or fewer fields")
    apart = csv_text([("SECRET1", "1999-01-01 00:00", 1)])
    assert said(apart).startswith(
        ": the stamps of row 2 of file 2 of 2, in order of names and row 2 of file 1 of 2, in order of names are more"
    )
    far = csv_text([("SECRET2", "2025-01-01 00:00", 1), ("SECRET1", "1999-01-01 00:00", 1)])
    assert said(far).startswith(f"{where}: the stamps of rows 3 and 2 are more than 20 years apart")
    with_circuit = f"{HEADER},c\nSECRET1,2020-01-01 00:00,1,"
    files = {"SECRET1.csv": with_circuit + "N\n", "SECRET2.csv": with_circuit + "S\n"}
    message = refused(pack(tmp_path / "circuits", files, zipped=zipped), circuit_column="c")
    assert message.startswith(f"{where}, row 2, field 'c': names a different circuit")


@pytest.mark.parametrize("zipped", [False, True])
def test_files_of_other_kinds_are_refused_by_kind(tmp_path, zipped):
    files = {
        "a.csv": csv_text([("m", "2020-01-01 00:00", 1)]),
        "SECRET1.xlsx": "x",
        "bill.pdf": "x",
        "b.SECRET": "x",
        "SECRET3": "x",
    }
    message = refused(pack(tmp_path / "e", files, zipped=zipped))
    assert message.startswith(": holds 5 files that are not all text: 1 .pdf, 1 .xlsx, 2 of no known kind; leave")
    assert refused(pack(tmp_path / "none", {"README": "x"}, zipped=zipped)).startswith(": holds no files with data")
    empty = {"a.csv": HEADER, "b.csv": ""}
    assert refused(pack(tmp_path / "empty", empty, zipped=zipped)).startswith(": holds no readings")


def test_a_format_of_one_file_takes_a_path(tmp_path):
    files = {"a.csv": "12", "b.csv": "3"}
    with pytest.raises(InputError, match="holds 2 files; give an export of this format as one file"):
        with open_bytes(pack(tmp_path / "e", files)):
            pass
    for zipped in (False, True):
        with open_bytes(pack(tmp_path / f"one {zipped}", {"a.csv": "12"}, zipped=zipped)) as stream:
            assert stream.read(9) == b"12"


def test_the_state_of_a_folder_is_that_of_all_its_files(tmp_path):
    folder = pack(tmp_path / "e", {"a.csv": "1", "b/c.csv": "2"})
    seen = [state_of(folder)]
    for files in ({"b/c.csv": "22"}, {"d.csv": "3"}):
        seen.append(state_of(pack(folder, files)))
    (folder / "d.csv").rename(folder / "e.csv")
    seen.append(state_of(folder))
    assert len(set(seen)) == 4 and state_of(folder) == seen[-1]
    assert state_of(folder / "a.csv") is None and "csv" not in seen[-1]


def test_the_name_without_extensions(tmp_path):
    names = {"17.csv": "17", "17.csv.gz": "17", "4.5.txt": "4.5", "17": "17", ".csv": ".csv", "a.b.CSV.zip": "a.b"}
    for name, meter in names.items():
        (tmp_path / name).write_text("x")
        assert members(tmp_path / name)[0].meter_id == meter


def test_a_name_that_is_no_text_is_still_a_meter_of_its_own(tmp_path):
    for name, kwh in ((b"\xe4.csv", 1), (b"\xe5.csv", 2), ("ä .csv".encode(), 3)):
        path = os.fsencode(tmp_path / "e") + b"/" + name
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(f"interval_start,kwh\n2020-01-01 00:00,{kwh}\n")
    result = ingested(tmp_path / "e", ExportSettings(meter_column=None))
    assert result.energy_kwh.iloc[0].to_dict() == {"\\udce4": 1, "\\udce5": 2, "ä": 3}
    assert state_of(tmp_path / "e") is not None


def test_one_file_is_one_meter(tmp_path):
    path = tmp_path / "17.csv.gz"
    path.write_bytes(gzip.compress(b"interval_start,kwh\n2020-01-01 00:00,1\n\n2020-01-01 00:15,2\n"))
    result = ingested(path, ExportSettings(meter_column=None))
    assert result.energy_kwh["17"].tolist() == [1, 2] and result.counts == {"used": 2, "stamp_missing": 1}
    path = write_csv(tmp_path / "18.csv", [("2020-01-01", 1, 2)], "date,00:00,00:15")
    assert ingested(path, ExportSettings(meter_column=None, format="wide_csv")).energy_kwh["18"].tolist() == [1, 2]
    with pytest.raises(InputError, match=r"export.meter_column.*which a Parquet file needs"):
        ExportSettings(format="parquet", meter_column=None)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("bad_rows", ["refuse", "missing"])
@pytest.mark.parametrize("batch_bytes", [500, 1 << 20])
def test_title_and_unit_lines(tmp_path, frame, whole, end, batch_bytes, bad_rows):
    first, *rest = csv_text(rows_of(frame)).splitlines()
    title = ['"Load curves, 2021', "", "\u00fc" * 40_000]  # longer than a row may be
    lines = [*title, first, ",local,kWh,too many", *rest]
    path = tmp_path / "e.csv"
    path.write_bytes(b"\xef\xbb\xbf" + end.join(lines).encode() + end.encode())
    setting = ExportSettings(time_zone=ZONE, skip_rows=3, skip_rows_after_header=1, bad_rows=bad_rows)
    same(ingested(path, setting, batch_bytes=batch_bytes), whole)


def test_rows_are_counted_with_the_lines_that_are_skipped(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text(f"Title\n\n{HEADER}\n,,kWh\nm,2020-01-01 00:00,1\nm,2020-01-01 00:15,oops\n")
    assert ", row 6, field 'kwh'" in refused(path, skip_rows=2, skip_rows_after_header=1)
    assert refused(path, skip_rows=1).startswith(", row 2: has no header; write")
    words = "is not in this row but in row 3, which seems to be the header; set export.skip_rows to 2."
    assert refused(path) == f", row 1, field 'meter_id': {words}"
    assert refused(path, skip_rows=6).startswith(": holds no readings")
    assert refused(path, skip_rows=60).startswith(": holds no readings")


@pytest.mark.parametrize("batch_bytes", [30, 1 << 20])
@pytest.mark.parametrize("bad_rows", ["refuse", "missing"])
def test_a_header_in_mid_file_is_counted_and_no_error(tmp_path, batch_bytes, bad_rows):
    again = ["meter_id,interval_start,kwh,c", '"meter_id", interval_start ,"kwh",c', "meter_id,interval_start,kwh,d"]
    lines = [again[0], "m,2020-01-01 00:00,1,x", again[0], again[1], "m,2020-01-01 00:15,2,x", again[2], ""]
    path = tmp_path / "e.csv"
    path.write_text("\n".join(lines) + "\n")
    result = ingested(path, ExportSettings(bad_rows=bad_rows), batch_bytes=batch_bytes)
    # The last one differs in a column nobody reads.
    assert result.counts == {"used": 2, "header_repeated": 3, "meter_missing": 1}
    path.write_text("\n".join([*lines[:6], "m,2020-01-01 00:30,oops,x"]) + "\n")
    assert ", row 7, field 'kwh'" in refused(path)


def test_a_row_with_only_some_names_of_the_header_is_no_header(tmp_path):
    path = write_csv(tmp_path / "e.csv", [("m", "2020-01-01 00:00", 1), ("meter_id", "2020-01-01 00:15", "kwh")])
    assert ", row 3, field 'kwh': is not a number" in refused(path)
    assert ingested(path, ExportSettings(bad_rows="missing")).counts == {"used": 1, "value_unreadable": 1}


@pytest.mark.parametrize("wide_layout", ["days", "meters"])
def test_a_header_in_mid_file_of_a_wide_export_counts_a_row_of_cells(tmp_path, wide_layout):
    header = {"days": "meter_id,date,00:00,00:15", "meters": ",17,18"}[wide_layout]
    row = {"days": ("m", "2020-01-01", 1, 2), "meters": ("2020-01-01 00:00", 1, 2)}[wide_layout]
    path = write_csv(tmp_path / "e.csv", [row, header.split(",")], header)
    setting = ExportSettings(format="wide_csv", wide_layout=wide_layout, time_column="")
    assert ingested(path, setting).counts == {"used": 2, "header_repeated": 2}


@pytest.mark.parametrize("decimal", [".", ","])
def test_spreadsheet_stamps(tmp_path, frame, whole, decimal):
    local = pd.to_datetime(frame["local"])
    days = (local - pd.Timestamp("1899-12-30")) / pd.Timedelta("1D")
    rows = [
        (m, f"{d:.10f}".replace(".", decimal), text(v))
        for (m, _, _), d, v in zip(rows_of(frame), days, frame["kwh"], strict=True)
    ]
    path = tmp_path / "e.csv"
    path.write_text(csv_text(rows, HEADER.replace(",", ";"), ";"))
    same(ingested(path, ExportSettings(time_zone=ZONE, delimiter=";", time_format="spreadsheet")), whole)
    message = refused(path, ExportSettings(time_zone=ZONE, delimiter=";"))
    assert f"it is of the shape 'ddddd{decimal}dddddddddd'; set export.time_format to 'spreadsheet'." in message


def test_spreadsheet_dates_of_a_wide_export_and_what_is_none(tmp_path):
    path = write_csv(tmp_path / "e.csv", [("m", "45231", 1, 2)], "meter_id,date,00:00,00:15")
    result = ingested(path, ExportSettings(format="wide_csv", time_format="spreadsheet"))
    assert result.at("m", "2023-11-01T00:15") == 2
    rows = [("m", stamp, 1) for stamp in ("45231", "45231.5e1", "-5", "4523100", "1")]
    path = write_csv(tmp_path / "e.csv", rows)
    result = ingested(path, ExportSettings(time_format="spreadsheet", bad_rows="missing"))
    assert result.counts == {"used": 1, "stamp_unreadable": 3, "stamp_out_of_range": 1}


@pytest.mark.parametrize(
    ("stamps", "said"),
    [
        (["01/02/2020 00:15"], "'dd/dd/dddd dd:dd'; set export.time_format to '%d/%m/%Y %H:%M' or '%m/%d/%Y %H:%M'"),
        (["01/02/2020 00:15", "31/01/2020 00:15"], "'dd/dd/dddd dd:dd'; set export.time_format to '%d/%m/%Y %H:%M'."),
        (["2020-01-01T00:15:00Z"], "'dddd-dd-ddadd:dd:dda'; set export.time_format to 'ISO8601'."),
        (["01JAN2013:00:00:00", "soon"], "'ddaaadddd:dd:dd:dd'; set export.time_format to '%d%b%Y:%H:%M:%S'."),
        (["soon"], "'aaaa'; correct the stamp or the setting."),
    ],
)  # fmt: skip
def test_a_refused_stamp_shows_its_shape_and_what_would_read_it(tmp_path, stamps, said):
    path = write_csv(tmp_path / "e.csv", [("m", "2020-01-01 00:00", 1), *(("m", stamp, 1) for stamp in stamps)])
    message = refused(path)
    assert message.startswith(
        ", row 3, field 'interval_start': is not in the format of export.time_format: it is of "
    )
    assert f"shape {said}" in message


def test_the_electricity_load_diagrams_of_uci(tmp_path):
    """Meters beside each other, an empty name over the stamps, quotes, decimal commas, kW over the quarter before."""
    path = tmp_path / "LD2011_2014.txt"
    path.write_text(
        '"";"MT_001";"MT_002"\n"2011-01-01 00:15:00";0;2,28425797266515\n"2011-01-01 00:30:00";1,5;1e1\n'
        '"2011-03-27 01:15:00";0;0\n'
    )
    setting = ExportSettings(
        format="wide_csv", wide_layout="meters", delimiter=";", decimal=",", time_column="", unit="kW", stamp="end",
        time_format="%Y-%m-%d %H:%M:%S", time_zone="Europe/Lisbon",
    )  # fmt: skip
    result = ingested(path, setting)
    assert result.at("MT_002", "2011-01-01T00:00") == 2.28425797266515 / 4
    assert result.at("MT_001", "2011-01-01T00:15") == 0.375 and result.at("MT_002", "2011-01-01T00:15") == 2.5
    assert result.counts == {"used": 4, "nonexistent_local_time": 2}


CER = ExportSettings(format="cer", time_zone="Europe/Dublin", interval_minutes=30)
# Of the trial: both nights the clock is set back, the one it is set forward, and an ordinary day before it.
CHANGE_DAYS = {298: [*range(1, 51)], 669: [*range(1, 51)], 452: [1, *range(4, 49)], 451: [*range(1, 49)]}


@pytest.mark.parametrize(("day", "numbers"), CHANGE_DAYS.items())
@pytest.mark.parametrize("stamp", ["start", "end"])
def test_the_irish_trial_on_the_days_the_clock_changes(tmp_path, day, numbers, stamp):
    path = tmp_path / "File1.txt"
    path.write_bytes(b"".join(b"1392 %03d%02d %d.5\r\n" % (day, number, number) for number in range(1, 51)))
    result = ingested(path, replace(CER, stamp=stamp), batch_bytes=64)
    date = pd.Timestamp(datetime(2009, 1, 1) + timedelta(days=day - 1), tz="Europe/Dublin")
    expected = pd.date_range(date, date + pd.DateOffset(days=1), freq="30min", inclusive="left").tz_convert("UTC")
    assert (result.energy_kwh.index == expected).all()
    assert result.energy_kwh["1392"].tolist() == [n + 0.5 for n in numbers]
    beyond = 50 - len(numbers)
    assert result.counts == {"used": len(numbers)} | ({"nonexistent_local_time": beyond} if beyond else {})


@pytest.mark.parametrize("code", ["00001", "19500", "19551", "1951", "195011", "1950a", "-1901", "19 01"])
def test_codes_that_are_no_day_and_half_hour(tmp_path, code):
    path = tmp_path / "File1.txt"
    path.write_text(f"SECRET1 19501 0.5\nSECRET1 {code} 0.25\n")
    message = refused(path, CER)
    fields = code.count(" ")
    said = ", row 2: has more or fewer" if fields else ", row 2, field 'day and time code': is not a day from 001 on"
    assert message.startswith(said)
    result = ingested(path, replace(CER, bad_rows="missing"))
    assert result.counts == {"used": 1, "row_malformed" if fields else "stamp_unreadable": 1}


def test_the_irish_trial_comes_in_several_files_and_has_its_own_zone(tmp_path):
    files = {f"File{n}.txt": f"100{n} 19501 0.{n}\n100{n} NA 1\n100{n} 19502 oops\n" for n in (1, 2)}
    folder = pack(tmp_path / "e", files)
    result = ingested(folder, replace(CER, bad_rows="missing"))
    assert result.counts == {"used": 2, "stamp_missing": 2, "value_unreadable": 2}
    assert refused(folder, CER).startswith(", file 1 of 2, in order of names, row 3, field 'kWh': is not a number")
    for other in ({"time_zone": "Europe/London"}, {"interval_minutes": 15}, {"unit": "kW"}):
        with pytest.raises(InputError, match="does not fit cer"):
            replace(CER, **other)
    assert ExportSettings.from_config({"format": "cer", "time_zone": "Europe/Dublin"}) == CER


@pytest.mark.parametrize("names", ["{}", "HH{:02d}", "P{}", "Kwh {}"])
@pytest.mark.parametrize("minutes", [15, 30, 60])
@pytest.mark.parametrize("stamp", ["start", "end"])
def test_numbered_columns_count_what_has_passed_since_midnight(tmp_path, names, minutes, stamp):
    """Against pandas' own calendar over both changes of the clock."""
    zone, per_hour = "Europe/London", 60 // minutes
    surplus = 25 * per_hour
    days = [pd.Timestamp(d, tz=zone) for d in ("2021-03-27", "2021-03-28", "2021-03-29", "2021-10-31", "2021-11-01")]
    utc = [
        pd.date_range(d, d + pd.DateOffset(days=1), freq=f"{minutes}min", inclusive="left").tz_convert("UTC")
        for d in days
    ]
    rng = np.random.default_rng(7)
    values = [rng.gamma(1, 1, len(u)).round(3) for u in utc]
    rows = [
        ("m", d.strftime("%d/%m/%Y"), 1, *v, *[""] * (surplus - len(v))) for d, v in zip(days, values, strict=True)
    ]
    header = ",".join(["meter_id", "date", "phase1", *(names.format(n) for n in range(1, surplus + 1))])
    path = write_csv(tmp_path / "e.csv", rows, header)
    setting = ExportSettings(
        format="wide_csv", wide_columns="numbers", time_zone=zone, interval_minutes=minutes, stamp=stamp,
        time_format="%d/%m/%Y",
    )  # fmt: skip
    result = ingested(path, setting)
    found = result.energy_kwh["m"].dropna()
    assert found.index.equals(pd.DatetimeIndex(np.concatenate([u.tz_localize(None) for u in utc])).tz_localize("UTC"))
    assert found.tolist() == np.concatenate(values).tolist()
    assert result.counts == {"used": len(found), "value_missing": 5 * surplus - len(found)}


@pytest.mark.parametrize("bad_rows", ["refuse", "missing"])
@pytest.mark.parametrize("minutes", [30, 60])
@pytest.mark.parametrize("stamp", ["start", "end"])
@pytest.mark.parametrize("written", ["{}", " {:02d}"])
def test_numbered_rows_count_what_has_passed_since_midnight(tmp_path, bad_rows, minutes, stamp, written):
    """Against pandas' own calendar over both changes of the clock, in any order of rows."""
    utc = pd.DatetimeIndex(
        np.concatenate(
            [
                pd.date_range(day, periods=4 * 24 * 60 // minutes, freq=f"{minutes}min", tz=ZONE).tz_convert(None)
                for day in ("2021-03-27", "2021-10-30")
            ]
        ),
        tz="UTC",
    )
    date = pd.Series(utc.tz_convert(ZONE).strftime("%d/%m/%Y"))
    number = date.groupby(date).cumcount() + 1
    values = np.random.default_rng(8).gamma(1, 1, len(utc)).round(3)
    order = np.random.default_rng(9).permutation(len(utc))
    rows = [("m", date[i], written.format(number[i]), values[i]) for i in order]
    path = write_csv(tmp_path / "e.csv", rows, "meter_id,Fecha,Hora,kwh")
    setting = ExportSettings(
        time_column="Fecha", time_of_day_column="Hora", time_format="%d/%m/%Y", time_zone=ZONE, stamp=stamp,
        interval_minutes=minutes, bad_rows=bad_rows,
    )  # fmt: skip
    found = ingested(path, setting).energy_kwh["m"].dropna()
    assert found.index.equals(utc) and found.tolist() == values.tolist()


@pytest.mark.parametrize("number", ["0", "-1", "1.5", "x", "1000", "2 3"])
def test_what_is_no_number_of_an_interval_is_refused_or_counted(tmp_path, number):
    rows = [
        ("m", "2021-06-01", 1, 0.5),
        ("m", "2021-06-01", number, 0.25),
        ("m", "2021-06-01", "", 1),
        ("m", "", 3, 1),
    ]
    path = write_csv(tmp_path / "e.csv", rows, "meter_id,date,number,kwh")
    given = {"time_column": "date", "time_of_day_column": "number", "time_format": "%Y-%m-%d", "time_zone": ZONE}
    assert "row 3, field 'number': is not the number of an interval of the day" in refused(path, **given)
    found = ingested(path, ExportSettings(**given, bad_rows="missing"))
    assert found.counts == {"used": 1, "stamp_unreadable": 1, "stamp_missing": 2}


def test_a_number_behind_the_end_of_its_day_is_of_no_time(tmp_path):
    days = [(day, n) for day in ("2021-03-28", "2021-06-01", "2021-10-31") for n in range(1, 26)]
    path = write_csv(tmp_path / "e.csv", [("m", *row, 0.5) for row in days], "meter_id,date,number,kwh")
    given = {"time_column": "date", "time_of_day_column": "number", "time_format": "%Y-%m-%d", "time_zone": ZONE}
    found = ingested(path, ExportSettings(**given, interval_minutes=60, bad_rows="missing"))
    assert found.counts == {"used": 23 + 24 + 25, "nonexistent_local_time": 2 + 1}


@pytest.mark.parametrize("zone", ["Europe/Warsaw", "Europe/London", "America/Chicago"])
@pytest.mark.parametrize("stamp", ["start", "end"])
@pytest.mark.parametrize(
    ("written", "mark"), [("{}", "A"), ("{:02d}", "X"), ("{}", "*"), ("{:02d}", " a"), ("{}", "")]
)
@pytest.mark.parametrize("order", ["in order", "backwards", "shuffled"])
def test_hours_of_the_clock_are_read_alone_by_the_mark_of_the_repeated_one(
    tmp_path, zone, stamp, written, mark, order
):
    """Over a year, of hours 1 to 24 or 0 to 23: without a mark the rows of the repeated hour are in order."""
    utc = pd.date_range("2024-01-01", "2025-01-01", freq="h", tz=zone, inclusive="left").tz_convert("UTC")
    local = pd.Series(utc.tz_convert(zone).tz_localize(None))
    hour = [
        written.format(h + (stamp == "end")) + mark * a
        for h, a in zip(local.dt.hour, local.duplicated(), strict=True)
    ]
    values = np.random.default_rng(8).gamma(1, 1, len(utc)).round(3)
    rows = [("m", *row) for row in zip(local.dt.strftime("%d.%m.%Y"), hour, values, strict=True)]
    if mark:
        at = np.arange(len(rows))[:: -1 if order == "backwards" else 1]
        at = np.random.default_rng(9).permutation(at) if order == "shuffled" else at
        rows = [rows[i] for i in at]
    path = write_csv(tmp_path / "e.csv", rows, "meter_id,Data,Godzina,kwh")
    setting = ExportSettings(
        time_column="Data", time_of_day_column="Godzina", time_format="%d.%m.%Y %H", time_zone=zone, stamp=stamp,
        interval_minutes=60,
    )  # fmt: skip
    result = ingested(path, setting)
    found = result.energy_kwh["m"]
    assert result.counts == {"used": len(utc)}
    assert found.index.equals(utc) and found.tolist() == values.tolist()


def test_hours_of_the_clock_that_their_day_does_not_have(tmp_path):
    days = {
        "2024-03-31": ["3", "3A", "24", "25"],
        "2024-06-01": [*range(13), "3A", "-1", "1.5", "3 4", ""],
        "": ["3"],
    }
    rows = [("m", day, hour, 0.5) for day, hours in days.items() for hour in hours]
    path = write_csv(tmp_path / "e.csv", rows, "meter_id,date,number,kwh")
    given = {
        "time_column": "date", "time_of_day_column": "number", "time_format": "%Y-%m-%d %H", "stamp": "end",
        "interval_minutes": 60, "time_zone": "Europe/Warsaw",
    }  # fmt: skip
    found = ingested(path, ExportSettings(**given, bad_rows="missing"))
    assert found.counts == {
        "used": 14, "nonexistent_local_time": 3, "stamp_unreadable": 4, "stamp_missing": 2
    }  # fmt: skip
    assert found.at("m", "2024-05-31 21:00") == 0.5  # an hour 0 ends a day
    assert "row 5, field 'number': is not an hour of the day, 1 to 24" in refused(path, **given)
    assert "is not an hour of the day, 0 to 23" in refused(path, **given | {"stamp": "start"})
    with pytest.raises(InputError, match="does not fit an hour alone"):
        ExportSettings(**given | {"interval_minutes": 30})


@cache
def year_by_the_clock(zone: str, hour: int, minutes: int) -> tuple[list, list, pd.Series, int]:
    """Numbers of columns with whether they are of the repeated hour, rows of a year, its readings by UTC start, and
    how many entries are of no time: by zoneinfo's folds."""
    per_hour = 60 // minutes
    repeated = range((hour - 1) * per_hour + 1, hour * per_hour + 1)
    columns = [(n, fold) for n in range(1, 24 * per_hour + 1) for fold in ((0, 1) if n in repeated else (0,))]
    rows, expected, skipped = [], {}, 0
    for day in pd.date_range("2024-01-01", "2024-12-31"):
        values = np.random.default_rng(day.day_of_year).gamma(1, 1, len(columns)).round(6)
        rows.append(("m", day.strftime("%Y-%m-%d"), *values))
        for (number, fold), value in zip(columns, values, strict=True):
            local = (day + pd.Timedelta(minutes=(number - 1) * minutes)).to_pydatetime()
            offsets = [local.replace(tzinfo=ZoneInfo(zone), fold=f).utcoffset() for f in (0, 1)]
            if offsets[1] > offsets[0] or (fold == 1 and offsets[0] == offsets[1]):
                skipped += 1
            else:
                expected[pd.Timestamp(local - offsets[fold], tz="UTC")] = value
    return columns, rows, pd.Series(expected).sort_index(), skipped


@pytest.mark.parametrize(("zone", "hour"), [("America/Chicago", 2), ("Europe/London", 2), ("Europe/Berlin", 3)])
@pytest.mark.parametrize("minutes", [30, 60])
@pytest.mark.parametrize("stamp", ["start", "end"])
@pytest.mark.parametrize("mark", ["X", "*", " DST"])
def test_a_column_for_the_repeated_hour_makes_numbers_hours_of_the_clock(tmp_path, zone, hour, minutes, stamp, mark):
    """Over a year, with the skipped and the repeated hour filled on every day."""
    columns, rows, expected, skipped = year_by_the_clock(zone, hour, minutes)
    header = ",".join(["meter_id", "date", *(f"HE{number}{mark * fold}" for number, fold in columns)])
    path = write_csv(tmp_path / "e.csv", rows, header)
    setting = ExportSettings(
        format="wide_csv", wide_columns="numbers", time_zone=zone, interval_minutes=minutes, stamp=stamp,
        time_format="%Y-%m-%d", bad_rows="missing",
    )  # fmt: skip
    result = ingested(path, setting)
    found = result.energy_kwh["m"].dropna()
    pd.testing.assert_series_equal(found, expected, check_names=False, check_freq=False)
    assert result.counts == {"used": len(expected), "nonexistent_local_time": skipped}


@pytest.mark.parametrize("zone", ["Europe/Rome", "Europe/London", "America/Chicago"])
@pytest.mark.parametrize("minutes", [15, 60])
@pytest.mark.parametrize("stamp", ["start", "end"])
def test_a_row_that_leaves_the_skipped_hour_empty_is_by_the_clock_and_others_count(tmp_path, zone, minutes, stamp):
    """Against pandas' own calendar: a year of two meters by the clock in spring, of another in order of time."""
    per_day = 24 * 60 // minutes
    days = pd.date_range("2025-01-01", "2025-12-31", tz=zone)
    rng, rows, utc, values = np.random.default_rng(11), [], [], []
    for day in days:
        u = pd.date_range(day, day + pd.DateOffset(days=1), freq=f"{minutes}min", inclusive="left")
        v = rng.gamma(1, 1, len(u)).round(3)
        cells = [*v, *[""] * (25 * per_day // 24 - len(v))]
        rows.append(("in order", day.date(), *cells))
        if len(v) < per_day:
            cells = [""] * len(cells)
            ends = [""] * len(cells)
            for at, value in zip(u, v, strict=True):
                cells[(at.hour * 60 + at.minute) // minutes] = value
                end = at + pd.Timedelta(minutes=minutes)
                ends[((end.hour * 60 + end.minute) // minutes or per_day) - 1] = value
        else:
            ends = cells
        rows += [("by the clock", day.date(), *cells), ("named by ends", day.date(), *ends)]
        utc.append(u.tz_convert("UTC"))
        values.append(v)
    header = ",".join(["meter_id", "date", *(f"Q{n}" for n in range(1, 25 * per_day // 24 + 1))])
    path = write_csv(tmp_path / "e.csv", rows, header)
    setting = ExportSettings(
        format="wide_csv", wide_columns="numbers", time_zone=zone, interval_minutes=minutes, stamp=stamp,
        time_format="%Y-%m-%d",
    )  # fmt: skip
    result = ingested(path, setting)
    expected = pd.Series(np.concatenate(values), pd.DatetimeIndex(np.concatenate(utc), tz="UTC"))
    for meter in ("in order", "by the clock", "named by ends"):
        found = result.energy_kwh[meter].dropna()
        pd.testing.assert_series_equal(found, expected, check_names=False, check_freq=False)
    assert set(result.counts) == {"used", "value_missing"}


def test_which_columns_are_of_the_repeated_hour():
    hours = [f"HE{n:02d}" for n in range(1, 25)]
    numbered = numbered_columns(hours, 24, 2)
    for more, found in (
        (["HE02X"], {24: 2}),
        (["HE2 B"], {24: 2}),
        (["HE03'", "HE02 DST"], {24: 3, 25: 2}),
        (["HE", "H02X", "HE02 flag", "total"], {}),
        ([f"{hour}Q" for hour in hours], {}),  # flags
    ):
        assert numbered_columns([*hours, *more], 24, 2) == numbered
        assert repeated_columns([*hours, *more], numbered) == found


def test_a_value_behind_the_end_of_its_day_is_of_no_time(tmp_path):
    header = ",".join(["meter_id", "date", *map(str, range(1, 51))])
    rows = [("m", d, *range(50)) for d in ("2021-03-28", "2021-03-29", "2021-10-31", "")]
    path = write_csv(tmp_path / "e.csv", rows, header)
    setting = ExportSettings(
        format="wide_csv", wide_columns="numbers", time_zone="Europe/London", interval_minutes=30, bad_rows="missing"
    )
    counts = ingested(path, setting).counts
    assert counts == {"used": 46 + 48 + 50, "nonexistent_local_time": 4 + 2, "stamp_missing": 50}


def test_which_columns_are_numbered():
    hours = [f"H{n}" for n in range(1, 25)]
    assert numbered_columns(["m", *hours], 24, 2) == {n: n for n in range(1, 25)}
    assert numbered_columns([*reversed(hours), "x1"], 24, 2) == {24 - n: n for n in range(1, 25)}
    assert numbered_columns([*hours, "H25", "H26"], 24, 2) is not None
    for header in (
        [*hours, "H25", "H26", "H27"],
        hours[:21],
        hours[1:],
        [*hours, "H01"],
        [*hours, *(f"V{n}" for n in range(1, 25))],
        [f"H{n}" for n in range(24)],
        ["00:00", "01:00"],
    ):
        assert numbered_columns(header, 24, 2) is None, header


def test_a_header_without_numbered_columns_is_refused(tmp_path):
    path = write_csv(tmp_path / "e.csv", [("m", "2020-01-01", 1, 2)], "meter_id,date,1,2")
    message = refused(path, format="wide_csv", wide_columns="numbers", interval_minutes=60)
    assert message.startswith(", row 1: has no columns, or several rows of columns, that count the 24 intervals")
    assert "set export.wide_columns to numbers" in refused(path, format="wide_csv")


@pytest.mark.parametrize(
    "zone", ["UTC", "Europe/Dublin", "America/Havana", "America/Sao_Paulo", "Atlantic/Azores", "Australia/Lord_Howe"]
)
def test_midnights_and_lengths_of_days_against_the_zone_itself(zone):
    """The first instant of every local day, found by stepping through the UTC half-hours of ten years."""
    utc = pd.date_range("2009-12-30", "2020-01-03", freq="30min", tz="UTC")
    local = pd.Series(utc, index=utc.tz_convert(zone).tz_localize(None).normalize())
    first = local.groupby(level=0).min().iloc[2:-2]
    day_us = first.index.as_unit("us").asi8
    found = midnights_us(day_us, zone)
    # A midnight that comes twice: the day before has begun again in between, which is no new day.
    assert (found == pd.DatetimeIndex(first).as_unit("us").asi8).all()
    setting = ExportSettings(time_zone=zone, interval_minutes=30)
    stamps = elapsed_us(day_us[:, None], np.arange(1, 53), setting)
    lengths = (stamps != NO_SUCH_TIME).sum(axis=1)
    assert (lengths[:-1] == np.diff(found) // (30 * 60 * 10**6)).all()
