"""Bad input: one sentence with file, row and field and a hint, never a value, and nothing left behind."""

import gzip
import io
import os
import re
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meterdp.core.regular import check_file
from meterdp.errors import InputError
from meterdp.ingest.ingest import survey_export
from meterdp.ingest.readers.interface import reader
from meterdp.ingest.settings import ExportSettings
from tests.unit.ingest.made_up import ingested, refusal, write_csv

ROW = ("SECRET1", "2020-01-01 00:00", "1.5")
LATER = ("SECRET1", "2020-01-01 00:15", "1.5")
PRIVATE = ("SECRET", "1.5", "oops", "2020-01", "99", "somewhere")


def refused(path, settings=None, **options) -> str:
    """The sentence of the refusal, once it is clear that it says nothing private and nothing was written."""
    folder = path.parent / "out"
    where = refusal(
        path,
        lambda: ingested(path, settings or ExportSettings(**options), folder=folder, batch_bytes=200),
        PRIVATE,
    )
    assert not folder.exists() or not list(folder.iterdir())
    return where


HEADER = "meter_id,interval_start,kwh"
GOOD = f"{HEADER}\n" + (",".join(ROW) + "\n") * 1000
PARQUET, WIDE = {"format": "parquet"}, {"format": "wide_csv"}
METERS = WIDE | {"wide_layout": "meters"}
RECORDS = {"meter_id": ["SECRET1"], "interval_start": ["2020-01-01 00:00"], "kwh": [1.5]}


def csv_of(*rows, header=HEADER) -> str:
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


def zipped(*members: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number, text in enumerate(members):
            archive.writestr(f"{number}.csv", text)
    return out.getvalue()


def of_another_checksum() -> bytes:
    packed = bytearray(zipped(GOOD))
    packed[packed.index(b"1.5", 2000)] ^= 3
    return bytes(packed)


# Name of the file, what is in it (of Parquet the columns), settings, and what the sentence says.
REFUSED = {
    "zero bytes": ("e.csv", "", {}, ": holds no readings"),
    "zero bytes, gzip": ("e.csv.gz", "", {}, ": holds no readings"),
    "zero bytes, zip": ("e.zip", "", {}, ": holds no readings"),
    "zero bytes, Parquet": ("e.parquet", "", PARQUET, ": holds no readings"),
    "a header only": ("e.csv", HEADER, {}, ": holds no readings"),
    "a header and a line end": ("e.csv", f"{HEADER}\r\n", {}, ": holds no readings"),
    "a table of no records": ("e.parquet", {name: [] for name in RECORDS}, PARQUET, ": holds no readings"),
    "gzip in name only": ("e.csv.gz", GOOD, {}, ": is not a gz file"),
    "zip in name only": ("e.zip", GOOD, {}, ": is not a zip file"),
    "gzip cut short": ("e.csv.gz", gzip.compress(GOOD.encode())[:-30], {}, ": is cut short or damaged"),
    "zip without its end": ("e.zip", zipped(GOOD)[:-30], {}, ": is cut short or damaged"),
    "zip cut short": ("e.zip", zipped(GOOD)[:60], {}, ": is cut short or damaged"),
    "zip with a wrong checksum": ("e.zip", of_another_checksum(), {}, ": is cut short or damaged"),
    "empty zip": ("e.zip", zipped(), {}, ": holds no files with data; give the export itself."),
    "no such column": (
        *("e.csv", GOOD, {"energy_column": "energy"}),
        ", row 1, field 'energy': is missing from the header; the header has 'meter_id', ",
    ),
    "a row of data for a header": (
        *("e.csv", csv_of(("SECRET-1204", "Varna", 1), header="SECRET-1203,Varna,1"), {}),
        ", row 1, field 'meter_id': is missing from the header, which looks like a row of data or of meter ids; name",
    ),
    "another delimiter": ("e.csv", GOOD, {"delimiter": ";"}, "check export.delimiter"),
    "a column twice": (
        *("e.csv", csv_of((*ROW, 1), header=f"{HEADER},kwh"), {}),
        ", row 1, field 'kwh': is in the header more than once",
    ),
    "a header of meter ids": (
        *("e.csv", csv_of(("2020-01-01 00:00", 1, 2), header="time,SECRET1,SECRET2"), METERS),
        ", row 1, field 'interval_start': is missing from the header; name",
    ),
    "no such column of Parquet": (
        *("e.parquet", {"meter_id": ["SECRET1"], "kwh": [1.5]}, PARQUET),
        ", field 'interval_start': is not a column of the file, or occurs twice; it has 'meter_id', 'kwh'",
    ),
    "blank lines are rows": (
        *("e.csv", csv_of((), ROW, (), (), (*ROW[:2], "1.5x")), {}),
        ", row 6, field 'kwh': is not a number",
    ),
    "the first of several bad numbers": (
        *("e.csv", csv_of(ROW, ROW, (*ROW[:2], "oops"), ROW, (*ROW[:2], "oops")), {}),
        ", row 4, field 'kwh': is not a number",
    ),
    "a bad cell of a day": (
        *("e.csv", csv_of(("SECRET1", "2020-01-01", 1, "oops"), header="meter_id,date,00:00,00:15"), WIDE),
        ", row 2, field '00:15': is not a number",
    ),
    "a bad cell of a meter": (
        *("e.csv", csv_of((ROW[1], 1, "oops"), header="interval_start,SECRET1,SECRET2"), METERS),
        ", row 2, field 'column 3': is not a number",
    ),
    "no interval in the header": (
        *("e.csv", csv_of(("SECRET1", "2020-01-01", 1), header="meter_id,date,25:00"), WIDE),
        "has no column that is a time of day",
    ),
    "no meter in the header": (
        *("e.csv", csv_of((ROW[1], 1, ""), header="interval_start,SECRET1,"), METERS),
        "has a column without a meter id in the header",
    ),
    "several columns of a meter": (
        *("e.csv", csv_of((ROW[1], 1, 2, 3), header='interval_start,SECRET1,"SECRET1 ",SECRET2'), METERS),
        ", row 1: names 1 meter in more than one column; keep one column per meter, and where rows below the header ",
    ),
    "records count from one": (
        "e.parquet",
        {name: values * 30 for name, values in RECORDS.items()} | {"kwh": ["1.5"] * 20 + ["oops"] * 10},
        PARQUET,
        ", row 21, field 'kwh': is not a number",
    ),
    **{
        f"a list as {name}": (
            *("e.parquet", RECORDS | {name: pa.array([[99.5]])}, PARQUET),
            f", field '{name}': is of type list",
        )
        for name in RECORDS
    },
    "no Parquet": ("e.csv", GOOD, PARQUET, ": is not a Parquet file"),
    **{
        f"{problem} in a row": (
            *("e.csv", f"{GOOD}\n{bad}\n", {}),
            ", row 1003: has more or fewer fields than the header",
        )
        for problem, bad in (
            ("a field too few", "SECRET1,2020-01-01 00:00"),
            ("a field too many", "SECRET1,2020-01-01 00:00,1,5"),
            ("blanks", "   "),
        )
    },
    "no UTF-8": ("e.csv", GOOD.encode() + b"\xfc,2020-01-01 00:00,1\n", {}, ", row 1002: is not UTF-8 text"),
    "no UTF-8 in the header": ("e.csv", "Zähler,kwh\n".encode("latin-1"), {}, ", row 1: is not UTF-8 text"),
    "mixed units": (
        *("e.csv", csv_of((*ROW, "kWh"), (*ROW, " KWH"), (*ROW, "m3"), header=f"{HEADER},u")),
        {"unit_column": "u"},
        ", row 4, field 'u': names no unit that can be converted to kWh",
    ),
    "a blank line has no unit": (
        *("e.csv", csv_of((), (*ROW, "m3"), header=f"{HEADER},u")),
        {"unit_column": "u"},
        ", row 3, field 'u'",
    ),
    "stamps with and without an offset": (
        *("e.csv", csv_of(*[("m", "2020-01-01T00:00Z", 1)] * 20, ("m", "2020-01-01T00:00", 1))),
        {"time_format": "ISO8601"},
        ", row 22, field 'interval_start': has a UTC offset where other rows have none",
    ),
    "a meter on two circuits": (
        "e.csv",
        csv_of(*((*ROW, c) for c in ("somewhere", "", "somewhere", "somewhere else")), header=f"{HEADER},c"),
        {"circuit_column": "c"},
        ", row 5, field 'c': names a different circuit",
    ),
    "a meter on two circuits, by day": (
        "e.csv",
        csv_of(
            *(("SECRET1", f"2020-01-0{day}", circuit, 1, 1, 1) for day, circuit in enumerate("NNNS", start=1)),
            header="meter_id,date,c,00:00,00:15,00:30",
        ),
        WIDE | {"circuit_column": "c"},
        ", row 5, field 'c': names a different circuit",
    ),
    "no stamp on the grid": ("e.csv", csv_of(("m", "2020-01-01 00:07", 1)), {}, "has no stamp on the interval grid"),
    "no usable reading": ("e.csv", csv_of(("m", "2020-01-01 00:00", "Null")), {}, "holds no usable reading"),
    "stamps decades apart": (
        *("e.csv", csv_of(ROW, ("SECRET1", "1999-01-01 00:00", 1), LATER), {}),
        "the stamps of rows 3 and 4 are more than 20 years apart",
    ),
}


@pytest.mark.parametrize(("name", "content", "options", "sentence"), REFUSED.values(), ids=REFUSED)
def test_an_export_that_cannot_be_read_is_refused_in_a_sentence(tmp_path, name, content, options, sentence):
    path = tmp_path / name
    if isinstance(content, dict):
        pq.write_table(pa.table(content), path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert sentence in refused(path, **options)


def test_a_missing_file(tmp_path, monkeypatch):
    assert refused(tmp_path / "none.csv") == (": does not exist or is not a file; check the path.")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=re.escape(f"check the path, which begins at {tmp_path}")):
        check_file("none.csv")


def test_a_folder_without_data(tmp_path):
    (tmp_path / "README.txt").write_text("nothing here")
    for form in ("long_csv", "parquet"):
        assert refused(tmp_path, format=form) == ": holds no files with data; give the export itself."


def test_a_file_without_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root, who may run the tests, may read every file
    assert "may not be read" in refused(write_csv(tmp_path / "e.csv", [ROW]))


@pytest.mark.parametrize("row", [2, 3, 40, 1000])
@pytest.mark.parametrize(("column", "bad"), [(2, "oops"), (2, '"1,5"'), (1, "oops"), (1, "2020-01-01 00:00:00")])
def test_a_field_that_cannot_be_read(tmp_path, row, column, bad):
    rows = [list(ROW) for _ in range(1000)]
    rows[30][0] = '"SECRET, 1"'  # a quoted delimiter
    rows[row - 2][column] = bad
    message = refused(write_csv(tmp_path / "e.csv", rows))
    field, problem = {2: ("kwh", "is not a number"), 1: ("interval_start", "is not in the format")}[column]
    assert message.startswith(f", row {row}, field '{field}': {problem}")


@pytest.mark.parametrize("more", [LATER, ("SECRET2", *ROW[1:])], ids=["a_slot", "a_meter"])
def test_an_export_that_grows_between_the_passes(tmp_path, monkeypatch, more):
    path = write_csv(tmp_path / "e.csv", [ROW])

    def survey_then_grow(*arguments):
        survey = survey_export(*arguments)
        write_csv(path, [ROW, more])
        return survey

    monkeypatch.setattr("meterdp.ingest.ingest.survey_export", survey_then_grow)
    monkeypatch.setattr("meterdp.ingest.growing.Growing.given_up", True)  # an export read once cannot change
    assert "changed while it was read" in refused(path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_no_room_for_the_scratch_files(tmp_path, monkeypatch):
    path = write_csv(tmp_path / "e.csv", [ROW, ("SECRET2", *ROW[1:])])
    monkeypatch.setattr("meterdp.ingest.growing.OTHER_BYTES", (2 << 30) - 8)
    monkeypatch.setattr("tempfile.TemporaryFile", lambda dir: open("/dev/full", "w+b"))
    with pytest.raises(InputError, match=r"has no room for .* free disk space"):
        ingested(path, ExportSettings(), folder=tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


def test_a_shard_that_does_not_fit_into_the_memory(tmp_path, monkeypatch):
    path = write_csv(tmp_path / "e.csv", [ROW, ("SECRET2", *ROW[1:]), ("SECRET3", *ROW[1:])])
    monkeypatch.setattr("meterdp.ingest.growing.OTHER_BYTES", (2 << 30) - 8)
    with pytest.raises(
        InputError, match=r"memory_gib.*does not hold a shard of the readings; set shards to 3 or more"
    ):
        ingested(path, ExportSettings(), shards=2)


def test_nothing_is_left_when_writing_fails_half_way(tmp_path, monkeypatch):
    path = write_csv(tmp_path / "e.csv", [ROW])

    def fail(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("meterdp.ingest.ingest.write_table", fail)
    with pytest.raises(KeyboardInterrupt):
        ingested(path, ExportSettings(), folder=tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


WRONG = {
    "unit": ["kwh"],
    "stamp": ["middle"],
    "wide_layout": ["weeks"],
    "interval_minutes": [7, 0, 15.0, 1440],
    "time_zone": ["Europe/Zuerich", "", "../etc/passwd"],
    "time_format": ["%d.%q"],
    "delimiter": ["", "||"],
}


@pytest.mark.parametrize(("setting", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_settings_no_reader_can_work_with(setting, value):
    with pytest.raises(InputError, match=rf"^field 'export.{setting}': .*; .*\.$"):
        ExportSettings(**{setting: value})


def test_a_format_without_a_reader():
    with pytest.raises(InputError, match=r"^field 'export.format': is not a known choice; give one of long_csv, "):
        reader("xml")


def test_settings_of_one_layout_in_another():
    with pytest.raises(InputError, match=r"export.circuit_column.*cannot be read from a column per meter"):
        ExportSettings(format="wide_csv", wide_layout="meters", circuit_column="c")


def test_settings_from_the_configuration():
    config = {"path": "e.csv", "time_zone": "Europe/London", "stamp_time_zone": None, "missing_words": ["", "-"]}
    settings = ExportSettings.from_config(config)
    assert settings.time_zone == "Europe/London" and settings.missing_words == ("", "-")
    assert ExportSettings.from_config(config | {"stamp_time_zone": "UTC"}).time_zone == "UTC"
    assert ExportSettings.from_config({}) == ExportSettings()
    assert np.divide(*ExportSettings(unit="kW", interval_minutes=30).kwh_per_unit) == 0.5
    with pytest.raises(InputError, match=r"export.colour.*is not a setting"):
        ExportSettings.from_config({"colour": "red"})
    for days in (
        {"first_day": "2018-10-27"},
        {"last_day": "2018-10-27"},
        {"first_day": "2018-10-27", "last_day": "2018-10-01"},
    ):
        with pytest.raises(InputError, match=r"'export.last_day': does not form a period .*; give both"):
            ExportSettings.from_config(days)
    with pytest.raises(InputError, match=r"'export.last_day': is more than 20 years after export.first_day; split"):
        ExportSettings.from_config({"first_day": "2000-01-01", "last_day": "2020-01-16"})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"shortest_interval_minutes": 15}, "must be shorter than export.interval_minutes"),
        ({"shortest_interval_minutes": 10}, "must be shorter than export.interval_minutes"),
        (
            {"interval_minutes": 60, "shortest_interval_minutes": 15, "unit_column": "u"},
            "does not go with export.unit_",
        ),
        (
            {"interval_minutes": 60, "shortest_interval_minutes": 15, "format": "nem12"},
            "nem12 says which intervals are",
        ),
        (
            {"interval_minutes": 60, "shortest_interval_minutes": 15, "format": "wide_csv"},
            "needs a stamp in every row",
        ),
    ],
)
def test_a_shortest_interval_that_is_no_part_or_cannot_be_added_up(settings, words):
    with pytest.raises(InputError, match=f"'export.shortest_interval_minutes': .*{words}"):
        ExportSettings(**settings)


@pytest.mark.parametrize(("without", "said"), [(3, False), (4, True)])
def test_listed_meters_that_the_export_lacks_are_said_without_their_number(tmp_path, capsys, without, said):
    """Of 60 listed meters more than one in twenty; before anything is charged, as reading comes first."""
    rows = [(f"M{m:02d}", f"2025-01-01 00:{q:02d}", "1") for m in range(60 - without) for q in (0, 15)]
    period = {"time_zone": "UTC", "first_day": "2025-01-01", "last_day": "2025-01-01", "meters": "list.csv"}
    settings = ExportSettings.from_config(period)
    ingested(write_csv(tmp_path / "e.csv", rows), settings, listed=[f"M{m:02d}" for m in range(60)])
    printed = capsys.readouterr().err
    assert ("fewer than 95% of the listed meters have any reading" in printed) == said and str(
        60 - without
    ) not in printed
