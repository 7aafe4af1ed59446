"""Parquet by declared schema, whole files or nothing."""

import pickle

import pandas as pd
import pyarrow as pa
import pytest

from meterdp.core.parquet import (
    as_arrow,
    atomic_path,
    file_metadata,
    metadata_of,
    read_parts,
    read_table,
    write_table,
)
from meterdp.core.tables import INT, REAL, TEXT, Column, Table
from meterdp.errors import InputError
from meterdp.publish.tables import RELEASED_FEEDERS, RELEASED_MIXTURE, RELEASED_PROFILES
from meterdp_papers.registry import catalogue

TABLE = Table(
    "sample",
    "study",
    "A sample.",
    (Column("household", INT, "1", "index"), Column("energy_kwh", REAL, "kWh", "energy", nullable=True)),
)
GOOD = {"household": [1, 2], "energy_kwh": [0.5, None]}


def test_round_trip_keeps_values_units_and_the_mark(tmp_path):
    write_table(tmp_path / "a.parquet", TABLE, GOOD, {"synthetic": "yes"})
    back = read_table(tmp_path / "a.parquet", TABLE)
    assert back.to_pydict() == GOOD
    assert back.schema.field("energy_kwh").metadata[b"unit"] == b"kWh"
    facts = metadata_of(tmp_path / "a.parquet")
    assert facts["release"] == "not for release" and facts["table"] == "sample" and facts["synthetic"] == "yes"
    assert "stamps" not in facts, "whoever read of stamps in UTC moved profiles of local hours"


def test_metadata_say_of_each_column_of_stamps_what_it_is():
    """The totals of feeders have ends of intervals, and were once said to have their starts."""
    ends = {"meterdp.stamps": "UTC; data_collection_log_timestamp: end of the interval"}
    assert file_metadata(RELEASED_FEEDERS).items() >= ends.items()
    assert "meterdp.stamps" not in {**file_metadata(RELEASED_PROFILES), **file_metadata(RELEASED_MIXTURE)}


@pytest.mark.parametrize(
    "data",
    [
        {"household": [1]},
        {**GOOD, "extra": [1, 2]},
        {"household": [None, 1], "energy_kwh": [1.0, 2.0]},
        {"household": ["x", "y"], "energy_kwh": [1.0, 2.0]},
    ],
)
def test_undeclared_columns_types_and_nulls_are_refused_and_leave_nothing(tmp_path, data):
    with pytest.raises((ValueError, pa.ArrowInvalid, pa.ArrowTypeError)):
        write_table(tmp_path / "a.parquet", TABLE, data)
    assert list(tmp_path.iterdir()) == []


def test_frames_and_arrow_tables_are_accepted_in_any_column_order():
    frame = pd.DataFrame({"energy_kwh": [0.5], "household": [3]})
    assert as_arrow(TABLE, frame).to_pydict() == as_arrow(TABLE, pa.Table.from_pandas(frame)).to_pydict()


def test_a_failed_write_keeps_the_old_file(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"] and target.read_text() == "old"


def test_another_table_or_a_broken_file_is_refused_in_one_sentence(tmp_path):
    other = Table("other", "study", "Other.", (Column("name", TEXT, "", "name"),))
    write_table(tmp_path / "a.parquet", other, {"name": ["x"]})
    with pytest.raises(InputError, match="does not have the columns of table 'sample'; delete it"):
        read_table(tmp_path / "a.parquet", TABLE)
    (tmp_path / "b.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(InputError, match="is not a readable Parquet file"):
        read_table(tmp_path / "b.parquet", TABLE)


def test_parts_keep_their_order(tmp_path):
    for i in (0, 1):
        write_table(tmp_path / f"{i}.parquet", TABLE, {"household": [i], "energy_kwh": [1.0]})
    back = read_parts([tmp_path / "1.parquet", tmp_path / "0.parquet"], TABLE)
    assert back["household"].to_pylist() == [1, 0]


def test_every_declared_table_names_units_and_describes_itself():
    tables = catalogue()
    assert len(tables) > 20
    for table in tables.values():
        assert table.description.endswith("."), table.name
        for column in table.columns:
            assert column.description, (table.name, column.name)
            for suffix in ("_kwh", "_utc"):
                if column.name.endswith(suffix):
                    assert suffix.strip("_").replace("kwh", "kWh").replace("utc", "UTC") in column.unit


def test_input_errors_survive_worker_processes():
    error = InputError("is empty", hint="give one", file="a.csv", row=3, field="kwh")
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == "a.csv, row 3, field 'kwh': is empty; give one."
