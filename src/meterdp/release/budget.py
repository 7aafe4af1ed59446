"""Whether a release fits: what every meter has spent in a budget period, against the lowest limit stated for it.

Meters on the same lists have spent the same, so lists are added up instead of meters. What is compared with a limit
is proven in docs/proofs/ledger.md: Gaussian measurements may be chosen after earlier answers were seen, randomised
responses and room for discrete noise are fixed by the first release of a period.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from meterdp.accounting import gdp
from meterdp.core.dates import Interval, overlap
from meterdp.core.errors import InputError
from meterdp.release.account import Account, Cap
from meterdp.release.charge import Charge, as_responses, counted
from meterdp.release.meter_lists import MeterLists

# Guarantees for all readings of a meter, which add up; any other excludes everything beside it.
READINGS = ("replace_one", "add_remove")
# Of a limit's delta, kept free for the discrete noise of releases to come.
_ROOM = 1e-3
_ROWS_AT_ONCE = 50_000
_MOST_EPSILON = 50.0


@dataclass(frozen=True)
class Entry:
    """A charge, or a raised limit, as far as the budget is concerned.

    Parameters
    ----------
    account : Account
        Its adjacency decides what adds up, its names are labels.
    meters : str or None
        Digest of the list it counts for; None for every meter.
    periods : tuple of Interval, or None
        The budget periods it counts in; None for all.
    charge : Charge
    cap : Cap
        The limit stated with it.
    planned : Charge or None
        Responses, and total variation, that the releases of the period may have if this is the first; None for a
        charge of an earlier version and for another attempt, which come on top.
    neighbourhoods : str or None
        Digest of the neighbourhoods within which names are hidden.
    raises : bool
        Whether its limit takes the place of earlier ones.
    """

    account: Account
    meters: str | None
    periods: tuple[Interval, ...] | None
    charge: Charge
    cap: Cap
    planned: Charge | None = None
    neighbourhoods: str | None = None
    raises: bool = False

    @property
    def kind(self) -> tuple[str, str | None]:
        """What it protects, as far as guarantees of different kinds exclude each other."""
        adjacency = self.account.adjacency
        return ("readings", None) if adjacency in READINGS else (adjacency, self.neighbourhoods)

    @property
    def mu(self) -> float:
        """GDP parameter for another record in the place of one: a removal and an addition are two steps."""
        return (2 if self.account.adjacency == "add_remove" else 1) * self.charge.mu

    def counts_in(self, period: Interval | None) -> bool:
        """Whether it counts in a budget period."""
        return self.periods is None or period is None or any(overlap(own, period) for own in self.periods)


def check_budget(entries: Sequence[Entry], new: Entry, lists: MeterLists, setting: str) -> None:
    """Refuse a release that any of its meters cannot afford in one of its budget periods.

    Parameters
    ----------
    entries : sequence of Entry
        Everything so far, oldest first.
    new : Entry
        All that is to be charged together.
    lists : MeterLists
    setting : str
        Which setting of the configuration asks for the release.

    Raises
    ------
    InputError
        Saying how much would fit.
    """
    for period in new.periods or (None,):
        earlier = [entry for entry in entries if entry.counts_in(period)]
        spent = _Spent(earlier, new, lists)
        spent.check_kinds(period)
        rows = list(spent.worst())
        if not all(row.responses_fit for row in rows):
            raise _refused(
                "would assign households to groups by lot, which the first release of the budget period did not plan",
                "release.forecast_groups",
                "set it to one or circuit, or ask for the same groups as then",
            )
        if all(row.fits(new.mu, new.charge.total_variation) for row in rows):
            continue
        left = _largest(lambda e: all(row.fits(gdp.mu_for(e, new.cap.delta), 0.0) for row in rows))  # noqa: B023
        cap = min((row.cap for row in rows), key=lambda cap: cap.epsilon)
        raise _refused(
            f"would spend more on its meters in '{new.account.period}' than the limit of epsilon {cap.epsilon:g} at "
            f"delta {cap.delta:g}; "
            + (f"one more release of epsilon {left:g} would fit" if left else "nothing is left"),
            setting,
            "ask for less, wait for the next budget period, or have the limit raised (meterdp ledger raise)",
        )


def most_spent(entries: Sequence[Entry], period: Interval | None, lists: MeterLists) -> list[Charge]:
    """Return what meters that count in a period have spent at most: the charges that no other exceeds."""
    mine = [entry for entry in entries if entry.counts_in(period) and not entry.raises]
    if not mine:
        return []
    everybody = Entry(mine[-1].account, None, None, Charge(0.0), Cap(math.inf, 1.0))
    return [row.spent for row in _Spent(mine, everybody, lists).worst() if row.cap == everybody.cap]


@dataclass(frozen=True)
class _Row:
    """What some meters have spent, no others more, with the responses of the new release."""

    cap: Cap
    spent: Charge
    room: float
    responses_fit: bool

    def fits(self, mu: float, total_variation: float) -> bool:
        """Whether so much more is within the limit."""
        rooms = [max(self.room, _ROOM * self.cap.delta / (1 + math.exp(self.cap.epsilon)))]
        if self.spent.mu == 0 and self.spent.total_variation == 0:  # a first release may take all there is
            rooms.append(self.room)
        return any(self._fits(mu, total_variation, room) for room in rooms)

    def _fits(self, mu: float, total_variation: float, room: float) -> bool:
        if self.spent.total_variation + total_variation > room:
            return False
        total = Charge(math.hypot(self.spent.mu, mu), room, self.spent.responses)
        return total.delta(self.cap.epsilon) <= self.cap.delta


class _Spent:
    """Sums by combination of lists."""

    def __init__(self, earlier: Sequence[Entry], new: Entry, lists: MeterLists):
        self._earlier, self._new = earlier, new
        self._lists = list(dict.fromkeys(entry.meters for entry in earlier))
        named = [name for name in self._lists if name is not None]
        if new.meters is None:  # whoever it is of may be on any list, or on none
            numbers = np.arange(lists.hashes.size)
        else:
            numbers = np.flatnonzero(lists.has(new.meters, np.arange(lists.hashes.size)))
        on = lists.patterns(numbers, named)
        if new.meters is None:
            on = np.concatenate([on, np.zeros((1, len(named)), dtype=bool)])
        columns = iter(on.T)
        every = np.ones(len(on), dtype=bool)
        self._on = np.array([every if name is None else next(columns) for name in self._lists]).reshape(
            len(self._lists), len(on)
        )

    def check_kinds(self, period: Interval | None) -> None:
        """Refuse what may not stand beside earlier releases about the same meters."""
        shared = {name for name, on in zip(self._lists, self._on, strict=True) if on.any()}
        for entry in self._earlier:
            if entry.meters not in shared or entry.raises:
                continue
            if entry.kind != self._new.kind:
                raise _refused(
                    "cannot be given beside what was released about these meters: files that hide only whose they "
                    "are say more about readings than a guarantee for readings allows, and their neighbourhoods may "
                    "not change",
                    "release.forecast_protects",
                    "release one or the other in a budget period",
                )
            mixed = entry.planned is not None and entry.periods is not None and period is not None
            if mixed and period not in entry.periods:
                raise _refused(
                    f"shares days with '{entry.account.period}', in which readings of these meters were charged, "
                    "without being the same time",
                    "release.budget_period",
                    "use that period, or one that shares no day with it in UTC",
                )

    def worst(self) -> Iterator[_Row]:
        """Yield for every limit what the meters under it have spent, leaving out what is less in every respect."""
        charges = [(n, e) for n, e in enumerate(self._earlier) if not e.raises]
        kinds = sorted({key for _, e in charges for key in counted(e.charge.responses)})
        at = {name: column for column, name in enumerate(self._lists)}
        size = len(self._lists)
        mu2, variation = np.zeros(size), np.zeros(size)
        times = np.zeros((2, size, len(kinds)), dtype=np.int64)  # planned, and what came on top
        first, raised = np.full(size, len(self._earlier)), np.full(size, -1)
        stated: dict[Cap, np.ndarray] = {self._new.cap: np.full(size, -1)}
        for number, entry in enumerate(self._earlier):
            column = at[entry.meters]
            stated.setdefault(entry.cap, np.full(size, -1))[column] = number
            if entry.raises:
                raised[column] = number
                continue
            mu2[column] += entry.mu**2
            variation[column] += entry.charge.total_variation
            for key, count in counted(entry.charge.responses).items():
                times[int(entry.planned is None), column, kinds.index(key)] += count
            if entry.planned is not None:
                first[column] = min(first[column], number)
        caps = list(stated)
        front: dict[tuple[int, ...], list[tuple[float, float]]] = {}
        for start in range(0, self._on.shape[1], _ROWS_AT_ONCE):
            on = self._on[:, start : start + _ROWS_AT_ONCE].T
            sums = np.stack([on @ mu2, on @ variation], axis=1)
            fixed = np.where(on, first, len(self._earlier)).min(axis=1, initial=len(self._earlier))
            latest_raise = np.where(on, raised, -1).max(axis=1, initial=-1)
            under = [
                (np.where(on, number, -1).max(axis=1, initial=-1) >= np.maximum(latest_raise, 0))
                | (cap == self._new.cap)
                for cap, number in stated.items()
            ]
            counts = [on @ times[extra] for extra in (0, 1)]
            discrete = np.column_stack([*under, fixed, *counts]).astype(np.int64)
            for row, both in _fronts(discrete, sums):
                front.setdefault(row, []).extend(both)
        for row, both in front.items():
            under, fixed, counts = row[: len(caps)], row[len(caps)], row[len(caps) + 1 :]
            planned, extra = (dict(zip(kinds, c, strict=True)) for c in (counts[: len(kinds)], counts[len(kinds) :]))
            for cap, holds in zip(caps, under, strict=True):
                if holds:
                    yield from self._rows(cap, fixed, planned, extra, _pareto(np.array(both)))

    def _rows(self, cap: Cap, fixed: int, planned: dict, extra: dict, front: np.ndarray) -> Iterator[_Row]:
        starts = self._new if fixed == len(self._earlier) else self._earlier[fixed]
        wanted = counted(self._new.charge.responses)
        if self._new.planned is None:  # another attempt comes on top
            made, extra = planned, _add(extra, wanted)
        else:
            made = _add(planned, wanted)
        plan = counted(starts.planned.responses) if starts.planned is not None else made
        fits = all(count <= plan.get(key, 0) for key, count in made.items() if count)
        responses = as_responses(
            _add({key: max(plan.get(key, 0), made.get(key, 0)) for key in {*plan, *made}}, extra)
        )
        room = starts.planned.total_variation if starts.planned is not None else starts.charge.total_variation
        for mu2, variation in front:
            yield _Row(cap, Charge(math.sqrt(mu2), float(variation), responses), room, fits)


def _add(one, other) -> dict:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {*one, *other}}


def _fronts(discrete: np.ndarray, sums: np.ndarray) -> Iterator[tuple[tuple[int, ...], list[tuple[float, float]]]]:
    """Yield every distinct row of ``discrete`` with the sums there that no other exceeds in both respects."""
    rows, which = np.unique(discrete, axis=0, return_inverse=True)
    which = which.ravel()
    order = np.argsort(which, kind="stable")
    for row, members in zip(rows, np.split(order, np.cumsum(np.bincount(which))[:-1]), strict=True):
        yield tuple(row.tolist()), [tuple(pair) for pair in _pareto(sums[members])]


def _pareto(sums: np.ndarray) -> np.ndarray:
    """Return the rows of (n, 2) sums that no other row exceeds in both columns."""
    ordered = sums[np.lexsort((-sums[:, 1], -sums[:, 0]))]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(ordered[:-1, 1])])
    return ordered[ordered[:, 1] > before]


def _largest(fits, steps_of: float = 0.01) -> float:
    """Return the largest epsilon on a grid of hundredths that fits, 0 if none does."""
    low, high = 0, round(_MOST_EPSILON / steps_of)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle * steps_of) else (low, middle - 1)
    return round(low * steps_of, 2)


def _refused(problem: str, field: str, remedy: str) -> InputError:
    return InputError(problem, file="config", field=field, remedy=remedy)
