"""Tables the ``mixture`` package writes: labels, the fitted mixture and Table I."""

from __future__ import annotations

from meterdp.core.tables import COUNT, FLAG, INT, REAL, VECTOR, Column, Table

_COMPONENT = Column("component", INT, "1", "class of the mixture, 1 is the largest")

LABELS = Table(
    "labels",
    "private",
    "Class of every household with a valid profile.",
    (
        Column("household", INT, "1", "dense index of the household"),
        Column(
            "start_component",
            INT,
            "1",
            "class the fit started from: of K-means, or of a start that circuits made",
        ),
        Column("component", INT, "1", "class in the fitted mixture, 1 is the largest"),
    ),
)

MIXTURE = Table(
    "mixture",
    "study",
    "Gaussian mixture fitted without privacy: the reference every release is measured against.",
    (
        _COMPONENT,
        Column("weight", REAL, "1", "mixture weight, (2a)"),
        Column("mean_log_kwh", VECTOR, "log kWh", "mean, (2b), d entries"),
        Column("covariance", VECTOR, "(log kWh)^2", "covariance, (2c), d x d entries by rows"),
        Column("floored", FLAG, "1", "whether eigenvalues were raised to the public floor"),
    ),
)

CLASS_TABLE = Table(
    "class_table",
    "study",
    "Table I of Liu et al. for the export at hand: who the households are.",
    (
        _COMPONENT,
        Column("household_count", COUNT, "households", "households in the class"),
        Column("share", REAL, "1", "share of the households with a valid profile"),
        Column("mean_energy_kwh", REAL, "kWh", "mean energy over the hours of the profile"),
        Column("peak_hour_local", INT, "h", "local hour of day with the highest mean log load"),
        Column("spread_log_kwh", REAL, "log kWh", "square root of the mean variance over the hours"),
        Column("floored", FLAG, "1", "whether its covariance was raised to the public floor"),
    ),
)
