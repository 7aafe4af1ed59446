"""Progress on long work, to standard error, without a value of any record."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def progress(
    items: Iterable[T], label: str, total: int | None = None, every_s: float = 5.0, private: bool = False
) -> Iterator[T]:
    """Yield ``items`` and print ``label: done/total (elapsed)`` at most once in ``every_s`` seconds.

    Snakemake runs several jobs at once, so whole lines are printed instead of a bar that redraws itself. Where the
    number of items is private, such as that of households that are kept, tens of per cent are told, and no number.
    """
    if total is None and hasattr(items, "__len__"):
        total = len(items)  # type: ignore[arg-type]
    start = last = time.monotonic()
    of = f"/{total}" if total else ""
    for done, item in enumerate(items):
        now = time.monotonic()
        if now - last >= every_s:
            said = f"{10 * (10 * done // total)} %" if private and total else "" if private else f"{done}{of}"
            print(f"{label}: {said} ({now - start:.0f} s)", file=sys.stderr, flush=True)
            last = now
        yield item
