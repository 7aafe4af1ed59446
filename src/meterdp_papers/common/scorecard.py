"""One scorecard for every paper: claims with a rule each, verdicts computed from tables, rows of one declared table.

A paper's module holds its claims and one function per claim from tables to a :class:`Verdict`; the workflow joins the
papers' scorecards. Rules are written in the scorecard beside the verdicts they give. A text that can be read in more
than one way gives a verdict, and a row, for each reading; :func:`summed_up` says under which of them a claim holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot be judged"
EVERY, SOME, NONE = "under every reading", "under some readings", "under no reading"
AS_PRINTED = "as printed"  # the reading of a claim that has only one
SURE = 2.0  # standard errors a difference must exceed

Tables = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Claim:
    """What a paper says, in our words, and when it counts as holding."""

    item: str
    claim: str
    rule: str


@dataclass(frozen=True)
class Verdict:
    """What was measured, in a sentence with its numbers, and whether the claim holds."""

    holds: str
    measured: str


@dataclass(frozen=True)
class Comparison:
    """Two means that should be in order: ``low`` below ``high``, each with its standard error."""

    where: str
    low: float
    low_se: float
    high: float
    high_se: float

    @property
    def lost(self) -> bool:
        """Whether ``low`` is not below ``high``."""
        return not self.low < self.high

    @property
    def sure(self) -> bool:
        """Whether the two differ by more than two standard errors."""
        return abs(self.low - self.high) > SURE * np.hypot(np.nan_to_num(self.low_se), np.nan_to_num(self.high_se))


def judge(comparisons: Iterable[Comparison]) -> str:
    """Return the verdict of a claim that every comparison should confirm.

    It fails where one is lost by more than two standard errors and holds where all are won by more; in between
    another seed could turn the order round, so it is open.
    """
    comparisons = list(comparisons)
    if any(c.lost and c.sure for c in comparisons):
        return FAILS
    return HOLDS if all(c.sure for c in comparisons) else OPEN


def number(value: float) -> str:
    """Write a number with three significant digits."""
    return f"{value:.3g}" if not 1e3 <= abs(value) < 1e6 else f"{value:,.0f}"


def span(low: str, high: str) -> str:
    """Write a range; one number if both ends read the same."""
    return low if low == high else f"{low} to {high}"


def listed(words: Iterable[str]) -> str:
    """Join words with commas and a final 'and'; nothing for no words."""
    words = list(words)
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def rows(
    paper: str, claims: Iterable[Claim], verdicts: Mapping[str, Verdict | Mapping[str, Verdict]], sources: Mapping
) -> pd.DataFrame:
    """Return the columns of the table ``scorecard``, one row per claim and reading.

    Parameters
    ----------
    verdicts : mapping of item to Verdict, or to a mapping of reading to Verdict
        A lone verdict is that of the only reading, :data:`AS_PRINTED`.
    sources : mapping of item to (data, substitute)
    """
    readings = {i: {AS_PRINTED: v} if isinstance(v, Verdict) else v for i, v in verdicts.items()}
    return pd.DataFrame(
        {
            "paper": paper,
            "item": claim.item,
            "claim": claim.claim,
            "rule": claim.rule,
            "reading": reading,
            "data": sources[claim.item][0],
            "substitute": sources[claim.item][1],
            "measured": verdict.measured,
            "holds": verdict.holds,
        }
        for claim in claims
        for reading, verdict in readings[claim.item].items()
    )


def summed_up(holds: Mapping[str, str]) -> str:
    """Return :data:`EVERY`, :data:`SOME`, :data:`NONE` or :data:`OPEN` from the verdicts of a claim by reading.

    Readings under which it cannot be judged count as neither; where there is no other, the claim cannot be judged.
    """
    judged = [value for value in holds.values() if value != OPEN]
    if not judged:
        return OPEN
    if HOLDS not in judged:
        return NONE if len(judged) == len(holds) else OPEN
    return EVERY if set(holds.values()) == {HOLDS} else SOME
