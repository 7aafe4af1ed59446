"""What parameters may be, declared: a value that is none of it is refused with the value and the range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Literal

from meterdp.errors import InputError


@dataclass(frozen=True)
class Number:
    """A finite number between two bounds; ``closed`` says which of them are allowed themselves."""

    low: float = -math.inf
    high: float = math.inf
    closed: Literal["neither", "low", "high", "both"] = "neither"
    whole: bool = False
    optional: bool = False

    def problem(self, value: object) -> str | None:
        if value is None:
            return None if self.optional else "is missing"
        number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
        above = number and (value > self.low or (self.closed in ("low", "both") and value == self.low))
        below = number and (value < self.high or (self.closed in ("high", "both") and value == self.high))
        return None if above and below and (not self.whole or value == int(value)) else f"is {value!r}"

    def __str__(self) -> str:
        low = "at least" if self.closed in ("low", "both") else "greater than"
        high = "at most" if self.closed in ("high", "both") else "less than"
        ends = [f"{word} {end:,g}" for word, end in ((low, self.low), (high, self.high)) if math.isfinite(end)]
        text = " ".join(["a whole number" if self.whole else "a finite number", " and ".join(ends)]).rstrip()
        return f"{text}, or none" if self.optional else text


@dataclass(frozen=True)
class OneOf:
    """One of some names."""

    names: tuple[str, ...]

    def problem(self, value: object) -> str | None:
        return None if isinstance(value, str) and value in self.names else f"is {value!r}"

    def __str__(self) -> str:
        return f"one of {', '.join(self.names)}"


@dataclass(frozen=True)
class Fits:
    """Whether a value goes with the others; it is not shown, as it may be long or a number of households."""

    holds: bool
    hint: str

    def problem(self, value: object) -> str | None:
        return None if self.holds else "does not go with the other parameters"

    def __str__(self) -> str:
        return self.hint


# ``problem`` is what is wrong with a value, if anything; as text, a constraint is what to use.
Constraint = Number | OneOf | Fits

POSITIVE = Number(0)
PROBABILITY = Number(0, 1)
SHARE_BELOW_ONE = Number(0, 1, closed="low")
ONE_OR_MORE = Number(1, closed="low", whole=True)


def check(parameters: object, constraints: Mapping[str, Constraint], refused: type[InputError] = InputError) -> None:
    """Refuse the first attribute of ``parameters`` that breaks its constraint, by name, with its value and what to
    use.
    """
    for name, constraint in constraints.items():
        if problem := constraint.problem(getattr(parameters, name)):
            raise refused(problem, field=name, hint=f"use {constraint}")
