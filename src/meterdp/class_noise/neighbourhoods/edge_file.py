"""Read the pairs of neighbours that a user's file names: two columns of meter ids, CSV or Parquet.

Whatever is wrong is said in one sentence with the row, never with a meter id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from meterdp.errors import InputError

_FIELD = "neighbourhoods.file"


def read_edges(path, columns: Sequence[str], households: Mapping[str, int]) -> np.ndarray:
    """Return the pairs of households a file names, (E, 2) int64, in its order.

    Parameters
    ----------
    path : path-like
        ``.parquet``, or anything else as CSV with a header.
    columns : (str, str)
        The two columns with meter ids.
    households : mapping of meter id to dense household index
        From the table ``meters``.

    Raises
    ------
    InputError
        If the file cannot be read, lacks a column, names a meter the export does not have, or pairs a meter with
        itself.
    """
    table = _read(path)
    for name in columns:
        if table.column_names.count(name) != 1:
            raise InputError(
                f"has no column '{name}', or more than one",
                file=path,
                field=_FIELD,
                hint=f"call its two columns of meter ids {' and '.join(columns)}",
            )
    first = 1 if Path(path).suffix == ".parquet" else 2  # a CSV has a header
    ends = [[str(v).strip() if v is not None else "" for v in table[name].to_pylist()] for name in columns]
    edges = np.empty((len(ends[0]), 2), dtype=np.int64)
    for row, pair in enumerate(zip(*ends, strict=True)):
        for side, meter in enumerate(pair):
            if meter not in households:
                raise InputError(
                    "names a meter that is not in the export",
                    file=path,
                    row=row + first,
                    field=columns[side],
                    hint="write meter ids as in the export, or remove the row",
                )
            edges[row, side] = households[meter]
        if edges[row, 0] == edges[row, 1]:
            raise InputError("names a meter as its own neighbour", file=path, row=row + first, hint="remove the row")
    return edges


def _read(path) -> pa.Table:
    try:
        if Path(path).suffix == ".parquet":
            return pq.read_table(path, partitioning=None)
        names = pa.csv.open_csv(path).schema.names
        # As text: a meter id with leading zeros must keep them.
        text = pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
        return pa.csv.read_csv(path, convert_options=text)
    except (OSError, pa.ArrowException):
        # Arrow's message quotes the row, and a meter id must not end in a log.
        raise InputError(
            "cannot be read as a table", file=path, field=_FIELD, hint="give a CSV file with a header, or Parquet"
        ) from None
