"""How a table of a reproduction is declared, the tables of all papers, and how trials are split into jobs."""

from __future__ import annotations

from meterdp.core.tables import COUNT, REAL, TEXT, Column, Table

DATA = Column("data", TEXT, "", "data the row was measured on")
SUBSTITUTE = Column(
    "substitute", TEXT, "", "what stands for the paper's data set; null if it is the same", nullable=True
)
READING = Column("reading", TEXT, "", "reading of the text")
TRIALS = Column("trials", COUNT, "1", "trials averaged over")


def table(name: str, description: str, *columns: Column, source: tuple[Column, ...] = (DATA, SUBSTITUTE)) -> Table:
    """Declare a table of a reproduction; its last columns are ``source``, empty where another table says it."""
    return Table(name, "study", description, (*columns, *source))


SCORECARD = table(
    "scorecard",
    "What the claims of a paper come to when measured: one row per claim and reading of the text.",
    Column("paper", TEXT, "", "authors and year"),
    Column("item", TEXT, "", "id of the claim"),
    Column("claim", TEXT, "", "the claim in our words"),
    Column("rule", TEXT, "", "when it counts as holding"),
    Column("reading", TEXT, "", "reading of the text it is judged under; 'as printed' if there is only one"),
    Column("data", TEXT, "", "data it was measured on"),
    SUBSTITUTE,
    Column("measured", TEXT, "", "what was measured"),
    Column("holds", TEXT, "", "'holds', 'does not hold' or 'cannot be judged'; a word, so that no verdict is a null"),
    source=(),
)


ERRATA = table(
    "errata",
    "Numbers that show the defects of the published texts, computed in public synthetic settings.",
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
    source=(),
)


def batch(number: int, batches: int, trials: int) -> range:
    """Return the trials of batch ``number`` of ``batches``; the batches partition ``range(trials)``."""
    return range(number * trials // batches, (number + 1) * trials // batches)
