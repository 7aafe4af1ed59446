"""What a release is expected to be worth, known before anything is charged: from public numbers alone.

The same numbers are planned with, printed before a release, refused by, and stated in its manifest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from itertools import chain

from meterdp.errors import InputError
from meterdp.ingest.meter_list import USABLE
from meterdp.privacy.policy import FEWEST_HOUSEHOLDS
from meterdp.publish.kinds import holds_if

# A release is refused if some hour would be absurd in more of such releases than the first, and its verdict mentions
# more than the second; it is useful if it has at most the third share of the error of a public guess.
MOST_ABSURD, RISKY, USEFUL = 0.2, 0.01, 0.9
# A larger share of synthetic households that are the public default contradicts a plan.
MOST_DEFAULT = 0.2
# Of 20 normal numbers 19 are within so many standard deviations.
NORMAL_95 = 1.96
# What a verdict names and a refusal proposes: no epsilon that hardly limits anything, and sizes of two digits.
EPSILONS = tuple(tenths / 10 for tenths in range(1, 101))
SIZES = tuple(step * 10**power for power in range(5) for step in range(10, 100))
HEADINGS = ("expected error", "on average", "1 in 20 above", "public guess")


@dataclass(frozen=True)
class Expected:
    """How far one quantity is expected to be off, as shares of the real one."""

    of: str
    error: float  # mean over releases
    error_q95: float  # of 20 releases 19 are off by less
    guess: float  # the same as the error, of a public guess that looks at no reading


@dataclass(frozen=True)
class Plan:
    """What a release of so many meters at an epsilon is expected to be worth."""

    what: str  # as in release.what
    setting: str  # of its epsilon, in the section release
    epsilon: float
    size: int
    sized: str  # what the size counts, such as "listed meters"
    expected: tuple[Expected, ...]
    found: str  # how it is known
    again: Callable[[float, int], Plan] = field(compare=False, repr=False)  # at another epsilon, of another size
    absurd: float = 0.0  # share of releases with something off by more than a factor of two
    absurd_of: str = "hour"
    absurd_for_readers: str = "the mean energy of some hour"  # the same, for readers
    difference: float | None = None  # between several feeders, as a share of what one uses, as the error is
    assumed: str = ""  # what it takes beside usable readings, as a clause
    useless: tuple[str, ...] = ()  # why it is not useful, whatever its errors, and what to do
    warnings: tuple[str, ...] = ()  # of what no number says
    strata: str = ""  # which the list makes, as a sentence

    @property
    def too_little(self) -> bool:
        """Whether a release would tell less than a public guess, or nonsense too often."""
        return self.absurd > MOST_ABSURD or self._worse

    @property
    def useful(self) -> bool:
        """Whether a release tells enough more than a public guess."""
        return not self.too_little and self._better and not self.useless

    @property
    def _worse(self) -> bool:
        return any(one.error >= one.guess for one in self.expected)

    @property
    def _better(self) -> bool:
        return all(one.error <= USEFUL * one.guess for one in self.expected)

    @property
    def verdict(self) -> str:
        return "; ".join(self.verdicts)

    @cached_property
    def verdicts(self) -> list[str]:
        """Say whether it is useful, from which epsilon or size on a release is, and what its errors leave out."""
        there = self._from(lambda plan: plan.useful)
        on = f"to be useful it needs {there}" if there else "no epsilon or size makes it useful"
        how = "worse" if self._worse else "better" if self._better else "hardly better"
        why, but = f"{how} than a public guess", "but" if how == "better" else "and"
        if not self._tells_apart:
            why, but = f"{why}, {but} does not tell feeders apart", "and"
        if self.useless:
            why, but = f"{why}, {but} {': '.join(self.useless)}", "and"
        if self._how_often:
            allowed = f", where at most {_percent(MOST_ABSURD)} is allowed" if self.absurd > MOST_ABSURD else ""
            why += f", {but} some {self.absurd_of} is {self._how_often}{allowed}"
        this = f"{'useful' if self.useful else 'not useful'} ({why})"
        if self.too_little:
            this += ", refused unless release.allow has 'poor'"
        return [this, on, *self._of_feeders, *self.warnings]

    @property
    def first(self) -> list[str]:
        """Say what whoever uses the release should know before any number."""
        often = self._how_often and (
            f"in {_percent(self.absurd)} of releases {self.absurd_for_readers} comes out at less than half or more "
            "than twice what it is"
        )
        alike = (
            "typical feeders differ by little or no more than these errors, so do not rank feeders by these numbers"
        )
        said = (*self.useless[:1], "" if self._tells_apart else alike, often, *self.warnings)
        return [f"{words[:1].upper()}{words[1:]}" for words in said if words]

    @property
    def _how_often(self) -> str:
        """Say how often some of a release is nonsense, if that is not seldom."""
        if self.absurd <= RISKY:
            return ""
        return f"off by more than a factor of two in {_percent(self.absurd)} of releases"

    @property
    def _tells_apart(self) -> bool:
        """Whether totals explain half of the variance between feeders."""
        return self.difference is None or 2 * self.expected[0].error ** 2 <= self.difference**2

    @property
    def _of_feeders(self) -> Iterator[str]:
        """Say from which epsilon or size on totals tell feeders apart."""
        if self.difference is not None:
            there = self._from(lambda plan: plan._tells_apart)
            yield f"to tell feeders apart it needs {there}" if there else "no epsilon or size tells feeders apart"

    @property
    def said(self) -> list[str]:
        """Say of every quantity how far it is expected to be off."""
        return [
            f"{one.of}: {_percent(one.error)} on average, more than {_percent(one.error_q95)} in one release of 20 "
            f"(a public guess: {_percent(one.guess)})"
            for one in self.expected
        ]

    @property
    def sentence(self) -> str:
        often = f"; some {self.absurd_of} {self._how_often}" if self._how_often else ""
        return f"expected to be off by: {'; '.join(self.said)}{often}. {self.basis}"

    @property
    def basis(self) -> str:
        return f"This follows from public numbers alone ({self.found}), and holds if {holds_if(USABLE, self.assumed)}"

    def stated(self, contradicted: str | None = None) -> dict:
        """Return what a manifest says; ``contradicted`` is what the release itself says against it."""
        return {
            "quantities": [asdict(one) for one in self.expected],
            "absurd": self.absurd,
            "usable_share": USABLE,
            "found": self.found,
            **({"assumed": self.assumed} if self.assumed else {}),
            **({"first": self.first} if self.first else {}),
            **({"contradicted": contradicted} if contradicted else {}),
            "in_words": self.sentence,  # words: keep
        }

    def points(self) -> list[str]:
        """Return the same for readers, a sentence each."""
        return [*self.first, *self.said, self.basis, "A public guess is made without any readings"]

    def refusals(self, config: Mapping) -> Iterator[InputError]:
        """Yield why a release is not worth its epsilon, if it is not and release.allow lacks poor.

        Names an epsilon and a number of meters that would do.
        """
        if "poor" in config["release"]["allow"] or not self.too_little:
            return
        epsilon, size = self._first(lambda plan: not plan.too_little)
        cap = config["release"]["cap_epsilon"]
        allowed = ", which release.cap_epsilon must allow" if epsilon is not None and epsilon > cap else ""
        hints = [f"leave {self.what} out of release.what"] if len(config["release"]["what"]) > 1 else []
        hints += [] if epsilon is None else [f"use an epsilon of {epsilon:g} or more{allowed}"]
        hints += [] if size is None else [f"have {size:,} {self.sized} or more"]
        yield InputError(
            f"is too small for {self.size:,} {self.sized}: {self._why_too_little}",
            file="config",
            field=f"release.{self.setting}",
            hint="; ".join([*hints, "or add 'poor' to release.allow to release it anyway"]),
        )

    @property
    def _why_too_little(self) -> str:
        often = (
            f"some {self.absurd_of} would be off by more than a factor of two in {_percent(self.absurd)} of such "
            "releases"
        )
        worse = [
            f"{one.of} would be off by {_percent(one.error)} on average, a public guess by {_percent(one.guess)}"
            for one in self.expected
            if one.error >= one.guess
        ]
        return "; ".join([*([often] if self.absurd > MOST_ABSURD else []), *worse])

    def check(self, config: Mapping) -> None:
        """Raise what :meth:`refusals` yields."""
        for refusal in self.refusals(config):
            raise refusal

    def _from(self, good: Callable[[Plan], bool]) -> str:
        """Say from which epsilon or size on a plan is good, in no words if none is."""
        epsilon, size = self._first(good)
        if (epsilon, size) == (self.epsilon, self.size):
            return "about this epsilon and size"
        there = [] if epsilon is None else [f"epsilon {epsilon:g} or more with {self.size:,} {self.sized}"]
        there += [] if size is None else [f"{size:,} or more {self.sized} at epsilon {self.epsilon:g}"]
        return ", or ".join(there)

    def _first(self, good: Callable[[Plan], bool]) -> tuple[float | None, int | None]:
        """Return the first epsilon of this size and the first size at this epsilon of which a plan is good."""

        def whether(epsilon: float, size: int) -> bool | None:
            plan = self._at(epsilon, size)
            return None if plan is None else good(plan)

        def first(values: Sequence, of: Callable[[float], bool | None]) -> float | None:
            at = bisect_left(values, True, key=lambda value: of(value) is not False)
            return values[at] if at < len(values) and of(values[at]) else None

        # With its own among them, what is said of others does not contradict what is said of it.
        epsilons, sizes = sorted({*EPSILONS, self.epsilon}), sorted({*self._sizes, self.size})
        return first(epsilons, lambda epsilon: whether(epsilon, self.size)), first(
            sizes, lambda size: whether(self.epsilon, size)
        )

    @property
    def _sizes(self) -> Sequence[int]:
        """Sizes that may be: a shorter list is refused whatever it is worth."""
        return [size for size in SIZES if size >= FEWEST_HOUSEHOLDS or not self.sized.startswith("listed meters")]

    @cached_property
    def _at(self) -> Callable[[float, int], Plan | None]:
        """Returns the plan at an epsilon of a size, made once; None where noise does not fit the grid."""

        @cache
        def at(epsilon: float, size: int) -> Plan | None:
            if (epsilon, size) == (self.epsilon, self.size):
                return self
            try:
                return self.again(epsilon, size)
            except InputError:
                return None

        return at


def mostly_default(share: float, default: str) -> str | None:
    """Say that many meters had no usable readings, if so large a share of the synthetic households of a release is
    the public default, such as 12 kWh a day. This follows from what is released, so it costs nothing.
    """
    if share <= MOST_DEFAULT:
        return None
    return (
        f"{_percent(share)} of the synthetic households are the public default for a meter without usable readings "
        f"({default}): about the same share of the real ones probably had none, so the "
        "errors stated here do not hold"
    )


def lines(plans: Sequence[Plan]) -> list[str]:
    """Return plans as a table for people."""
    if not plans:
        return []
    cells = {
        plan: [(f"  {one.of}", *map(_percent, (one.error, one.error_q95, one.guess))) for one in plan.expected]
        for plan in plans
    }
    widths = [max(map(len, column)) for column in zip(HEADINGS, *chain(*cells.values()), strict=True)]

    def line(row: Sequence[str]) -> str:
        return "  ".join((row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])))

    out = [line(HEADINGS)]
    for plan, rows in cells.items():
        out += [f"{plan.what}: {plan.size:,} {plan.sized}, epsilon {plan.epsilon:g}", *map(line, rows)]
        out += [f"  {words}" for words in (plan.strata, *plan.verdicts) if words]
    ways = {
        found: ", ".join(plan.what for plan in plans if plan.found == found) for found in (p.found for p in plans)
    }
    assumed = ", ".join(f"(for {plan.what}) " * (len(plans) > 1) + plan.assumed for plan in plans if plan.assumed)
    return [
        *out,
        f"All of this follows from public numbers alone ({'; '.join(f'{of}: {how}' for how, of in ways.items())}).",
        f"This holds if {holds_if(USABLE, assumed)}.",
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
