"""The table the ``errata`` room writes: one row per number that shows a defect."""

from __future__ import annotations

from meterdp.core.tables import REAL, TEXT, Column, Table

ERRATA = Table(
    "errata",
    "study",
    "Numbers that show the defects of the published texts, computed in public synthetic settings.",
    (
        Column("id", TEXT, "", "defect, a letter for the paper and a number"),
        Column("where", TEXT, "", "place in the paper"),
        Column("statement", TEXT, "", "what the number says"),
        Column("quantity", TEXT, "", "what was computed"),
        Column("unit", TEXT, "", "unit of the numbers of the row, '1' when dimensionless"),
        Column("value", REAL, "1", "what was computed, in the unit of the row"),
        Column("standard_error", REAL, "1", "Monte Carlo standard error; null if nothing is random", nullable=True),
        Column("closed_form", REAL, "1", "the same by an independent formula or quadrature", nullable=True),
        Column("claimed", REAL, "1", "what the text of the paper implies", nullable=True),
        Column("settings", TEXT, "", "synthetic setting"),
    ),
)
