"""Every format, zone notation, unit and packing gives the same canonical readings for the same content."""

import gzip
import weakref
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meterdp.core.parquet import metadata_of, read_table
from meterdp.errors import InputError
from meterdp.ingest.growing import Chunks
from meterdp.ingest.settings import ExportSettings
from meterdp.ingest.tables import READINGS
from tests.unit.ingest.made_up import ingested, two_days, write_csv

ZONE = "Europe/Zurich"
LOCAL = ExportSettings(time_zone=ZONE)


@pytest.fixture(scope="module")
def frame():
    return two_days()


@pytest.fixture(scope="module")
def expected(frame):
    table = frame.pivot_table(index="utc", columns="meter", values="kwh", dropna=False)
    assert list(table.columns) == ["A1", "B7", "a2"]
    return table


def text(kwh) -> list[str]:
    return ["" if np.isnan(x) else repr(float(x)) for x in kwh]


def long_rows(frame, stamp="local", kwh=None):
    return zip(frame["meter"], frame[stamp], text(frame["kwh"]) if kwh is None else kwh, strict=True)


def check(result, expected, *, exact=True):
    assert list(result.energy_kwh.columns) == list(expected.columns)
    assert (result.energy_kwh.index == expected.index).all()
    compare = np.testing.assert_array_equal if exact else np.testing.assert_allclose
    compare(result.energy_kwh.to_numpy(), expected.to_numpy())
    assert result.counts == {"used": expected.size - 1, "value_missing": 1}


def stamped(zone, strftime, frame):
    return frame.assign(stamp=frame["utc"].dt.tz_convert(zone).dt.strftime(strftime))


@pytest.mark.parametrize("time_zone", [ZONE, "America/Los_Angeles"])
@pytest.mark.parametrize(
    ("time_format", "strftime", "zone"),
    [
        ("ISO8601", "%Y-%m-%dT%H:%M:%S.000", None),
        ("%Y%m%d%H%M%S", "%Y%m%d%H%M%S", None),
        ("ISO8601", "%Y-%m-%dT%H:%M:%SZ", "UTC"),
        ("ISO8601", "%Y-%m-%d %H:%M%z", "Asia/Kathmandu"),
        ("%d/%m/%Y %H:%M %z", "%d/%m/%Y %H:%M %z", ZONE),
        ("%Y-%m-%dT%H:%MZ", "%Y-%m-%dT%H:%MZ", "UTC"),
    ],
)
def test_stamps_with_an_offset_are_taken_as_they_are(
    tmp_path, frame, expected, time_format, strftime, zone, time_zone
):
    """And others are on the local clock."""
    path = write_csv(tmp_path / "e.csv", long_rows(stamped(zone or time_zone, strftime, frame), "stamp"))
    check(ingested(path, ExportSettings(time_zone=time_zone, time_format=time_format)), expected)


@pytest.mark.parametrize(("unit", "per_kwh"), [("kWh", 1), ("Wh", 1000), ("MWh", 0.001), ("kW", 4), ("W", 4000)])
def test_units(tmp_path, frame, expected, unit, per_kwh):
    path = write_csv(tmp_path / "e.csv", long_rows(frame, kwh=text(frame["kwh"] * per_kwh)))
    check(ingested(path, ExportSettings(time_zone=ZONE, unit=unit)), expected, exact=False)


def test_whole_watt_hours_become_the_nearest_kilowatt_hours(tmp_path):
    path = write_csv(tmp_path / "e.csv", [("m", "2020-01-01 00:00", 123)])
    assert ingested(path, ExportSettings(unit="Wh")).at("m", "2020-01-01") == 0.123


def test_circuits_and_units_in_columns_of_their_own(tmp_path, frame, expected):
    rows = [
        (m, t, v, " KWH ", {"A1": "north", "B7": "", "a2": "south"}[m] if i % 3 else "")
        for i, (m, t, v) in enumerate(long_rows(frame))
    ]
    path = write_csv(tmp_path / "e.csv", rows, "meter_id,interval_start,kwh,u,c")
    result = ingested(path, ExportSettings(time_zone=ZONE, unit_column="u", circuit_column="c"), shards=3)
    check(result, expected)
    assert result.meters["circuit"].fillna("none").tolist() == ["north", "none", "south"]
    assert result.meters["shard"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("midnight", ["24:00", "00:00"])
def test_wide_csv_with_columns_that_name_ends(tmp_path, frame, expected, midnight):
    local = frame["utc"].dt.tz_convert(ZONE)
    ends = (local + pd.Timedelta("15min")).dt.strftime("%H:%M").replace("00:00", midnight)
    wide = frame.assign(date=local.dt.strftime("%Y-%m-%d"), time=ends, kwh=text(frame["kwh"]))
    order = list(ends.unique())
    wide = wide.pivot_table(index=["meter", "date"], columns="time", values="kwh", aggfunc="first")
    wide = wide[order].reset_index()
    path = write_csv(tmp_path / "e.csv", wide.itertuples(index=False), ",".join(["meter_id", "date", *order]))
    check(ingested(path, ExportSettings(format="wide_csv", time_zone=ZONE, stamp="end")), expected)


@pytest.mark.parametrize("stamps", ["zone", "naive_ns", "text"])
@pytest.mark.parametrize("ids", ["plain", "dictionary", "large"])
@pytest.mark.parametrize("energy", ["float", "decimal", "text"])
def test_parquet(tmp_path, frame, expected, stamps, ids, energy):
    kinds = {"plain": pa.string(), "dictionary": pa.dictionary(pa.int32(), pa.string()), "large": pa.large_string()}
    local = frame["utc"].dt.tz_convert(ZONE)
    stamp = {
        "zone": pa.array(local, pa.timestamp("ms", tz=ZONE)),
        "naive_ns": pa.array(local.dt.tz_localize(None), pa.timestamp("ns")),
        "text": pa.array(frame["local"].to_numpy(), pa.string()),
    }[stamps]
    kwh = {
        "float": pa.array(frame["kwh"], pa.float64(), from_pandas=True),
        "decimal": pa.array([word or None for word in text(frame["kwh"])]).cast(pa.decimal128(12, 3)),
        "text": pa.array(text(frame["kwh"])),
    }[energy]
    table = pa.table({"meter_id": pa.array(frame["meter"]).cast(kinds[ids]), "interval_start": stamp, "kwh": kwh})
    pq.write_table(table, tmp_path / "e.parquet", row_group_size=100)
    check(ingested(tmp_path / "e.parquet", ExportSettings(format="parquet", time_zone=ZONE)), expected)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("where", ["by month", "by meter"])
def test_a_folder_of_parquet_files_is_one_export(tmp_path, frame, expected, where, threads):
    """Each with types of its own, in folders of partitions, beside what Spark and Dask leave there."""
    key = frame["utc"].dt.strftime("%m") if where == "by month" else frame["meter"]
    for number, (value, part) in enumerate(frame.groupby(key)):
        ids = pa.array(part["meter"]).cast([pa.string(), pa.dictionary(pa.int32(), pa.string())][number % 2])
        table = pa.table({"kwh": part["kwh"], "interval_start": pa.array(part["utc"]), "meter_id": ids})
        folder = tmp_path / f"e/month={value}"
        folder.mkdir(parents=True)
        pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=100)
    for name in ("_SUCCESS", "_metadata", ".part-0.parquet.crc"):
        (tmp_path / "e" / name).write_bytes(b"")
    settings = ExportSettings(format="parquet", time_zone=ZONE)
    check(ingested(tmp_path / "e", settings, threads=threads, batch_bytes=2000), expected)


def test_of_a_folder_of_parquet_files_a_bad_one_spoils_itself_only(tmp_path):
    stamps = pa.array(np.array(["2020-01-01T00:00", "2020-01-01T00:15"], "datetime64[us]"))
    (tmp_path / "e").mkdir()
    for meter in ("SECRET1", "SECRET3"):
        table = pa.table({"meter_id": [meter] * 2, "interval_start": stamps, "kwh": [1, 2]})
        pq.write_table(table, tmp_path / f"e/{meter}.parquet")
    (tmp_path / "e/SECRET2.parquet").write_bytes(b"no Parquet")
    for threads in (1, 2):
        with pytest.raises(InputError, match=r"e, file 2 of 3, in order of names: is not a Parquet file") as told:
            ingested(tmp_path / "e", ExportSettings(format="parquet"), threads=threads)
        assert "SECRET" not in str(told.value)
        result = ingested(tmp_path / "e", ExportSettings(format="parquet", bad_rows="missing"), threads=threads)
        assert result.counts == {"used": 4, "file_unreadable": 1}
        assert result.at("SECRET3", "2020-01-01 00:15") == 2
    (tmp_path / "e/readings.csv").write_text("meter_id,interval_start,kwh\n")
    with pytest.raises(InputError, match=r"holds 4 files that are not all text: 3 \.parquet; .* or all in \.parquet"):
        ingested(tmp_path / "e", ExportSettings(format="parquet"))


def test_parquet_with_integer_ids(tmp_path):
    stamps = pa.array(np.array(["2020-01-01T00:00", "2020-01-01T00:15"], "datetime64[us]"))
    pq.write_table(pa.table({"meter_id": [70, 9], "interval_start": stamps, "kwh": [1, 2]}), tmp_path / "e.parquet")
    result = ingested(tmp_path / "e.parquet", ExportSettings(format="parquet"))
    assert list(result.energy_kwh.columns) == ["70", "9"]
    assert result.at("9", "2020-01-01T00:15") == 2


@pytest.mark.parametrize("kind", ["int32", "float32", "float64", "decimal128(8, 3)", "string"])
def test_parquet_with_numbers_that_stand_for_missing_readings(tmp_path, kind):
    stamps = pa.array(np.array([f"2020-01-01T00:{m:02d}" for m in (0, 15, 30, 45)], "datetime64[us]"))
    kinds = {"decimal128(8, 3)": pa.decimal128(8, 3), "string": pa.string()}
    kwh = pa.array(["1", "-999", "-99", "2"]).cast(kinds.get(kind) or pa.type_for_alias(kind))
    pq.write_table(pa.table({"meter_id": [7] * 4, "interval_start": stamps, "kwh": kwh}), tmp_path / "e.parquet")
    result = ingested(tmp_path / "e.parquet", ExportSettings(format="parquet", missing_words=("", "-999")))
    assert result.counts == {"used": 3, "value_missing": 1}
    assert np.isnan(result.at("7", "2020-01-01T00:15")) and result.at("7", "2020-01-01T00:30") == -99


@pytest.mark.parametrize("word", ["-999.9", "0.1"])
def test_parquet_with_a_missing_number_that_single_precision_does_not_hold(tmp_path, word):
    stamps = pa.array(np.array(["2020-01-01T00:00", "2020-01-01T00:15"], "datetime64[us]"))
    kwh = pa.array([1.5, float(word)], pa.float32())
    pq.write_table(pa.table({"meter_id": [7, 7], "interval_start": stamps, "kwh": kwh}), tmp_path / "e.parquet")
    result = ingested(tmp_path / "e.parquet", ExportSettings(format="parquet", missing_words=(word,)))
    assert result.counts == {"used": 1, "value_missing": 1}


@pytest.mark.parametrize("packing", ["gzip of two members", "zip", "gzip without the name"])
def test_packed_exports(tmp_path, frame, expected, packing):
    plain = write_csv(tmp_path / "e.csv", long_rows(frame)).read_bytes()
    path = tmp_path / {"zip": "e.zip", "gzip without the name": "f.csv"}.get(packing, "e.csv.gz")
    if packing == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.mkdir("folder")
            archive.writestr("folder/e.csv", plain)
    else:
        path.write_bytes(gzip.compress(plain[:1000]) + gzip.compress(plain[1000:]))
    check(ingested(path, LOCAL, batch_bytes=500), expected)


def test_lines_without_a_reading_are_counted_where_several_bands_are_read(tmp_path, frame, monkeypatch):
    settings = replace(LOCAL, bad_rows="missing")
    path = write_csv(tmp_path / "e.csv", [*long_rows(frame), *[("no", "row")] * 100])
    monkeypatch.setattr("meterdp.ingest.growing.OTHER_BYTES", (2 << 30) - 8 * len(frame) // 3)
    assert ingested(path, settings, shards=3, batch_bytes=100).counts["row_malformed"] == 100


@pytest.mark.parametrize("policy", ["last", "missing"])
@pytest.mark.parametrize("households_at_once", [1, 2])
def test_bands_give_the_same_as_one_array_and_leave_nothing(tmp_path, frame, monkeypatch, policy, households_at_once):
    settings = replace(LOCAL, conflicting_rows=policy)
    rows = list(long_rows(frame))
    again = [(meter, stamp, 7.5) for meter, stamp, _ in rows[::5]]
    path = write_csv(tmp_path / "e.csv", [*rows, *rows[::7], *again, ("", rows[0][1], 1)])
    whole = ingested(path, settings, shards=3)
    slots = len(whole.readings) // 3
    monkeypatch.setattr("meterdp.ingest.growing.OTHER_BYTES", (2 << 30) - 8 * slots * households_at_once)
    banded = ingested(path, settings, shards=3, batch_bytes=300)
    pd.testing.assert_frame_equal(banded.readings, whole.readings)
    pd.testing.assert_frame_equal(banded.meters, whole.meters)
    assert banded.counts == whole.counts and {"duplicate_identical", "meter_missing"} <= set(whole.counts)
    assert list(tmp_path.iterdir()) == [path]


def test_no_band_stays_in_memory_when_the_next_but_one_is_read(tmp_path, frame, monkeypatch):
    path, alive, original = write_csv(tmp_path / "e.csv", long_rows(frame)), [], Chunks.arrays

    def watched(chunks):
        for first, energy_kwh in original(chunks):
            assert sum(band() is not None for band in alive) <= 1
            alive.append(weakref.ref(energy_kwh))
            yield first, energy_kwh
            del energy_kwh

    monkeypatch.setattr(Chunks, "arrays", watched)
    monkeypatch.setattr("meterdp.ingest.growing.OTHER_BYTES", (2 << 30) - 8 * len(frame) // 3)
    ingested(path, LOCAL, shards=3, batch_bytes=300)
    assert len(alive) == 3


def test_metadata_is_passed_on_and_holds_nothing_private(tmp_path, frame):
    path, folder = write_csv(tmp_path / "e.csv", long_rows(frame)), tmp_path / "out"
    ingested(path, LOCAL, folder=folder, metadata={"synthetic": "yes"})
    files = list(folder.iterdir())
    for file in files:
        metadata = metadata_of(file)
        assert metadata["synthetic"] == "yes" and metadata["release"] == "not for release"
        assert not any(meter in value for value in metadata.values() for meter in ("A1", "B7"))
    assert len(files) == 4 and read_table(folder / "part-1.parquet", READINGS).schema.field("energy_kwh").nullable
