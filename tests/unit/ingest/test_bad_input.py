"""Bad input: one sentence with file, row and field and a hint, never a value, and nothing left behind."""

import gzip
import os
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meterdp.errors import InputError
from meterdp.ingest.ingest import ingest, survey_export
from meterdp.ingest.readers.interface import reader
from meterdp.ingest.settings import ExportSettings
from tests.unit.ingest.made_up import ingested, write_csv

ROW = ("SECRET1", "2020-01-01 00:00", "1.5")
LATER = ("SECRET1", "2020-01-01 00:15", "1.5")
PRIVATE = ("SECRET", "1.5", "oops", "2020-01", "99", "somewhere")


def refused(path, settings=None, **options) -> str:
    """The sentence of the refusal, once it is clear that it says nothing private and nothing was written."""
    folder = path.parent / "out"
    with pytest.raises(InputError) as caught:
        ingest(
            path,
            settings or ExportSettings(**options),
            readings_paths=[folder / "r0.parquet", folder / "r1.parquet"],
            meters_path=folder / "m.parquet",
            report_path=folder / "q.parquet",
            batch_bytes=200,
        )
    message = str(caught.value)
    assert message.startswith(f"{path}"), message
    where = message.removeprefix(str(path))
    assert not any(word in where for word in PRIVATE), where
    assert "\n" not in message and message.endswith(".") and "; " in message
    assert caught.value.__cause__ is None and (caught.value.__suppress_context__ or caught.value.__context__ is None)
    assert not folder.exists() or not list(folder.iterdir())
    return where


def test_a_missing_file(tmp_path):
    assert refused(tmp_path / "none.csv") == (": does not exist or is not a file; give the path of the meter export.")


def test_a_folder_without_data(tmp_path):
    (tmp_path / "README.txt").write_text("nothing here")
    assert refused(tmp_path) == ": holds no files with data; give the export itself."
    assert "is not a file" in refused(tmp_path, format="parquet")


def test_a_file_without_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root, who may run the tests, may read every file
    assert "may not be read" in refused(write_csv(tmp_path / "e.csv", [ROW]))


@pytest.mark.parametrize("name", ["e.csv", "e.csv.gz", "e.zip", "e.parquet"])
def test_zero_bytes(tmp_path, name):
    path = tmp_path / name
    path.touch()
    assert refused(path, format="parquet" if "parquet" in name else "long_csv").startswith(": holds no readings")


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_header_only(tmp_path, end):
    path = tmp_path / "e.csv"
    path.write_bytes(f"meter_id,interval_start,kwh{end}".encode())
    assert refused(path).startswith(": holds no readings")


def test_an_empty_parquet_table(tmp_path):
    pq.write_table(pa.table({"meter_id": [], "interval_start": [], "kwh": []}), tmp_path / "e.parquet")
    assert refused(tmp_path / "e.parquet", format="parquet").startswith(": holds no readings")


@pytest.mark.parametrize("name", ["e.csv.gz", "e.zip"])
def test_a_packed_file_in_name_only(tmp_path, name):
    kind = name.rsplit(".", 1)[1]
    assert f"is not a {kind} file" in refused(write_csv(tmp_path / name, [ROW]))


def test_a_gzip_file_cut_short(tmp_path):
    plain = write_csv(tmp_path / "e.csv", [ROW] * 5000).read_bytes()
    (tmp_path / "e.csv.gz").write_bytes(gzip.compress(plain)[:-30])
    assert "cut short or damaged" in refused(tmp_path / "e.csv.gz")


@pytest.mark.parametrize("cut", [slice(None, -30), slice(None, 60)])
def test_a_zip_file_cut_short(tmp_path, cut):
    with zipfile.ZipFile(tmp_path / "e.zip", "w") as archive:
        archive.writestr("e.csv", "meter_id,interval_start,kwh\n" + ",".join(ROW) * 100)
    (tmp_path / "e.zip").write_bytes((tmp_path / "e.zip").read_bytes()[cut])
    assert "cut short or damaged" in refused(tmp_path / "e.zip")


def test_a_zip_file_with_a_wrong_checksum(tmp_path):
    with zipfile.ZipFile(tmp_path / "e.zip", "w") as archive:
        archive.writestr("e.csv", "meter_id,interval_start,kwh\n" + (",".join(ROW) + "\n") * 100)
    packed = bytearray((tmp_path / "e.zip").read_bytes())
    packed[packed.index(b"1.5", 2000)] ^= 3
    (tmp_path / "e.zip").write_bytes(bytes(packed))
    assert "cut short or damaged" in refused(tmp_path / "e.zip")


def test_an_empty_zip(tmp_path):
    zipfile.ZipFile(tmp_path / "e.zip", "w").close()
    assert refused(tmp_path / "e.zip") == ": holds no files with data; give the export itself."


def test_a_column_that_is_not_there(tmp_path):
    message = refused(write_csv(tmp_path / "e.csv", [ROW]), energy_column="energy")
    assert message.startswith(", row 1, field 'energy': is missing from the header; the header has 'meter_id', ")
    message = refused(write_csv(tmp_path / "e.csv", [ROW]), delimiter=";")
    assert "field 'meter_id'" in message and "check export.delimiter" in message


def test_a_column_that_is_there_twice(tmp_path):
    path = write_csv(tmp_path / "e.csv", [(*ROW, 1)], "meter_id,interval_start,kwh,kwh")
    assert "field 'kwh': is in the header more than once" in refused(path)


def test_a_header_of_meter_ids_is_not_listed(tmp_path):
    path = write_csv(tmp_path / "e.csv", [("2020-01-01 00:00", 1, 2)], "time,SECRET1,SECRET2")
    assert "field 'interval_start'" in refused(path, format="wide_csv", wide_layout="meters")


def test_a_parquet_column_that_is_not_there(tmp_path):
    pq.write_table(pa.table({"meter_id": ["SECRET1"], "kwh": [1.5]}), tmp_path / "e.parquet")
    message = refused(tmp_path / "e.parquet", format="parquet")
    assert (
        message.startswith(", field 'interval_start': is not a column of the file") and "'meter_id', 'kwh'" in message
    )


@pytest.mark.parametrize("row", [2, 3, 40, 1000])
@pytest.mark.parametrize(("column", "bad"), [(2, "oops"), (2, '"1,5"'), (1, "oops"), (1, "2020-01-01 00:00:00")])
def test_a_field_that_cannot_be_read(tmp_path, row, column, bad):
    rows = [list(ROW) for _ in range(1000)]
    rows[30][0] = '"SECRET, 1"'  # a quoted delimiter
    rows[row - 2][column] = bad
    message = refused(write_csv(tmp_path / "e.csv", rows))
    field, problem = {2: ("kwh", "is not a number"), 1: ("interval_start", "is not in the format")}[column]
    assert message.startswith(f", row {row}, field '{field}': {problem}")


def test_rows_are_counted_as_an_editor_does_in_spite_of_blank_lines(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("meter_id,interval_start,kwh\n\n" + ",".join(ROW) + "\n\n\n" + ",".join(ROW) + "x\n")
    assert ", row 6, field 'kwh'" in refused(path)


def test_the_first_bad_number_is_named_when_there_are_several(tmp_path):
    rows = [ROW, ROW, ("m", "2020-01-01 00:00", "oops"), ROW, ("m", "2020-01-01 00:00", "oops")]
    assert ", row 4, " in refused(write_csv(tmp_path / "e.csv", rows))


def test_a_bad_cell_of_a_wide_export(tmp_path):
    rows = [("SECRET1", "2020-01-01", 1, 1), ("SECRET1", "2020-01-02", 1, "oops")]
    path = write_csv(tmp_path / "e.csv", rows, "meter_id,date,00:00,00:15")
    assert refused(path, format="wide_csv").startswith(", row 3, field '00:15': is not a number")
    path = write_csv(tmp_path / "e.csv", [("2020-01-01 00:00", 1, "oops")], "interval_start,SECRET1,SECRET2")
    assert refused(path, format="wide_csv", wide_layout="meters").startswith(", row 2, field 'column 3': is not")


def test_wide_headers_that_name_no_interval_or_no_meter(tmp_path):
    path = write_csv(tmp_path / "e.csv", [("SECRET1", "2020-01-01", 1)], "meter_id,date,25:00")
    assert "has no column that is a time of day" in refused(path, format="wide_csv")
    path = write_csv(tmp_path / "e.csv", [("2020-01-01 00:00", 1, "")], "interval_start,SECRET1,")
    assert "has a column without a meter id in the header" in refused(path, format="wide_csv", wide_layout="meters")


def test_a_bad_record_of_a_parquet_file_counts_from_one(tmp_path):
    stamps = pa.array(["2020-01-01 00:00"] * 30)
    pq.write_table(
        pa.table({"meter_id": ["SECRET1"] * 30, "interval_start": stamps, "kwh": ["1.5"] * 20 + ["oops"] * 10}),
        tmp_path / "e.parquet",
    )
    assert refused(tmp_path / "e.parquet", format="parquet").startswith(", row 21, field 'kwh': is not a number")


@pytest.mark.parametrize("column", ["meter_id", "interval_start", "kwh"])
def test_parquet_columns_of_a_type_that_has_no_place(tmp_path, column):
    table = {"meter_id": ["SECRET1"], "interval_start": ["2020-01-01 00:00"], "kwh": [1.5]}
    table[column] = pa.array([[99.5]])
    pq.write_table(pa.table(table), tmp_path / "e.parquet")
    assert f", field '{column}': is of type list" in refused(tmp_path / "e.parquet", format="parquet")


def test_not_a_parquet_file(tmp_path):
    assert "is not a Parquet file" in refused(write_csv(tmp_path / "e.csv", [ROW]), format="parquet")


@pytest.mark.parametrize("bad", ["SECRET1,2020-01-01 00:00", "SECRET1,2020-01-01 00:00,1,5", "   "])
def test_a_row_with_too_few_or_too_many_fields(tmp_path, bad):
    path = tmp_path / "e.csv"
    path.write_text("meter_id,interval_start,kwh\n" + (",".join(ROW) + "\n") * 50 + "\n" + bad + "\n")
    assert refused(path).startswith(", row 53: has more or fewer fields than the header")


def test_text_that_is_not_utf8(tmp_path):
    path = tmp_path / "e.csv"
    path.write_bytes(b"meter_id,interval_start,kwh\n" + b"m,2020-01-01 00:00,1\n" * 9 + b"\xfc,2020-01-01 00:00,1\n")
    assert refused(path).startswith(", row 11: is not UTF-8 text")
    path.write_bytes("meter_id,interval_start,Zähler\n".encode("latin-1"))
    assert refused(path).startswith(", row 1: is not UTF-8 text")


def test_mixed_units(tmp_path):
    rows = [(*ROW, "kWh"), (*ROW, " KWH"), (*ROW, "Wh")]
    path = write_csv(tmp_path / "e.csv", rows, "meter_id,interval_start,kwh,u")
    message = refused(path, unit_column="u")
    assert message.startswith(", row 4, field 'u': is not kWh (mixed units")


def test_a_blank_line_has_no_unit_to_refuse(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("meter_id,interval_start,kwh,u\n\nSECRET1,2020-01-01 00:00,1.5,Wh\n")
    assert ", row 3, field 'u'" in refused(path, unit_column="u")


def test_stamps_with_and_without_an_offset(tmp_path):
    rows = [("m", "2020-01-01T00:00Z", 1)] * 20 + [("m", "2020-01-01T00:00", 1)]
    message = refused(write_csv(tmp_path / "e.csv", rows), time_format="ISO8601")
    assert message.startswith(", row 22, field 'interval_start': has a UTC offset where other rows have none")


def test_a_meter_on_two_circuits(tmp_path):
    rows = [(*ROW, "somewhere"), (*ROW, ""), (*ROW, "somewhere"), (*ROW, "somewhere else"), (*ROW, "somewhere")]
    path = write_csv(tmp_path / "e.csv", rows, "meter_id,interval_start,kwh,c")
    message = refused(path, circuit_column="c")
    assert message.startswith(", row 5, field 'c': names a different circuit")


def test_a_meter_on_two_circuits_in_a_wide_export(tmp_path):
    rows = [("SECRET1", f"2020-01-0{day}", circuit, 1, 1, 1) for day, circuit in enumerate("NNNS", start=1)]
    path = write_csv(tmp_path / "e.csv", rows, "meter_id,date,c,00:00,00:15,00:30")
    assert refused(path, format="wide_csv", circuit_column="c").startswith(", row 5, field 'c'")


def test_no_stamp_on_the_grid_and_no_usable_reading(tmp_path):
    path = write_csv(tmp_path / "e.csv", [("m", "2020-01-01 00:07", 1), ("m", "", 1)])
    assert "has no stamp on the interval grid" in refused(path)
    assert "holds no usable reading" in refused(write_csv(tmp_path / "e.csv", [("m", "2020-01-01 00:00", "Null")]))


def test_stamps_decades_apart(tmp_path):
    rows = [ROW, ("SECRET1", "1999-01-01 00:00", 1), LATER]
    assert "the stamps of rows 3 and 4 are more than 20 years apart" in refused(write_csv(tmp_path / "e.csv", rows))


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
    folder = tmp_path / "out"
    with pytest.raises(InputError, match=r"has no room for .* free disk space"):
        ingest(
            path,
            ExportSettings(),
            readings_paths=[folder / "r0.parquet", folder / "r1.parquet"],
            meters_path=folder / "m.parquet",
            report_path=folder / "q.parquet",
        )
    assert not list(folder.iterdir())


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
    folder = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        ingest(
            path,
            ExportSettings(),
            readings_paths=[folder / "r.parquet"],
            meters_path=folder / "m.parquet",
            report_path=folder / "q.parquet",
        )
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("unit", "kwh"),
        ("stamp", "middle"),
        ("wide_layout", "weeks"),
        ("interval_minutes", 7),
        ("interval_minutes", 0),
        ("interval_minutes", 15.0),
        ("interval_minutes", 1440),
        ("time_zone", "Europe/Zuerich"),
        ("time_zone", ""),
        ("time_zone", "../etc/passwd"),
        ("time_format", "%d.%q"),
        ("delimiter", ""),
        ("delimiter", "||"),
    ],
)
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
