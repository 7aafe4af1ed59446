"""Tables of the ``release`` room: synthetic profiles. The release gate and its ledger will declare theirs here."""

from __future__ import annotations

from dataclasses import replace

from meterdp.classnoise.tables import DESIGN, RHO
from meterdp.core.tables import INT, REAL, STAMP_UTC, TEXT, Column, Table
from meterdp.profiles.tables import PROFILES

_MEANING = {
    "household": "synthetic household 1..n; it is no real household",
    "valid": "true: every synthetic household has a profile",
    "log_kwh": "log energy per hour, clipped to the public bounds, in order of the hours",
}

# The columns of PROFILES, so that whatever reads profiles reads these.
SYNTHETIC_PROFILES = Table(
    "synthetic_profiles",
    "study",
    "Profile vectors sampled from one mechanism's mixture, as many as there are valid real ones.",
    tuple(replace(column, description=_MEANING[column.name]) for column in PROFILES.columns),
    file_name="synthetic/<mechanism>.parquet",
)


FORECAST_FILE = Table(
    "forecast_file",
    "study",
    "Released forecast of one household under a random release id.",
    (
        Column("release_id", TEXT, "", "random id, unrelated to the meter id"),
        Column("step", INT, "1", "steps ahead, from 1"),
        Column("interval_start_utc", STAMP_UTC, "UTC", "start of the forecast interval"),
        Column("interval_start_local", TEXT, "", "the same as wall-clock time with its offset from UTC, ISO 8601"),
        Column("released_log_kwh", REAL, "log kWh", "forecast plus noise"),
        Column("released_kwh", REAL, "kWh", "its exponential (median of the log-normal), clipped to public bounds"),
    ),
    file_name="forecasts/<release id>.parquet",
)

CROSSWALK = Table(
    "crosswalk",
    "private",
    "Which household a release id belongs to.",
    (
        Column("release_id", TEXT, "", "random id"),
        Column("household", INT, "1", "dense index of the household"),
    ),
)

FORECAST_EXAMPLES = Table(
    "forecast_examples",
    "study",
    "Three example households: history, truth, forecast, released (Fig. 3 of Ramakrishna et al.).",
    (
        DESIGN,
        RHO,
        Column("example", INT, "1", "number of the example, not an id"),
        Column("part", TEXT, "", "'history', 'truth', 'forecast' or 'released'"),
        Column("hours_from_origin", REAL, "h", "time relative to the origin of the forecast"),
        Column("energy_kwh", REAL, "kWh", "energy in the interval", nullable=True),
    ),
)
