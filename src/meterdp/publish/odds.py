"""What an attacker can learn from a release: at most, by its guarantee, and as measured on simulated households.

Let an attacker know everything but the readings of one meter, which are one of m equally likely sets. Let S_i be the
event that the i-th is named, P_j the probability if the j-th is true, and A the mean of P_i(S_i): how often the
attacker is right. Every (epsilon, delta) that holds gives P_i(S_i) <= e^epsilon P_j(S_i) + delta for all j. Summed
over all i and j that differ, where P_j(S_i) add up to m - m A: (m - 1) (m A - m delta) <= e^epsilon (m - m A), so

    A <= (e^epsilon + (m - 1) delta) / (e^epsilon + m - 1).

Two sets are membership: was it this household or another one. The same holds of m groups of sets, such as those with
a property and those without, because mixtures of neighbours keep (epsilon, delta). A reconstruction succeeds without
the release with probability kappa at most, whatever the prior and whatever counts as success. With a fixed set of
readings in the place of the true one a release does not help; so with the true one it succeeds with probability

    at most e^epsilon kappa + delta, and at most 1 - e^-epsilon (1 - kappa - delta),

the second from failures (Balle, Cherubin and Hayes 2022; Hayes, Mahloujifar and Balle 2023). A release has many
(epsilon, delta), its whole curve; the smallest bound holds.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from meterdp.core.provenance import shipped

ATTACKS = ("membership", "attribute", "reconstruction")
# Those of resources/attacks.csv: one who knows all other readings and sees every noisy answer, one with the files.
INFORMED, FOLDER = "informed", "folder"
# Sets of readings that are equally likely in a trial.
CANDIDATES = 10
COLUMNS = ("kind", "epsilon", "meters", "delta", "mu", "attacker", "attack", "right", "low", "high", "trials")
# e to more than this is no float.
_MOST_EPSILON, _STEPS = 700.0, 200


@dataclass(frozen=True)
class Bounds:
    """Pairs of epsilon and delta that all hold for a release."""

    pairs: tuple[tuple[float, float], ...]

    @classmethod
    def stated(cls, privacy: Mapping) -> Bounds:
        """Of the one pair that a manifest states."""
        return cls(((min(privacy["epsilon"], _MOST_EPSILON), privacy["delta"]),))

    @classmethod
    def exact(cls, privacy: Mapping, meters: int = 1) -> Bounds | None:
        """Of the whole curve, if a manifest has the loss from which it follows; earlier versions wrote none.

        A customer with several meters is protected at as many times the mu (Dong, Roth and Su 2022, theorem 2.14).
        """
        if "loss" not in privacy:
            return None
        from meterdp.privacy.charge import Charge  # loads scipy

        charge = Charge.of_event(privacy["loss"])
        pairs = cls._curve(Charge(meters * charge.mu, charge.total_variation), meters * privacy["epsilon"])
        return cls((*pairs, *cls.stated(privacy).of_meters(meters).pairs))

    @classmethod
    def of_charge(cls, charge, delta: float) -> Bounds:
        """Of the whole curve of what was charged, up to its epsilon at delta."""
        from meterdp.privacy.charge import epsilon_of

        return cls(cls._curve(charge, epsilon_of(charge, delta)))

    @staticmethod
    def _curve(charge, epsilon: float) -> tuple[tuple[float, float], ...]:
        most = min(epsilon, _MOST_EPSILON)
        return tuple((at, charge.delta(at)) for at in (most * step / _STEPS for step in range(_STEPS)))

    def of_meters(self, meters: int) -> Bounds:
        """For a customer with several meters: every pair as many times in a row."""
        return Bounds(tuple(_in_a_row(*pair, meters) for pair in self.pairs))

    def naming(self, choices: int) -> float:
        """Return the largest probability to name the right one of equally likely sets of readings."""
        return min(1.0, *(_naming(*pair, choices) for pair in self.pairs))

    def hitting(self, share: float) -> float:
        """Return the largest probability of a reconstruction that without the release succeeds with this one."""
        return min(1.0, *(_hitting(*pair, share) for pair in self.pairs))


def _in_a_row(epsilon: float, delta: float, times: int) -> tuple[float, float]:
    most = min(times * epsilon, _MOST_EPSILON)
    return most, min(1.0, delta * sum(math.exp(min(k * epsilon, _MOST_EPSILON)) for k in range(times)))


def _naming(epsilon: float, delta: float, choices: int) -> float:
    factor = math.exp(epsilon)
    return (factor + (choices - 1) * delta) / (factor + choices - 1)


def _hitting(epsilon: float, delta: float, share: float) -> float:
    return min(math.exp(epsilon) * share + delta, 1 - math.exp(-epsilon) * (1 - share - delta))


@dataclass(frozen=True)
class Tried:
    """How far attacks on simulated households were right in one case of the table, and what the guarantee was."""

    epsilon: float
    meters: int
    delta: float
    mu: float
    trials: int
    # By attacker and attack: the share that is right, and its limits of 95 %.
    right: Mapping[tuple[str, str], tuple[float, float, float]]

    @property
    def bounds(self) -> Bounds:
        """Of the whole curve of the releases that were attacked."""
        loss = {"mu": self.mu, "total_variation": 0.0}
        return Bounds.exact({"epsilon": self.epsilon, "delta": self.delta, "loss": loss})


def tried(kind: str, epsilon: float, meters: int) -> Tried | None:
    """Return what attacks on simulated releases of a kind found at the next larger epsilon, at which they are right
    no less often, or the largest that was tried; and there at the nearest number of meters.
    """
    rows = _table().get(kind)
    if not rows:
        return None
    tried_at = sorted({row[0] for row in rows})
    largest = next((one for one in tried_at if one >= epsilon), tried_at[-1])
    at = min((row for row in rows if row[0] == largest), key=lambda row: abs(math.log(row[1] / meters)))
    return rows[at]


@cache
def _table() -> Mapping[str, Mapping[tuple[float, int], Tried]]:
    """Return the attacks by kind of release, epsilon and meters."""
    table: dict[str, dict[tuple[float, int], Tried]] = {}
    with open(shipped("resources/attacks.csv"), encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            at = float(row["epsilon"]), int(row["meters"])
            guarantee = float(row["delta"]), float(row["mu"])
            one = table.setdefault(row["kind"], {}).setdefault(at, Tried(*at, *guarantee, int(row["trials"]), {}))
            one.right[row["attacker"], row["attack"]] = tuple(float(row[name]) for name in ("right", "low", "high"))
    return table
