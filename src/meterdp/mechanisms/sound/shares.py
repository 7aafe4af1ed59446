"""Noise in shares: n nodes hold the records, and no t of them that collude see more than outsiders are meant to.

Each node adds its share to its own statistics before they are summed (docs/proofs/shared_noise.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from meterdp.errors import InputError


@dataclass(frozen=True)
class Shares:
    """Who holds the noise; all of it public.

    Parameters
    ----------
    nodes : int
        n. Each adds 1/n of the variance of a measurement's noise.
    honest : float
        h: what colluding nodes see carries the shares of h nodes or more. The smallest group of honest nodes whose
        sum they can learn, or a little less where masks are finite.
    colluding : int
        t, for which h was worked out.
    """

    nodes: int
    honest: float
    colluding: int

    def __post_init__(self):
        if not (0 <= self.colluding < self.nodes and 0 < self.honest <= self.nodes - self.colluding):
            raise InputError(
                "is outside its allowed range",
                field="shares",
                hint="use fewer colluding nodes than nodes, and no more honest ones than are left",
            )

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
    """What is public about a release that circuits make together.

    Parameters
    ----------
    shares : Shares
        By which the mechanism is calibrated.
    words : mapping
        How they add up: scheme and graph, as words of a request. No name of a circuit is among them.
    holders : {"circuits", "nodes"}
        Who they are.
    """

    shares: Shares
    words: Mapping
    holders: str = "circuits"

    @property
    def in_words(self) -> str:
        """What a manifest says of it."""
        n, t, who = self.shares.nodes, self.shares.colluding, self.holders
        return (
            f"the noise is that of {n} {who} that hold the readings, each adding its share before anything is "
            f"summed (scheme {self.words['scheme']}): what any {t} of them that collude would see while they make "
            f"this release, with the release, has the epsilon and delta above for a meter of another of the {who}; "
            f"the release alone has {1 / self.shares.seen_by_colluding:.3g} times the noise that they ask for"
        )
