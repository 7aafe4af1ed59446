"""Releases on a disk that is full at one point or another, each in a process of its own.

``python -m tests.unit.release.full_disk FOLDER`` fills the file system of FOLDER, which should be a small one, to
ever less space.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from meterdp.errors import InputError
from meterdp.privacy.charge import Charge
from meterdp.privacy.guarantee import Limit, PrivacyBudget
from meterdp.privacy.ledger import Ledger, Request
from meterdp.privacy.spent import CHARGED, STORED
from tests.unit.release.charged import released

BUDGET = PrivacyBudget("one household", "replace_one", "made-up town", "2026")
WIDE = Limit(12.0, 1e-5)
FILE_BYTES = 60_000


def request(name: str) -> Request:
    """Return a request like any other."""
    return Request(BUDGET, {"mechanism": name}, Charge(0.05))


def _release(folder: Path, name: str, limit: Callable[[Path], None], drew, said) -> None:
    limit(folder)

    def draw():
        drew.value += 1
        return {"a": os.urandom(FILE_BYTES), "b": b"small"}

    try:
        released(Ledger(folder / "ledger.sqlite"), request(name), WIDE, draw)
        said.send("")
    except InputError as error:
        said.send(str(error))
    except BaseException as error:
        said.send(f"{type(error).__name__}: no sentence for the user")


def attempt(folder: Path, name: str, limit: Callable[[Path], None] = lambda folder: None) -> tuple[int, str]:
    """Release under a limit; return how often noise was drawn, and what was said, nothing if all went well."""
    context = multiprocessing.get_context("fork")
    drew, (mine, theirs) = context.Value("i", 0), context.Pipe(duplex=False)
    process = context.Process(target=_release, args=(folder, name, limit, drew, theirs))
    process.start()
    said = mine.recv()
    process.join()
    return drew.value, said


def checked(folder: Path, number: int, limit: Callable[[Path], None], undo: Callable = lambda: None) -> str:
    """Release under a limit, then without; return where the first attempt ended, after checking what must hold."""
    name = f"request {number}"
    before = sum(e["kind"] == CHARGED for e in Ledger(folder / "ledger.sqlite").events())
    drawn, said = attempt(folder, name, limit)
    undo()
    ledger = Ledger(folder / "ledger.sqlite")
    mine = [e for e in ledger.events() if e["request"] == request(name).key]
    charged, stored = (sum(e["kind"] == kind for e in mine) for kind in (CHARGED, STORED))
    assert drawn <= charged <= 1 and stored <= drawn, "what was drawn was not charged"
    assert ("cannot be written" in said and said.endswith("correct its permissions.")) or not said, said
    kept = stored or (drawn and ledger.drawn(request(name).key, charged).goes_on)
    again, refused = attempt(folder, name)
    assert not refused, refused
    events = ledger.events()
    mine = [e for e in events if e["request"] == request(name).key]
    now = sum(e["kind"] == CHARGED for e in mine)
    assert drawn + again <= now <= 1 + (drawn and not kept) and [e["kind"] for e in mine].count(STORED) == 1
    assert again == (0 if kept else 1), "a second draw for one request, or none"
    assert sum(e["kind"] == CHARGED for e in events) == before + now
    assert not list(folder.glob(".*.part")), "a half copy was left"
    if not said:
        return "went well"
    if not charged:
        return "before the charge"
    return "after it was stored" if stored else "after the draw" if drawn else "before the draw"


def largest_file(more_bytes: int) -> Callable[[Path], None]:
    """No file of the process may become larger than the ledger is, and so much more or less."""

    def limit(folder: Path) -> None:
        most = max((folder / "ledger.sqlite").stat().st_size + more_bytes, 0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    return limit


def filled(folder: Path) -> Iterator[str]:
    """Fill a small file system to ever less space and release."""
    attempt(folder, "first")
    ballast = folder / "ballast"
    for number, free in enumerate(range(0, 240_000, 8192)):

        def fill(folder, free=free):
            space = os.statvfs(folder)
            ballast.write_bytes(b"\0" * max(space.f_bavail * space.f_frsize - free, 0))

        yield checked(folder, number, fill, lambda: ballast.unlink(missing_ok=True))


if __name__ == "__main__":
    print("\n".join(filled(Path(sys.argv[1]))))
