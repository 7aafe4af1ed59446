"""What every adapter in workflow/scripts does around its one call: log, one-sentence errors, marked Parquet.

The log gets all that goes to standard error; the terminal gets progress and, on bad input, one sentence. Whether the
readings are synthetic is carried from the inputs' metadata to every output.
"""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from threadpoolctl import threadpool_limits

from meterdp.core.errors import REFUSAL, InputError
from meterdp.core.parquet import metadata_of, write_table
from meterdp.core.tables import Table


class _Tee:
    """Write to the terminal and the log."""

    def __init__(self, *streams):
        self._streams = streams

    def write(self, text: str) -> int:
        for stream in self._streams:
            stream.write(text)
        return len(text)

    def flush(self) -> None:
        for stream in self._streams:
            stream.flush()


def carried_metadata(inputs: Iterable) -> dict[str, str]:
    """Return ``{"synthetic": "yes" | "no"}`` as the first Parquet input says, or nothing."""
    for path in map(Path, inputs):
        if path.suffix == ".parquet" and path.is_file():
            synthetic = metadata_of(path).get("synthetic")
            if synthetic:
                return {"synthetic": synthetic}
    return {}


def _leave(signum, frame) -> None:
    """End as an error does, so that nothing half-written is left behind."""
    sys.exit(128 + signum)


@contextmanager
def job(inputs: Iterable, log: Iterable, threads: int = 1) -> Iterator[Callable[[str, Table, object], None]]:
    """Run one adapter; BLAS and OpenMP keep to ``threads`` threads meanwhile.

    Parameters
    ----------
    inputs : iterable of path
        Input files of the rule; list-valued inputs are flattened by Snakemake.
    log : iterable of path
        The rule's log file, first entry.
    threads : int
        What the scheduler gave to each call of a library: 1, unless the rule asks for more and does not use them
        itself. On matrices of the size of a profile more threads wait for each other most of the time.

    Yields
    ------
    write : callable (path, table, data) -> None
        :func:`meterdp.core.parquet.write_table` with the carried metadata.
    """
    metadata = carried_metadata(inputs)

    def write(path, table: Table, data) -> None:
        write_table(path, table, data, metadata)

    terminal = sys.stderr
    log_path = Path(next(iter(log)))
    log_path.parent.mkdir(parents=True, exist_ok=True)
    before = signal.signal(signal.SIGTERM, _leave)
    with log_path.open("w") as file:
        sys.stderr = _Tee(terminal, file)
        try:
            with threadpool_limits(threads):
                yield write
        except InputError as error:
            print(f"\n{REFUSAL} {error}\n", file=sys.stderr, flush=True)
            sys.exit(1)
        except Exception:
            traceback.print_exc(file=sys.stderr)
            sys.exit(1)
        finally:
            sys.stderr.flush()
            sys.stderr = terminal
            signal.signal(signal.SIGTERM, before)
