"""Read and write Parquet by declared schema, whole files or nothing.

A file appears under its name only when it is complete (written beside, then renamed), so a killed run leaves no
half-written artefact. Metadata holds the table's name, units, audience and whether the readings are synthetic; it
never holds a seed, an id, a reading or a count of records.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import meterdp
from meterdp.core.tables import STAMP_UTC, Table
from meterdp.errors import InputError
from meterdp.privacy.guarantee import NOT_FOR_RELEASE

if TYPE_CHECKING:
    import pandas as pd  # takes as long to load as all else that a plan does


def _writing(table: Table) -> dict:
    """Return how the columns of a table are written, as pyarrow's arguments."""
    # The statistics of a column would put its smallest and largest value, a meter id or a reading, into the footer.
    writing = {"compression": "zstd", "write_statistics": False}
    if not table.of_readings:
        return writing
    whole = [c.name for c in table.columns if pa.types.is_integer(c.type) or pa.types.is_timestamp(c.type)]
    continuous = {c.name for c in table.columns if c.continuous}
    return {
        **writing,
        "compression": {c.name: "none" if c.name in continuous else "zstd" for c in table.columns},
        "column_encoding": dict.fromkeys(whole, "DELTA_BINARY_PACKED"),
        "use_dictionary": [c.name for c in table.columns if c.name not in {*whole, *continuous}],
    }


@contextmanager
def atomic_path(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary sibling of ``path`` that replaces it on success and is removed on failure.

    Its name is fixed, so what a killed run left behind is overwritten by the next one.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def as_arrow(table: Table, data: pa.Table | pd.DataFrame | Mapping) -> pa.Table:
    """Convert a pyarrow table, a data frame or a mapping of columns to ``table``'s schema.

    ValueError if a column is missing, undeclared, of another type, or null where nulls are not allowed.
    """
    schema = table.schema
    names = set(data.column_names if isinstance(data, pa.Table) else data.keys())
    if names != set(schema.names):
        lacks, more = sorted({*schema.names} - names), sorted(names - {*schema.names})
        raise ValueError(f"table {table.name}: declared but not given {lacks}, given but not declared {more}")
    if not isinstance(data, pa.Table | Mapping):
        data = pa.Table.from_pandas(data, preserve_index=False)
    arrays = [
        column.cast(field.type) if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(column, field.type)
        for field, column in ((field, data[field.name]) for field in schema)
    ]
    for field, column in zip(schema, arrays, strict=True):
        if not field.nullable and column.null_count:
            raise ValueError(f"table {table.name}: column {field.name} has {column.null_count} nulls")
    return pa.Table.from_arrays(arrays, schema=schema)


def file_metadata(table: Table, metadata: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the key-value metadata of a file of ``table``."""
    out = {
        "meterdp.table": table.name,
        "meterdp.version": meterdp.__version__,
        "meterdp.description": table.description,
        "meterdp.audience": table.audience,
    }
    if stamps := [f"{column.name}: {column.description}" for column in table.columns if column.type == STAMP_UTC]:
        out["meterdp.stamps"] = f"UTC; {'; '.join(stamps)}"
    if table.audience != "release":
        out["meterdp.release"] = NOT_FOR_RELEASE
    out.update({f"meterdp.{k}": str(v) for k, v in (metadata or {}).items()})
    return out


def write_table(path, table: Table, data, metadata: Mapping[str, str] | None = None) -> None:
    """Write ``data`` as one Parquet file of ``table``, atomically; :func:`as_arrow` says what it may be.

    ``metadata`` is added as ``meterdp.*``, e.g. ``{"synthetic": "yes"}``. Never private values.
    """
    with atomic_path(path) as temporary:
        _write(temporary, table, data, metadata)


@contextmanager
def open_table(path, table: Table, metadata: Mapping[str, str] | None = None) -> Iterator[Callable[[object], None]]:
    """Yield a function that appends rows to a Parquet file of ``table`` as a new row group; atomic as
    :func:`write_table`.
    """
    schema = table.schema.with_metadata(file_metadata(table, metadata))
    with atomic_path(path) as temporary, pq.ParquetWriter(temporary, schema, **_writing(table)) as writer:

        def add(data) -> None:
            rows = as_arrow(table, data).replace_schema_metadata(schema.metadata)
            writer.write_table(rows, row_group_size=max(len(rows), 1))

        yield add


def table_bytes(table: Table, data, metadata: Mapping[str, str] | None = None) -> bytes:
    """Return what :func:`write_table` would write."""
    sink = pa.BufferOutputStream()
    _write(sink, table, data, metadata)
    return sink.getvalue().to_pybytes()


def bytes_of_pieces(table: Table, pieces: Iterable, metadata: Mapping[str, str] | None = None) -> bytes:
    """Return the file that has each of some pieces of a table as a row group."""
    sink, schema = pa.BufferOutputStream(), table.schema.with_metadata(file_metadata(table, metadata))
    with pq.ParquetWriter(sink, schema, **_writing(table)) as writer:
        for piece in pieces:
            writer.write_table(as_arrow(table, piece).replace_schema_metadata(schema.metadata))
    return sink.getvalue().to_pybytes()


def _write(where, table: Table, data, metadata: Mapping[str, str] | None) -> None:
    arrow = as_arrow(table, data).replace_schema_metadata(file_metadata(table, metadata))
    pq.write_table(arrow, where, **_writing(table))


def read_table(path, table: Table, columns: list[str] | None = None) -> pa.Table:
    """Read a Parquet file; InputError if it is another table or its columns differ from the declared ones."""
    _check(path, table)
    # partitioning=None: a folder called key=value must not become a column.
    return pq.read_table(path, columns=columns, partitioning=None)


def _check(path, table: Table) -> None:
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowInvalid, FileNotFoundError) as error:
        raise InputError("is not a readable Parquet file", file=path, hint="delete it and run again") from error
    declared = table.schema
    if schema.names != declared.names or any(schema.field(n).type != declared.field(n).type for n in declared.names):
        raise InputError(
            f"does not have the columns of table '{table.name}'", file=path, hint="delete it and run again"
        )


def read_batches(path, table: Table, column: str, rows: int) -> Iterator[np.ndarray]:
    """Read one column of a Parquet file, so many rows at a time; the last may have fewer."""
    _check(path, table)
    kept = []
    with pq.ParquetFile(path) as file:
        # A batch ends with its row group.
        for batch in file.iter_batches(rows, columns=[column]):
            kept.append(batch.column(0).to_numpy(zero_copy_only=False))
            while sum(map(len, kept)) >= rows:
                values = np.concatenate(kept)
                yield values[:rows]
                kept = [values[rows:]]
    rest = np.concatenate(kept or [np.empty(0)])
    if rest.size:
        yield rest


def read_row_groups(path, table: Table) -> Iterator[pa.Table]:
    """Read a Parquet file and check it likewise, a row group at a time; one empty piece of an empty file."""
    _check(path, table)
    with pq.ParquetFile(path) as file:
        for number in range(file.num_row_groups):
            yield file.read_row_group(number)
        if not file.num_row_groups:
            yield file.read()


def read_parts(paths, table: Table, columns: list[str] | None = None) -> pa.Table:
    """Read shards written as separate files and concatenate them in the given order."""
    return pa.concat_tables([read_table(p, table, columns) for p in paths])


def metadata_of(file) -> dict[str, str]:
    """Return the ``meterdp.*`` metadata of a file, open or by its path, without the prefix."""
    raw = pq.read_schema(file).metadata or {}
    return {k.decode().removeprefix("meterdp."): v.decode() for k, v in raw.items() if k.startswith(b"meterdp.")}
