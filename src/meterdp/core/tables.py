"""Declared schemas: every Parquet file of a study is an instance of one :class:`Table`.

A package lists its tables in ``<package>/tables.py``; :mod:`meterdp.catalogue` gathers them. Column names carry
units, stamps are UTC starts of intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

INT = pa.int32()
COUNT = pa.int64()
REAL = pa.float64()
TEXT = pa.string()
FLAG = pa.bool_()
STAMP_UTC = pa.timestamp("us", tz="UTC")
VECTOR = pa.list_(pa.float64())

Audience = Literal["private", "study", "release"]


@dataclass(frozen=True)
class Column:
    """One column: its Arrow type, unit ("1" when dimensionless, "" for text) and what it means.

    ``continuous`` says that hardly any value of it comes twice, so that neither a dictionary nor compression pays.
    """

    name: str
    type: pa.DataType
    unit: str
    description: str
    nullable: bool = False
    continuous: bool = False


@dataclass(frozen=True)
class Table:
    """The declared schema of one Parquet artefact.

    ``audience`` says who may read it: "private" never leaves the machine, "study" is for the analyst. ``file_name``
    is its path below the folder of the audience where it is not ``<name>.parquet``; words in angle brackets and stars
    stand for what distinguishes several files. A table ``of_readings`` has a row per reading, household by household:
    whole numbers and stamps are then written as differences.
    """

    name: str
    audience: Audience
    description: str
    columns: tuple[Column, ...]
    file_name: str | None = None
    of_readings: bool = False

    @property
    def file(self) -> str:
        """Path below the results folder of a study; tables of a paper lie where its figures say."""
        return f"{self.audience}/{self.file_name or f'{self.name}.parquet'}"

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema with unit and description as field metadata."""
        return pa.schema(
            [
                pa.field(c.name, c.type, nullable=c.nullable, metadata={"unit": c.unit, "description": c.description})
                for c in self.columns
            ]
        )
