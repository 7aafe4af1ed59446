"""The public rules of the sound release: how many classes and rounds, how the budget is split, where it starts.

Every choice is a function of N, d, epsilon, delta and configuration. The constants were chosen on simulated
households and on the Swiss homes of config/examples, for which the guarantee is not claimed (docs/proofs/sound.md).
What counts is N mu / d, the number of households per hour in units of the noise.

Noise may come in shares: n nodes hold the records, and no t of them that collude see more than outsiders are meant
to. Each node adds its share to its own statistics before they are summed (docs/proofs/shared_noise.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from meterdp.core.constraints import ONE_OR_MORE, SHARE_BELOW_ONE, Fits, Number, OneOf, check
from meterdp.mechanisms.proven import marginals
from meterdp.mechanisms.proven.adapt import STEP_SHARES, adapt_entries, adapt_plan, differences
from meterdp.mechanisms.proven.domain import Ball, Loads
from meterdp.mechanisms.proven.marginals import Directions
from meterdp.mechanisms.proven.prior_mixture import PriorMixture
from meterdp.mechanisms.proven.stack import RADIUS_EDGES, StackWeights
from meterdp.mixture.study import Prior
from meterdp.privacy.gaussian import rounded
from meterdp.privacy.mechanism import NoisyQuery


@dataclass(frozen=True)
class Shares:
    """Who holds the noise; all of it public."""

    nodes: int  # n; each adds 1/n of the variance of a measurement's noise
    # h: what colluding nodes see carries the shares of h nodes or more. The smallest group of honest nodes whose
    # sum they can learn, or a little less where masks are finite.
    honest: float
    colluding: int  # t, for which h was worked out

    def __post_init__(self):
        constraints = {
            "nodes": ONE_OR_MORE,
            "colluding": Number(0, self.nodes, closed="low"),
            "honest": Number(0, self.nodes - self.colluding, closed="high"),
        }
        check(self, constraints)

    @property
    def seen_by_colluding(self) -> float:
        """Part of the standard deviation of the noise that is in what colluding nodes see, sqrt(h / n)."""
        return math.sqrt(self.honest / self.nodes)

    @property
    def of_node(self) -> float:
        """Part of the standard deviation that one node adds, sqrt(1 / n)."""
        return math.sqrt(1 / self.nodes)


# One node that holds all records and all noise.
ALONE = Shares(1, 1, 0)


@dataclass(frozen=True)
class SharedNoise:
    """What is public about a release that circuits make together."""

    shares: Shares  # by which the mechanism is calibrated
    # How they add up: scheme and graph, as request parameters. No name of a circuit is among them.
    words: Mapping
    holders: str = "circuits"  # or "nodes"

    @property
    def sentence(self) -> str:
        """What a manifest says of it."""
        n, t, who = self.shares.nodes, self.shares.colluding, self.holders
        return (
            f"the noise is that of {n} {who} that hold the readings, each adding its share before anything is "
            f"summed (scheme {self.words['scheme']}): what any {t} of them that collude would see while they make "
            f"this release, with the release, has the epsilon and delta above for a meter of another of the {who}; "
            f"the release alone has {1 / self.shares.seen_by_colluding:.3g} times the noise that they ask for"
        )


# Budget shares in units of mu^2.
RECORDS_SHARE = 0.005
RADIUS_SHARE = 0.05
POOLED_SHARES = (0.05, 0.25)
# Later rounds get more: what they find is not overwritten.
ROUND_GROWTH = 1.1
LAST_ROUND = 2.0
POOLED_WEIGHTS = StackWeights(count=0.0, mean=0.4, moment=1.0)
# Clip radius of a round, in standard deviations per dimension.
ROUND_RADIUS = 1.1
MOST_ROUNDS = 12
# Records of which nothing is known start farther from their classes: so many times the rounds.
BALL_ROUNDS = 2.5
# Fewer classes cannot tell levels, shapes and restlessness apart, however few the households.
FEWEST_CLASSES = 3


@dataclass(frozen=True)
class ProvenSettings:
    """Public choices of the sound release beyond (epsilon, delta), N, d and bounds."""

    # Under add_remove the number of households is private: it is measured, and the rules below go by a guess.
    adjacency: Literal["replace_one", "add_remove"] = "replace_one"
    # Public guess of N, from anything but the export; needed under add_remove, unused otherwise.
    records_guess: int | None = None
    # K; by default a rule on (N, d, epsilon, delta) with the K of the settings as its upper limit.
    classes: int | None = None
    rounds: int | None = None  # of private EM, one or more; by default a rule
    # Typical household level, public knowledge (0.3 kWh an hour): the centre of the first clipping.
    level_log_kwh: float = -1.2
    # Of neighbouring hours in the public AR(1) shape that whitens records first, in [0, 1).
    hour_correlation: float = 0.6
    marginal_share: float = 0.0  # of mu^2, spent on marginals beside the mixture, in [0, 1); 0 releases none
    # Power of two that statistics and noise are multiples of: that of the noise source. 0 in a study, whose noise is
    # floating point.
    grid: float = 0.0
    # Public classes to start from; it brings their number, so classes stays None.
    prior_mixture: PriorMixture | None = None
    # Where records live that are no loads; the level and the correlation of hours are then not used.
    ball: Ball | None = None
    # Linear functions of a record in a ball, (m, d), whose distributions are the marginals.
    directions: Directions = ()
    # For maximum a posteriori estimates in the rounds, in the unit of the ball, around its centre; only for a ball.
    prior: Prior | None = None
    shares: Shares = ALONE  # of the noise, where several nodes hold the records

    def __post_init__(self):
        known = self.records_guess is not None or self.adjacency != "add_remove"
        constraints = {
            "adjacency": OneOf(("replace_one", "add_remove")),
            "records_guess": Number(1, closed="low", whole=True, optional=known),
            "classes": Number(1, closed="low", whole=True, optional=True),
            "rounds": Number(1, closed="low", whole=True, optional=True),
            "level_log_kwh": Number(),
            "grid": Fits(self.grid >= 0 and math.frexp(self.grid)[0] in (0, 0.5), "a power of two, or 0"),
            "hour_correlation": SHARE_BELOW_ONE,
            "marginal_share": SHARE_BELOW_ONE,
            "prior_mixture": Fits(
                self.prior_mixture is None or (self.classes is None and self.prior is None),
                "classes of null, which a prior mixture brings, and no prior",
            ),
            "directions": Fits(
                bool(self.directions) == (self.ball is not None and self.marginal_share > 0),
                "linear functions exactly for marginals of records in a ball",
            ),
            "prior": Fits(self.prior is None or self.ball is not None, "null for loads"),
        }
        check(self, constraints)


@dataclass(frozen=True)
class Plan:
    """The measurements of one release, fixed before any record is seen."""

    classes: int  # K of the released mixture
    # In order: records (add_remove only), radius, pooled, round 1..T, marginals (if any); with a prior mixture adapt
    # 1..2 in place of radius and pooled, and perhaps no round. Their mu^2 add up to that of the release.
    steps: tuple[NoisyQuery, ...]

    @property
    def rounds(self) -> tuple[NoisyQuery, ...]:
        return self.steps_of("round")

    def steps_of(self, kind: str) -> tuple[NoisyQuery, ...]:
        """Return the numbered steps of a kind, in order."""
        return tuple(s for s in self.steps if s.name.startswith(f"{kind} "))

    def step(self, name: str) -> NoisyQuery | None:
        return next((s for s in self.steps if s.name == name), None)


def default_classes(signal: float, most: int) -> int:
    """Return K for N mu / d = ``signal``: 3 at 1,409 households, 4 at 10,000 (d = 12, epsilon = 2)."""
    return int(min(max(round(1.3 * signal**0.2), FEWEST_CLASSES), most))


def default_rounds(signal: float, classes: int, factor: float = 1.0) -> int:
    """Return the number of rounds: 3 at 1,409 households and 9 at 10,000 with the default K and no marginals."""
    return int(np.clip(round(factor * 0.45 * (signal / classes) ** 0.65), 1, MOST_ROUNDS))


def make_plan(mu: float, records: int, dimension: int, most_classes: int, settings: ProvenSettings) -> Plan:
    """Return the measurements of a ``mu``-GDP release; under ``add_remove`` the guess takes the place of N."""
    counted = settings.adjacency == "add_remove"
    whole, mu = mu, mu * math.sqrt(1 - settings.marginal_share)
    signal = (settings.records_guess if counted else records) * mu / dimension
    first = RECORDS_SHARE if counted else 0.0
    entries = stack_entries(dimension)
    # Counts of records are whole numbers and need no rounding.
    plan = [("records", 1.0, first)] if counted else []
    if settings.prior_mixture is not None:
        classes = settings.prior_mixture.classes
        shares, rounds = adapt_plan(signal, settings.rounds, MOST_ROUNDS)
        reach = differences(Ball if settings.ball else Loads, dimension).weights.sensitivity(settings.adjacency)
        sensitivity = rounded(reach, adapt_entries(classes, dimension), settings.grid)
        plan += [(f"adapt {t + 1}", sensitivity, (1 - first) * share) for t, share in enumerate(shares)]
    else:
        classes = settings.classes or (most_classes if settings.ball else default_classes(signal, most_classes))
        rounds = settings.rounds or default_rounds(signal, classes, BALL_ROUNDS if settings.ball else 1.0)
        pooled = float(np.clip(12 / signal, *POOLED_SHARES))
        reach = 1.0 if counted else math.sqrt(2)
        sensitivity = rounded(POOLED_WEIGHTS.sensitivity(settings.adjacency, 1), entries, settings.grid)
        plan += [("radius", reach, RADIUS_SHARE), ("pooled", sensitivity, pooled)]
    growth = ROUND_GROWTH ** np.arange(rounds)
    growth[-1:] *= LAST_ROUND
    weights = (settings.ball or Loads).round_weights
    round_shares = (1 - sum(share for _, _, share in plan)) * growth / growth.sum()
    sensitivity = rounded(weights.sensitivity(settings.adjacency), classes * entries, settings.grid)
    plan += [(f"round {t + 1}", sensitivity, share) for t, share in enumerate(round_shares)]
    steps = [NoisyQuery(name, reach, reach / (mu * math.sqrt(share))) for name, reach, share in plan]
    if settings.marginal_share > 0:
        reach = marginals.sensitivity(settings.adjacency, dimension, settings.directions)
        reach = rounded(reach, marginals.statistics_of(dimension, settings.directions), settings.grid)
        steps += [NoisyQuery("marginals", reach, reach / (whole * math.sqrt(settings.marginal_share)))]
    return Plan(classes, tuple(steps))


def stack_entries(dimension: int) -> int:
    """Return the entries of one class in a stack: count, mean and second moments."""
    return 1 + dimension + dimension * (dimension + 1) // 2


def step_entries(step: NoisyQuery, classes: int, dimension: int, directions: Directions = ()) -> int:
    """Return the noise entries of one step of a plan."""
    fixed = {
        "records": 1,
        "radius": len(RADIUS_EDGES) - 1,
        "pooled": stack_entries(dimension),
        "marginals": marginals.statistics_of(dimension, directions),
        "adapt": adapt_entries(classes, dimension),
    }
    return fixed.get(step.name.split()[0], classes * stack_entries(dimension))


def noise_entries(most_classes: int, dimension: int, settings: ProvenSettings) -> int:
    """Return an upper bound on the noise entries of a release, from public numbers alone."""
    entries, rounds = stack_entries(dimension), settings.rounds or MOST_ROUNDS
    beside = marginals.statistics_of(dimension, settings.directions) if settings.marginal_share > 0 else 0
    if settings.prior_mixture is not None:
        classes = settings.prior_mixture.classes
        return 1 + len(STEP_SHARES) * adapt_entries(classes, dimension) + rounds * classes * entries + beside
    classes = settings.classes or max(most_classes, FEWEST_CLASSES)
    return len(RADIUS_EDGES) + entries * (1 + rounds * classes) + beside
