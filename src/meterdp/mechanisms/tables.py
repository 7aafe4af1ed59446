"""Tables the ``mechanisms`` package writes: one schema for every variant, and what each costs."""

from __future__ import annotations

from meterdp.core.tables import INT, REAL, TEXT, VECTOR, Column, Table

MECHANISM = Column("mechanism", TEXT, "", "name in the registry")
FAMILY = Column("family", TEXT, "", "'published', 'exact' or 'sound'")
EPSILON = Column("epsilon", REAL, "1", "privacy parameter the variant was calibrated to")

VARIANT = Table(
    "variant",
    "study",
    "One draw of one mechanism per epsilon: a perturbed Gaussian mixture.",
    (
        MECHANISM,
        FAMILY,
        EPSILON,
        Column("delta", REAL, "1", "privacy parameter"),
        Column("component", INT, "1", "class of the mixture"),
        Column("weight", REAL, "1", "mixture weight"),
        Column("mean_log_kwh", VECTOR, "log kWh", "mean, d entries"),
        Column("covariance", VECTOR, "(log kWh)^2", "covariance, d x d entries by rows"),
        Column(
            "marginal_exponents",
            VECTOR,
            "1",
            "what reweighting the mixture to its released marginals, the same for all its classes; empty where "
            "none are",
        ),
    ),
    file_name="variants/<mechanism>.parquet",
)
