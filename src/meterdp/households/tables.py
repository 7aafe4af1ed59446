"""Tables of households over a whole period."""

from __future__ import annotations

from meterdp.core.tables import COUNT, INT, REAL, STAMP_UTC, TEXT, VECTOR, Column, Table

HOUSEHOLD_VECTORS = Table(
    "household_vectors",
    "private",
    "What a household's readings over the period are, as one bounded vector.",
    (
        Column("household", INT, "1", "number of the household in the study, from 0"),
        Column("vector", VECTOR, "1", "entries of meterdp.households.vector, in order, within public bounds"),
    ),
    file_name="release/household_vectors/part-*.parquet",
)

HOUSEHOLD_DEVIATIONS = Table(
    "household_deviations",
    "private",
    "What the homes of a shard do together beyond the calendar: a row for every third of a day, of all of them.",
    (
        Column(
            "deviation_sum",
            REAL,
            "1",
            "sum of the homes' deviations from their expected loads, each in its own unit, clipped and on the grid",
        ),
    ),
    file_name="release/household_deviations/part-*.parquet",
)

# What `meterdp households draw` writes and `meterdp score` reads.
DRAWN_READINGS = Table(
    "drawn_readings",
    "release",
    "Readings of synthetic households, drawn from a release; household by household, a row group some at a time.",
    (
        Column("household", INT, "1", "synthetic household, from 1; it is no real one"),
        Column("stratum", TEXT, "", "what the public list says of such households"),
        Column("interval_start_utc", STAMP_UTC, "UTC", "start of the metering interval"),
        Column("energy_kwh", REAL, "kWh", "energy of the interval; below zero only if feed-in is counted"),
    ),
    file_name="<drawn>.parquet",
    of_readings=True,
)

EXPORT, SIMULATED_YEAR = "export", "simulated_year"
REAL_HOMES, OWN, RELEASED = "real", "own_vectors", "released"
_PERIOD = Column(
    "period", TEXT, "", f"'{EXPORT}': that of the export; '{SIMULATED_YEAR}': a simulated year of simulated homes"
)
_SOURCE = Column(
    "source", TEXT, "", f"'{OWN}': the homes' own vectors, without privacy; '{RELEASED}': a proven release"
)
_SOURCE_OR_REAL = Column("source", TEXT, "", f"'{REAL_HOMES}': readings; {_SOURCE.description}")
_EPSILON = Column("epsilon", REAL, "1", "privacy parameter; null without noise", nullable=True)

HOUSEHOLD_SCORES = Table(
    "household_scores",
    "study",
    "Synthetic homes over the whole period against a sample of real ones; no rows under eight weeks or twenty homes.",
    (
        _PERIOD,
        Column("day_count", COUNT, "days", "local days of the period"),
        Column("interval_minutes", INT, "min", "length of an interval"),
        Column("household_count", COUNT, "households", "households that a release is made of"),
        Column("sample_count", COUNT, "households", "real homes that are compared with as many synthetic ones"),
        _SOURCE,
        _EPSILON,
        Column("delta", REAL, "1", "privacy parameter; null without noise", nullable=True),
        Column("statistic", TEXT, "", "what is compared"),
        Column("detail", TEXT, "", "quantile, number of homes, share of the time or lag, where there are several"),
        Column("unit", TEXT, "", "unit of the two columns that follow"),
        Column("real", REAL, "see unit", "of the real homes"),
        Column("synthetic", REAL, "see unit", "of synthetic homes, mean over draws"),
        Column("error", REAL, "see error_unit", "error of the synthetic homes, mean over draws"),
        Column("absolute_error", REAL, "see error_unit", "mean over draws of the error without its sign"),
        Column("error_unit", TEXT, "", "'%', 'KS' (Kolmogorov-Smirnov distance), '% rms' or 'min'"),
        Column(
            "floor",
            REAL,
            "see error_unit",
            "absolute error of one random half of the real homes against the other; null where there is none",
            nullable=True,
        ),
        Column("draw_count", COUNT, "1", "draws averaged over, each with noise of its own"),
    ),
)

HOUSEHOLD_WEEKS = Table(
    "household_weeks",
    "study",
    "The middle week of ten real and ten synthetic homes, from those who use least to those who use most.",
    (
        _PERIOD,
        _SOURCE_OR_REAL,
        _EPSILON,
        Column("home", INT, "1", "1 to 10 by mean power, at equal shares of the homes of the source; it is no id"),
        Column("hours_from_monday", REAL, "h", "local time since Monday 0:00"),
        Column("power_kw", REAL, "kW", "mean power of the interval; null where nothing was read", nullable=True),
    ),
)

HOUSEHOLD_CURVES = Table(
    "household_curves",
    "study",
    "What a planner draws of real and synthetic homes: diversified peaks, load duration, use over the year.",
    (
        _PERIOD,
        _SOURCE_OR_REAL,
        _EPSILON,
        Column("curve", TEXT, "", "'diversity', 'duration' or 'energy'"),
        Column("home_count", COUNT, "households", "'diversity': homes whose peak together is meant", nullable=True),
        Column("time_share", REAL, "1", "'duration': share of the time with at least this power", nullable=True),
        Column(
            "first_day", TEXT, "", "'energy': first day of the month; of the week under nine months", nullable=True
        ),
        Column("power_kw", REAL, "kW", "power per home: peak, mean load of all, or mean of the month or week"),
    ),
)
