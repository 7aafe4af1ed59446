"""Tables of households over a whole period."""

from __future__ import annotations

from meterdp.core.tables import INT, REAL, STAMP_UTC, VECTOR, Column, Table

HOUSEHOLD_VECTORS = Table(
    "household_vectors",
    "private",
    "What a household's readings over the period are, as one bounded vector.",
    (
        Column("household", INT, "1", "number of the household in the study, from 0"),
        Column("vector", VECTOR, "1", "entries of meterdp.households.vector, in order, within public bounds"),
        Column("deviation", VECTOR, "1", "deviation of every third of a day from its expected load, in its own unit"),
    ),
    file_name="release/household_vectors/part-*.parquet",
)

# What `meterdp households draw` writes and `meterdp score` reads.
DRAWN_READINGS = Table(
    "drawn_readings",
    "release",
    "Readings of synthetic households, drawn from a release; household by household, a row group some at a time.",
    (
        Column("household", INT, "1", "synthetic household, from 1; it is no real one"),
        Column("interval_start_utc", STAMP_UTC, "UTC", "start of the metering interval"),
        Column("energy_kwh", REAL, "kWh", "energy of the interval, negative where more is fed in than used"),
    ),
    file_name="<drawn>.parquet",
    of_readings=True,
)
