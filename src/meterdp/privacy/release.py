"""A release: checked, prepared, charged, drawn and stored, in this order. Release noise is made here alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from meterdp.privacy.guarantee import Limit
from meterdp.privacy.ledger import Ledger, Request
from meterdp.privacy.mechanism import Mechanism, Metered
from meterdp.privacy.noise import SafeNoise
from meterdp.privacy.policy import check_release


@dataclass(frozen=True)
class Part:
    """A mechanism, and what the ledger is asked for it, which must be the loss of the mechanism."""

    request: Request
    mechanism: Mechanism

    def __post_init__(self):
        if self.request.charge != self.mechanism.loss:
            raise ValueError("the request does not charge what the mechanism costs")


def release(
    parts: Sequence[Part], records: Any, ledger: Ledger, limit: Limit, ready: Callable[[], None] | None = None
) -> list[dict[str, bytes]]:
    """Return the files of parts that are of no use without one another: all are charged, or none.

    All are about the same meters and days. Each is drawn at most once: the same request gets the stored files, byte
    for byte, and a run that died goes on with the answers it had drawn. Other processes may use the ledger meanwhile;
    one that asks for the same release waits. ``ready`` is called between charge and draw; if it raises before
    anything was drawn, the charge is taken back.

    Raises InputError if the policy refuses a part, a meter would pass a limit, or the ledger was changed or cannot be
    written.
    """
    for part in parts:
        check_release(part.mechanism.guarantee, part.mechanism.households, limit)
    requests, released = [part.request for part in parts], []
    with ledger.asked_once(requests):
        # A run that dies while it adds up has spent nothing.
        new = ledger.check(requests, limit)
        prepared = {p.request.key: p.mechanism.prepared(records) for p in parts if p.request.key in new}
        attempts = ledger.charge(requests, limit)
        if attempts and ready is not None:
            try:
                ready()
            except BaseException:
                ledger.cancel(attempts)
                raise
        for request, mechanism in ((part.request, part.mechanism) for part in parts):
            if request.key in attempts:
                once = ledger.drawn(request.key, attempts[request.key]).source(SafeNoise())
                answers = mechanism.answer(prepared[request.key], Metered(once, request.charge), released)
                files = dict(mechanism.render(answers, released))
                ledger.store(request.key, attempts[request.key], files)
            else:
                files = ledger.stored(request.key)
            released.append(files)
    return released


def release_unrecorded(answer: Callable[[Any, SafeNoise], Any], records: Any) -> Any:
    """Return an answer that no ledger knows of: whoever asks adds up what was spent."""
    return answer(records, SafeNoise())
