"""What a release costs: Gaussian differential privacy, and what discrete noise adds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from scipy.optimize import brentq
from scipy.special import expit, ndtri

from meterdp.privacy import gaussian

_MOST_EPSILON = 100.0
LESS_THAN_THE_SUM = "with Gaussian noise, several epsilons add up to less than their sum"


@dataclass(frozen=True)
class Charge:
    """What one release costs: it is within ``total_variation`` of a mu-GDP one (docs/proofs/safe_noise.md)."""

    mu: float
    total_variation: float = 0.0

    def delta(self, epsilon: float) -> float:
        return gaussian.delta(self.mu, epsilon) + price_of_variation(epsilon) * self.total_variation

    def __add__(self, other: Charge) -> Charge:
        return Charge(math.hypot(self.mu, other.mu), self.total_variation + other.total_variation)

    @classmethod
    def of_event(cls, event: Mapping) -> Charge:
        """Read a charge out of an event of the ledger.

        An earlier version also drew groups by randomised response, (epsilon, groups, times); each counts as the
        Gaussian measurement that costs no less (docs/proofs/ledger.md, 3).
        """
        drawn = event.get("responses", ())
        responses = (-2 * math.sqrt(times) * ndtri(expit(-a)) for a, groups, times in drawn if groups > 1)
        return cls(math.hypot(event["mu"], *responses), event["total_variation"])


def price_of_variation(epsilon: float) -> float:
    """Return by how much delta grows for each unit of total variation; no limit has room for it beyond e^700."""
    return 1 + math.exp(min(epsilon, 700.0))


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


def epsilon_text(epsilon: float) -> str:
    """Write what was spent in three digits, rounded up: never less than it is, and 10 where noise on a grid leaves a
    release of epsilon 10 slightly below.
    """
    if not 0 < epsilon < math.inf:
        return f"{epsilon:g}"
    step = 10.0 ** (math.floor(math.log10(epsilon)) - 2)
    return f"{step * math.ceil(epsilon / step - 1e-6):.3g}"  # epsilon_of is off by less
