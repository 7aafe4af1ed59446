"""What a release costs, whose privacy it spends, and how much may be spent: public names and numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from scipy.optimize import brentq

from meterdp.privacy.gaussian import composed_delta

# Kinds of events in a ledger.
CHARGED, CANCELLED, STORED, PUBLISHED = "charged", "cancelled", "stored", "published"
# A list of meters is shown, a limit raised, files of an earlier version moved out of the ledger.
LISTED, RAISED, MOVED = "listed", "raised", "moved"

# What a release protects, of whatever its mechanism sees: a record follows from the rows of one meter.
UNIT_OF = {
    "replace_one": "all readings of one listed meter",
    "class_label": "which household of its neighbourhood a forecast file belongs to",
}
_MOST_EPSILON = 100.0
# Assignment epsilon, number of groups, how often labels are drawn.
Responses = tuple[tuple[float, int, int], ...]


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


@dataclass(frozen=True)
class Charge:
    """What one release costs.

    Parameters
    ----------
    mu : float
        The Gaussian measurements are within ``total_variation`` of mu-GDP ones (docs/proofs/safe_noise.md).
    total_variation : float
    responses : tuple of (assignment epsilon, groups, times)
        Randomised responses (docs/proofs/group_forecast.md, 3).
    """

    mu: float
    total_variation: float = 0.0
    responses: Responses = ()

    def delta(self, epsilon: float) -> float:
        """Return the delta at ``epsilon``."""
        responses = {(a, groups): times for a, groups, times in self.responses}
        return composed_delta(self.mu, responses, epsilon) + price_of_variation(epsilon) * self.total_variation

    def __add__(self, other: Charge) -> Charge:
        return Charge(
            math.hypot(self.mu, other.mu),
            self.total_variation + other.total_variation,
            as_responses(counted(self.responses) + counted(other.responses)),
        )

    @classmethod
    def of_event(cls, event: Mapping) -> Charge:
        """Read a charge out of an event of the ledger."""
        return cls(event["mu"], event["total_variation"], as_responses(counted(event.get("responses", ()))))


def price_of_variation(epsilon: float) -> float:
    """Return by how much delta grows for each unit of total variation; nobody has room for it beyond e^700."""
    return 1 + math.exp(min(epsilon, 700.0))


def counted(responses) -> Counter:
    """Return how often labels are drawn, by (assignment epsilon, groups)."""
    times: Counter = Counter()
    for a, groups, count in responses:
        times[float(a), int(groups)] += int(count)
    return times


def as_responses(times: Mapping[tuple[float, int], int]) -> Responses:
    """Return counted responses as a charge has them."""
    return tuple((*key, count) for key, count in sorted(times.items()) if count)


NOTHING = Charge(0.0)


def epsilon_of(charge: Charge, delta: float) -> float:
    """Return the smallest epsilon at which a charge keeps ``delta``, infinite beyond 100."""
    if charge.delta(0.0) <= delta:
        return 0.0
    if charge.delta(_MOST_EPSILON) > delta:
        # The margin of the grid grows with epsilon, so look for a place before it does.
        tries = [e for e in range(1, int(_MOST_EPSILON)) if charge.delta(e) <= delta]
        if not tries:
            return float("inf")
        return brentq(lambda e: charge.delta(e) - delta, 0.0, tries[0])
    return brentq(lambda e: charge.delta(e) - delta, 0.0, _MOST_EPSILON)
