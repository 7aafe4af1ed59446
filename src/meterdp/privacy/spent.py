"""Whether a release fits: what every meter has spent in a budget period, against the lowest limit stated for it.

Meters on the same lists have spent the same, so lists are added up instead of meters. What is compared with a limit
is proven in docs/proofs/ledger.md: Gaussian measurements may be chosen after earlier answers were seen, room for
discrete noise is fixed by the first release of a period.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from meterdp.privacy import gaussian
from meterdp.privacy.charge import NOTHING, Charge, price_of_variation
from meterdp.privacy.guarantee import Limit, PrivacyBudget
from meterdp.privacy.meter_lists import MeterLists
from meterdp.privacy.periods import Interval, day_of, days_of, interval_of, overlap, same_days, spoken
from meterdp.privacy.policy import refused

# Kinds of events in a ledger.
CHARGED, CANCELLED, STORED, PUBLISHED = "charged", "cancelled", "stored", "published"
# A list of meters is shown, a limit raised, files of an earlier version moved out of the ledger.
LISTED, RAISED, MOVED = "listed", "raised", "moved"
# Guarantees for all readings of a meter, which add up; any other excludes everything beside it.
READINGS = ("replace_one", "add_remove")
# How much of a limit's delta is kept free for the discrete noise of releases to come: enough for so many like the
# first, and for so much total variation, within these shares.
_RELEASES, _USUAL_ROOM, _LEAST_ROOM, _MOST_ROOM = 100, 1e-12, 1e-3, 0.1
_MOST_EPSILON = 50.0


@dataclass(frozen=True)
class Entry:
    """A charge, or a raised limit, as far as the budget is concerned.

    ``planned`` is the total variation of all that is asked for together; if this is the first of its period, room is
    kept for more like it. It is None for a charge of an earlier version and for another attempt, which come on top.
    """

    budget: PrivacyBudget
    meters: str | None  # digest of the list it counts for; None for every meter
    periods: tuple[Interval, ...] | None  # that it counts in; None for all
    charge: Charge
    limit: Limit  # stated with it
    planned: float | None = None
    neighbourhoods: str | None = None  # digest of those within which names are hidden
    raises: bool = False  # whether its limit takes the place of earlier ones

    @property
    def kind(self) -> tuple[str, str | None]:
        """What it protects, as far as guarantees of different kinds exclude each other."""
        adjacency = self.budget.adjacency
        return ("readings", None) if adjacency in READINGS else (adjacency, self.neighbourhoods)

    @property
    def mu(self) -> float:
        """GDP parameter for another record in the place of one: a removal and an addition are two steps."""
        return (2 if self.budget.adjacency == "add_remove" else 1) * self.charge.mu

    def counts_in(self, period: Interval | None) -> bool:
        """Whether it counts in a budget period; a raised limit does in its own, not in what shares a day with it."""
        if self.raises:
            return self.periods is None or period in self.periods
        return self.periods is None or period is None or any(overlap(own, period) for own in self.periods)


def check_budget(entries: Sequence[Entry], new: Entry, lists: MeterLists, setting: str) -> None:
    """Refuse what is to be charged together if any of its meters cannot afford it in one of its budget periods.

    ``entries`` are all so far, oldest first; ``setting`` asks for the release. The refusal says how much would fit.
    """
    check_periods(entries, new, lists)
    for period in new.periods or (None,):
        earlier = [entry for entry in entries if entry.counts_in(period)]
        _check_kinds(earlier, new, lists)
        spent = list(_most_spent(earlier, new, lists))
        if all(one.fits(new.mu, new.charge.total_variation) for one in spent):
            continue
        left = _left(spent, new)
        limit = min((one.limit for one in spent), key=lambda limit: limit.epsilon)
        raise refused(
            setting,
            f"would spend more on its meters in '{new.budget.period}' than the limit of epsilon {limit.epsilon:g} at "
            f"delta {limit.delta:g}; "
            + (f"one more release of epsilon {left:g} would fit" if left else "nothing is left"),
            "use a smaller epsilon, release readings of a later budget period, or have the limit raised (meterdp "
            "ledger raise, and release.cap_epsilon)",
        )


def room(entries: Sequence[Entry], new: Entry, lists: MeterLists) -> tuple[float, Limit]:
    """Return the largest epsilon that one more release like ``new`` could have, in hundredths, 0 if none fits; and
    the lowest limit that holds for one of its meters.
    """
    left, limits = math.inf, [new.limit]
    for period in new.periods or (None,):
        spent = list(_most_spent([entry for entry in entries if entry.counts_in(period)], new, lists))
        left = min(left, _left(spent, new))
        limits += [one.limit for one in spent]
    return left, min(limits, key=lambda limit: limit.epsilon)


def spent_of(entries: Sequence[Entry], new: Entry, lists: MeterLists) -> list[Charge]:
    """Return what the meters of ``new`` have spent in its budget periods: the charges that no other exceeds."""
    return [
        charge
        for period in new.periods or (None,)
        for one in _most_spent([entry for entry in entries if entry.counts_in(period)], new, lists)
        for charge in one.charges
    ]


def _left(spent: Sequence[_Spent], new: Entry) -> float:
    low, high = 0, round(100 * _MOST_EPSILON)
    while low < high:
        middle = (low + high + 1) // 2
        mu = gaussian.mu_for(middle / 100, new.limit.delta)
        fits = all(one.fits(mu, new.charge.total_variation) for one in spent)
        low, high = (middle, high) if fits else (low, middle - 1)
    return low / 100


def most_spent(entries: Sequence[Entry], period: Interval | None, lists: MeterLists) -> list[Charge]:
    """Return what meters that count in a period have spent at most: the charges that no other exceeds."""
    mine = [entry for entry in entries if entry.counts_in(period) and not entry.raises]
    if not mine:
        return []
    everybody = Entry(mine[-1].budget, None, None, NOTHING, Limit(math.inf, 1.0))
    return [
        spent for one in _most_spent(mine, everybody, lists) if one.limit == everybody.limit for spent in one.charges
    ]


def _check_kinds(earlier: Sequence[Entry], new: Entry, lists: MeterLists) -> None:
    """Refuse what may not stand beside earlier releases about the same meters."""
    shared = {name for name in {entry.meters for entry in earlier} if lists.share_meters(name, new.meters)}
    for entry in earlier:
        if entry.meters not in shared or entry.raises:
            continue
        if entry.kind != new.kind:
            raise refused(
                "release.forecast_protects",
                "cannot be added to what was released about these meters: files that hide only whom they belong to "
                "reveal more about readings than a guarantee for readings allows, and their neighbourhoods may not "
                "change",
                "release only one or the other in a budget period",
            )


def check_periods(entries: Sequence[Entry], new: Entry, lists: MeterLists) -> None:
    """Refuse budget periods that share days with others of the same meters without being the same time."""
    for entry in entries:
        # A charge of an earlier version, or another attempt, has no plan.
        if entry.raises or entry.planned is None or entry.periods is None:
            continue
        others = [p for p in new.periods or () if p not in entry.periods and entry.counts_in(p)]
        if not others or not lists.share_meters(entry.meters, new.meters):
            continue
        name = entry.budget.period
        shared = f"shares days with '{name}', in which readings of these meters were charged"
        then = next(p for p in entry.periods if overlap(p, others[0]))
        if name == new.budget.period and same_days(then, others[0]):
            raise refused(
                "release.budget_period",
                f"{shared}, but in another time zone: that period runs from {spoken(then)} and this one from "
                f"{spoken(others[0])}",
                "use the time zone of that release",
            )
        raise refused(
            "release.budget_period",
            f"{shared}, but is not the same period",
            "use that period, or one that shares no day with it in UTC",
        )


@dataclass(frozen=True)
class _Spent:
    """What some meters have spent, under the same limit.

    ``sums`` are mu^2 and total variation of those of them that no other exceeds in both, (n, 2).
    """

    limit: Limit
    sums: np.ndarray
    room: float
    begins: bool

    @property
    def charges(self) -> list[Charge]:
        return [Charge(math.sqrt(mu2), float(variation)) for mu2, variation in self.sums]

    def fits(self, mu: float, total_variation: float) -> bool:
        """Whether so much more is within the limit."""
        # If nobody who had spent the most of both would pass it, nobody does.
        return self._fits(self.sums.max(axis=0), mu, total_variation) or all(
            self._fits(sums, mu, total_variation) for sums in self.sums
        )

    def _fits(self, sums: np.ndarray, mu: float, total_variation: float) -> bool:
        wanted = max(_RELEASES * self.room, _USUAL_ROOM)
        epsilon = _judged_at(self.limit, wanted)
        whole = self.limit.delta / price_of_variation(epsilon)
        budgets = [(epsilon, max(self.room, min(max(_LEAST_ROOM * whole, wanted), _MOST_ROOM * whole)))]
        if self.begins:  # a first release may take all there is
            budgets.append((self.limit.epsilon, self.room))
        total = math.sqrt(sums[0] + mu**2)
        return any(
            sums[1] + total_variation <= room and Charge(total, room).delta(epsilon) <= self.limit.delta
            for epsilon, room in budgets
        )


def _judged_at(limit: Limit, room: float) -> float:
    """Return the epsilon that what is spent must keep: that of the limit, or a smaller one, beyond which so much
    room for discrete noise would cost too much. A higher limit then allows no less.
    """
    price = _MOST_ROOM * limit.delta / room
    return min(limit.epsilon, math.log(price - 1)) if price > price_of_variation(0.0) else limit.epsilon


def _most_spent(earlier: Sequence[Entry], new: Entry, lists: MeterLists) -> Iterator[_Spent]:
    """Yield what the meters of a release have spent, under every limit that holds for some of them."""
    meters = _Meters(earlier, new, lists)
    alike: dict[tuple, list[np.ndarray]] = {}
    for rows, sums in meters.alike():
        first = meters.first_of(rows[0])
        begins = new if first is None else earlier[first]
        room = begins.charge.total_variation if begins.planned is None else begins.planned
        nothing_yet = first is None and not sums.any()
        for limit in meters.limits_of(rows[0]):
            alike.setdefault((limit, room, nothing_yet), []).append(sums)
    for (limit, *same), sums in alike.items():
        yield _Spent(limit, _not_exceeded(np.concatenate(sums)), *same)


class _Meters:
    """What each of the m meters of a release has spent, (m,) arrays."""

    def __init__(self, earlier: Sequence[Entry], new: Entry, lists: MeterLists):
        m = lists.count(new.meters)
        self._new, self._entries = new, len(earlier) + 1
        self._mu2, self._variation = np.zeros(m), np.zeros(m)
        # Entries are counted from 1, those with a plan from the end: the largest number wins, and 0 is none.
        self._plan, self._raised = np.zeros(m, dtype=np.int32), np.zeros(m, dtype=np.int32)
        self._stated: dict[Limit, np.ndarray] = {}
        by_list: dict[str | None, list[tuple[int, Entry]]] = {}
        for number, entry in enumerate(earlier, start=1):
            by_list.setdefault(entry.meters, []).append((number, entry))
        for name, mine in by_list.items():
            self._add(lists.on_both(name, new.meters), mine)

    def _add(self, on: np.ndarray, mine: Sequence[tuple[int, Entry]]) -> None:
        charged = [entry for _, entry in mine if not entry.raises]
        self._mu2 += on * sum(entry.mu**2 for entry in charged)
        self._variation += on * sum(entry.charge.total_variation for entry in charged)
        plans = [self._entries - number for number, entry in mine if entry.planned is not None]
        _raise(self._plan, on, max(plans, default=0))
        _raise(self._raised, on, max((number for number, entry in mine if entry.raises), default=0))
        for limit, number in {entry.limit: number for number, entry in mine}.items():
            _raise(self._stated.setdefault(limit, np.zeros(on.size, dtype=np.int32)), on, number)

    def first_of(self, row: int) -> int | None:
        """Return the place of the entry whose plan holds for a meter, None if none does."""
        return self._entries - 1 - int(self._plan[row]) if self._plan[row] else None

    def limits_of(self, row: int) -> list[Limit]:
        """Return the limits that hold for a meter: the last raised, those stated since, and that of the release."""
        since = max(self._raised[row], 1)
        return [self._new.limit, *(c for c, n in self._stated.items() if n[row] >= since and c != self._new.limit)]

    def alike(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield meters of one plan, with the same limits, and the largest of their sums."""
        if not self._plan.size:
            return
        since = np.maximum(self._raised, 1)
        columns = [self._plan, *(latest >= since for latest in self._stated.values())]
        group = np.zeros(self._plan.size, dtype=np.int64)
        for column in columns:
            if column.max() > column.min():
                _, group = np.unique(group * (int(column.max()) + 1) + column, return_inverse=True)
        order = np.argsort(group, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
            yield rows, _not_exceeded(np.column_stack([self._mu2[rows], self._variation[rows]]))


def _not_exceeded(sums: np.ndarray) -> np.ndarray:
    """Return those of (n, 2) sums that no other exceeds in both."""
    sums = sums[np.lexsort((-sums[:, 1], -sums[:, 0]))]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(sums[:-1, 1])])
    return sums[sums[:, 1] > before]


def _raise(largest: np.ndarray, on: np.ndarray, number: int) -> None:
    """Let a number take the place of smaller ones where ``on`` is true."""
    if number:
        np.maximum(largest, on * np.int32(number), out=largest)


_KEPT = ("kind", "account", "request", "attempt", "mu", "total_variation", "responses", "cap", "meters", "periods")
_ALSO_KEPT = ("planned", "neighbourhoods")
# Cancelled attempts count, too.
_NEW_REQUEST = {"attempts": 0, "archive": None, "published": False}


class Entries:
    """Charges, limits, lists and stored releases; ``state`` is JSON, from which they can be made again."""

    def __init__(self, state: dict | None = None):
        self.state = state or {"charges": [], "requests": {}, "lists": {}, "batches": [], "former": {}, "zones": {}}

    def apply(self, event: Mapping) -> None:
        """Take one more event into account."""
        kind = event["kind"]
        if kind in (CHARGED, RAISED):
            self._add(event)
        elif kind == CANCELLED:
            self._cancel(event["request"], event["attempt"])
        elif kind == LISTED:
            if event["bitmap_sha256"] is not None:
                self.state["lists"][event["meters"]] = event["bitmap_sha256"]
                self.state["batches"].append(event["batch_sha256"])
                self.state["key"] = event["key"]  # a digest: under another key the same meters have other hashes
            self.show(event["meters"], event["former"])
        elif kind in (STORED, MOVED):
            # An earlier version has the digests of all files here, and the files in the ledger.
            self._of(event["request"])["archive"] = event.get("archive")
        elif kind == PUBLISHED:
            self._of(event["request"])["published"] = True

    def show(self, meters: str, former: Iterable[str]) -> None:
        """Know a list again that an earlier version knew by other digests."""
        self.state["former"] = dict.fromkeys(former, meters) | self.state["former"]  # the first to be shown

    def _cancel(self, request: str, attempt: int) -> None:
        """Take a charge back; the plan it made stays if answers may have been seen under it."""
        charges = self.state["charges"]
        for one in charges:
            if (one.get("request"), one.get("attempt")) == (request, attempt):
                one |= {"cancelled": True, "mu": 0.0, "total_variation": 0.0, "responses": []}
        while charges and charges[-1].get("cancelled"):
            charges.pop()

    def _add(self, event: Mapping) -> None:
        kept = {key: event[key] for key in _KEPT if key in event}
        kept |= {key: event[key] for key in _ALSO_KEPT if event.get(key) is not None}
        if event["kind"] == CHARGED:
            self._of(event["request"])["attempts"] += 1
            if "periods" not in event:
                words = event["words"]
                export = words.get("export", {})
                days = event.get("days") or [export.get(key) for key in ("first_day", "last_day")]
                former = {words.get("list_of_meters_sha256"), event.get("meters")} - {None}
                kept |= {"earlier": {"days": days, "lists": sorted(former), "zone": export.get("time_zone")}}
                kept["meters"] = None
                if zone := export.get("time_zone"):
                    zones, label = self.state["zones"], _label(event["account"])
                    zones[label] = zone if zones.get(label, zone) == zone else None  # two zones tell none
        self.state["charges"].append(kept)

    def _of(self, request: str) -> dict:
        return self.state["requests"].setdefault(request, dict(_NEW_REQUEST))

    def known(self, request: str) -> Mapping:
        """Return how often a request was charged, the digest of what was stored for it, and if that was published."""
        return self.state["requests"].get(request, _NEW_REQUEST)

    def lists_of(self, request: str) -> set[str | None]:
        """Return the lists of meters for which a request was ever charged; None stands for all meters."""
        return {one["meters"] for one in self.state["charges"] if one.get("request") == request}

    def standing_attempt(self, request: str, meters: str | None, periods: tuple[Interval, ...] | None) -> int:
        """Return the last attempt of a request whose charge stands for these meters in these periods, 0 if none."""
        return max(
            (
                one["attempt"]
                for one in self.state["charges"]
                if one.get("request") == request
                and "cancelled" not in one
                and "earlier" not in one
                and one["meters"] == meters
                and _intervals(one.get("periods")) == periods
            ),
            default=0,
        )

    def archives(self) -> dict[str, str]:
        """Return the digest of what was drawn, by request."""
        return {key: one["archive"] for key, one in self.state["requests"].items() if one["archive"] is not None}

    def entries(self) -> list[Entry]:
        """Return every charge that stands and every raised limit, oldest first."""
        return [self._entry(one) for one in self.state["charges"]]

    def reported(self, asked: Mapping[str, Entry]) -> list[Entry]:
        """Return the same of releases that were stored, without attempts that were lost, and of what is ``asked``
        for together, by request, stored yet or not: whichever of it was first, it has the plan of all of it.
        """
        found, due = [], dict(asked)
        for one in self.state["charges"]:
            known = self.known(one.get("request", ""))
            if one["kind"] == RAISED:
                found.append(self._entry(one))
            elif known["archive"] is not None and one["attempt"] == known["attempts"]:
                entry, mine = self._entry(one), due.pop(one["request"], None)
                found.append(entry if mine is None else replace(entry, planned=mine.planned))
        return [*found, *due.values()]

    def _entry(self, kept: Mapping) -> Entry:
        budget, limit = PrivacyBudget(**kept["account"]), Limit(**kept["cap"])
        if kept["kind"] == RAISED:
            return Entry(budget, kept["meters"], _intervals(kept["periods"]), NOTHING, limit, raises=True)
        planned = kept.get("planned")
        meters, periods = kept["meters"], _intervals(kept.get("periods"))
        if "earlier" in kept:
            shown = [self.state["former"][one] for one in kept["earlier"]["lists"] if one in self.state["former"]]
            # Who is in an add_remove release is private.
            meters = shown[0] if shown and budget.adjacency != "add_remove" else None
            zone = kept["earlier"]["zone"] or self.state["zones"].get(_label(kept["account"]))
            periods = _earlier_periods(budget.period, kept["earlier"]["days"], zone)
        return Entry(
            budget,
            meters,
            periods,
            Charge.of_event(kept),
            limit,
            None if planned is None else planned["total_variation"],
            kept.get("neighbourhoods"),
        )


def _earlier_periods(name: str, days, zone: str | None) -> tuple[Interval, ...] | None:
    """Return where a charge of an earlier version counts: its days and its period, None if one is unknown."""
    with suppress(ValueError, TypeError, OverflowError):
        first, last = map(day_of, days)
        return tuple(interval_of(*span, zone) for span in [*days_of(name), (first, last)])
    return None


def _intervals(periods) -> tuple[Interval, ...] | None:
    return None if periods is None else tuple((int(start), int(end)) for start, end in periods)


def _label(budget: Mapping) -> str:
    return f"{budget['population']}\n{budget['period']}"
