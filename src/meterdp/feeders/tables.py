"""Tables of the study of feeder totals."""

from __future__ import annotations

from meterdp.core.tables import COUNT, INT, REAL, TEXT, Column, Table

_WINDOW = Column("window", TEXT, "", "'days': every interval of the last days; 'average_day': their mean")
_DAYS = Column("day_count", COUNT, "days", "whole local days of the window")
_INTERVAL = Column(
    "interval_minutes", INT, "min", "length of an interval: half an hour, if the export's are not longer"
)
_GROUPING = Column("grouping", TEXT, "", "'random': public random feeders of one size; 'own': those of a release")
_SIZE = Column("feeder_size", REAL, "households", "mean number of households of a feeder or group")
_FEEDERS = Column("feeder_count", COUNT, "1", "feeders that are judged; those left over are on one more")
_HOUSEHOLDS = Column("household_count", COUNT, "households", "households whose energies are used")
_RULE = Column("rule", TEXT, "", "number of customers, or that and the largest share in per cent", nullable=True)
_SHARE_OF = Column(
    "share_of", TEXT, "", "'interval' or 'period': of which total the largest share is taken; 'none'", nullable=True
)

FEEDER_ERRORS = Table(
    "feeder_errors",
    "study",
    "Errors of feeder totals against feeder size and epsilon, beside simpler ways; no rows below 50 households.",
    (
        _WINDOW,
        _DAYS,
        _INTERVAL,
        _GROUPING,
        _SIZE,
        _FEEDERS,
        _HOUSEHOLDS,
        Column(
            "method",
            TEXT,
            "",
            "'sound'; 'laplace', 'gaussian' or 'laplace_one_reading' noise, readings clipped; 'mean_profile' of all",
        ),
        Column("protects", TEXT, "", "unit of privacy: what one neighbour changes"),
        Column("epsilon", REAL, "1", "privacy parameter; null without noise", nullable=True),
        Column("delta", REAL, "1", "privacy parameter; null without noise", nullable=True),
        Column("mean_total_kwh", REAL, "kWh", "mean energy of a feeder in an interval"),
        Column("rmse_kwh", REAL, "kWh", "root mean square error of a total over feeders, intervals and draws"),
        Column("mae_kwh", REAL, "kWh", "mean absolute error of a total"),
        Column("relative_rmse", REAL, "1", "rmse_kwh over mean_total_kwh"),
        Column("draw_count", COUNT, "1", "draws averaged over"),
    ),
)

FEEDER_RULES = Table(
    "feeder_rules",
    "study",
    "What regulators' rules withhold of exact totals, and whose readings differencing gives although they pass.",
    (
        _GROUPING,
        _SIZE,
        _FEEDERS,
        _HOUSEHOLDS,
        _INTERVAL,
        _DAYS,
        _RULE,
        _SHARE_OF,
        Column("withheld_total_share", REAL, "1", "share of the totals that may not be published"),
        Column("withheld_energy_share", REAL, "1", "share of the energy in them"),
        Column(
            "exposed_reading_share",
            REAL,
            "1",
            "share of readings that follow from totals with and without a household which both pass",
        ),
        Column("exposed_household_share", REAL, "1", "share of households with such a reading"),
        Column(
            "exposed_greatest_error_kwh",
            REAL,
            "kWh",
            "greatest error of these; null if there are none",
            nullable=True,
        ),
    ),
)

FEEDER_ATTACKS = Table(
    "feeder_attacks",
    "study",
    "Readings solved from exact totals of overlapping groups that all pass a rule, and from sound totals.",
    (
        Column(
            "attack",
            TEXT,
            "",
            "'overlapping_groups': least squares on exact totals; 'others_known': all others taken off a sound total",
        ),
        _WINDOW,
        _RULE,
        _SHARE_OF,
        Column("epsilon", REAL, "1", "privacy parameter of sound totals", nullable=True),
        Column("delta", REAL, "1", "privacy parameter of sound totals", nullable=True),
        _SIZE,
        _HOUSEHOLDS,
        Column("group_count", COUNT, "1", "groups whose totals are published", nullable=True),
        Column("rounded_to_kwh", REAL, "kWh", "what exact totals are rounded to", nullable=True),
        Column("known_reading_share", REAL, "1", "share of readings found to less than half a Wh", nullable=True),
        Column("rms_error_kwh", REAL, "kWh", "root mean square error of the readings found"),
        Column("guess_rms_error_kwh", REAL, "kWh", "the same of the mean of the (other) households of the feeder"),
        Column(
            "best_rms_error_kwh",
            REAL,
            "kWh",
            "the same of the best mixture of the two, chosen knowing the readings",
            nullable=True,
        ),
        Column(
            "advantage_median",
            REAL,
            "1",
            "advantage of the best test of a household's record against another's, all else known: median household",
            nullable=True,
        ),
        Column("advantage_greatest", REAL, "1", "the same, greatest of all households", nullable=True),
        Column("advantage_bound", REAL, "1", "greatest advantage that mu-GDP allows", nullable=True),
    ),
)
