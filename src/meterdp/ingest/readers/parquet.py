"""Parquet: a long table with meter, stamp and energy columns in one file or many, read in record batches.

Stamps may be timestamps with or without a zone, dates with time as text, meters text or integers. Records are
counted from 1, as there is no header row.

Text is looked at word by word, never written out for every record: a word of a megabyte that thousands of records
share takes a megabyte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from meterdp.core.regular import check_file, empty
from meterdp.errors import InputError
from meterdp.ingest.batch import BATCH_BYTES, NO_STAMP, Batch
from meterdp.ingest.fields import (
    Field,
    Rejects,
    StampParser,
    in_unit,
    key_columns,
    keys,
    number_words,
    numbers,
    rows_of_other_registers,
)
from meterdp.ingest.members import Member
from meterdp.ingest.settings import ExportSettings
from meterdp.ingest.streams import ahead, file_by_file, files_of, telling_damage

# About what a reading takes in a long CSV, so that batches of all formats hold about the same number of readings.
_BYTES_PER_READING = 32
_MICROSECONDS = {"s": 10**6, "ms": 10**3, "us": 1, "ns": 0}
_AGES = 2**62
# No id is longer, nor any stamp or number; a longer word is none.
LONGEST_ID_BYTES, LONGEST_WORD_BYTES = 1 << 16, 1 << 8
# Where the text of a row group is longer, few records are read at a time, without a table of its words.
MOST_TEXT_BYTES, _FEW_ROWS = 1 << 28, 1 << 8


def batches(
    path: str | Path, settings: ExportSettings, *, batch_bytes: int = BATCH_BYTES, threads: int = 1
) -> Iterator[Batch]:
    """Yield the readings of Parquet files in the order of their records; see :class:`~.interface.Format`."""
    parse_stamps = StampParser(settings.time_format, settings.missing_words)
    any_row = False

    def read_file(member: Member) -> Iterator[Batch]:
        nonlocal any_row
        for batch in _file_batches(member, settings, parse_stamps, max(1, batch_bytes // _BYTES_PER_READING)):
            any_row |= len(batch.meter) > 0
            yield batch

    read = file_by_file(path, settings, read_file)
    yield from read if threads == 1 else ahead(read)
    if not any_row and settings.bad_rows == "refuse" and not isinstance(path, Member):
        raise empty(path)


def _file_batches(
    member: Member, settings: ExportSettings, parse_stamps: StampParser, rows_per_batch: int
) -> Iterator[Batch]:
    path, label = check_file(member.path, member.label), member.label
    names, first_row = [*key_columns(settings), settings.time_column, settings.energy_column], 1
    with _open(path, label) as file:
        _check_columns(label, file.schema_arrow, names)
        texts = [name for name in names if _is_text(file.schema_arrow.field(name).type)]
        with _open(path, label, read_dictionary=texts) as by_word, telling_damage(label):
            for group in range(file.num_row_groups):
                few = _text_bytes(file.metadata.row_group(group), texts) > MOST_TEXT_BYTES
                rows = min(_FEW_ROWS, rows_per_batch) if few else rows_per_batch
                records_of = (file if few else by_word).iter_batches
                for records in records_of(rows, row_groups=[group], columns=names, use_threads=False):
                    columns = {name: Field(records.column(name), label, name, first_row) for name in names}
                    yield _batch(columns, settings, parse_stamps)
                    first_row += records.num_rows


def _batch(columns: dict[str, Field], settings: ExportSettings, parse_stamps: StampParser) -> Batch:
    ids = {name: _as_text(columns[name], LONGEST_ID_BYTES) for name in key_columns(settings)}
    others = rows_of_other_registers(ids, settings)
    rejects = Rejects(settings, (len(columns[settings.meter_column].values),), other_register=others)
    key = keys(ids, settings, rejects)
    stamp_us, stamps_are_utc = _stamps(columns[settings.time_column].without(others), parse_stamps, rejects)
    return Batch(
        first_row=columns[settings.meter_column].first_row,
        stamp_us=stamp_us,
        stamps_are_utc=stamps_are_utc,
        energy=in_unit(_energy(columns[settings.energy_column].without(others), settings, rejects), ids, settings),
        **key,
        unreadable=rejects.marks,
    )


def first_records(path: str | Path, rows: int) -> pa.RecordBatch | None:
    """Return the first records of an export, None if it has none; raises ``InputError`` if a file up to there is no
    Parquet file, or damaged.
    """
    for member in files_of(path):
        with _open(check_file(member.path, member.label), member.label) as file, telling_damage(member.label):
            if (records := next(file.iter_batches(rows, use_threads=False), None)) is not None:
                return records
    return None


def _open(path: Path, label: str, **options) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, buffer_size=1 << 20, **options)
    except (OSError, pa.ArrowException):
        raise InputError("is not a Parquet file", file=label, hint="set export.format to what it is") from None


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _text_bytes(group: pq.RowGroupMetaData, texts: list[str]) -> int:
    columns = map(group.column, range(group.num_columns))
    return sum(column.total_uncompressed_size for column in columns if column.path_in_schema in texts)


def _check_columns(label: str, schema: pa.Schema, names: list[str]) -> None:
    for name in names:
        if schema.names.count(name) != 1:
            raise InputError(
                f"is not a column of the file, or occurs twice; it has {', '.join(repr(n) for n in schema.names)}",
                file=label,
                field=name,
                hint="name the column in the configuration",
            )


def _stamps(field: Field, parse_stamps: StampParser, rejects: Rejects) -> tuple[np.ndarray, np.ndarray | bool]:
    """Return (n,) int64 microseconds and whether they are UTC."""
    kind = field.values.type
    if not pa.types.is_timestamp(kind):
        return parse_stamps(_as_text(field), rejects)
    # A timestamp with a zone is stored as UTC. Finer units are cut off to microseconds; what does not fit into them
    # lies ages before or after any export and stays there.
    count = field.values.cast(pa.int64()).fill_null(0).to_numpy()
    per_unit = _MICROSECONDS[kind.unit]
    stamp_us = np.clip(count, -_AGES // per_unit, _AGES // per_unit) * per_unit if per_unit else count // 1000
    return np.where(field.values.is_valid().to_numpy(zero_copy_only=False), stamp_us, NO_STAMP), kind.tz is not None


def _energy(field: Field, settings: ExportSettings, rejects: Rejects) -> np.ndarray:
    """Return (n,) float64, NaN where null or a missing word."""
    kind = field.values.type
    missing = np.array(number_words(settings.missing_words))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        values = field.values.cast(pa.float64(), safe=False)
        if pa.types.is_floating(kind):
            missing = missing.astype(kind.to_pandas_dtype())  # as such a column would hold them
    elif pa.types.is_decimal(kind):  # by way of text, which rounds correctly
        values = field.values.cast(pa.string()).cast(pa.float64())
    else:
        text = _as_text(field)
        return numbers(replace(text, values=text.values.cast(pa.string())), settings.missing_words, rejects)
    values = values.to_numpy(zero_copy_only=False)
    return np.where(np.isin(values, missing), np.nan, values) if len(missing) else values


def _as_text(field: Field, longest: int = LONGEST_WORD_BYTES) -> Field:
    """Return a column as text, by its words if it is; a word that is too long is one that nothing is called."""
    values = field.values
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if not (_is_text(kind) or pa.types.is_integer(kind)):
        raise InputError(
            f"is of type {kind}, which cannot be used here",
            file=field.file,
            field=field.name,
            hint="write ids as text or integers, stamps as timestamps and readings as numbers",
        )
    if pa.types.is_dictionary(values.type):
        # The table of words may be that of all records of the file, or of words no record has.
        used = pc.unique(values.indices.drop_null())
        words = _words(values.dictionary.take(used), longest)
        values = pa.DictionaryArray.from_arrays(pc.index_in(values.indices, used), words)
    else:
        values = _words(values, longest)
    return replace(field, values=values)


def _words(texts: pa.Array, longest: int) -> pa.Array:
    """Return texts in which those that are too long, and bytes that are not UTF-8, are marks no id or number has."""
    if pa.types.is_integer(texts.type):
        return texts.cast(pa.string())
    overlong = pc.greater(pc.binary_length(texts), longest)
    if pc.any(overlong).as_py():
        texts = pc.if_else(overlong, pa.scalar("\ufffd", texts.type), texts)
    texts = texts.cast(pa.string())
    try:
        texts.validate(full=True)
        return texts
    except pa.ArrowInvalid:  # Parquet does not check
        encoded = texts.cast(pa.binary()).to_pylist()
        return pa.array([None if w is None else w.decode(errors="replace") for w in encoded], pa.string())
