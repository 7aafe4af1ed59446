"""Share independent calls out among processes: for work that holds the interpreter, such as drawing."""

from __future__ import annotations

import multiprocessing
import sys
import traceback
from collections.abc import Callable, Sequence


def in_processes(work: Callable[..., None], calls: Sequence[tuple], processes: int) -> None:
    """Call ``work`` with the arguments of every entry of ``calls``, dealt to processes round-robin.

    Parameters
    ----------
    work : callable
        What it does must show outside the process, in files.
    calls : sequence of tuples
        Positional arguments.
    processes : int
        This one included. Forked, not started anew: imports are shared, and a script run by Snakemake cannot be
        imported a second time.

    Raises
    ------
    Exception
        The first that a call raised; the calls after it in the same process are not made.
    """
    processes = min(processes, len(calls))
    context = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else None)
    if processes <= 1 or context.get_start_method() != "fork":
        for call in calls:
            work(*call)
        return
    # A child would write what is left in the buffers once more.
    sys.stdout.flush()
    sys.stderr.flush()
    children = []
    for first in range(1, processes):
        receiving, sending = context.Pipe(duplex=False)
        # Daemons end with this process.
        child = context.Process(target=_share, args=(work, calls[first::processes], sending), daemon=True)
        child.start()
        sending.close()
        children.append((child, receiving))
    for call in calls[::processes]:
        work(*call)
    for child, receiving in children:
        try:
            error = receiving.recv()
        except EOFError:
            child.join()
            error = ChildProcessError(f"a process ended by itself, with code {child.exitcode}")
        if error is not None:
            raise error
        child.join()


def _share(work: Callable[..., None], calls: Sequence[tuple], sending) -> None:
    error = None
    try:
        for call in calls:
            work(*call)
    except Exception as raised:
        error = raised
        # Lines of source do not travel with it; what it says may quote a record.
        sys.stderr.write("".join(traceback.format_tb(error.__traceback__)))
        sys.stderr.flush()
    sending.send(error)
