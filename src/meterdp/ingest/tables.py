"""Tables the ``ingest`` package writes: canonical readings, the meters, and what was not used and why."""

from __future__ import annotations

from meterdp.core.tables import COUNT, INT, REAL, STAMP_UTC, TEXT, Column, Table

_HOUSEHOLD = Column("household", INT, "1", "dense index of the household, in order of meter id")
_METER_ID = Column("meter_id", TEXT, "", "meter id as written in the export")
_MONTH = Column("month", TEXT, "", "month of the local clock, e.g. 2025-11")

READINGS = Table(
    "readings",
    "private",
    "Canonical readings of one shard: every household on one regular grid, null where no reading was usable.",
    (
        _HOUSEHOLD,
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
        _HOUSEHOLD,
        _METER_ID,
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
        Column("meaning", TEXT, "", "what the reason means"),
    ),
)

METER_MONTHS = Table(
    "meter_months",
    "private",
    "Digests of the readings of each meter and month, to tell what the next reading of the export changes.",
    (
        _METER_ID,
        _MONTH,
        Column("reading_count", COUNT, "readings", "readings of the month"),
        Column("digest", COUNT, "1", "digest of the month's readings and where they lie"),
    ),
    file_name="export_kept/meter_months.parquet",
)

INGEST_CHANGES = Table(
    "ingest_changes",
    "private",
    "What this reading of the export changed against the last one, per month; empty unless export.incremental.",
    (
        _MONTH,
        Column("same_meters", COUNT, "meters", "meters whose readings of the month are as they were"),
        Column("revised_meters", COUNT, "meters", "meters with other readings of the month than before"),
        Column("new_meters", COUNT, "meters", "meters with readings of the month that had none"),
        Column("gone_meters", COUNT, "meters", "meters that had readings of the month and have none"),
        Column("reading_count", COUNT, "readings", "readings of the month now"),
        Column("reading_count_before", COUNT, "readings", "readings of the month at the last reading"),
    ),
)
