"""What a ledger says, in words (``meterdp ledger show``).

One block for everything released under one name: every charge with its date, and what all of them cost together. A
meter may be in several blocks; what counts is what it has spent in all. :mod:`meterdp.report.ledger` draws the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from meterdp.privacy.charge import NOTHING, Charge, epsilon_of
from meterdp.privacy.guarantee import UNIT_OF, PrivacyBudget
from meterdp.privacy.ledger import Ledger
from meterdp.privacy.spent import CANCELLED, CHARGED, PUBLISHED, RAISED, STORED

DELTAS = (1e-5, 1e-6)


@dataclass(frozen=True)
class Entry:
    """One charge as people read it.

    Parameters
    ----------
    event : mapping
        The event of the ledger.
    epsilon : float
        Of this charge alone, at the first of ``DELTAS``.
    total_epsilon : float
        Of all charges up to it.
    state : str
    """

    event: dict
    epsilon: float
    total_epsilon: float
    state: str


@dataclass(frozen=True)
class Statement:
    """Everything charged under one name, oldest first."""

    budget: PrivacyBudget
    entries: tuple[Entry, ...]
    total: Charge

    @property
    def title(self) -> str:
        """Whose privacy, when, and what of it."""
        who = self.budget
        name = self.entries[-1].event.get("label") or who.population
        return f"{name}, {who.period}: {UNIT_OF.get(who.adjacency, who.unit)} ({who.adjacency})"


def statements(events: Sequence[dict]) -> list[Statement]:
    """Return what was charged under every name, lost attempts included and charges that were taken back not."""
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
            lost = event["attempt"] < latest[event["request"]] or last[event["request"]] == CHARGED
            state = "lost before it was stored" if lost else _STATES[last[event["request"]]]
            entries.append(Entry(event, epsilon_of(charge, DELTAS[0]), epsilon_of(total, DELTAS[0]), state))
        out.append(Statement(who, tuple(entries), total))
    return out


def most_by_period(ledger: Ledger) -> list[str]:
    """Return a sentence for every budget period: what its meters have spent at most."""
    lines = []
    for period, charges in ledger.spent().items():
        if not charges:  # only a limit was raised
            continue
        spent = ", ".join(f"epsilon {max(epsilon_of(c, d) for c in charges):.3g} at delta {d:g}" for d in DELTAS)
        lines.append(f"No meter has spent more in '{period}' than {spent}.")
    return lines


def in_words(ledger: Ledger) -> str:
    """Return the ledger as text."""
    lines: list[str] = []
    events = ledger.events()
    for statement in statements(events):
        lines.append(statement.title)
        for entry in statement.entries:
            event = entry.event
            lines.append(
                f"  {event['at_utc'][:10]}  {event['words']['artefact']} by {event['words']['mechanism']}, request "
                f"{event['request'][:12]}: epsilon {entry.epsilon:.3g} at delta {DELTAS[0]:g}, {entry.state}"
            )
        spent = ", ".join(f"epsilon {epsilon_of(statement.total, d):.3g} at delta {d:g}" for d in DELTAS)
        lines.append(f"  spent in all: {spent}")
    for event in events:
        if event["kind"] == RAISED:
            name, limit = PrivacyBudget(**event["account"]), event["cap"]
            lines.append(
                f"{event['at_utc'][:10]}  limit of epsilon {limit['epsilon']:g} at delta {limit['delta']:g} stated "
                f"for meters of {name.population} in '{name.period}'"
            )
    lines += most_by_period(ledger)
    return "\n".join(lines) + "\n" if lines else "Nothing has been released.\n"


_STATES = {STORED: "stored", PUBLISHED: "published"}
