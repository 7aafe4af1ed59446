"""Tables of the ``release`` room: what may leave the building, and what a study writes in its place."""

from __future__ import annotations

from dataclasses import replace

from meterdp.classnoise.tables import DESIGN, RHO
from meterdp.core.tables import INT, REAL, STAMP_UTC, TEXT, VECTOR, Column, Table
from meterdp.profiles.tables import PROFILES

_MEANING = {
    "household": "synthetic household 1..n; it is no real household",
    "valid": "true: every synthetic household has a profile",
    "log_kwh": "log energy per hour, clipped to the public bounds, in order of the hours",
}

# The columns of PROFILES, so that whatever reads profiles reads these.
RELEASED_MIXTURE = Table(
    "released_mixture",
    "release",
    "A Gaussian mixture of half-day load profiles, released under differential privacy.",
    (
        Column("component", INT, "1", "class of the mixture, from 1"),
        Column("weight", REAL, "1", "mixture weight"),
        Column("mean_log_kwh", VECTOR, "log kWh", "mean, an entry an hour"),
        Column("covariance", VECTOR, "(log kWh)^2", "covariance, d x d entries by rows"),
    ),
    file_name="mixture/mixture.parquet",
)

RELEASED_PROFILES = Table(
    "released_profiles",
    "release",
    "Synthetic load profiles sampled from the released mixture; as many as the configuration says.",
    (
        Column("profile", INT, "1", "synthetic profile, from 1; it is no real household"),
        Column("energy_kwh", VECTOR, "kWh", "energy per hour, an entry an hour, within the public bounds"),
    ),
    file_name="mixture/synthetic_profiles.parquet",
)

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

RELEASED_FORECAST = replace(
    FORECAST_FILE,
    name="released_forecast",
    audience="release",
    description="Forecast of one household's group, released under differential privacy, under a random release id.",
    columns=tuple(
        replace(c, description="forecast of the household's group") if c.name == "released_log_kwh" else c
        for c in FORECAST_FILE.columns
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

RELEASE_CROSSWALK = Table(
    "release_crosswalk",
    "private",
    "Which meter a released forecast file belongs to: for delivering the files, never to be handed over itself.",
    (
        Column("release_id", TEXT, "", "random id, the name of the file"),
        Column("meter_id", TEXT, "", "meter of the public list"),
    ),
    file_name="release/crosswalk.parquet",
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
