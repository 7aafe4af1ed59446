"""Tables of households over a whole period."""

from __future__ import annotations

from meterdp.core.tables import INT, VECTOR, Column, Table

HOUSEHOLD_VECTORS = Table(
    "household_vectors",
    "private",
    "What a household's readings over the period are, as one bounded vector.",
    (
        Column("household", INT, "1", "number of the household in the study, from 0"),
        Column("vector", VECTOR, "1", "entries of meterdp.households.vector, in order, within public bounds"),
    ),
    file_name="household_vectors/part-*.parquet",
)
