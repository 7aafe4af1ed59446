"""Whose privacy a release spends, and how much may be spent: public names and numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

# Kinds of events in a ledger.
CHARGED, STORED, PUBLISHED = "charged", "stored", "published"

# What a release protects, of whatever its mechanism sees: a record follows from the rows of one meter.
UNIT_OF = {
    "replace_one": "all readings of one listed meter",
    "class_label": "which household of its neighbourhood a forecast file belongs to",
}


@dataclass(frozen=True)
class Account:
    """Whose privacy is spent; budgets of different accounts are never added.

    Parameters
    ----------
    unit, adjacency : str
        What one neighbour changes. Accounts are told apart by the adjacency: whatever is computed from a household's
        readings spends the same budget, in whichever words its mechanism names what it sees of them.
    population : str
        Public name of the households, from the configuration.
    period : str
        Public name of the time a budget lasts, such as a year.
    """

    unit: str = field(compare=False)
    adjacency: str
    population: str
    period: str


@dataclass(frozen=True)
class Cap:
    """What one account may spend in all: (epsilon, delta) of everything released."""

    epsilon: float
    delta: float
