"""Tables of releases, and what a study writes in their place."""

from __future__ import annotations

from dataclasses import replace

from meterdp.class_noise.tables import DESIGN, RHO
from meterdp.core.tables import COUNT, INT, REAL, STAMP_UTC, TEXT, VECTOR, Column, Table
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
    "A Gaussian mixture of hourly load profiles, released under differential privacy.",
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

_FEEDER = (
    Column("dataset_id", TEXT, "", "substation and feeder"),
    Column("secondary_substation_id", TEXT, "", "secondary substation, as the public list of meters names it"),
    Column("lv_feeder_id", TEXT, "", "low-voltage feeder, as the public list of meters names it"),
    Column("aggregated_device_count_active", COUNT, "meters", "meters of the total, listed or measured"),
)

# The columns of British low-voltage feeder open data, whose names carry no units.
RELEASED_FEEDERS = Table(
    "released_feeders",
    "release",
    "Energy of the meters of every low-voltage feeder and interval, released under differential privacy.",
    (
        *_FEEDER,
        Column(
            "total_consumption_active_import", COUNT, "Wh", "energy used in the interval, without what was fed in"
        ),
        Column("data_collection_log_timestamp", STAMP_UTC, "UTC", "end of the interval"),
    ),
    file_name="feeders/feeders.parquet",
)

RELEASED_FEEDER_ERRORS = Table(
    "released_feeder_errors",
    "release",
    "How well the totals of every low-voltage feeder are known.",
    (
        *_FEEDER,
        Column("standard_error_wh", COUNT, "Wh", "standard error of a total, root mean square over the intervals"),
        Column("mean_consumption_wh", COUNT, "Wh", "mean of the totals over the intervals"),
    ),
    file_name="feeders/feeder_errors.parquet",
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
    "Which meter a released forecast file belongs to: for delivering the files, never to be published itself.",
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
