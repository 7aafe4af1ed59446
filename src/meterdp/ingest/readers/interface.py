"""The one interface of all readers, and their registry.

A new format is a file like ``long_csv.py`` and a line in :data:`READERS`; the configuration offers what stands there.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

from meterdp.errors import InputError
from meterdp.ingest.batch import Batch
from meterdp.ingest.readers import cer, green_button, lcl_csv, long_csv, nem12, parquet, wide_csv
from meterdp.ingest.settings import ExportSettings
from meterdp.ingest.streams import Limit

__all__ = ["READERS", "Batch", "Reader", "reader"]


class Reader(Protocol):
    """Read one export format in bounded memory."""

    def __call__(self, path: str | Path, settings: ExportSettings, *, batch_bytes: int = ...) -> Iterator[Batch]:
        """Yield every reading of the export in the order of the file.

        Parameters
        ----------
        path : path-like
            The export: a file, or a folder or zip of several where the format allows it.
        settings : ExportSettings
            How it is written.
        batch_bytes : int
            About how many bytes of the export make a batch; the readings do not depend on it.

        Yields
        ------
        Batch
            Consecutive readings, nothing left out: what is unusable is for the caller to count.

        Raises
        ------
        InputError
            At the first field that cannot be read, naming file, row and column.
        """


READERS: dict[str, Reader] = {
    "long_csv": long_csv.batches,
    "wide_csv": wide_csv.batches,
    "lcl_csv": lcl_csv.batches,
    "parquet": parquet.batches,
    "cer": cer.batches,
    "nem12": nem12.batches,
    "green_button": green_button.batches,
}

# Those that read several blocks at once, if they may, and those that go through a file before they yield anything.
_THREADED, TWICE = ("long_csv", "lcl_csv"), ("nem12", "green_button")


def reader(name: str, threads: int = 1, limit: Limit | None = None, listed: Container[str] | None = None) -> Reader:
    """Return the reader of a format.

    Parameters
    ----------
    name : str
    threads : int
        It may use so many.
    limit : Limit, optional
        Where to stop, for a reader that looks at all of a file before it yields anything. It then leaves out the
        household it stopped at, and does not mind what may stand further on: links, and the end of the file.
    listed : collection of str, optional
        The public list of meters, for the same readers: they hold no others.

    Raises
    ------
    InputError
        If there is none.
    """
    if name not in READERS:
        raise InputError("is not a known choice", field="export.format", hint=f"give one of {', '.join(READERS)}")
    own = {"threads": threads} if name in _THREADED else {"limit": limit, "listed": listed} if name in TWICE else {}
    return partial(READERS[name], **own)
