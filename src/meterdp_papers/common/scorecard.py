"""One scorecard for every paper: claims with a rule each, verdicts computed from tables, rows of one declared table.

A paper's module declares each claim at the function that goes from tables to a :class:`Verdict`; the workflow joins
the papers' scorecards. Rules are written in the scorecard beside the verdicts they give. A text that can be read in
more than one way gives a verdict, and a row, for each variant; :func:`summed_up` says under which of them a claim
holds. Data that stand for a paper's own decide no verdict: such a row cannot be judged, and says what the rule gives.
A claim about a mechanism on the data at hand is judged on real ones of anybody, not on what is simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot be judged"
EVERY, SOME, NONE = "under every variant", "under some variants", "under no variant"
AS_PRINTED = "as printed"  # the variant of a claim that has only one
SURE = 2.0  # standard errors a difference must exceed
SIMULATED = "simulated"  # among the words for the export of a study where it is ours


@dataclass(frozen=True)
class Claim:
    """What a paper says, in our words, and when it counts as holding."""

    item: str
    claim: str
    rule: str
    tables: tuple[str, ...] = ()  # names of what the judge takes
    on: tuple[str, ...] = ()  # names of those whose first rows say what it is judged on
    judge: Callable[..., Verdict | Mapping[str, Verdict]] | None = None
    at_hand: bool = False  # whether it speaks of any real data that are there, so that these stand for nothing
    defect: str | None = None  # of the errata, without which the verdict would mislead


@dataclass(frozen=True)
class Verdict:
    """What was measured, in a sentence with its numbers, and whether the claim holds."""

    holds: str
    measured: str
    adjacency: str | None = None  # which data sets are neighbours; None for what the paper's claims have in common
    charge: str | None = None  # what is charged for, likewise
    on: str | None = None  # table whose first row says what it was measured on; None for those of the claim
    data: str | None = None  # what it was measured on where no table says it
    deciding_trials: int | None = None  # how many would decide it, were means and spreads as they are

    def on_a_stand_in(self) -> Verdict:
        """Return the verdict on the paper's own data, which are not there."""
        words = f"On what stands for the paper's data the rule gives '{self.holds}'. {self.measured}"
        return replace(self, holds=OPEN, measured=words, deciding_trials=None)

    def unless_favoured(self, why: str) -> Verdict:
        """Return the verdict where ``why`` favours the side that should win: that it wins then shows nothing."""
        return replace(self, holds=OPEN if self.holds == HOLDS else self.holds, measured=f"{self.measured} {why}")


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
        """Whether the two differ by more than two standard errors; never after one trial, which has none (NaN)."""
        return bool(abs(self.low - self.high) > SURE * np.hypot(self.low_se, self.high_se))


def judge(comparisons: Iterable[Comparison]) -> str:
    """Return the verdict of a claim that every comparison should confirm.

    It fails where one is lost by more than two standard errors and holds where all are won by more; in between
    another seed could turn the order round, so it is open.
    """
    comparisons = list(comparisons)
    if any(c.lost and c.sure for c in comparisons):
        return FAILS
    return HOLDS if all(c.sure for c in comparisons) else OPEN


def deciding(comparisons: Iterable[Comparison], trials: int) -> int | None:
    """Return how many trials would decide comparisons, were means and spreads as they are after so many.

    One that is lost for certain refutes the claim; else all have to be won for certain. None where all are certain,
    or where no number of trials would do.
    """
    unsure = [c for c in comparisons if not c.sure]
    lost = [c for c in unsure if c.lost]
    ratios = [_errors_apart(c) for c in lost or unsure]
    if not ratios or not np.isfinite(ratios).all():
        return None
    return int(np.ceil(trials * (min if lost else max)(ratios) ** 2))


def _errors_apart(comparison: Comparison) -> float:
    """Return the two standard errors that a difference must exceed over the difference."""
    difference = abs(comparison.low - comparison.high)
    error = SURE * np.hypot(comparison.low_se, comparison.high_se)
    return float(error / difference) if difference else np.inf


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


@dataclass(frozen=True)
class Source:
    """What a verdict was measured on."""

    data: str
    substitute: str | None = None


def row(paper: Claims, claim: Claim, variant: str, verdict: Verdict, source: Source) -> dict[str, str | None]:
    """Return one row of the table ``scorecard``."""
    if claim.at_hand and SIMULATED not in source.data:
        source = Source(source.data)
    if source.substitute:
        verdict = verdict.on_a_stand_in()
    return {
        "paper": paper.paper,
        "item": claim.item,
        "claim": claim.claim,
        "rule": claim.rule,
        "reading": variant,
        "adjacency": verdict.adjacency or paper.adjacency,
        "charge": verdict.charge or paper.charge,
        "data": source.data,
        "substitute": source.substitute,
        "measured": verdict.measured,
        "holds": verdict.holds,
        "deciding_trials": verdict.deciding_trials if verdict.holds == OPEN else None,
        "defect": claim.defect,
    }


class Claims:
    """The claims of one paper, each declared where it is judged."""

    def __init__(self, paper: str, adjacency: str, charge: str):
        self.paper, self.adjacency, self.charge = paper, adjacency, charge
        self._claims: list[Claim] = []

    def __iter__(self) -> Iterator[Claim]:
        return iter(sorted(self._claims, key=lambda claim: int(claim.item.split("-")[1])))

    def claim(
        self,
        item: str,
        claim: str,
        rule: str,
        *tables: str,
        on: tuple[str, ...] = (),
        at_hand: bool = False,
        defect: str | None = None,
    ) -> Callable:
        """Declare a claim that the function below judges from ``tables``, measured on what the first of them says."""

        def declare(judge):
            self._claims.append(Claim(item, claim, rule, tables, on or tables[:1], judge, at_hand, defect))
            return judge

        return declare

    def scorecard(self, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
        """Return the columns of the table ``scorecard`` for all claims, from the tables by name."""
        verdicts = {claim.item: claim.judge(*(tables[name] for name in claim.tables)) for claim in self}
        return rows(self, verdicts, lambda claim, on: source_of(tables, (on,) if on else claim.on))


def rows(
    paper: Claims,
    verdicts: Mapping[str, Verdict | Mapping[str, Verdict]],
    source: Callable[[Claim, str | None], Source],
) -> pd.DataFrame:
    """Return the columns of the table ``scorecard``, one row per claim and variant.

    Verdicts are by item, and by variant where there is more than :data:`AS_PRINTED`; ``source`` says of a claim, and
    of the table that a verdict names, what was measured on.
    """
    found = []
    for claim in paper:
        of = verdicts[claim.item]
        for variant, verdict in ({AS_PRINTED: of} if isinstance(of, Verdict) else of).items():
            data = Source(verdict.data) if verdict.data else source(claim, verdict.on)
            found.append(row(paper, claim, variant, verdict, data))
    return pd.DataFrame(found)


def source_of(tables: Mapping[str, pd.DataFrame], names: Iterable[str]) -> Source:
    """Return what tables were measured on, by their first rows."""
    first = pd.DataFrame([tables[name].iloc[0].reindex(["data", "substitute"]) for name in names])
    data, substitute = ("; ".join(first[column].dropna().unique()) or None for column in first)
    return Source(data, substitute)


def summed_up(holds: Mapping[str, str]) -> str:
    """Return :data:`EVERY`, :data:`SOME`, :data:`NONE` or :data:`OPEN` from the verdicts of a claim by variant.

    Variants under which it cannot be judged count as neither; where there is no other, the claim cannot be judged.
    """
    judged = [value for value in holds.values() if value != OPEN]
    if not judged:
        return OPEN
    if HOLDS not in judged:
        return NONE if len(judged) == len(holds) else OPEN
    return EVERY if set(holds.values()) == {HOLDS} else SOME
