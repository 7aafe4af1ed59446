"""Decimal marks and thousands: what is read is what Python reads of the plain number, and nothing is mis-scaled."""

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meterdp.core.config import load_schema
from meterdp.errors import InputError
from meterdp.ingest.fields import Field, Rejects, numbers
from meterdp.ingest.settings import DECIMALS, THOUSANDS, ExportSettings, Notation, settings_that_fit
from tests.conftest import ROOT

NOTATIONS = [Notation(d, t) for d in DECIMALS for t in (None, *THOUSANDS) if d != t]


def read(texts, notation, bad_rows="missing"):
    setting = ExportSettings(bad_rows=bad_rows)
    rejects = Rejects(setting, (len(texts),))
    field = Field(pa.array(texts, pa.string()), "file", "kwh", 2)
    values = numbers(field, setting.missing_words, rejects, notation=notation)
    return values.tolist(), rejects.marks.tolist()


def written(value: float, places: int, notation: Notation) -> str:
    text = f"{value:,.{places}f}"
    marks = {",": notation.thousands or "", ".": notation.decimal}
    return "".join(marks.get(c, c) for c in text)


@pytest.mark.parametrize("bad_rows", ["refuse", "missing"])
@pytest.mark.parametrize("notation", NOTATIONS)
@given(values=st.lists(st.tuples(st.floats(-1e9, 1e9), st.integers(0, 6)), min_size=1, max_size=8))
def test_a_number_is_read_as_it_was_written(notation, bad_rows, values):
    found, marks = read([f" {written(v, n, notation)} " for v, n in values], notation, bad_rows)
    assert found == [float(f"{v:.{n}f}") for v, n in values] and not any(marks)


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u202f"])
def test_blanks_that_break_no_line_are_blanks(blank):
    assert read([f"12{blank}345{blank}678,5"], Notation(",", " "))[0] == [12345678.5]
    assert read(["1\u2019234.5", "1'234.5"], Notation(".", "'"))[0] == [1234.5, 1234.5]


@pytest.mark.parametrize(
    ("text", "notation"),
    [
        ("1,234", Notation()),
        ("1.234", Notation(",")),
        ("1.23", Notation(",", ".")),
        ("0.123", Notation(",", ".")),
        ("0,123", Notation(".", ",")),
        ("1,23,456", Notation(".", ",")),
        ("1234,567", Notation(".", ",")),
        ("1,234,56", Notation(".", ",")),
        ("1 234", Notation(",")),
        ("12 34", Notation(",", " ")),
        ("1,5", Notation(".", " ")),
        ("1,2,3", Notation(",")),
        ("1'5", Notation(".", "'")),
        (",", Notation(",")),
        ("e5", Notation(",")),
        ("1,5e", Notation(",")),
    ],
)
def test_what_does_not_fit_is_no_number(text, notation):
    (value,), (mark,) = read([text], notation)
    assert math.isnan(value) and mark == 3
    with pytest.raises(InputError, match="row 2, field 'kwh': is not a number"):
        read([text], notation, "refuse")


@given(
    st.lists(st.text(alphabet="0123456789.,' \u00a0\u2019+-eEinfa½", max_size=9) | st.text(max_size=9), max_size=6)
)
@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_number_is_read_alike_in_any_company(notation, words):
    one_by_one = [read([word], notation) for word in words]
    found = read(words, notation)
    assert [list(map(repr, found[0])), found[1]] == [
        [repr(value) for (value,), _ in one_by_one],
        [mark for _, (mark,) in one_by_one],
    ]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1,5", 'set export.decimal to ","'),
        ("1,234", 'set export.thousands to "," or export.decimal to ",", whichever the utility means'),
        ("1.234,5", 'set export.decimal to "," and export.thousands to "."'),
        ("1,234.5", 'set export.thousands to ","'),
        ("12\u00a0345,5", 'set export.decimal to "," and export.thousands to " "'),
        ("1'234", """set export.thousands to "'\""""),
        ("oops", "correct it, or add the word to export.missing_words"),
    ],
)
def test_a_refusal_names_the_settings_that_would_read_the_number(text, hint):
    with pytest.raises(InputError) as caught:
        read(["1.5", text], Notation(), "refuse")
    assert str(caught.value) == f"file, row 3, field 'kwh': is not a number; {hint}."
    assert settings_that_fit("1.5") == ""


@pytest.mark.parametrize(
    ("text", "notation", "settings"),
    [
        ("1.5", Notation(","), 'export.decimal to "."'),
        ("1.234", Notation(","), 'export.decimal to "." or export.thousands to "."'),
        ("1.234,5", Notation(), 'export.decimal to "," and export.thousands to "."'),
        ("1.5", Notation(",", "."), 'export.decimal to "." and export.thousands to null'),
        ("1,5", Notation(".", "'"), 'export.decimal to ","'),
        ("1 234.5", Notation(".", "'"), 'export.thousands to " "'),
        ("oops", Notation(","), ""),
    ],
)
def test_the_settings_named_are_the_fewest_to_change(text, notation, settings):
    assert settings_that_fit(text, notation) == settings


@given(st.text(alphabet="0123456789.,' -", max_size=9), st.sampled_from(NOTATIONS))
def test_a_setting_is_named_if_and_only_if_one_reads_the_number(text, current):
    reads = any(not read([text], notation)[1][0] for notation in NOTATIONS) and bool(text.strip())
    if read([text], current)[1][0]:
        assert bool(settings_that_fit(text, current)) == reads


def test_settings_that_cannot_be():
    for bad in ({"decimal": ";"}, {"thousands": "_"}, {"thousands": "."}, {"decimal": ",", "thousands": ","}):
        with pytest.raises(InputError, match=r"field 'export\.(decimal|thousands)'"):
            ExportSettings(**bad)


def test_the_schema_offers_every_mark():
    schema = load_schema(ROOT / "workflow/schemas/config.schema.yaml")
    assert schema["properties"]["export"]["properties"]["thousands"]["enum"] == [None, *THOUSANDS]
