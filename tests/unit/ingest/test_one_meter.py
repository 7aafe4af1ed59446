"""What one listed meter writes ends no run and moves no other record: attacks that did, and files that are joined.

``tests/statistical/ingest/test_rewrites.py`` tries rewrites at random.
"""

import gc
import gzip
import io
import tracemalloc
import weakref

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meterdp.errors import InputError
from meterdp.ingest import kept, sums
from meterdp.ingest.batch import NameIndex, Names, Seen
from meterdp.ingest.fields import StampParser
from meterdp.ingest.lines import SafeLines
from meterdp.ingest.readers import cer, csv_rows, green_button, long_csv, parquet
from meterdp.ingest.readers.plain_rows import PlainRows
from meterdp.ingest.settings import ExportSettings
from tests.unit.ingest.made_up import ingested, pack
from tests.unit.ingest.test_nem12 import day, details
from tests.unit.ingest.test_nem12 import write as write_nem12

LISTED = ["A1", "V9"]
DAY = {"first_day": "2018-10-26", "last_day": "2018-10-26"}
COMMON = {"time_zone": "UTC", "interval_minutes": 30, "meters": "list.csv", **DAY}
CER = {"format": "cer", "time_zone": "Europe/Dublin", "first_day": "2010-01-04", "last_day": "2010-01-04"}
NEM12 = {"format": "nem12", "time_zone": "Australia/Brisbane"}
HOME = "https://u/UsagePoint/"


def read(path, listed=LISTED, *, kept_folder=None, **options) -> tuple[dict[str, list[float]], dict[str, int]]:
    """The readings of each listed meter that has any, and what became of all rows."""
    result = ingested(path, COMMON | options, listed=listed, kept_folder=kept_folder)
    return result.given, result.counts


@pytest.mark.parametrize("magic", [b"\x1f\x8b\x08\x00", b"PK\x03\x04", b"PK\x05\x06"])
@pytest.mark.parametrize("folder", [False, True])
def test_a_text_without_a_header_is_known_from_a_packed_one_by_name(tmp_path, magic, folder):
    rows = magic + b"9 36901 5\nA1 36901 1\nV9 36901 2\n"
    if folder:
        path = pack(tmp_path / "export", {"1.txt": rows, "2.txt.gz": gzip.compress(b"A1 36902 3")})
    else:
        path = tmp_path / "export"
        path.write_bytes(rows)
    found, _ = read(path, **CER)
    assert found == {"A1": [1.0, 3.0] if folder else [1.0], "V9": [2.0]}


BROKEN = {
    "gzip": b"\x1f\x8b oops",
    "a zip": b"PK\x03\x04 oops",
    "no header": b"\n\n",
    "another header": b"a,b\n1,2\n",
    "a header that is no text": b"\xff\xfe\n",
    "a header of one field": b'"' + b"x" * 200_000 + b'"\n',
    "an endless header": b"x" * (5 << 20),
    "old line ends": b"interval_start,kwh\r2018-10-26 00:00,1\r",
    "a column twice": b"kwh,kwh,interval_start\n",
}


@pytest.mark.parametrize("data", [*BROKEN.values(), "a zip of two"], ids=[*BROKEN, "a zip of two"])
@pytest.mark.parametrize("zipped", [False, True])
def test_the_file_of_a_meter_that_cannot_be_read_is_counted(tmp_path, data, zipped):
    good = b"interval_start,kwh\n2018-10-26 00:00,1\n"
    if data == "a zip of two":
        data = pack(tmp_path / "two.zip", {"a.csv": "x", "b.csv": "x"}, zipped=True).read_bytes()
    path = pack(tmp_path / "export", {"A1.csv": good, "V9.csv": data, "Z.csv": good}, zipped=zipped)
    found, counts = read(path, meter_column=None)
    assert (found, counts) == ({"A1": [1.0]}, {"used": 1, "meter_not_listed": 1, "file_unreadable": 1})
    with pytest.raises(InputError):  # without a list
        list(csv_rows.csv_batches(path, ExportSettings(meter_column=None), strict))


def strict(rows):
    rows.position("interval_start")
    rows.position("kwh")
    yield from (batch for batch in rows.batches([0]) if not batch.fields)


def test_what_a_damaged_file_holds_up_to_the_damage_counts(tmp_path):
    data = b"interval_start,kwh\n2018-10-26 00:00,7\n" + b"2018-10-26 00:30,x%d\n" * 9
    lines = b"".join(b"2018-10-26 00:30,%d\n" % i for i in np.random.default_rng(1).integers(0, 10**15, 400_000))
    cut = gzip.compress(data + lines, 1)[:-5000]
    path = pack(tmp_path / "export", {"V9.csv.gz": cut, "A1.csv": "interval_start,kwh\n2018-10-26 00:00,1\n"})
    found, counts = read(path, meter_column=None)
    assert found["A1"] == [1.0] and found["V9"][0] == 7.0 and counts["file_unreadable"] == 1


def test_a_first_row_without_an_end_is_not_waited_for(tmp_path):
    class Endless(io.RawIOBase):
        reads = 0

        def read(self, size):
            self.reads += 1
            return b"x" * size if self.reads < 1000 else b"\nA1 36901 1\n" if self.reads == 1000 else b""

    stream = Endless()
    pieces = SafeLines(" ", b"\n", 100, 50).pieces(stream, 0)
    assert next(pieces).overlong and stream.reads < 5
    assert [piece.lines for piece in pieces] == [b"A1 36901 1\n"]
    path = tmp_path / "e.txt"
    path.write_bytes(b"x" * (1 << 23) + b"\nA1 36901 1\n")
    tracemalloc.start()
    assert sum(len(b.meter) + b.left_out for b in cer.batches(path, ExportSettings.from_config(COMMON | CER))) == 2
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 25


def test_tables_of_words_are_bounded_by_bytes():
    settings = ExportSettings(bad_rows="missing")
    rows = PlainRows(settings, StampParser(settings.time_format, settings.missing_words), table_bytes=1 << 20)
    roles = rows.roles(["meter_id", "interval_start", "kwh"])
    for block in range(40):  # 8 MB of distinct words, which do not repeat
        lines = b"".join(b"V9,%d-%d%s,1\n" % (block, i, b"x" * 20_000) for i in range(10))
        assert rows.batch(rows.scan(lines, 1 << 16, roles), 1, "") is not None
        assert rows._words.text_bytes < 1 << 21


def test_names_are_let_go_with_who_met_them():
    number, names = NameIndex({"A1": 0}, grow=False), Names(["A1", "x"])
    assert number(Seen(names, 2), np.array([0, 1])).tolist() == [0, -2]
    watched = weakref.ref(names)
    del names
    gc.collect()
    assert watched() is None


@pytest.mark.parametrize("most", [0, 1 << 25])
def test_what_is_kept_of_an_export_numbers_names_again(tmp_path, monkeypatch, most):
    monkeypatch.setattr(kept, "NAMES_BYTES", most)
    rows = [f"{m},2018-10-26 00:00,{i}" for i, m in enumerate(["A1", "V9", *(f"Z{i}" for i in range(30)), "A1"])]
    (tmp_path / "e.csv").write_text("meter_id,interval_start,kwh\n" + "\n".join(rows) + "\n")
    first = [read(tmp_path / "e.csv", kept_folder=tmp_path / "kept") for _ in range(2)]
    settings = ExportSettings.from_config(COMMON)
    store = kept.KeptReadings(tmp_path / "kept", settings)
    monkeypatch.setattr(kept.KeptReadings, "_key", lambda self, member: "one")

    def blocks(member):
        return long_csv.batches(member, settings, batch_bytes=100)

    written, found = [
        [b.meter_ids[m] for b in store.batches(tmp_path / "e.csv", blocks) for m in b.meter] for _ in range(2)
    ]
    assert written == found == [row.partition(",")[0] for row in rows]
    assert first[0] == first[1] == ({"A1": [32.0], "V9": [1.0]}, first[0][1])


def table(path, stamps, **options):
    n = len(stamps)
    columns = {"meter_id": ["A1", *["V9"] * (n - 1)], "interval_start": stamps, "kwh": [str(i + 1) for i in range(n)]}
    pq.write_table(pa.table(columns), path, **options)
    return path


@pytest.mark.parametrize("most", [1, parquet.MOST_TEXT_BYTES])
def test_a_long_word_of_a_parquet_file_is_held_once(tmp_path, monkeypatch, most):
    """Written out for every record it is more text than Arrow can hold: 3 GB here."""
    monkeypatch.setattr(parquet, "MOST_TEXT_BYTES", most)
    words = pa.array(["2018-10-26 00:00", "x" * (1 << 20), "2018-10-26 00:30"])
    codes = pa.array([0, *[1] * 3000, 2], pa.int32())
    path = table(tmp_path / "e.parquet", pa.DictionaryArray.from_arrays(codes, words), compression="zstd")
    found, counts = read(path, format="parquet")
    assert found == {"A1": [1.0], "V9": [3002.0]}
    assert counts == {"used": 2, "stamp_unreadable": 3000}


def test_few_records_are_read_at_a_time_where_text_is_long(tmp_path, monkeypatch):
    stamps = [f"2018-10-26 {i // 2:02d}:{i % 2 * 30:02d}" for i in range(40)]
    path = table(tmp_path / "e.parquet", pa.array(stamps), row_group_size=25)
    settings = ExportSettings.from_config(COMMON | {"format": "parquet"})
    expected = [len(batch.meter) for batch in parquet.batches(path, settings)]
    monkeypatch.setattr(parquet, "MOST_TEXT_BYTES", 1)
    monkeypatch.setattr(parquet, "_FEW_ROWS", 7)
    found = [len(batch.meter) for batch in parquet.batches(path, settings)]
    assert (expected, found) == ([25, 15], [7, 7, 7, 4, 7, 7, 1])


def test_a_word_no_record_has_is_no_meter(tmp_path):
    frame = pd.DataFrame({"meter_id": pd.Categorical(["A"], categories=["A", "B"])})
    frame = frame.assign(interval_start="2018-10-26 00:00", kwh=1.0)
    frame.to_parquet(tmp_path / "e.parquet")
    batches = parquet.batches(tmp_path / "e.parquet", ExportSettings(format="parquet"))
    assert [list(batch.meter_ids) for batch in batches] == [["A"]]


def blocks(meter: str, inside: str) -> str:
    own = f"{HOME}{meter}/MeterReading/1"
    return (
        f'<entry><link rel="self" href="{own}"/><link rel="related" href="/ReadingType/7"/><content><e:MeterReading/>'
        f'</content></entry><entry><link rel="self" href="{own}/IntervalBlock/1"/><content><e:IntervalBlock>{inside}'
        "</e:IntervalBlock></content></entry>"
    )


def values(*watt_hours, start=1540512000) -> str:
    return "".join(
        f"<e:IntervalReading><e:timePeriod><e:duration>1800</e:duration><e:start>{start + 1800 * i}</e:start>"
        f"</e:timePeriod><e:value>{value}</e:value></e:IntervalReading>"
        for i, value in enumerate(watt_hours)
    )


TYPE = (
    '<entry><link rel="self" href="/ReadingType/7"/><content><e:ReadingType><e:uom>72</e:uom></e:ReadingType>'
    "</content></entry>"
)


def feed(*entries: str) -> str:
    return '<feed xmlns:e="http://naesb.org/espi">\n' + "\n".join([TYPE, *entries]) + "\n</feed>"


XML = {
    "nesting": "<a>" * 100_000,
    "an attribute of megabytes": f"<a b='{'x' * (9 << 20)}'/>",
    "not well-formed": "<a></b>",
    "an entity": "&a;",
    "a comment without an end": "<!-- ",
    "raw text without an end": "<![CDATA[ ",
    "a document type": "<!DOCTYPE f [<!ENTITY a 'b'>]>",
    "bytes that are no text": "\udcff",
    "the end of the feed": "</e:IntervalBlock></content></entry></feed>",
    "an entry within": "<entry>",
}


@pytest.mark.parametrize("spoilt", XML.values(), ids=XML)
@pytest.mark.parametrize("many", [False, True])
def test_what_is_wrong_in_an_entry_or_a_feed_stays_there(tmp_path, spoilt, many):
    mine, theirs = blocks("V9", spoilt + values(1, 2, 3)), blocks("A1", values(7))
    path = tmp_path / "export"
    texts = {"1.xml": feed(theirs), "2.xml": feed(mine), "3.xml": spoilt} if many else {"1.xml": feed(mine, theirs)}
    pack(path, {name: text.encode(errors="surrogateescape") for name, text in texts.items()})
    path = path if many else path / "1.xml"
    found, counts = read(path, [HOME + m for m in LISTED], format="green_button")
    assert found[HOME + "A1"] == [0.007] and counts["row_malformed"] >= 1
    assert HOME + "V9" not in found
    settings = ExportSettings(format="green_button", time_zone="UTC", interval_minutes=30)
    with pytest.raises(InputError, match=r"well-formed|nested|too long|document type"):
        list(green_button.batches(path, settings))


def test_a_feed_among_many_that_is_none_is_counted(tmp_path):
    files = {"1.xml": feed(blocks("A1", values(7))), "2.xml": b"\x1f\x8b", "3.xml": "meter_id,kwh\n"}
    path = pack(tmp_path / "export", files)
    found, counts = read(path, [HOME + m for m in LISTED], format="green_button")
    assert (found, counts) == ({HOME + "A1": [0.007]}, {"used": 1, "file_unreadable": 2})


def test_feeds_are_not_joined(tmp_path):
    """What a file says of a household is for the readings of that file."""
    kwh = TYPE.replace("<e:uom>", "<e:powerOfTenMultiplier>3</e:powerOfTenMultiplier><e:uom>")
    claim = f'<entry><link rel="self" href="{HOME}A1"/><content><e:UsagePoint><e:ServiceCategory><e:kind>1</e:kind>'
    claim += "</e:ServiceCategory></e:UsagePoint></content></entry>"
    other = feed(blocks("V9", values(5)), claim).replace(TYPE, kwh)
    path = pack(tmp_path / "export", {"1.xml": feed(blocks("A1", values(7))), "2.xml": other})
    found, _ = read(path, [HOME + m for m in LISTED], format="green_button")
    assert found == {HOME + "A1": [0.007], HOME + "V9": [5.0]}


def test_an_entry_with_too_many_readings_or_links_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(green_button, "MOST_READINGS", 20)
    path = tmp_path / "e.xml"
    path.write_text(feed(blocks("V9", values(*range(21))), blocks("A1", values(*[7] * 20))))
    found, counts = read(path, [HOME + m for m in LISTED], format="green_button")
    assert found == {HOME + "A1": [0.007] * 20} and counts == {"used": 20, "row_malformed": 21}
    many = "".join(f'<link rel="related" href="/ReadingType/1{i:03}"/>' for i in range(1000))
    path.write_text(feed(blocks("V9", values(1)).replace("<content><e:MeterR", many + "<content><e:MeterR")))
    assert read(path, [HOME + "V9"], format="green_button")[1] == {"used": 0, "reading_type_missing": 1}


def ones(value, date="20181026") -> str:
    """A 300 record of one value."""
    return day([value] * 48, date=date)


def test_files_of_metering_data_are_not_joined(tmp_path):
    """A row without a 200 record above it belongs to nobody, whatever the file before ended with."""
    path = tmp_path / "export"
    path.mkdir()
    write_nem12(path, details("A1"), ones(1), end="", name="1.csv")
    write_nem12(path, "400,1,48,N,,", ones(5), details("V9"), ones(2), name="2.csv")
    (path / "3.csv").write_text("no such thing\n")
    found, counts = read(path, **NEM12)
    assert found == {"A1": [1.0] * 48, "V9": [2.0] * 48}
    assert counts == {"used": 96, "row_malformed": 48, "file_unreadable": 2}


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("end", ["", "\n", '"'])
def test_the_last_line_of_a_file_is_not_the_first_of_the_next(tmp_path, zipped, end):
    header = "meter_id,interval_start,kwh\n"
    files = {"1.csv": f"{header}V9,2018-10-26 00:00,1{end}", "2.csv": f"{header}A1,2018-10-26 00:00,2"}
    assert read(pack(tmp_path / "export", files, zipped=zipped))[0]["A1"] == [2.0]
    files = {"1.txt": f"V9 36901 1{end}", "2.txt": "A1 36901 2"}
    assert read(pack(tmp_path / "cer", files), **CER)[0]["A1"] == [2.0]


@pytest.mark.parametrize("looked_at", [0, 100])
def test_a_household_is_held_in_bounded_memory(tmp_path, monkeypatch, looked_at):
    """Dropping now and then what no sum can need leaves the same readings and counts."""
    generator = np.random.default_rng(3)
    rows = [details("A1", "E1"), ones(1), details("A1", "E2", "E2"), ones(2)]
    for _ in range(30):
        date = generator.choice(["20181025", "20181026", "20181027", "20300101"])
        suffix = generator.choice(["E1", "E2", "B1"])
        rows += [details("V9", suffix, suffix), ones(generator.integers(9), date)]
    write_nem12(tmp_path, *rows)
    expected = read(tmp_path / "e.csv", **NEM12)
    monkeypatch.setattr(sums, "LOOKED_AT", looked_at)
    found, counts = read(tmp_path / "e.csv", **NEM12)
    assert found == expected[0] and sum(counts.values()) == sum(expected[1].values()) == 32 * 48
    monkeypatch.setattr(sums, "MOST_PARTS", 60)
    monkeypatch.setattr(sums, "_REGISTERS", 0)
    found, counts = read(tmp_path / "e.csv", **NEM12)
    assert found == {} if looked_at == 0 else "V9" not in found
    assert counts["too_many_readings"] > 0 and sum(counts.values()) == 32 * 48


@pytest.mark.parametrize("format_", ["nem12", "green_button"])
def test_readings_of_meters_that_are_not_listed_are_counted_and_not_held(tmp_path, format_):
    path, options = tmp_path / "e", {"format": format_, "kept_folder": tmp_path / "kept"}
    names = ["A1", "V9"] if format_ == "nem12" else [HOME + "A1", HOME + "V9"]
    if format_ == "nem12":
        options |= NEM12
        write_nem12(tmp_path, details("A1"), ones(1), details("V9"), ones(2), name="e")
    else:
        path.write_text(feed(blocks("A1", values(*[1000] * 48)), blocks("V9", values(*[2000] * 48))))
    found, counts = read(path, names[:1], **options)
    assert (found, counts) == ({names[0]: [1.0] * 48}, {"used": 48, "meter_not_listed": 48})
    assert read(path, names, **options)[0] == {names[0]: [1.0] * 48, names[1]: [2.0] * 48}  # another list, read again
