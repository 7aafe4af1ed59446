"""A user's pairs of neighbours: read as text, refused in one sentence that never names a meter."""

import pandas as pd
import pytest

from meterdp.class_noise.neighbourhoods.graph import read_edges
from meterdp.errors import InputError

HOUSEHOLDS = {"007": 0, "7": 1, "secret-9": 2, "12": 3}
COLUMNS = ("meter_id", "neighbour_id")


def test_a_csv_keeps_leading_zeros_and_the_order_of_its_rows(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("note,neighbour_id,meter_id\n1,7,007\nx, secret-9 ,12\n")
    assert read_edges(path, COLUMNS, HOUSEHOLDS).tolist() == [[0, 1], [3, 2]]


@pytest.mark.parametrize("kind", [str, int])
def test_a_parquet_file_may_hold_numbers(tmp_path, kind):
    path = tmp_path / "pairs.parquet"
    pd.DataFrame({"meter_id": [kind(7)], "neighbour_id": [kind(12)]}).to_parquet(path)
    assert read_edges(path, COLUMNS, HOUSEHOLDS).tolist() == [[1, 3]]


def test_a_file_without_rows_has_no_pairs(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("meter_id,neighbour_id\n")
    assert read_edges(path, COLUMNS, HOUSEHOLDS).shape == (0, 2)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("meter_id,other\n7,12\n", r"pairs.csv, field 'neighbourhoods.file': has no column 'neighbour_id', .*; call"),
        (
            "meter_id,neighbour_id\n7,12\nsecret-9,secret-8\n",
            r"row 3, field 'neighbour_id': names a meter that",
        ),
        ("meter_id,neighbour_id\nsecret-9,secret-9\n", r"row 2: names a meter as its own neighbour; remove"),
        (
            "meter_id,neighbour_id\nsecret-9,\n",
            r"row 2, field 'neighbour_id': names a meter that is not in",
        ),
        ("meter_id,neighbour_id\nsecret-9,12,secret-9\n", r"cannot be read as a table; give a CSV"),
        ("", r"cannot be read as a table; give a CSV"),
    ],
)
def test_a_bad_file_is_one_sentence_without_a_meter_id(tmp_path, text, pattern):
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=pattern) as caught:
        read_edges(path, COLUMNS, HOUSEHOLDS)
    assert "secret" not in str(caught.value) and caught.value.__cause__ is None


@pytest.mark.parametrize("name", ["pairs.parquet", "absent.csv"])
def test_a_file_that_is_no_table_is_one_sentence(tmp_path, name):
    (tmp_path / "pairs.parquet").write_text("secret-9")
    with pytest.raises(InputError, match="cannot be read as a table"):
        read_edges(tmp_path / name, COLUMNS, HOUSEHOLDS)
