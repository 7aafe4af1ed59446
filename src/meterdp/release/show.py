"""What a ledger says, as text (``meterdp ledger show``).

One block for everything released under one name: every charge with its date, and what all of them cost together. A
meter may be in several blocks; what counts is what it has spent in all. :mod:`meterdp.report.ledger` draws the same.

:func:`migrate` brings a ledger of an earlier version into the form of this one: same events, same requests, files
beside it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Mapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass, replace

from meterdp.errors import InputError
from meterdp.pages.numbers import bound
from meterdp.privacy.charge import NOTHING, Charge, epsilon_of, epsilon_text
from meterdp.privacy.guarantee import UNIT_OF, Adjacency, Limit, PrivacyBudget
from meterdp.privacy.ledger import Ledger
from meterdp.privacy.ledger_file import LedgerFile, cannot_write, chain, is_of_earlier_version, tampered
from meterdp.privacy.periods import days_read
from meterdp.privacy.spent import CANCELLED, CHARGED, MOVED, PUBLISHED, RAISED, STORED
from meterdp.publish.odds import Bounds
from meterdp.release.records import MIXTURE_OF_RECORDS

DELTAS = (1e-5, 1e-6)


@dataclass(frozen=True)
class Charged:
    """What a charge was for."""

    event: dict

    @property
    def what(self) -> str:
        """What was released."""
        words = self.event["words"]
        public = words.get("public", {})
        more = " by circuit" if public.get("groups") == "circuit" else ""
        if self.of_library:  # the names that whoever called fit has given
            more = f" {words['records']!r} in {public['classes']} class{'es' * (public['classes'] > 1)}"
        return words["artefact"].replace("_", " ") + more

    @property
    def of_library(self) -> bool:
        """Whether it is a fit of the Python library, which its caller has and the ledger cannot see published."""
        return self.event["words"].get("artefact") == MIXTURE_OF_RECORDS

    @property
    def days(self) -> list[str | None]:
        """First and last day of the readings that it is of."""
        words = self.event["words"]
        export, days = words.get("export", {}), [day for day in self.event.get("days", ()) if day]
        return days_read(days or (export.get("first_day"), export.get("last_day")), words)

    @property
    def readings(self) -> str:
        """These days, as text."""
        return " to ".join(map(str, self.days)) + (
            "" if "export" in self.event["words"] else ", kept for the budget period"
        )


@dataclass(frozen=True)
class Entry(Charged):
    """One charge as people read it."""

    epsilon: float  # of this charge alone, at the first of DELTAS
    total_epsilon: float  # of all charges up to it
    state: str
    meters: int | None = None  # on its list, if it has one that the ledger knows


@dataclass(frozen=True)
class Statement:
    """Everything charged under one name, oldest first."""

    budget: PrivacyBudget
    entries: tuple[Entry, ...]
    total: Charge

    @property
    def title(self) -> str:
        who = self.budget
        name = self.entries[-1].event.get("label") or who.population
        names = ", ".join(dict.fromkeys((name, who.period)))  # simulated households have one for both
        return f"{names}: {UNIT_OF.get(who.adjacency, who.unit)} ({who.adjacency})"


def statements(
    events: Sequence[dict], sizes: Mapping[str, int], unfinished: Set[tuple[str, int]] = frozenset()
) -> list[Statement]:
    """Return what was charged under every name, lost attempts included and charges that were taken back not.

    ``sizes`` are how many meters are on each list. Of the attempts that were not stored, ``unfinished``
    (:meth:`Ledger.unfinished`) are not lost.
    """
    back = {(event["request"], event["attempt"]) for event in events if event["kind"] == CANCELLED}
    charged = [e for e in events if e["kind"] == CHARGED and (e["request"], e["attempt"]) not in back]
    last = {event["request"]: event["kind"] for event in events if event["kind"] in (CHARGED, *_STATES)}
    out = []
    for who in dict.fromkeys(PrivacyBudget(**event["account"]) for event in charged):
        mine = [event for event in charged if PrivacyBudget(**event["account"]) == who]
        latest = {event["request"]: event["attempt"] for event in mine}
        total, entries = NOTHING, []
        for event in mine:
            charge = Charge.of_event(event)
            total += charge
            meters = sizes.get(event.get("meters"))
            stored = event["attempt"] == latest[event["request"]] and _STATES.get(last[event["request"]])
            if stored and Charged(event).of_library:
                stored = "returned to whoever called fit, so it counts as published"
            goes_on = (event["request"], event["attempt"]) in unfinished
            state = stored or (_GOES_ON if goes_on else "lost before it was stored")
            entries.append(Entry(event, epsilon_of(charge, DELTAS[0]), epsilon_of(total, DELTAS[0]), state, meters))
        newest = {(one.what, *one.days): one for one in entries if one.state == _STATES[PUBLISHED]}
        for number, one in enumerate(entries):
            if one.state == _STATES[PUBLISHED] and newest[one.what, *one.days] is not one:
                entries[number] = replace(one, state=f"{one.state}; a later one covers the same days")
        out.append(Statement(who, tuple(entries), total))
    return out


def most_by_period(ledger: Ledger) -> list[str]:
    """Return a sentence for every budget period: what its meters have spent at most, and what is left to all."""
    lines, left = [], ledger.left()
    for period, charges in ledger.spent().items():
        if not charges:  # only a limit was raised
            continue
        lines.append(
            f"In '{period}' no meter has spent more than {_most(charges)}; the lowest {_fits(*left[period])}."
        )
    if len(lines) > 1:
        lines.append(f"In all budget periods together no meter has spent more than {_most(ledger.spent_in_all())}.")
    return lines


def _fits(left: float, limit: Limit) -> str:
    more = f"one more release of epsilon {left:g} would fit" if left else "nothing is left"
    return f"limit is epsilon {limit.epsilon:g} at delta {limit.delta:g}; {more}"


def _most(charges: Sequence[Charge]) -> str:
    return ", ".join(f"epsilon {epsilon_text(max(epsilon_of(c, d) for c in charges))} at delta {d:g}" for d in DELTAS)


def sentence(ledger: Ledger, meter: str | None = None) -> str:
    """Return what a ledger says of all releases, or of those about one meter, which is not named."""
    lines: list[str] = []
    if meter is None:
        events, last, ever = ledger.events(), most_by_period(ledger), ledger.spent_in_all()
    else:
        events, by_period, ever = ledger.of_meter(meter)
        last = [
            f"This meter has spent {_most(spent)} in '{period}'; its {_fits(*left)}."
            for period, (spent, left) in sorted(by_period.items())
        ]
        if len(by_period) > 1:
            last.append(f"In all budget periods together it has spent {_most(ever)}.")
        last = last or [
            "No release was about this meter, provided that its id is written as on the lists of releases."
        ]
    for statement in statements(events, ledger.sizes(), ledger.unfinished()):
        lines.append(statement.title)
        for entry in statement.entries:
            event, of = entry.event, "" if entry.meters is None else f" of {entry.meters:,} meters"
            lines.append(
                f"  {event['at_utc'][:10]}  {entry.what}{of} ({entry.readings}), request {event['request'][:12]}: "
                f"epsilon {epsilon_text(entry.epsilon)} at delta {DELTAS[0]:g}, {entry.state}"
            )
        spent = ", ".join(f"epsilon {epsilon_text(epsilon_of(statement.total, d))} at delta {d:g}" for d in DELTAS)
        lines.append(f"  spent by these: {spent}")
    for event in events:
        if event["kind"] == RAISED:
            name, limit = PrivacyBudget(**event["account"]), event["cap"]
            lines.append(
                f"{event['at_utc'][:10]}  limit of epsilon {limit['epsilon']:g} at delta {limit['delta']:g} stated "
                f"for the meters of '{name.population}' in '{name.period}'"
            )
    of_readings = all(
        event["account"]["adjacency"] != Adjacency.CLASS_LABEL for event in events if event["kind"] == CHARGED
    )
    lines += [*last, *(_odds(ever) if of_readings else [])]
    return "\n".join(lines) + "\n" if lines else "Nothing has been released.\n"


def _odds(spent: Sequence[Charge]) -> list[str]:
    """Say what these charges together let somebody find out about one meter."""
    if not spent:
        return []
    epsilon = max(epsilon_of(charge, DELTAS[0]) for charge in spent)
    stated = Bounds.stated({"epsilon": epsilon, "delta": DELTAS[0]}).naming(2)
    exact = max(Bounds.of_charge(charge, DELTAS[0]).naming(2) for charge in spent)
    return [
        "Whoever has all of these files, knows all other meters and must guess which of two equally likely sets of "
        f"readings one meter had is right at most {bound(exact)} of the time by the noise that was drawn "
        f"({bound(stated)} by epsilon and delta alone); tossing a coin is right 50 % of the time."
    ]


_STATES = {
    STORED: "stored, not published: running the same release again publishes it at no cost",
    PUBLISHED: "published",
}
_GOES_ON = "stopped; running the same release again resumes it at no cost"


def migrate(ledger: Ledger) -> dict[str, int]:
    """Rewrite a ledger in the form of this version; return how many events and stored releases it has.

    A charge without the list of its meters, which an earlier version knew by a digest alone, counts for every meter
    until a release shows that list. Refused if it is of this version already, was tampered with, or the disk is full;
    then it stays as it was.
    """
    with ledger.alone():
        if not is_of_earlier_version(ledger.path):
            raise InputError("needs no migration", file=ledger.path, hint="use it as it is")
        events, stored = _checked(ledger)
        new_path, new_copy = (path.with_name(f".{path.name}.part") for path in (ledger.path, ledger.copy_path))
        for path in (new_path, new_copy):
            path.unlink(missing_ok=True)
        LedgerFile(new_path, new_copy, ledger.key_path).close()  # makes tables and key
        with cannot_write(new_path), closing(sqlite3.connect(new_path)) as base, base:
            base.executemany("INSERT INTO events (body, hash) VALUES (?, ?)", events)
        moved = [
            {"kind": MOVED, "request": request, "archive": ledger.keep(files)} for request, files in stored.items()
        ]
        with closing(LedgerFile(new_path, new_copy, ledger.key_path)) as file:
            file.append(moved)
            file.verified()
        with cannot_write(ledger.path):
            # Between the two the copy lacks the last events, which a copy may.
            os.replace(new_path, ledger.path)
            if new_copy.exists():
                os.replace(new_copy, ledger.copy_path)
    return {"events": len(events) + len(moved), "stored releases": len(moved)}


def _checked(ledger: Ledger) -> tuple[list[tuple[str, str]], dict[str, dict[str, bytes]]]:
    """Return events and stored files by request, after checking both as that version did."""
    with cannot_write(ledger.path), closing(sqlite3.connect(ledger.path)) as base:
        rows = base.execute("SELECT body, hash FROM events ORDER BY number").fetchall()
        stored: dict[str, dict[str, bytes]] = {}
        for request, name, data in base.execute("SELECT request, name, bytes FROM files ORDER BY request, name"):
            stored.setdefault(request, {})[name] = data
    before, declared = "", {}
    for body, digest in rows:
        if digest != chain(before, body):
            raise tampered(ledger.path, "has an event that was changed")
        before = digest
        event = json.loads(body)
        if event["kind"] == STORED:
            declared[event["request"]] = event["files"]
    if {request: _digests(files) for request, files in stored.items()} != declared:
        raise tampered(ledger.path, "has a stored file that was changed")
    if ledger.copy_path.exists():
        with cannot_write(ledger.copy_path), closing(sqlite3.connect(ledger.copy_path)) as copy:
            kept = copy.execute("SELECT body, hash FROM events ORDER BY number").fetchall()
        if rows[: len(kept)] != kept:
            raise tampered(ledger.path, "lacks an event that its copy has")
    return rows, stored


def _digests(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
