"""Tables the ``exports`` room writes: canonical readings, the meters, and what was not used and why."""

from __future__ import annotations

from meterdp.core.tables import COUNT, INT, REAL, STAMP_UTC, TEXT, Column, Table

READINGS = Table(
    "readings",
    "private",
    "Canonical readings of one shard: every household on one regular grid, null where no reading was usable.",
    (
        Column("household", INT, "1", "dense index of the household, in order of meter id"),
        Column("interval_start_utc", STAMP_UTC, "UTC", "start of the metering interval"),
        Column("energy_kwh", REAL, "kWh", "energy in the interval, negative when exported", nullable=True),
    ),
    file_name="readings/part-*.parquet",
    of_readings=True,
)

METERS = Table(
    "meters",
    "private",
    "Crosswalk from the dense household index to the meter id of the export.",
    (
        Column("household", INT, "1", "dense index of the household, in order of meter id"),
        Column("meter_id", TEXT, "", "meter id as written in the export"),
        Column("circuit", TEXT, "", "circuit or feeder of the meter, if the export names one", nullable=True),
        Column("shard", INT, "1", "shard that holds the readings"),
        Column("duplicate_rows", COUNT, "rows", "rows not used because an earlier one says the same"),
        Column("conflicting_rows", COUNT, "rows", "rows not used because another of the interval says otherwise"),
    ),
)

INGEST_REPORT = Table(
    "ingest_report",
    "private",
    "What became of every row of the export: one line per reason, summing to the rows read.",
    (
        Column("reason", TEXT, "", "'used' or the reason the row was not used"),
        Column("row_count", COUNT, "rows", "rows of the export"),
        Column("meaning", TEXT, "", "the reason in words"),
    ),
)
