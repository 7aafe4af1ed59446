"""Compare every Parquet file of two results folders.

``python tools/compare_results.py OLD NEW [--renamed OLD_PATH=NEW_PATH ...]`` is for a change that must not change a
number. It prints the largest relative difference of every table that is not equal to the last bit, and what exists on
one side only, and ends with 1 if a difference is above the tolerance. Release ids depend on a salt of each folder, so
forecast files are compared household by household through the private crosswalks, and the examples, which are chosen
by these ids, are left out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

TOLERANCE = 1e-9
# Chosen by salted ids, so other households are shown.
LEFT_OUT = {"study/forecast_examples.parquet"}
# Folder of files named by release id -> the private table that says whom they belong to.
SALTED = {
    "study/forecasts": "private/crosswalk.parquet",
    "study/cluster_forecasts": "private/cluster_crosswalk.parquet",
    "study/group_forecasts": "private/group_crosswalk.parquet",
}


def plain(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column as a flat array: floats with NaN for null, anything else as text."""
    if pa.types.is_list(column.type):
        lengths = pa.array([None if v is None else len(v) for v in column.to_pylist()], pa.float64())
        flat = pa.chunked_array([pa.concat_arrays([c.flatten() for c in column.chunks])]) if column.chunks else column
        return np.concatenate([plain(pa.chunked_array([lengths])), plain(flat)])
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        return column.cast(pa.float64(), safe=False).to_numpy().astype(float)
    return np.array(["" if v is None else str(v) for v in column.to_pylist()], dtype=object)


def difference(old: pa.Table, new: pa.Table) -> tuple[float, str]:
    """Return the largest relative difference of two tables and the column it is in; infinity for another shape."""
    if old.column_names != new.column_names:
        return np.inf, f"columns {sorted(set(old.column_names) ^ set(new.column_names))}"
    worst, where = 0.0, ""
    for name in old.column_names:
        a, b = plain(old[name]), plain(new[name])
        if a.shape != b.shape or a.dtype != b.dtype:
            return np.inf, f"{name}: another number of values"
        if a.dtype == object:
            found = np.inf if (a != b).any() else 0.0
        else:
            with np.errstate(invalid="ignore"):
                scale = np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-12)
                gap = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b) / scale)
            found = float(np.max(np.where(np.isnan(gap), np.inf, gap), initial=0.0))
        if found > worst:
            worst, where = found, name
    return worst, where


def salted_tables(folder: Path, results: Path, crosswalk: Path) -> pa.Table:
    """Return all forecast files of a folder as one table, in the order of the households behind them."""
    rows = pq.read_table(crosswalk).to_pandas().sort_values("household")
    parts = [pq.read_table(folder / f"{i}.parquet").drop_columns(["release_id"]) for i in rows["release_id"]]
    return pa.concat_tables(parts).append_column("household", pa.array(np.repeat(rows["household"], len(parts[0]))))


def files(results: Path) -> set[str]:
    """Return the paths of the Parquet files below a results folder that can be compared one by one."""
    found = {p.relative_to(results).as_posix() for p in results.rglob("*.parquet")}
    salted = {p for p in found if p.rsplit("/", 1)[0] in SALTED}
    return found - salted - LEFT_OUT - set(SALTED.values())


def main() -> None:
    """Compare and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--renamed", action="append", default=[], metavar="OLD=NEW", help="path or folder of NEW")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="relative (default %(default)s)")
    arguments = parser.parse_args()
    old_files, new_files = files(arguments.old), files(arguments.new)
    renamed = dict(pair.split("=") for pair in arguments.renamed)
    pairs = {path: renamed.get(path, path) for path in sorted(old_files)}
    rows, missing = [], [f"only in OLD: {a}" for a, b in pairs.items() if b not in new_files]
    missing += [f"only in NEW: {path}" for path in sorted(new_files - set(pairs.values()))]
    for a, b in pairs.items():
        if b in new_files:
            found = difference(pq.read_table(arguments.old / a), pq.read_table(arguments.new / b))
            rows.append((a, *found))
    for folder, crosswalk in SALTED.items():
        sides = [(r / folder, r, r / crosswalk) for r in (arguments.old, arguments.new)]
        if all(side[0].is_dir() for side in sides):
            rows.append((f"{folder}/", *difference(*(salted_tables(*side) for side in sides))))
    table = pd.DataFrame(rows, columns=["file", "largest relative difference", "column"])
    unequal = table[table["largest relative difference"] > 0].sort_values("largest relative difference")
    print(unequal.to_string(index=False) if len(unequal) else "", *missing, sep="\n")
    wrong = int((table["largest relative difference"] > arguments.tolerance).sum())
    print(f"{len(table)} compared, {len(table) - len(unequal)} equal to the last bit, {wrong} above the tolerance")
    sys.exit(bool(wrong or missing))


if __name__ == "__main__":
    main()
