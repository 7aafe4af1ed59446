"""Whose privacy a release spends, and how much may be spent: public names and numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

# Kinds of events in a ledger.
CHARGED, CANCELLED, STORED, PUBLISHED = "charged", "cancelled", "stored", "published"
# A list of meters is shown, a limit raised, files of an earlier version moved out of the ledger.
LISTED, RAISED, MOVED = "listed", "raised", "moved"

# What a release protects, of whatever its mechanism sees: a record follows from the rows of one meter.
UNIT_OF = {
    "replace_one": "all readings of one listed meter",
    "class_label": "which household of its neighbourhood a forecast file belongs to",
}


@dataclass(frozen=True)
class Account:
    """What a charge is called; the meters of its list say whose privacy is spent.

    Parameters
    ----------
    unit, adjacency : str
        What one neighbour changes. Whatever is computed from a household's readings spends the same budget, in
        whichever words its mechanism names what it sees of them; so the unit makes no difference.
    population : str
        Public name of the households, from the configuration; a label.
    period : str
        Public name of the time a budget lasts, such as a year.
    """

    unit: str = field(compare=False)
    adjacency: str
    population: str
    period: str


@dataclass(frozen=True)
class Cap:
    """What a meter may spend in a budget period: (epsilon, delta) of everything released."""

    epsilon: float
    delta: float
