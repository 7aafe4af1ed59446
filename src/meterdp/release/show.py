"""What a ledger says, in words (``meterdp ledger show``).

One block per account: every charge with its date, and what all of them cost together. :mod:`meterdp.figures.ledger`
draws the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from meterdp.release.account import UNIT_OF, Account
from meterdp.release.ledger import CHARGED, NOTHING, PUBLISHED, STORED, Charge, epsilon_of

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
    """Everything charged to one account, oldest first."""

    account: Account
    entries: tuple[Entry, ...]
    total: Charge

    @property
    def title(self) -> str:
        """Whose privacy, when, and what of it."""
        who = self.account
        return f"{who.population}, {who.period}: {UNIT_OF.get(who.adjacency, who.unit)} ({who.adjacency})"


def statements(events: Sequence[dict]) -> list[Statement]:
    """Return what was charged to every account, lost attempts included."""
    out, last = [], {event["request"]: event["kind"] for event in events}
    for who in dict.fromkeys(Account(**event["account"]) for event in events):
        mine = [e for e in events if e["kind"] == CHARGED and Account(**e["account"]) == who]
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


def in_words(events: Sequence[dict]) -> str:
    """Return the ledger as text."""
    lines: list[str] = []
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
    return "\n".join(lines) + "\n" if lines else "Nothing has been released.\n"


_STATES = {STORED: "stored", PUBLISHED: "published"}
