"""Tables of releases, and what a study writes in their place."""

from __future__ import annotations

from dataclasses import replace

from meterdp.class_noise.tables import DESIGN, RHO
from meterdp.core.tables import COUNT, INT, REAL, STAMP_UTC, TEXT, VECTOR, Column, Table
from meterdp.households.tables import DRAWN_READINGS
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
        Column("mean_log_kwh", VECTOR, "log kWh", "mean, one entry per hour"),
        Column("covariance", VECTOR, "(log kWh)^2", "covariance, d x d entries by rows"),
    ),
    file_name="mixture/mixture.parquet",
)

RELEASED_PROFILES = Table(
    "released_profiles",
    "release",
    "Synthetic load profiles that follow what was released; as many as the configuration says.",
    (
        Column("profile", INT, "1", "synthetic profile, from 1; it is no real household"),
        Column("energy_kwh", VECTOR, "kWh", "energy per hour, one entry per hour, within the public bounds"),
    ),
    file_name="mixture/synthetic_profiles.parquet",
)

RELEASED_HOUSEHOLDS = Table(
    "released_households",
    "release",
    "Synthetic households sampled from the released mixtures, one vector each; as many as the configuration says.",
    (
        Column("household", INT, "1", "synthetic household, from 1; it is no real one"),
        Column("stratum", TEXT, "", "what the public list says of such households"),
        Column("vector", VECTOR, "1", "entries of households.json, in order, within the public bounds"),
    ),
    file_name="households/household_vectors.parquet",
)

RELEASED_READINGS = replace(
    DRAWN_READINGS,
    name="released_readings",
    description="Readings of the first released synthetic households over the period, some households a row group.",
    # household_vectors.parquet has their strata.
    columns=tuple(column for column in DRAWN_READINGS.columns if column.name != "stratum"),
    file_name="households/household_readings.parquet",
)

_FEEDER = (
    Column("dataset_id", TEXT, "", "the feeder, after its substation where the public list names one"),
    Column("secondary_substation_id", TEXT, "", "secondary substation by the public list; 'all' if it names none"),
    Column("lv_feeder_id", TEXT, "", "feeder, as the public list of meters names it"),
    Column("aggregated_device_count_active", COUNT, "meters", "meters in the total: listed ones, or a noisy count"),
)

# The columns of British open data of feeders, whose names carry no units.
RELEASED_FEEDERS = Table(
    "released_feeders",
    "release",
    "Energy of the meters of every feeder and interval, released under differential privacy.",
    (
        *_FEEDER,
        Column(
            "total_consumption_active_import", COUNT, "Wh", "energy used in the interval; feed-in is not subtracted"
        ),
        Column("data_collection_log_timestamp", STAMP_UTC, "UTC", "end of the interval"),
    ),
    file_name="feeders/feeders.parquet",
)


def on_average_day(table: Table) -> Table:
    """Return a table of intervals as one of those of an average day."""
    return replace(
        table,
        description=table.description.replace("interval,", "interval of an average day,"),
        columns=tuple(
            replace(c, description=f"{c.description} of an average day, which has the date of its last day")
            if c.type == STAMP_UTC
            else c
            for c in table.columns
        ),
    )


RELEASED_FEEDER_ERRORS = Table(
    "released_feeder_errors",
    "release",
    "How well the totals of every feeder are known.",
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

_HOUR = (
    Column("step", INT, "1", "hours from the start of the week, from 1"),
    Column("interval_start_utc", STAMP_UTC, "UTC", "start of the hour"),
    Column("interval_start_local", TEXT, "", "the same as wall-clock time with its offset from UTC, ISO 8601"),
)
# Ends of the intervals around the median that should hold 50 and 90 % of hours, in the order of
# :data:`meterdp.groupforecast.plan.QUANTILES`.
FORECAST_QUANTILES = ("low_90", "low_50", "median", "high_50", "high_90")
_MEANS = {
    "low_90": "in 1 hour of 20 it is less",
    "low_50": "in 1 hour of 4 it is less",
    "median": "in half of the hours it is less",
    "high_50": "in 1 hour of 4 it is more",
    "high_90": "in 1 hour of 20 it is more",
}

GROUP_FORECAST_FILE = Table(
    "group_forecast_file",
    "study",
    "Forecast of a week for a household of a group, under a random release id.",
    (
        Column("release_id", TEXT, "", "random id, unrelated to the meter id"),
        *_HOUR,
        Column("expected_kwh", REAL, "kWh", "mean energy of a household of the group; these add up over households"),
        *(
            Column(f"{name}_kwh", REAL, "kWh", f"energy of a household of the group: {_MEANS[name]}")
            for name in FORECAST_QUANTILES
        ),
    ),
    file_name="group_forecasts/<release id>.parquet",
)

_FORECAST = Column("forecast", INT, "1", "number of the forecast, as recipients.parquet names it")

RELEASED_RECIPIENTS = Table(
    "released_recipients",
    "release",
    "Which forecast each household has, under a random release id.",
    (
        Column("release_id", TEXT, "", "random id, unrelated to the meter id; ascending"),
        _FORECAST,
    ),
    file_name="forecasts/recipients.parquet",
)

RELEASED_GROUP_FORECASTS = replace(
    GROUP_FORECAST_FILE,
    name="released_group_forecasts",
    audience="release",
    description="Forecasts of a week for the households of groups, released under differential privacy.",
    columns=(
        _FORECAST,
        Column("circuit", TEXT, "", "circuit it is for, as the public list names it; 'all' if it is for all"),
        Column("household_count", COUNT, "households", "households that have it"),
        *GROUP_FORECAST_FILE.columns[1:],
    ),
    file_name="forecasts/forecasts.parquet",
)

RELEASED_FORECASTS = replace(
    FORECAST_FILE,
    name="released_forecasts",
    audience="release",
    description="Forecasts of households, moved towards neighbourhoods, with noise that hides whom they belong to.",
    columns=(_FORECAST, *FORECAST_FILE.columns[1:]),
    file_name="forecasts/forecasts.parquet",
)

RELEASED_SHAPE = Table(
    "released_shape",
    "release",
    "The shape of a week, for whoever knows what a household uses: times its mean energy per hour, it is a forecast.",
    (
        *_HOUR,
        Column("expected_ratio", REAL, "1", "mean energy of the hour over that of all hours of the household"),
        *(
            Column(f"{name}_ratio", REAL, "1", f"energy of the hour over the household's mean hour: {_MEANS[name]}")
            for name in FORECAST_QUANTILES
        ),
    ),
    file_name="forecasts/shape.parquet",
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
    "Which meter a random name of released forecasts belongs to: for delivering them, never to be published itself.",
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
