"""One listed meter's rows are rewritten, fields and bytes, in every format: no other record moves, no run ends.

What is rewritten are the bytes a meter has in an export: its lines, its cells of a Parquet file, its 200 record and
all up to the next, its entries of a feed, or its whole file. Only what would be another's is left alone: a line or an
entry that names another listed meter, and the first 200 of a NEM12 block, without which rows are those of the block
above.

METERDP_REWRITES=400 tries that many with each format; so does, and prints the counts,
``METERDP_REWRITES=400 python -m tests.statistical.ingest.test_rewrites``.
"""

from __future__ import annotations

import gzip
import os
import random
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meterdp.core.parquet import read_table
from meterdp.ingest.ingest import ingest
from meterdp.ingest.meter_list import MeterList
from meterdp.ingest.readers.interface import READERS
from meterdp.ingest.settings import ExportSettings
from meterdp.ingest.tables import INGEST_REPORT, METERS
from meterdp.profiles.grid import LocalTime, read_shard

REWRITES = int(os.environ.get("METERDP_REWRITES", "3"))
METERS_LISTED, VICTIM = ["1001", "1002", "1003"], "1002"
STRANGER = "9999"
DAYS, MINUTES = 2, 30
PERIOD = {"first_day": "2010-01-04", "last_day": "2010-01-05"}
STARTS = pd.date_range("2010-01-04", periods=DAYS * 48, freq="30min")
KWH = {m: np.random.default_rng(int(m)).gamma(2.0, 0.2, len(STARTS)).round(3).tolist() for m in METERS_LISTED}

# What a meter may write that readers have stumbled over, here or elsewhere.
MAGIC = [
    *(b"\x1f\x8b\x08", b"PK\x03\x04", b"PK\x05\x06", b"PAR1", b"BZh", b"\xfd7zXZ"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"),
]
MARKS = [
    *(b'"', b'""', b"'", b"\\", b"\r", b"\r\r\n", b"\t", b"\x00", b"\x0b", b"\x1a", b"\x85"),
    *(b"\xe2\x80\xa8", b"\xee\x80\x80"),
]
WORDS = [
    *(b"", b"nan", b"inf", b"-1", b"1e999", b"1e-400", b"9" * 400, b"0x1", b"1_0", b"+5", b"5."),
    *(b"Null", b"=1+1", b"now"),
]
STAMPS = [
    *(b"2010-01-04 24:00", b"2010-02-30 00:00", b"0000-00-00 00:00", b"9999-12-31 23:59", b"1677-09-21 00:12"),
    *(b"2010-01-04T00:00:00Z", b"2010-01-04 00:00+99:99", b"2010-01-04 00:00:00.1234567890123", b"00000", b"99999"),
    *(b"20100104", b"20100132", b"-62135596800", b"9223372036854775807", b"99999999999999999999"),
]
XML = [
    *(b"<", b">", b"&", b"&lt;", b"&x;", b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<?x", b"\xff", b"xmlns:x='y'"),
    *(b"<entry>", b"<entry/>", b"</entry>", b"</feed>", b"<!DOCTYPE f [<!ENTITY a 'b'>]>"),
    *(b"<a>" * 500, b"<a>" * 99 + b"</a>" * 99, b"<a b='" + b"x" * 5000 + b"'/>"),
    *(b"<IntervalReading/>", b"<IntervalReading>", b"<x:IntervalReading>", b"<link rel='up' href='q'/>"),
]
LONG = [b"x" * 300, b"7" * 70_000, b",\t;" * 3000, b"\xf0\x9f\x92\xa9" * 99]


def lines_of(meter: str, row: Callable[[str, pd.Timestamp, float], str]) -> list[bytes]:
    """A line for each reading of a meter."""
    return [row(meter, start, kwh).encode() for start, kwh in zip(STARTS, KWH[meter], strict=True)]


def long_row(meter, start, kwh):
    return f"{meter},{start:%Y-%m-%d %H:%M},{kwh}"


def lcl_row(meter, start, kwh):
    return f"{meter},Std,{start:%Y-%m-%d %H:%M:%S}.0000000,{kwh} "


def cer_row(meter, start, kwh):
    return (
        f"{meter} {(start - pd.Timestamp('2008-12-31')).days:03d}{start.hour * 2 + start.minute // 30 + 1:02d} {kwh}"
    )


def wide_lines(meter: str) -> list[bytes]:
    """A line for each day of a meter."""
    days = np.reshape(KWH[meter], (DAYS, 48)).tolist()
    return [f"{meter},{STARTS[48 * d]:%Y-%m-%d},{','.join(map(str, day))}".encode() for d, day in enumerate(days)]


def nem12_lines(meter: str) -> list[bytes]:
    """A block for each day of a meter, in market time."""
    days = np.reshape(KWH[meter], (DAYS, 48)).tolist()
    out = []
    for d, day in enumerate(days):
        out += [
            f"200,{meter},E1,1,E1,,S1,kWh,30,",
            f"300,{STARTS[48 * d]:%Y%m%d},{','.join(map(str, day))},V,,,2010,",
        ]
        out += ["400,1,40,A,,", "400,41,48,A,,"]
    return [line.encode() for line in out]


POINT = "https://u/espi/RetailCustomer/1/UsagePoint/"
FEED = b'<?xml version="1.0"?>\n<feed xmlns="http://www.w3.org/2005/Atom" xmlns:e="http://naesb.org/espi">\n'
TYPE = (
    b'<entry><link rel="self" href="https://u/espi/ReadingType/7"/><content><e:ReadingType><e:powerOfTenMultiplier>0'
    b"</e:powerOfTenMultiplier><e:uom>72</e:uom></e:ReadingType></content></entry>\n"
)


def entries_of(meter: str) -> list[bytes]:
    """The entries of a meter, a block a day."""
    own, words = POINT + meter, []
    words.append(f'<link rel="self" href="{own}"/><content><e:UsagePoint/></content>')
    words.append(
        f'<link rel="self" href="{own}/MeterReading/1"/><link rel="up" href="{own}/MeterReading"/>'
        '<link rel="related" href="https://u/espi/ReadingType/7"/><content><e:MeterReading/></content>'
    )
    for d in range(DAYS):
        readings = "".join(
            f"<e:IntervalReading><e:timePeriod><e:duration>1800</e:duration><e:start>{int(STARTS[i].timestamp())}"
            f"</e:start></e:timePeriod><e:value>{round(KWH[meter][i] * 1000)}</e:value></e:IntervalReading>"
            for i in range(48 * d, 48 * d + 48)
        )
        blocks = f"{own}/MeterReading/1/IntervalBlock"
        words.append(
            f'<link rel="self" href="{blocks}/{d}"/><link rel="up" href="{blocks}"/><content><e:IntervalBlock>'
            f"{readings}</e:IntervalBlock></content>"
        )
    return [f"<entry>{inside}</entry>".encode() for inside in words]


def lined(header: bytes, end: bytes = b"") -> Callable[[dict[str, list[bytes]], Path], None]:
    """Write the lines of all meters into one file."""

    def write(rows, path):
        path.write_bytes(header + b"".join(line + b"\n" for lines in rows.values() for line in lines) + end)

    return write


def by_time(rows, path):
    """Interleave the lines of all meters."""
    longest = max(map(len, rows.values()))
    lines = [lines[i] for i in range(longest) for lines in rows.values() if i < len(lines)]
    path.write_bytes(b"meter_id,interval_start,kwh\n" + b"".join(line + b"\n" for line in lines))


def packed(rows, path):
    """As :func:`lined`, in a gzip file."""
    data = b"meter_id,interval_start,kwh\n" + b"".join(line + b"\n" for lines in rows.values() for line in lines)
    path.write_bytes(gzip.compress(data, 1))


def feed_of(entries: list[bytes]) -> bytes:
    return FEED + TYPE + b"\n".join(entries) + b"\n</feed>\n"


def file_each(whole: Callable[[list[bytes]], bytes], suffix: str, *, zipped: bool = False, gz: bool = False):
    """Write a file for each meter, into a folder or a zip; the victim's is any bytes whatever."""

    def write(rows, path):
        files = {f"{m}{suffix}": lines[0] if m == VICTIM else whole(lines) for m, lines in rows.items()}
        if gz:
            files = {n: d if n == f"{VICTIM}{suffix}" else gzip.compress(d, 1) for n, d in files.items()}
        if zipped:
            with zipfile.ZipFile(path, "w") as archive:
                for name, data in files.items():
                    archive.writestr(name, data)
            return
        path.mkdir()
        for name, data in files.items():
            (path / name).write_bytes(data)

    return write


def table_of(rows: list[bytes]) -> list[tuple]:
    return [tuple(line.split(b",", 2)) if line.count(b",") > 1 else (line, b"", b"") for line in rows]


def parquet(rows, path, *, dictionary: bool = False):
    """Write cells as text, which need not be UTF-8; as a table of words where that is asked for."""
    cells = [row for lines in rows.values() for row in table_of(lines)]
    columns = {}
    for i, name in enumerate(("meter_id", "interval_start", "kwh")):
        raw = pa.array([row[i] for row in cells], pa.binary())
        text = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
        columns[name] = text.dictionary_encode() if dictionary else text
    pq.write_table(pa.table(columns), path, row_group_size=100)


@dataclass(frozen=True)
class Format:
    """How an export is written and read, and what of it is a meter's."""

    write: Callable
    own: Callable[[str], list[bytes]]
    options: dict = field(default_factory=dict)
    pieces: tuple[bytes, ...] = ()
    name: str = "export"
    file: Callable[[list[bytes]], bytes] | None = None  # where a meter's file is rewritten whole
    meter: Callable[[str], str] = str


def long_lines(meter):
    return lines_of(meter, long_row)


def csv_file(lines):
    return b"interval_start,kwh\n" + b"".join(line.partition(b",")[2] + b"\n" for line in lines)


def gzip_file(lines):
    return gzip.compress(csv_file(lines), 1)


def lcl_lines(meter):
    return lines_of(meter, lcl_row)


def cer_lines(meter):
    return lines_of(meter, cer_row)


def plain_file(lines):
    return b"".join(line + b"\n" for line in lines)


def nem12_file(lines):
    return b"100,NEM12,201001060000,A,B\n" + plain_file(lines) + b"900\n"


def long_file(lines):
    return b"meter_id,interval_start,kwh\n" + plain_file(lines)


CER = {"format": "cer", "time_zone": "Europe/Dublin"}
NEM12 = {"format": "nem12", "time_zone": "Australia/Brisbane"}
FEEDS = {"format": "green_button"}
OWN_FILE = {"meter_column": None}
LONG_HEADER = b"meter_id,interval_start,kwh\n"
WIDE_HEADER = b"meter_id,date," + b",".join(b"%02d:%02d" % (i // 2, i % 2 * 30) for i in range(48)) + b"\n"
FORMATS = {
    "long_csv": Format(lined(LONG_HEADER), long_lines),
    "long_csv, by time": Format(by_time, long_lines),
    "long_csv, ISO8601": Format(lined(LONG_HEADER), long_lines, {"time_format": "ISO8601"}),
    "long_csv, gzip": Format(packed, long_lines, name="export.csv.gz"),
    "long_csv, a file each": Format(file_each(csv_file, ".csv"), long_lines, OWN_FILE, file=csv_file),
    "long_csv, a file each in a zip": Format(
        file_each(csv_file, ".csv", zipped=True), long_lines, OWN_FILE, name="e.zip", file=csv_file
    ),
    "long_csv, a packed file each": Format(
        file_each(csv_file, ".csv.gz", gz=True), long_lines, OWN_FILE, file=gzip_file
    ),
    "long_csv, files that name meters": Format(file_each(long_file, ".csv"), long_lines, file=long_file),
    "wide_csv": Format(lined(WIDE_HEADER), wide_lines, {"format": "wide_csv"}),
    "wide_csv, numbers": Format(
        lined(b"meter_id,date," + b",".join(b"H%d" % i for i in range(1, 49)) + b"\n"),
        wide_lines,
        {"format": "wide_csv", "wide_columns": "numbers"},
    ),
    "lcl_csv": Format(lined(b"LCLid,stdorToU,DateTime,KWH/hh (per half hour) \n"), lcl_lines, {"format": "lcl_csv"}),
    "parquet": Format(parquet, long_lines, {"format": "parquet"}, name="e.parquet"),
    "parquet, tables of words": Format(
        lambda rows, path: parquet(rows, path, dictionary=True), long_lines, {"format": "parquet"}, name="e.parquet"
    ),
    "cer": Format(lined(b""), cer_lines, CER),
    "cer, a file each": Format(file_each(plain_file, ".txt"), cer_lines, CER, file=plain_file),
    "nem12": Format(lined(b"100,NEM12,201001060000,A,B\n", b"900\n"), nem12_lines, NEM12),
    "nem12, a file each": Format(file_each(nem12_file, ".csv"), nem12_lines, NEM12, file=nem12_file),
    "green_button": Format(
        lined(FEED + TYPE, b"</feed>\n"), entries_of, FEEDS, tuple(XML), meter=lambda m: POINT + m
    ),
    "green_button, a feed each": Format(
        file_each(feed_of, ".xml"), entries_of, FEEDS, tuple(XML), file=feed_of, meter=lambda m: POINT + m
    ),
}


def records(kind: Format, rows: dict[str, list[bytes]], folder: Path, batch_bytes: int) -> dict[str, tuple]:
    """What an ingestion makes of each listed meter, as bytes."""
    path = folder / kind.name
    kind.write(rows, path)
    common = {"time_zone": "UTC", "interval_minutes": MINUTES, "meters": "list.csv", **PERIOD}
    ingest(
        path,
        ExportSettings.from_config(common | kind.options),
        meter_list=MeterList({kind.meter(m): None for m in METERS_LISTED}),
        readings_paths=[folder / "r.parquet"],
        meters_path=folder / "m.parquet",
        report_path=folder / "c.parquet",
        batch_bytes=batch_bytes,
    )
    energy = read_shard(folder / "r.parquet", LocalTime(MINUTES, "UTC")).energy_kwh
    about = read_table(folder / "m.parquet", METERS).to_pylist()
    assert all(row["row_count"] >= 0 for row in read_table(folder / "c.parquet", INGEST_REPORT).to_pylist())
    return {row["meter_id"]: (energy[row["household"]].tobytes(), repr(row)) for row in about}


def rewritten(kind: Format, draw: random.Random) -> list[bytes]:
    """A meter's rows after some accidents, or its file after some."""
    lines = list(kind.own(VICTIM))
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(lines)) if lines else 0
        how = draw.choice(
            ["drop", "order", "repeat", "many", "field", "field", "bytes", "bytes", "cut", "noise", "magic"]
        )
        if how == "drop":
            del lines[at : at + draw.choice([1, 5, len(lines)])]
        elif how == "order":
            draw.shuffle(lines)
        elif how == "repeat":
            lines[at:at] = lines[at : at + 20]
        elif how == "many":
            lines += lines[at : at + 1] * draw.choice([10, 1000])
        elif how == "noise":
            lines.insert(at, draw.randbytes(draw.choice([1, 30, 400, 3000])))
        elif lines and how == "magic":
            lines[0] = draw.choice(MAGIC) + draw.choice([b"", lines[0]])
        elif lines and how == "field":
            fields = re.split(rb"([, <>])", lines[at])
            fields[draw.randrange(len(fields))] = draw.choice(
                [*WORDS, *STAMPS, *LONG, *kind.pieces, STRANGER.encode()]
            )
            lines[at] = b"".join(fields)
        elif lines and how == "cut":
            lines[at] = lines[at][: draw.randrange(len(lines[at]) + 1)]
        elif lines:
            pieces = [*MARKS, *MARKS, *MAGIC, *LONG, *kind.pieces, *kind.pieces, draw.randbytes(draw.randint(1, 9))]
            where, gone = draw.randrange(len(lines[at]) + 1), draw.choice([0, 0, 1, 3, 50])
            lines[at] = lines[at][:where] + draw.choice(pieces) + lines[at][where + gone :]
    if kind.file is None:
        return [line for line in lines if not is_anothers(kind, line)]
    data = kind.file(lines)
    for _ in range(draw.choice([0, 0, 1, 4])):  # also what stands around the rows
        where, piece = (
            draw.randrange(len(data) + 1),
            draw.choice([*MAGIC, *MARKS, *LONG, *kind.pieces, draw.randbytes(5)]),
        )
        data = data[:where] + piece + data[where + draw.choice([0, 1, 5, 1000]) :]
    data = draw.choice(
        [data, data, data, data[draw.randrange(len(data) + 1) :], data[: draw.randrange(len(data) + 1)], b""]
    )
    return [data]


def is_anothers(kind: Format, line: bytes) -> bool:
    """Whether a line is not the victim's: it has a line end in it, or names another meter."""
    if kind.options.get("format") == "green_button":
        return any(POINT.encode() + m.encode() in line for m in METERS_LISTED if m != VICTIM)
    return b"\n" in line or any(m.encode() in line for m in METERS_LISTED if m != VICTIM)


def guarded(kind: Format, lines: list[bytes]) -> list[bytes]:
    """A block of NEM12 begins with a 200 record, whoever's: without one its rows are those of the block above."""
    if kind.file is None and kind.options.get("format") == "nem12":
        return [b"200," + STRANGER.encode(), *lines]
    return lines


def ordinary(kind: Format) -> dict[str, list[bytes]]:
    """The rows of all meters."""
    rows = {m: kind.own(m) for m in METERS_LISTED}
    return rows if kind.file is None else rows | {VICTIM: [kind.file(rows[VICTIM])]}


def others_changed(name: str, rewrites: int) -> tuple[int, int]:
    """Return how many rewrites changed another's record, and how many changed the record of who made them."""
    kind, changed, moved = FORMATS[name], 0, 0
    with tempfile.TemporaryDirectory() as scratch:

        def read(rows, number, batch_bytes):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            return records(kind, rows, folder, batch_bytes)

        before = read(ordinary(kind), "before", 1 << 22)
        assert len({energy for energy, _ in before.values()}) == len(METERS_LISTED)
        assert not any(np.isnan(np.frombuffer(energy)).any() for energy, _ in before.values())
        for number in range(rewrites):
            draw = random.Random(f"{name} {number}")
            lines = guarded(kind, rewritten(kind, draw))
            rows = ordinary(kind) | {VICTIM: lines}
            if number % 2:  # its rows begin the file, or stand behind the header
                rows = {VICTIM: lines, **rows}
            try:
                after = read(rows, number, draw.choice([200, 5000, 1 << 22]))
            except BaseException as error:
                raise AssertionError(f"rewrite {number} of {name} ended the run") from error
            changed += any(after[kind.meter(m)] != before[kind.meter(m)] for m in METERS_LISTED if m != VICTIM)
            moved += after[kind.meter(VICTIM)] != before[kind.meter(VICTIM)]
    return changed, moved


def test_every_reader_is_rewritten():
    assert {kind.options.get("format", "long_csv") for kind in FORMATS.values()} == set(READERS)


@pytest.mark.parametrize("name", FORMATS)
def test_a_rewritten_meter_changes_no_other_record_and_ends_no_run(name):
    changed, moved = others_changed(name, REWRITES)
    assert changed == 0
    assert moved >= REWRITES // 2  # the rewrites do something


if __name__ == "__main__":
    _total = _moved = _changed = 0
    for _name in sys.argv[1:] or FORMATS:
        _c, _m = others_changed(_name, REWRITES)
        _total, _changed, _moved = _total + REWRITES, _changed + _c, _moved + _m
        print(f"{_name}: {REWRITES} rewrites, own record changed {_m}, other records changed {_c}", flush=True)
    print(f"{_total} rewrites, own record changed {_moved}, other records changed {_changed}")
