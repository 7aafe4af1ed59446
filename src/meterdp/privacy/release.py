"""A release: checked, charged, drawn and stored, in this order. The one place where release noise is made.

What is released is a sequence of parts, each with a charge of its own. A part is fixed by public settings before any
record is seen; its ``answer`` alone sees records and noise, and its ``render`` sees nothing but answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from meterdp.privacy.guarantee import Guarantee, Limit
from meterdp.privacy.ledger import Ledger, Request
from meterdp.privacy.noise import SafeNoise
from meterdp.privacy.policy import check_release

Files = dict[str, bytes]


@dataclass(frozen=True)
class Part:
    """One charge, and what is drawn for it.

    Parameters
    ----------
    request : Request
        What the ledger is asked for.
    guarantee : Guarantee
        What is claimed of it.
    households : int
        Of the public list, or records.
    answer : callable
        (records, noise, files of the parts before it) -> answers. The only call that sees records, and the only one
        that is handed a source of noise.
    render : callable
        (answers, files of the parts before it) -> files by name.
    """

    request: Request
    guarantee: Guarantee
    households: int
    answer: Callable[[Any, SafeNoise, Sequence[Files]], Any]
    render: Callable[[Any, Sequence[Files]], Mapping[str, bytes]]


def release(
    parts: Sequence[Part], records: Any, ledger: Ledger, limit: Limit, ready: Callable[[], None] | None = None
) -> list[Files]:
    """Return the files of parts that are of no use without one another: all are charged, or none.

    Each is drawn at most once: the same request gets the stored files, byte for byte. Other processes may use the
    ledger while noise is drawn; one that asks for the same release waits.

    Parameters
    ----------
    parts : sequence of Part
        All about the same meters and days.
    records
        What the mechanisms of the parts take.
    ledger : Ledger
    limit : Limit
        What the meters may spend in their budget period.
    ready : callable, optional
        Called between charge and draw. If it raises, nothing was drawn, and the charge is taken back.

    Raises
    ------
    InputError
        If the policy refuses a part, a meter would pass a limit, or the ledger was changed or cannot be written.
    """
    for part in parts:
        check_release(part.guarantee, part.households, limit)
    requests, noise, released = [part.request for part in parts], SafeNoise(), []
    with ledger.asked_once(requests):
        attempts = ledger.charge(requests, limit)
        if attempts and ready is not None:
            try:
                ready()
            except BaseException:
                ledger.cancel(attempts)
                raise
        for part in parts:
            key = part.request.key
            if key in attempts:
                files = dict(part.render(part.answer(records, noise, released), released))
                ledger.store(key, attempts[key], files)
            else:
                files = ledger.stored(key)
            released.append(files)
    return released


def release_unrecorded(answer: Callable[[Any, SafeNoise], Any], records: Any) -> Any:
    """Return an answer that no ledger knows of: whoever asks adds up what was spent."""
    return answer(records, SafeNoise())
