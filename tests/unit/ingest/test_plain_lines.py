"""The compiled reader of plain lines gives what the reader of all lines gives, or leaves the block to it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from meterdp.errors import InputError
from meterdp.ingest.plain_lines import NOT_PLAIN, NUMBER, PADDING, Words, count_lines, read_plain
from meterdp.ingest.readers import long_csv
from meterdp.ingest.settings import ExportSettings

SETTINGS = ExportSettings(circuit_column="feeder", unit_column="unit", time_format="%Y-%m-%d %H:%M")
HEADER = "meter_id,feeder,unit,note,interval_start,kwh"

METERS = st.sampled_from("A, A,A ,AB,,NULL,Zähler,0007,7,AAAAAAAA,AAAAAAAAA,AAAAAAAAAAAAAAAAA,x\u00a0".split(","))
FEEDERS = st.sampled_from(["F1", "F2", "", " F1"])
UNITS = st.sampled_from([*["kWh"] * 9, "KWH", " kwh", "", "Wh", "MWh", "kW", " kvarh", "kVAh"])
STAMPS = st.sampled_from(
    [
        *[f"2025-10-26 {h:02d}:{m:02d}" for h in range(4) for m in (0, 15)] * 3,
        *["", "NaN", " 2025-10-26 01:00 ", "2025-13-01 00:00", "today"],
        *["2025-10-26T01:00:00Z", "2025-10-26 01:00+02:00"],
    ]
)
ODD = "0 -0 5. .5 -.5 +5 . - 1e3 1E-3 1_0 inf nan NULL 00.10 0x1p3 1..2 --1 1- ١".split()
LONG = ["9007199254740993", "123456789012345678", "1234567890123456789", "0." + "0" * 17 + "1"]
NUMBERS = st.one_of(
    st.decimals(-1000, 1000, places=3).map(str),
    st.floats().map(repr),
    st.sampled_from([*ODD, *LONG, "", "12,5", " 0.5 ", "\t0.5", "0.5\t"]),
)
LINES = st.one_of(
    st.tuples(METERS, FEEDERS, UNITS, st.sampled_from(["", "n"]), STAMPS, NUMBERS).map(",".join),
    st.tuples(METERS, FEEDERS, UNITS, st.sampled_from(["", "n"]), STAMPS, NUMBERS).map('","'.join).map('"{}"'.format),
    st.sampled_from(['"A",F1,kWh,"",2025-10-26 00:15,"0.5"', '"A"x,F1,kWh,,2025-10-26 00:15,1', 'A"B",F1,kWh,,x,1']),
    st.sampled_from(['A,F1,kWh,,2025-10-26 00:15,"1', 'A,F1,kWh,,2025-10-26 00:15,1"', 'A,F1,kWh,"a""b",x,1', '"']),
    st.sampled_from(["", ",", HEADER, "A,F1,kWh,,2025-10-26 00:00", "A,F1,kWh,,2025-10-26 00:00,1,2", ",,,,,"]),
    st.sampled_from(['"A",F1,kWh,,"2025-10-26 00:15",0.5', 'A,F1,kWh,"a,b",2025-10-26 00:15,0.5', 'A,"F1,kWh,,x,1']),
    st.sampled_from(["A,F1,kWh,\x00,2025-10-26 00:15,1", "\ufeffA,F1,kWh,,2025-10-26 00:15,1", "A,F1\r,kWh,,x,1"]),
)


def readings(export: str, settings: ExportSettings, batch_bytes: int, folder, *, plain: bool, threads: int = 1):
    """Every reading as a tuple in the order of the file, or the message of the refusal; and how many were fast."""
    path = folder / "export.csv"
    path.write_bytes(export.encode())
    fast, out = 0, []
    with pytest.MonkeyPatch.context() as patch:
        if not plain:
            patch.setattr(long_csv, "plain_rows", lambda *arguments: [])
        try:
            for batch in long_csv.batches(path, settings, batch_bytes=batch_bytes, threads=threads):
                fast += not isinstance(batch.meter_ids, list)
                is_utc = np.broadcast_to(batch.stamps_are_utc, len(batch.meter))
                meter = [batch.meter_ids[m] if m >= 0 else None for m in batch.meter]
                circuit = [batch.circuits[c] if c >= 0 else None for c in batch.circuit]
                values = batch.energy.view(np.int64).tolist()
                values = [v if e == e else None for v, e in zip(values, batch.energy, strict=True)]
                rows, marks = batch.row_of(np.arange(len(meter))).tolist(), batch.unreadable.tolist()
                # A stamp that is none is neither on the local clock nor UTC, and its mark says why.
                utc = [u if s > np.iinfo(np.int64).min else None for u, s in zip(is_utc, batch.stamp_us, strict=True)]
                out += zip(rows, meter, circuit, batch.stamp_us.tolist(), utc, values, marks, strict=True)
                out += [("left out", batch.left_out)] if batch.left_out else []
        except InputError as error:
            return [str(error)], fast
    return out, fast


def both(export: str, settings: ExportSettings, batch_bytes: int, folder) -> tuple[list, list, int]:
    """What the fast reader and the other one find, and how many batches were fast."""
    theirs, none = readings(export, settings, batch_bytes, folder, plain=False)
    assert none == 0
    ours, fast = readings(export, settings, batch_bytes, folder, plain=True)
    return ours, theirs, fast


def left_out(rows) -> tuple[list, int]:
    """Separate readings and how many rows were left out: blocks may end elsewhere."""
    return [r for r in rows if r[0] != "left out"], sum(r[1] for r in rows if r[0] == "left out")


@hypothesis_settings(max_examples=300, deadline=None)
@given(
    st.lists(LINES, max_size=12),
    st.sampled_from(["refuse", "missing"]),
    st.sampled_from(["%Y-%m-%d %H:%M", "ISO8601"]),
    st.sampled_from([60, 200, 1 << 20]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([None, "n"]),
)
@example(["A,F1,kWh,,2025-10-26 00:00,0.5"] * 3, "refuse", "ISO8601", 60, "\n", True, 2, None)
@example(["A,F1,Wh,,x,y", "A,F1,kWh,n,2025-10-26 00:00,0.5", HEADER], "missing", "ISO8601", 60, "\n", True, 2, "n")
@example(
    ["A,F1,kWh,n,2025-10-26T00:00Z,1", "A,F1,kWh,,2025-10-26 00:00,1"], "refuse", "ISO8601", 60, "\n", True, 1, "n"
)
def test_all_lines_are_read_alike(
    tmp_path_factory, lines, bad_rows, time_format, batch_bytes, ending, ended, threads, register
):
    folder = tmp_path_factory.mktemp("plain")
    export = ending.join([HEADER, *lines]) + (ending if ended else "")
    settings = replace(SETTINGS, bad_rows=bad_rows, time_format=time_format)
    if register is not None:
        settings = replace(settings, keep_rows={"note": (register,)})
    ours, _ = readings(export, settings, batch_bytes, folder, plain=True, threads=threads)
    theirs, _ = readings(export, settings, batch_bytes, folder, plain=False)
    if isinstance(theirs[0] if theirs else None, str):
        assert ours == theirs
    else:
        assert left_out(ours) == left_out(theirs)


@hypothesis_settings(max_examples=60, deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=40), st.sampled_from([".", ","]))
def test_numbers_are_those_of_the_other_reader(tmp_path_factory, numbers, decimal):
    numbers = [n.replace(".", decimal) if decimal == "," else n for n in numbers]
    lines = [f"A;F1;kWh;;2025-10-26 00:00;{n}" for n in numbers if ";" not in n]
    export = "\n".join([HEADER.replace(",", ";"), *lines, ""])
    settings = replace(SETTINGS, bad_rows="missing", delimiter=";", decimal=decimal)
    ours, theirs, _ = both(export, settings, 1 << 20, tmp_path_factory.mktemp("numbers"))
    assert ours == theirs


@pytest.mark.parametrize("places", range(16))
def test_plain_decimals_are_rounded_once(places):
    generator = np.random.default_rng(places)
    texts = [f"{v:.{places}f}" for v in generator.uniform(-100, 100, 2000)]
    _, numbers, odd, _, _ = _kernel([f"M,{t}" for t in texts])
    assert np.delete(numbers, odd).tolist() == [float(t) for i, t in enumerate(texts) if i not in odd]
    # Whole numbers that are no doubles are left to a reader with more digits.
    assert all(int(texts[i].replace(".", "").lstrip("-")) > 2**53 for i in odd) and len(odd) < len(texts)


def _kernel(lines):
    """Run the kernel on lines of a meter and a number; return codes, numbers, odd rows, words and the result."""
    text = "".join(line + "\n" for line in lines).encode()
    padded = np.frombuffer(text + b"9" * PADDING, np.uint8)
    n = count_lines(padded[: len(text)])
    words, codes, numbers = Words(2), np.empty((1, n), np.int32), np.empty(n)
    odd_line, odd_code = np.empty((2, n), np.int32)
    roles = np.array([0, NUMBER])
    odd = read_plain(
        padded, len(text), 44, 46, roles, 50, *words.arrays(n, len(text)), codes, numbers, odd_line, odd_code
    )
    return codes[0], numbers, odd_line[: max(odd, 0)], words, odd


def test_words_are_told_apart_whatever_their_length_and_order():
    generator = np.random.default_rng(5)
    # Prefixes of each other around every multiple of the eight bytes that are compared at once.
    pool = ["a" * k for k in range(26)] + ["a" * k + "b" for k in range(26)] + ["b" + "a" * k for k in range(26)]
    names = [*generator.choice(pool, 5000), *(f"m{i % 700}" for i in range(5000))]
    codes, _, _, words, _ = _kernel([f"{name},1" for name in names])
    texts = [t.decode() for t in words.texts(0, 0)]
    assert len(set(texts)) == len(texts) == len(set(names))
    assert [texts[c] for c in codes] == names


def test_tables_grow_without_losing_a_word():
    words, roles, seen = Words(2), np.array([0, NUMBER]), []
    for block in range(40):
        names = [f"{i * 7919 % 100_003}" for i in range(block * 100, block * 100 + 300)]
        text = "".join(f"{name},1\n" for name in names).encode()
        codes, numbers, odd = np.empty((1, 300), np.int32), np.empty(300), np.empty((2, 300), np.int32)
        arrays = words.arrays(300, len(text))
        padded = np.frombuffer(text + bytes(PADDING), np.uint8)
        assert read_plain(padded, len(text), 44, 46, roles, 50, *arrays, codes, numbers, *odd) == 0
        texts = words.texts(0, 0)
        assert [texts[c].decode() for c in codes[0]] == names
        seen += names
    assert sorted(t.decode() for t in words.texts(0, 0)) == sorted(set(seen))


@pytest.mark.parametrize(
    "line", [*["M", "M,1,2", "M,1,N,2", "", "M,1,", "M" * 49 + ",1"], *'"M,1 M",1 "M"x,1 M,"1 M,1"'.split()]
)
def test_a_line_that_is_not_plain_is_told(line):
    assert _kernel(["M,1", line, "M,2"])[4] == NOT_PLAIN
    assert _kernel(["M,1", "M,2"])[4] == 0


def test_ordinary_exports_are_read_here(tmp_path):
    """Otherwise all tests above compare the other reader with itself."""
    lines = [f"M{m},F1,kWh,,2025-10-26 0{h}:15,{m}.{h}" for m in range(20) for h in range(10)]
    lines[17] = lines[17].rsplit(",", 1)[0] + ","  # a missing value
    lines[30] = "NULL" + lines[30][2:]  # and a missing meter
    lines[40:80] = ['"' + line.replace(",", '","') + '"' for line in lines[40:80]]
    ours, theirs, fast = both("\n".join([HEADER, *lines]), SETTINGS, 500, tmp_path)
    assert fast >= 10 and len(ours) == 200 and ours == theirs
    damaged = [*lines[:100], "damaged", *lines[100:]]
    settings = replace(SETTINGS, bad_rows="missing")
    ours, theirs, some = both("\n".join([HEADER, *damaged]), settings, 500, tmp_path)
    assert some == fast - 1 and left_out(ours) == left_out(theirs) and left_out(ours)[1] == 1


def test_a_word_of_a_block_that_is_left_to_the_other_reader_is_no_meter(tmp_path):
    lines = [f"M1,F1,kWh,,2025-10-26 0{h}:15,1" for h in range(10)]
    export = "\n".join([HEADER, *lines, "GHOST,F1,kWh", *lines, ""])
    (tmp_path / "e.csv").write_text(export)
    settings = replace(SETTINGS, bad_rows="missing")
    met = {m for b in long_csv.batches(tmp_path / "e.csv", settings, batch_bytes=300) for m in b.meter_ids}
    assert met == {"M1"}


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("words", [("-999",), ("0", "9999"), ("1.5", "1,5"), ("-999", "x")])
def test_a_missing_word_that_is_a_number_is_none_in_either_reader(tmp_path, words, decimal):
    values = ["-999", "-999.0", "0", "0.0", "-0", "9999", "1.5", "1,5", "1.50", "2", "7"]
    stamps = [f"2025-10-26 {h:02d}:00" for h in range(len(values))]
    lines = [f"A;F1;kWh;;{t};{v}" for t, v in zip(stamps, values, strict=True)]
    export = "\n".join([HEADER.replace(",", ";"), *lines, ""])
    settings = replace(SETTINGS, missing_words=("", *words), delimiter=";", decimal=decimal, bad_rows="missing")
    for batch_bytes in (40, 1 << 20):
        ours, theirs, _ = both(export, settings, batch_bytes, tmp_path)
        assert ours == theirs
        missing = [value is None and mark == 0 for *_, value, mark in theirs]
        assert all(m for m, v in zip(missing, values, strict=True) if v in words)
