"""Tables the ``profiles`` package writes: quality per household, log load with its seasonal mean, profile vectors."""

from __future__ import annotations

from meterdp.core.tables import COUNT, FLAG, INT, REAL, STAMP_UTC, TEXT, VECTOR, Column, Table

_HOUSEHOLD = Column("household", INT, "1", "dense index of the household")

QUALITY = Table(
    "quality",
    "private",
    "Per household: counts of unusual readings by public rules, and whether the study keeps it.",
    (
        _HOUSEHOLD,
        Column("expected_readings", COUNT, "readings", "slots of the grid"),
        Column("missing_readings", COUNT, "readings", "slots without a reading in the export"),
        Column("coarse_readings", COUNT, "readings", "readings of a longer interval than the export's"),
        Column("unit_slip_readings", COUNT, "readings", "readings in a unit slip, in either direction"),
        Column("catch_up_readings", COUNT, "readings", "readings after a gap that hold its energy as well"),
        Column("register_reset_readings", COUNT, "readings", "single negative readings of a register set back"),
        Column("spike_readings", COUNT, "readings", "single implausible readings far above all others"),
        Column("implausible_readings", COUNT, "readings", "other readings outside the public plausible power range"),
        Column("stuck_readings", COUNT, "readings", "readings in a long run of one value that is not standby"),
        Column("negative_readings", COUNT, "readings", "plausible negative readings below the public bounds"),
        Column("repaired_readings", COUNT, "readings", "slots with a repaired value"),
        Column("zero_readings", COUNT, "readings", "usable readings of exactly zero"),
        Column("kept", FLAG, "1", "whether the study uses the household"),
        Column("reason", TEXT, "", "'kept' or the first rule that left it out"),
    ),
)

READ_MONTHS = Table(
    "read_months",
    "private",
    "Per month of the local clock: readings that there should be of some households of one shard, and missing ones.",
    (
        Column("month", TEXT, "", "month, e.g. 2025-11"),
        Column("expected_readings", COUNT, "readings", "slots of the grid"),
        Column("missing_readings", COUNT, "readings", "slots without a reading in the export"),
    ),
    file_name="read_months/part-*.parquet",
)

QUALITY_SUMMARY = Table(
    "quality_summary",
    "study",
    "How many households, readings and rows each public rule touched.",
    (
        Column(
            "scope",
            TEXT,
            "",
            "'households', 'readings', 'rows' of the export; readings 'expected in a month' or 'missing in a month'",
        ),
        Column("reason", TEXT, "", "rule, 'kept', or a month, e.g. 2025-11"),
        Column("item_count", COUNT, "1", "households, readings or rows"),
        Column("meaning", TEXT, "", "what the rule means"),
    ),
)

LOG_LOAD = Table(
    "log_load",
    "private",
    "Log load of one shard, and its seasonal mean from the training window.",
    (
        _HOUSEHOLD,
        Column("interval_start_utc", STAMP_UTC, "UTC", "start of the metering interval"),
        Column("log_kwh", REAL, "log kWh", "log of the clipped energy", nullable=True),
        Column(
            "seasonal_log_kwh",
            REAL,
            "log kWh",
            "seasonal part, from readings of this household that are known at the origin",
            continuous=True,
        ),
    ),
    file_name="log_load/part-*.parquet",
    of_readings=True,
)

RECENT_LOAD = Table(
    "recent_load",
    "private",
    "Log load of every household of one shard on the last days of the period, for releases that are about these.",
    LOG_LOAD.columns[:3],
    file_name="release/recent_load/part-*.parquet",
    of_readings=True,
)

PROFILES = Table(
    "profiles",
    "private",
    "One profile vector per household of the export; invalid ones hold the public default record.",
    (
        _HOUSEHOLD,
        Column("valid", FLAG, "1", "whether the vector comes from the household's own readings"),
        Column("log_kwh", VECTOR, "log kWh", "clipped log energy per hour, in order of the hours"),
    ),
)

PROFILE_HOURS = Table(
    "profile_hours",
    "study",
    "What each entry of the profile vector is.",
    (
        Column("entry", INT, "1", "position in the vector, from 0"),
        Column("hour_of_day_local", INT, "h", "local hour of day the entry covers"),
        Column("label", TEXT, "", "the hour, as text"),
        Column("low_log_kwh", REAL, "log kWh", "public lower clip bound"),
        Column("high_log_kwh", REAL, "log kWh", "public upper clip bound"),
        Column("offset_kwh", REAL, "kWh", "offset o of x = e^y - o - c^2 e^-y, kWh x from log kWh y"),
        Column("scale_kwh", REAL, "kWh", "constant c of it; both are 0 on a plain log"),
    ),
)
