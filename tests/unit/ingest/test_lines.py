"""Physical lines made safe to split, against the csv module line by line."""

import csv
import io
from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meterdp.errors import InputError
from meterdp.ingest.inference.examine import examine
from meterdp.ingest.lines import INNER_DELIMITER, SafeLines, separator_after
from meterdp.ingest.readers import long_csv
from meterdp.ingest.settings import ENCODINGS, ExportSettings
from meterdp.ingest.streams import files_of, open_text

LONGEST = 40


def slow(line: bytes, delimiter: str) -> list[str] | None:
    """What one line means, None if it is malformed."""
    if len(line) > LONGEST:
        return None
    try:
        text = line.replace(b"\r", b" ").decode()
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except (UnicodeDecodeError, csv.Error):
        return None
    return None if INNER_DELIMITER in text else [*rows, [""]][0]


def fast(export: bytes, delimiter: str, block_bytes: int, separator=b"\n"):
    """Fields of every line by row of the file, None where malformed; checks that each line is there once."""
    out = {}
    for block in SafeLines(delimiter, separator, LONGEST, block_bytes).blocks(io.BytesIO(export)):
        bad = {row for row, _ in block.malformed}
        good = [row for row in range(block.first_row, block.first_row + block.row_count) if row not in bad]
        lines = block.text.split(b"\n")[:-1]
        fields = [
            [field.replace(INNER_DELIMITER, delimiter) if block.inner_delimiters else field for field in fields]
            for fields in (line.decode().split(delimiter) for line in lines)
        ]
        assert not set(out) & (bad | set(good))
        out |= dict.fromkeys(bad) | dict(zip(good, fields, strict=True))
    assert sorted(out) == list(range(2, len(out) + 2))
    return [out[row] for row in sorted(out)]


PIECES = [b'"', b'""', b",", b";", b"ab", b" ", b"\xc3\xa4", b"\xff", b"\xee\x80\x80", b"7" * 25, b"\r", b"'", b""]


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    lines=st.lists(st.lists(st.sampled_from(PIECES), max_size=9).map(b"".join), max_size=8),
    delimiter=st.sampled_from([",", ";"]),
    block_bytes=st.sampled_from([1, 7, 50, 1 << 16]),
    end=st.sampled_from([b"\n", b"\r\n"]),
    last=st.booleans(),
)
def test_every_line_means_what_it_means_alone(lines, delimiter, block_bytes, end, last):
    # A carriage return before the line end belongs to it.
    lines = [line.rstrip(b"\r") for line in lines]
    while not last and lines and not lines[-1]:
        lines = lines[:-1]  # the end of the file, not a line
    export = b"header" + end + end.join(lines) + (end if last and lines else b"")
    assert fast(export, delimiter, block_bytes) == [slow(line, delimiter) for line in lines]


@pytest.mark.parametrize("block_bytes", [1, 3, 1000])
def test_lone_carriage_returns_end_lines_if_the_header_says_so(block_bytes):
    assert separator_after(b"\ra,b") == b"\r" and separator_after(b"\r\na") == separator_after(b"") == b"\n"
    export = b"x,y\ra,1\rb\n,2\r\r" + b'"c,d",3\r' + b"5" * 41 + b"\r6,7"
    assert fast(export, ",", block_bytes, b"\r") == [["a", "1"], ["b ", "2"], [""], ["c,d", "3"], None, ["6", "7"]]


def test_a_header_may_be_longer_than_any_row():
    assert fast(b"h" * 500 + b"\n1,2\n", ",", 8) == [["1", "2"]]


def test_a_file_of_one_endless_line_is_looked_at_in_few_reads(tmp_path, monkeypatch):
    """Else the time to find no header grows with the square of its length."""
    from contextlib import contextmanager

    from meterdp.ingest.readers import csv_rows

    reads = []

    class Counted:
        def __init__(self, stream):
            self._stream = stream

        def read(self, size):
            reads.append(size)
            return self._stream.read(size)

    @contextmanager
    def counted(member, encoding):
        with original(member, encoding) as stream:
            yield Counted(stream)

    original = csv_rows.open_text
    monkeypatch.setattr(csv_rows, "open_text", counted)
    (tmp_path / "e.csv").write_bytes(b"a,b," + b"1," * (8 << 20))
    rows = csv_rows.CsvRows(files_of(tmp_path / "e.csv")[0], ExportSettings(time_zone="UTC"))
    assert len(rows.header) == (8 << 20) + 3 and len(reads) < 20


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_text_of_every_encoding_is_read_as_utf_8_in_pieces_of_any_size(tmp_path, encoding):
    letters = bytes(range(0xC0, 0x100)).decode("utf-16-le" if encoding == "utf-16" else encoding, "ignore")
    text = "".join(f"{letters[n % 30 :]};{n},5\r\n" for n in range(50_000))  # more than is read ahead
    (tmp_path / "e.csv").write_bytes(text.encode(encoding))
    sizes, pieces = cycle([1, 2, 3, 7, 10_000]), []
    with open_text(tmp_path / "e.csv", encoding) as stream:
        while piece := stream.read(next(sizes)):
            pieces.append(piece)
    assert b"".join(pieces).decode() == text
    with open_text(tmp_path / "e.csv", encoding) as stream:
        assert [line.decode() for line in stream] == text.splitlines(keepends=True)


@pytest.mark.parametrize(
    "encoding", ["windows-1252", *(name for name in ENCODINGS if name[:3] not in ("utf", "win"))]
)
def test_what_an_encoding_lacks_is_marked_and_moves_nothing_else(tmp_path, encoding):
    """Nor does a first byte of two take the one behind it with it."""
    (tmp_path / "e.csv").write_bytes(b"a,\x81,1\n\x81\nb,2,3\n")
    with open_text(tmp_path / "e.csv", encoding) as stream:
        assert stream.read().decode() == "a,\ufffd,1\n\ufffd\nb,2,3\n"


@pytest.mark.parametrize(
    "encoding, as_windows", [("shift_jis", "cp932"), ("big5", "cp950"), ("euc_kr", "cp949"), ("gb18030", "gb18030")]
)
def test_names_of_encodings_stand_for_what_windows_writes(tmp_path, encoding, as_windows):
    text = {"cp932": "①髙", "cp950": "碁", "cp949": "똠", "gb18030": "㐂"}[as_windows]
    (tmp_path / "e.csv").write_bytes(text.encode(as_windows))
    with open_text(tmp_path / "e.csv", encoding) as stream:
        assert stream.read().decode() == text


@pytest.mark.parametrize("bad_rows", ["refuse", "missing"])
@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_a_study_refuses_old_line_ends_as_check_does(tmp_path, bad_rows, end):
    """And no row of a file with others can make it."""
    rows = ["meter_id,interval_start,kwh", "\rA,2025-10-01 00:00,1", "A,2025-10-01 00:15,1\r\r", ""]
    (tmp_path / "e.csv").write_bytes(end.join(rows if end != "\r" else [r.strip() for r in rows]).encode())
    settings = ExportSettings(time_zone="UTC", bad_rows=bad_rows)
    if end == "\r":
        for read in (lambda path: list(long_csv.batches(path, settings)), examine):
            with pytest.raises(InputError, match="a carriage return alone, as on old Macs"):
                read(tmp_path / "e.csv")
    elif end == "\n":
        assert sum(len(batch.meter) for batch in long_csv.batches(tmp_path / "e.csv", settings)) == 2
