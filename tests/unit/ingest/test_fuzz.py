"""Bytes that are no export, given to the readers and to ``meterdp check``: a sentence, or every reading.

METERDP_REWRITES=10000 tries that many.
"""

import os
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meterdp.errors import InputError
from meterdp.ingest.dense import REASONS
from meterdp.ingest.inference.examine import config_text, examine, finding_words
from meterdp.ingest.readers import green_button, nem12
from meterdp.ingest.readers.interface import reader
from meterdp.ingest.settings import ExportSettings
from tests.unit.ingest import test_green_button, test_nem12
from tests.unit.ingest.made_up import edited, fuzz, read_all
from tests.unit.ingest.made_up_exports import READ, plain, readings

EXAMPLES = int(os.environ.get("METERDP_REWRITES", "60"))
FUZZ = fuzz(EXAMPLES)
PIECES = st.one_of(
    st.binary(max_size=6),
    st.sampled_from(
        [b'"', b"\n", b"\r", b"\r\n", b",", b";", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"-", b"1e999", b"'"]
    ),
    st.sampled_from([b"nan", b"inf", b"9" * 400, b"2025-02-30 25:61", b"\xc3", b"," * 50, b"now"]),
)
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), PIECES), min_size=1, max_size=4)


@cache
def small(name: str) -> bytes:
    """Return an export of one of the layouts, two meters and two days."""
    file, write, _ = READ[name]
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"small-{file}"
        write(readings(days=2, meters=2, start="2025-03-29"), path)
        return path.read_bytes()


@cache
def small_parquet() -> bytes:
    """Return another as Parquet with default names."""
    out = BytesIO()
    plain(readings(days=2, meters=2)).to_parquet(out)
    return out.getvalue()


CSV = {
    "plain": {},
    "decimal comma": {"delimiter": ";", "decimal": ","},
    "a column per meter": {"format": "wide_csv", "wide_layout": "meters"},
    "a day per row": {"format": "wide_csv"},
    "settlement periods": {"format": "wide_csv", "wide_columns": "numbers"},
    "title and units": {"skip_rows": 2, "skip_rows_after_header": 1},
    "hours of the clock": {
        **{"time_column": "interval_start", "time_of_day_column": "hour", "time_format": "%Y-%m-%d %H"},
        **{"stamp": "end", "interval_minutes": 60},
    },
    "date and time apart": {"time_column": "Date", "time_of_day_column": "Time"},
}


@pytest.mark.parametrize("name", CSV)
@FUZZ
@given(edits=EDITS, batch_bytes=st.sampled_from([200, 1 << 20]))
def test_every_line_behind_the_header_is_read_or_counted(tmp_path, name, edits, batch_bytes):
    given_settings = ExportSettings.from_config({"time_zone": "Europe/London", "interval_minutes": 30, **CSV[name]})
    tolerant = ExportSettings(**{**vars(given_settings), "bad_rows": "missing"})
    data = edited(small(name), edits)
    path = tmp_path / "e.csv"
    path.write_bytes(data)
    try:
        batches = list(reader(tolerant.format)(path, tolerant, batch_bytes=batch_bytes))
    except InputError as error:  # the header itself
        assert str(error).endswith(".")
        return
    before = 1 + tolerant.skip_rows + tolerant.skip_rows_after_header
    lines = data.count(b"\n") + (not data.endswith(b"\n")) - before
    per_row = {batch.readings_per_row for batch in batches} or {1}
    assert len(per_row) == 1
    assert sum(len(batch.meter) + batch.left_out for batch in batches) == max(lines, 0) * per_row.pop()
    try:
        strict = list(reader(tolerant.format)(path, given_settings, batch_bytes=batch_bytes))
    except InputError as error:
        assert str(error).endswith(".")
    else:
        assert sum(len(batch.meter) for batch in strict) == sum(len(batch.meter) for batch in batches)


@FUZZ
@given(edits=EDITS)
def test_a_damaged_parquet_file_is_read_or_refused(tmp_path, edits):
    path = tmp_path / "e.parquet"
    path.write_bytes(edited(small_parquet(), edits))
    try:
        found = sum(
            len(b.meter) for b in reader("parquet")(path, ExportSettings(format="parquet", bad_rows="missing"))
        )
    except InputError as error:
        assert str(error).endswith(".")
    else:
        assert found == 2 * 2 * 48


@pytest.mark.parametrize("bad_rows", ["refuse", "missing"])
@pytest.mark.parametrize(
    ("reader", "tests", "rows"),
    [
        (nem12, test_nem12, [row for household in test_nem12.ORDINARY for row in household]),
        (green_button, test_green_button, [test_green_button.ORDINARY]),
    ],
)
@fuzz(2 * EXAMPLES)
@given(edits=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), st.binary(max_size=12)), max_size=6))
def test_any_bytes_of_a_format_with_links_are_read_or_refused(tmp_path, reader, tests, rows, bad_rows, edits):
    ordinary = tests.write(tmp_path, *rows).read_bytes()
    text = edited(ordinary, edits)
    path = tmp_path / "e"
    path.write_bytes(text)
    try:
        result = read_all(reader, path, tests.options(bad_rows=bad_rows))
    except InputError as error:
        assert str(error).endswith(".") and "\n" not in str(error)
        assert text != ordinary or bad_rows == "refuse"
    else:
        assert set(result.became) <= set(REASONS) and result.became["used"] == len(result.kwh)


@pytest.mark.parametrize(
    "name",
    ["plain", "thousands, in Wh", "a day per row", "a column per meter", "a home per file in a zip", "Parquet"],
)
@FUZZ
@given(edits=EDITS)
def test_check_describes_or_refuses_whatever_it_is_given(tmp_path, name, edits):
    path = tmp_path / ("e.zip" if "zip" in name else "e.csv")
    path.write_bytes(edited(small(name), edits))
    try:
        found = examine(path, time_zone="Europe/London")
    except InputError as error:
        assert str(error).endswith(".")
    else:
        assert finding_words(path, found) and config_text(path, found)


@FUZZ
@given(data=st.binary(max_size=300))
def test_check_refuses_noise(tmp_path, data):
    path = tmp_path / "noise.csv"
    path.write_bytes(data)
    with pytest.raises(InputError):
        examine(path)


def test_the_lines_that_are_counted_are_those_of_pandas(tmp_path):
    """The count above is right for a file that everybody reads alike."""
    (tmp_path / "e.csv").write_bytes(small("plain"))
    assert len(pd.read_csv(tmp_path / "e.csv")) == (tmp_path / "e.csv").read_bytes().count(b"\n") - 1
