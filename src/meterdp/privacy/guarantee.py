"""What a release claims, whose privacy it spends, and how much may be spent: public names and numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Self

NOT_FOR_RELEASE = "not for release"
STUDY_MODE = f"{NOT_FOR_RELEASE}: study mode, the noise is seeded and protects nobody"
FOR_RELEASE = "for release"

Family = Literal["published", "exact", "sound", "model"]


class Adjacency(StrEnum):
    """What makes two data sets neighbours: one record replaced, added or removed, or a label exchanged."""

    REPLACE_ONE = "replace_one"
    ADD_REMOVE = "add_remove"
    LABEL_FLIP = "label_flip"
    CLASS_LABEL = "class_label"


# What a release protects, whatever its mechanism sees: a record follows from the rows of one meter.
UNIT_OF = {
    Adjacency.REPLACE_ONE: "all readings of one listed meter",
    Adjacency.CLASS_LABEL: "which household of its neighbourhood a forecast file belongs to",
}


@dataclass(frozen=True)
class Guarantee:
    """What a release claims.

    Only what is of family "sound", or holds under a stated model of what an adversary does not know ("model"), and
    was drawn with release noise can be shared.
    """

    unit: str  # what one neighbour changes
    adjacency: Adjacency
    epsilon: float
    delta: float
    accountant: str  # title of an accounting curve, or what the paper says of how the steps were added up
    proof: str  # note, relative to the repository
    family: Family

    def __post_init__(self):
        object.__setattr__(self, "adjacency", Adjacency(self.adjacency))


@dataclass(frozen=True)
class _Status:
    status: str  # FOR_RELEASE or STUDY_MODE


@dataclass(frozen=True)
class DrawnGuarantee(Guarantee, _Status):
    """What one result claims, after its noise was drawn.

    The last base comes first among the fields, so that ``repr`` and ``asdict`` begin with the status, too.
    """

    @classmethod
    def of(cls, guarantee: Guarantee, grid: float, **more) -> Self:
        """Return what a mechanism claims as that of one result: noise without a grid is that of a study."""
        return cls(FOR_RELEASE if grid > 0 else STUDY_MODE, **vars(guarantee), **more)

    @property
    def for_release(self) -> bool:
        """Whether the noise was drawn so that the result can be shared."""
        return self.status == FOR_RELEASE

    def __str__(self) -> str:
        claim = f"({self.epsilon:g}, {self.delta:g})-differential privacy for {self.unit} ({self.adjacency})"
        return claim if self.for_release else f"{self.status}; with safe noise the claim would be {claim}"


@dataclass(frozen=True)
class PrivacyBudget:
    """What a charge is made to; the meters of its list say whose privacy is spent.

    Whatever is computed from a household's readings spends the same budget, however its mechanism names what it sees
    of them; so ``unit`` makes no difference. ``population`` and ``period``, such as a year, are public labels from
    the configuration.
    """

    unit: str = field(compare=False)
    adjacency: str
    population: str
    period: str


@dataclass(frozen=True)
class Limit:
    """What a meter may spend in a budget period: (epsilon, delta) of everything released."""

    epsilon: float
    delta: float
