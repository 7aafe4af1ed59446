"""What every adapter in workflow/scripts does around its one call: log, one-sentence errors, marked Parquet.

The log gets all that goes to standard error; the terminal gets progress, which holds no value of a record, and, on
bad input, one sentence. Whether the readings are synthetic is carried from the inputs' metadata to every output. Of
an unforeseen error the log has the lines of source it passed and its type, but not what it says: libraries quote the
value they could not digest.

SIGTERM ends a run within ten seconds. Left alone Snakemake waits for running jobs, which may take minutes, and its
handler can block on a lock that the interrupted thread holds. What a job writes appears only when it is complete, so
jobs can be ended at any moment.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO, TypeVar

import psutil
from threadpoolctl import threadpool_limits

from meterdp.core.parquet import metadata_of, open_table, write_table
from meterdp.core.tables import Table
from meterdp.errors import REFUSAL, InputError

EXIT_STATUS = 128 + signal.SIGTERM
_CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)


class _Tee:
    """Write to the terminal and the log; on a full disk the log ends early, which must not end the job."""

    def __init__(self, *streams):
        self._streams = streams

    def write(self, text: str) -> int:
        for stream in self._streams:
            with suppress(OSError):
                stream.write(text)
        return len(text)

    def flush(self) -> None:
        for stream in self._streams:
            with suppress(OSError):
                stream.flush()


def carried_metadata(inputs: Iterable) -> dict[str, str]:
    """Return ``{"synthetic": "yes" | "no"}`` as the first Parquet input says, or nothing."""
    for path in map(Path, inputs):
        if path.suffix == ".parquet" and path.is_file():
            synthetic = metadata_of(path).get("synthetic")
            if synthetic:
                return {"synthetic": synthetic}
    return {}


def without_message(error: BaseException) -> str:
    """Return the traceback of an error and of those that led to it, less what they say: it may quote a record."""
    lines, seen = [], set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        kind = type(error)
        frames = "".join(traceback.format_tb(error.__traceback__))
        lines.insert(0, f"Traceback (most recent call last):\n{frames}{kind.__module__}.{kind.__qualname__}\n")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\nWhich led to:\n\n".join(lines) + "What the error says is left out, because it may quote a reading."


def _refuse(error: InputError) -> None:
    print(f"\n{REFUSAL} {error}\n", file=sys.stderr, flush=True)


def _cannot_write(error: OSError) -> InputError:
    return InputError(
        f"a file cannot be opened or written ({os.strerror(error.errno)})",
        hint="free disk space or correct the permissions, and run again",
    )


def _explain(error: Exception) -> None:
    if isinstance(error, InputError):
        return _refuse(error)
    print(without_message(error), file=sys.stderr, flush=True)
    if isinstance(error, OSError) and error.errno in _CANNOT_WRITE:
        _refuse(_cannot_write(error))


def _opened(log_path: Path) -> TextIO:
    try:
        log_path.parent.mkdir(parents=True, exist_ok=True)
        return log_path.open("w")
    except OSError as error:
        _refuse(_cannot_write(error))
        sys.exit(1)


class Writer:
    """Write tables with the metadata that the inputs of a job carry."""

    def __init__(self, metadata: dict[str, str]):
        self._metadata = metadata

    def __call__(self, path, table: Table, data) -> None:
        write_table(path, table, data, self._metadata)

    def opened(self, path, table: Table):
        """Write a table piece by piece; see :func:`meterdp.core.parquet.open_table`."""
        return open_table(path, table, self._metadata)


@contextmanager
def job(inputs: Iterable, log: Iterable, threads: int = 1) -> Iterator[Writer]:
    """Run one adapter and yield what writes its tables; BLAS and OpenMP keep to ``threads`` threads meanwhile.

    ``log`` has one entry. Threads are what the scheduler gave to each call of a library: 1, unless the rule asks for
    more and does not use them itself. On matrices of the size of a profile more threads wait for each other most of
    the time.
    """
    terminal = sys.stderr
    file = _opened(Path(next(iter(log))))
    stopped, hook = False, sys.unraisablehook

    def leave(signum, frame) -> None:
        """End as an error does, so that nothing half-written is left behind."""
        nonlocal stopped
        stopped = True
        sys.unraisablehook = lambda _: None  # compiled code that calls Python swallows what ends the job, and says so
        sys.exit(EXIT_STATUS)

    before = signal.signal(signal.SIGTERM, leave)
    sys.stderr = _Tee(terminal, file)
    try:
        with threadpool_limits(threads):
            yield Writer(carried_metadata(inputs))
    except KeyboardInterrupt:  # whoever stops a run needs no traceback
        sys.exit(130)
    except Exception as error:
        if not stopped:
            _explain(error)
            sys.exit(1)
    finally:
        sys.stderr.flush()
        sys.stderr = terminal
        with suppress(OSError):
            file.close()
        signal.signal(signal.SIGTERM, before)
        sys.unraisablehook = hook
    if stopped:
        sys.exit(EXIT_STATUS)


T = TypeVar("T")


def progress(
    items: Iterable[T], label: str, total: int | None = None, every_s: float = 5.0, private: bool = False
) -> Iterator[T]:
    """Yield ``items`` and print ``label: done/total (elapsed)`` at most once in ``every_s`` seconds.

    Snakemake runs several jobs at once, so whole lines are printed instead of a bar that redraws itself. Where the
    number of items is private, such as that of households that are kept, tens of per cent are printed, and no number.
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


# To jobs for clearing up, then to Snakemake for clearing up after them.
GRACE_S = 4.0
STOPPED = "Stopped. Finished steps are kept: run the same command to go on from there."


def stop_on_sigterm() -> Callable[[], bool]:
    """Make SIGTERM end the jobs of this process, then the process; call it when Snakemake has set its own handler.

    Returns what tells whether that has begun.
    """
    graceful = signal.getsignal(signal.SIGTERM)
    begun = threading.Event()

    def handler(signum, frame) -> None:
        if not begun.is_set():
            begun.set()
            # In threads, because a handler runs inside whatever holds the locks.
            if callable(graceful):
                threading.Thread(target=graceful, args=(signum, None), daemon=True).start()
            threading.Thread(target=_end, daemon=True).start()

    signal.signal(signal.SIGTERM, handler)
    return begun.is_set


def _end() -> None:
    print(f"\n{STOPPED}", file=sys.stderr, flush=True)
    _signal_children(signal.SIGTERM)
    end = time.monotonic() + GRACE_S
    while time.monotonic() < end and _children():
        time.sleep(0.05)
    _signal_children(signal.SIGKILL)
    # Snakemake sees its jobs fail, removes what they left and its lock, and ends before this does.
    time.sleep(GRACE_S)
    _signal_children(signal.SIGKILL)
    os._exit(EXIT_STATUS)


def _children() -> list[psutil.Process]:
    # Never waited for here: that would take their exit status from Snakemake.
    alive = []
    for child in psutil.Process().children(recursive=True):
        try:
            if child.status() != psutil.STATUS_ZOMBIE:
                alive.append(child)
        except psutil.NoSuchProcess:
            pass
    return alive


def _signal_children(number: int) -> None:
    for child in _children():
        try:
            child.send_signal(number)
        except psutil.NoSuchProcess:
            pass
