"""Whose privacy a release spends, and how much may be spent: public names and numbers."""

from __future__ import annotations

from dataclasses import dataclass

# Kinds of events in a ledger.
CHARGED, STORED, PUBLISHED = "charged", "stored", "published"


@dataclass(frozen=True)
class Account:
    """Whose privacy is spent; budgets of different accounts are never added.

    Parameters
    ----------
    unit, adjacency : str
        As in the guarantee: what one neighbour changes.
    population : str
        Public name of the households, from the configuration.
    period : str
        Public name of the time a budget lasts, such as a year.
    """

    unit: str
    adjacency: str
    population: str
    period: str


@dataclass(frozen=True)
class Cap:
    """What one account may spend in all: (epsilon, delta) of everything released."""

    epsilon: float
    delta: float
