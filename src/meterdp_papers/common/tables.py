"""How a table of a reproduction is declared, the tables of all papers, and how trials are split into jobs.

The two records of an errata table: what is wrong in a paper, and the numbers that show it.

A finding is computed, never typed in; where an independent closed form exists it stands beside the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from meterdp.core.tables import COUNT, REAL, TEXT, Column, Table
from meterdp.privacy.noise import NoiseSource

DATA = Column("data", TEXT, "", "data the row was measured on")
SUBSTITUTE = Column(
    "substitute", TEXT, "", "what stands for the paper's data set; null if it is the same", nullable=True
)
VARIANT = Column("reading", TEXT, "", "variant of the text")
TRIALS = Column("trials", COUNT, "1", "trials averaged over")


def table(name: str, description: str, *columns: Column, source: tuple[Column, ...] = (DATA, SUBSTITUTE)) -> Table:
    """Declare a table of a reproduction; its last columns are ``source``, empty where another table says it."""
    return Table(name, "study", description, (*columns, *source))


SCORECARD = table(
    "scorecard",
    "What the claims of a paper come to when measured: one row per claim and variant of the text.",
    Column("paper", TEXT, "", "authors and year"),
    Column("item", TEXT, "", "id of the claim"),
    Column("claim", TEXT, "", "the claim in our words"),
    Column("rule", TEXT, "", "when it counts as holding"),
    Column("reading", TEXT, "", "variant of the text it is judged under; 'as printed' if there is only one"),
    Column("adjacency", TEXT, "", "which data sets are neighbours, on both sides of a comparison"),
    Column("charge", TEXT, "", "what either side of a comparison is charged for"),
    Column("data", TEXT, "", "data it was measured on"),
    Column("substitute", TEXT, "", "what they stand for; such a row is not judged; else null", nullable=True),
    Column("measured", TEXT, "", "what was measured"),
    Column("holds", TEXT, "", "'holds', 'does not hold' or 'cannot be judged'; a word, so that no verdict is a null"),
    Column(
        "deciding_trials",
        REAL,
        "1",
        "trials that would decide it, were means and spreads as they are; null where none would, or none need to",
        nullable=True,
    ),
    Column("defect", TEXT, "", "of the paper, without which the verdict would mislead; else null", nullable=True),
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


@dataclass(frozen=True)
class Finding:
    """One number that shows a defect."""

    settings: str  # public synthetic setting it was computed in
    where: str  # place in the paper
    statement: str  # what the number says, one sentence
    quantity: str  # what was computed
    value: float
    unit: str = "1"  # "1" where dimensionless
    closed_form: float | None = None  # the same number by a formula or quadrature that shares nothing with ``value``
    claimed: float | None = None  # what the paper's text implies for it
    standard_error: float | None = None  # Monte Carlo standard error of ``value``; None where nothing is random
    id: str = ""  # of the defect it belongs to, which fills it in


@dataclass(frozen=True)
class Defect:
    """One row of the errata."""

    id: str
    where: str
    wrong: str  # what is wrong, one sentence
    consequence: str  # what follows from it
    instead: str  # what the sound release of this project does
    compute: Callable[[NoiseSource], tuple[Finding, ...]]  # the first is the one of the overview
    note: str = ""  # anything a reader has to know about the numbers

    @property
    def test(self) -> str:
        """How the name of the test that shows it begins."""
        return f"test_{self.id}_"

    def measure(self, noise: NoiseSource) -> tuple[Finding, ...]:
        """Compute the findings."""
        return tuple(replace(finding, id=self.id) for finding in self.compute(noise))


def defect(
    id: str, where: str, wrong: str, consequence: str, instead: str, note: str = ""
) -> Callable[[Callable[[NoiseSource], tuple[Finding, ...]]], Defect]:
    """Make a :class:`Defect` of the function below, which computes its findings."""
    return lambda compute: Defect(id, where, wrong, consequence, instead, compute, note)


def averaged(values: Sequence[float] | np.ndarray) -> dict[str, float]:
    """Return ``value`` and ``standard_error`` of a finding that is a mean of independent values."""
    return {"value": float(np.mean(values)), "standard_error": float(np.std(values, ddof=1) / np.sqrt(len(values)))}
