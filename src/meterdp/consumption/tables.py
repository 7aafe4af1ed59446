"""Tables of the study of consumption: exact results of private readings, so none of them may be released."""

from __future__ import annotations

from meterdp.core.tables import COUNT, FLAG, INT, REAL, STAMP_UTC, TEXT, Column, Table

_CLIPPED = "Readings above profiles.clip_kwh_per_hour count as its upper bound."
_INTERVAL_START = Column("interval_start_utc", STAMP_UTC, "UTC", "start of the interval")
_DAY = Column("day_local", TEXT, "", "local day of the interval, YYYY-MM-DD")
_MINUTE = Column("minute_of_day_local", INT, "min", "local minute of the day at the start of the interval")

TOTAL_LOAD = Table(
    "total_load",
    "study",
    f"Mean power of all households in every interval of the period. {_CLIPPED}",
    (
        _INTERVAL_START,
        _DAY,
        _MINUTE,
        Column("weekend", FLAG, "", "whether the day is of the weekend (export.weekend)"),
        Column("household_count", COUNT, "households", "households with a reading"),
        Column("mean_kw", REAL, "kW", "mean power of these households; null without one", nullable=True),
    ),
)

CONSUMPTION_QUANTILES = Table(
    "consumption_quantiles",
    "study",
    f"How consumption differs between households: quantiles over all of them. {_CLIPPED}",
    (
        Column(
            "statistic", TEXT, "", "'daily_kwh' (mean of the period) or 'peak_kw' (mean power of its largest reading)"
        ),
        Column("mean", REAL, "see statistic", "its mean over households, kWh a day, or kW"),
        Column("household_share", REAL, "1", "share of households at or below the value"),
        Column("value", REAL, "see statistic", "kWh a day, or kW"),
        Column("household_count", COUNT, "households", "households with readings"),
    ),
)

PEAK_HOURS = Table(
    "peak_hours",
    "study",
    "In which hour of the day households peak.",
    (
        Column("hour_of_day_local", INT, "h", "local hour of the day"),
        Column("highest_mean_share", REAL, "1", "share of households whose mean load is highest in this hour"),
        Column("largest_reading_share", REAL, "1", "share of households whose largest reading is in this hour"),
    ),
)

CLASS_LOAD = Table(
    "class_load",
    "study",
    "What every class of households contributes to energy and to the peak of all.",
    (
        Column(
            "component", INT, "1", "class of the mixture, 1 is the largest; 0: households without a valid profile"
        ),
        Column("household_count", COUNT, "households", "households in the class"),
        Column("mean_kw", REAL, "kW", "mean power of a household of the class"),
        Column("at_peak_kw", REAL, "kW", "the same in the hundredth of the intervals with the highest load of all"),
        Column("weekend_ratio", REAL, "1", "mean power at weekends over that of other days", nullable=True),
    ),
)

GROUP_USE = Table(
    "group_use",
    "study",
    "How much the households use that have an entry of the public list of meters in common, such as a tariff. "
    f"{_CLIPPED}",
    (
        Column("list_column", TEXT, "", "column of the list"),
        Column("entry", TEXT, "", "what the list says of the households"),
        Column(
            "household_count", COUNT, "households", "households with this entry and readings; of none, nulls follow"
        ),
        Column("left_out_count", COUNT, "households", "others with this entry, which quality rules leave out"),
        Column("median_kw", REAL, "kW", "mean power of the household in the middle", nullable=True),
        Column("mean_kw", REAL, "kW", "mean power of a household", nullable=True),
        Column(
            "at_peak_kw",
            REAL,
            "kW",
            "the same in the hundredth of the intervals with the highest load of all",
            nullable=True,
        ),
        Column(
            "peak_minute_of_day_local",
            INT,
            "min",
            "local minute of the day at which the interval starts in which their mean load is highest",
            nullable=True,
        ),
        Column(
            "highest_kw",
            REAL,
            "kW",
            "mean power of those read in the interval in which it is highest of the period",
            nullable=True,
        ),
        Column(
            "highest_day_local",
            TEXT,
            "",
            "local day of that interval, YYYY-MM-DD; most of them were read in it",
            nullable=True,
        ),
    ),
)

GROUP_PROFILES = Table(
    "group_profiles",
    "study",
    "When the same groups of households use energy: by month and by hour of the day.",
    (
        Column("list_column", TEXT, "", "column of the list"),
        Column("entry", TEXT, "", "what the list says of the households"),
        Column("month_local", INT, "1", "local month, 1 to 12, of all years of the period"),
        Column("hour_of_day_local", INT, "h", "local hour of the day"),
        Column("interval_count", COUNT, "1", "intervals in which any of them was read"),
        Column("mean_kw", REAL, "kW", "mean power of a household in these intervals"),
    ),
)

COINCIDENCE = Table(
    "coincidence",
    "study",
    f"How high groups of households peak together: random groups, the same for everybody. {_CLIPPED}",
    (
        Column("home_count", COUNT, "households", "households of a group"),
        Column(
            "group_count",
            COUNT,
            "1",
            "groups averaged over, none of which share a household; of one home, all",
        ),
        Column("peak_kw", REAL, "kW", "highest mean power of a group in the period, per household, mean over groups"),
        Column("lowest_kw", REAL, "kW", "the same of the group with the lowest"),
        Column("highest_kw", REAL, "kW", "the same of the group with the highest"),
    ),
)

EXAMPLE_HOUSEHOLDS = Table(
    "example_households",
    "study",
    "Readings of six households over the whole period, from one that uses little to one that uses much.",
    (
        Column(
            "home", INT, "1", "1 to 6 by mean power, in the middles of six equal shares of households; it is no id"
        ),
        _INTERVAL_START,
        _DAY,
        _MINUTE,
        Column("power_kw", REAL, "kW", "mean power of the interval; null where nothing was read", nullable=True),
    ),
)
