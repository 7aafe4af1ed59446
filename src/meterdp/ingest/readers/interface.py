"""The one interface of all readers, and their registry.

A new format is a file like ``long_csv.py`` and a line in :data:`READERS`; the configuration offers what stands there.
How ``meterdp check`` recognises it is said in ``inference`` (docs/extending.md has the recipe).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import partial

from meterdp.errors import InputError
from meterdp.ingest.batch import Batch
from meterdp.ingest.readers import cer, green_button, long_csv, nem12, parquet, wide_csv
from meterdp.ingest.streams import Limit


@dataclass(frozen=True)
class Format:
    """An export format: its reader, and what the rest of ingestion must know of it.

    ``batches(path, settings, batch_bytes=...)`` yields every reading of an export, which is a file, or a folder or
    zip of several where the format allows it, in the order of the file and in bounded memory. About ``batch_bytes``
    of it make a batch; the readings do not depend on it. Nothing is left out: what is unusable is for the caller to
    count. Raises ``InputError`` at the first field that cannot be read, naming file, row and column.
    """

    batches: Callable[..., Iterator[Batch]]
    title: str  # what a terminal calls it
    threaded: bool = False  # whether the reader takes ``threads`` and then reads several blocks at once
    # Of a reader that goes through a file before it yields anything: how much of a file a check looks at.
    trial_bytes: int | None = None

    @property
    def reads_ahead(self) -> bool:
        return self.trial_bytes is not None


READERS: dict[str, Format] = {
    "long_csv": Format(long_csv.batches, "CSV, a row per reading", threaded=True),
    "wide_csv": Format(wide_csv.batches, "wide CSV, a row per meter and day"),
    "lcl_csv": Format(long_csv.lcl_batches, "Low Carbon London CSV", threaded=True),
    "parquet": Format(parquet.batches, "Parquet, a row per reading", threaded=True),
    "cer": Format(cer.batches, "the layout of the Irish trial, with day codes"),
    "nem12": Format(nem12.batches, "NEM12", trial_bytes=1 << 22),
    "green_button": Format(green_button.batches, "Green Button XML", trial_bytes=1 << 22),
}


def format_named(name: str) -> Format:
    """Return a format's entry in the registry, or raise ``InputError`` if there is none."""
    if name not in READERS:
        raise InputError("is not a known choice", field="export.format", hint=f"give one of {', '.join(READERS)}")
    return READERS[name]


def reader(name: str, threads: int = 1, limit: Limit | None = None, listed: Container[str] | None = None) -> Callable:
    """Return the reader of a format, or raise ``InputError`` if there is none; it may use so many ``threads``.

    ``limit`` and ``listed`` are for a reader that looks at all of a file before it yields anything. A limit says
    where to stop: it then leaves out the household it stopped at, and does not mind what may stand further on: links,
    and the end of the file. It holds no other meters than those of the public list ``listed``.
    """
    entry = format_named(name)
    own = {"threads": threads} if entry.threaded else {"limit": limit, "listed": listed} if entry.reads_ahead else {}
    return partial(entry.batches, **own)
