"""End a run of Snakemake within ten seconds of SIGTERM.

Left alone Snakemake waits for running jobs, which may take minutes, and its handler can block on a lock that the
interrupted thread holds. What a job writes appears only when it is complete, so jobs can be ended at any moment.
"""

from __future__ import annotations

import os
import signal
import threading
import time

import psutil

# To jobs for clearing up, then to Snakemake for clearing up after them.
GRACE_S = 4.0
EXIT_STATUS = 128 + signal.SIGTERM


def stop_on_sigterm() -> None:
    """Make SIGTERM end the jobs of this process, then the process; call it when Snakemake has set its own handler."""
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


def _end() -> None:
    _signal_children(signal.SIGTERM)
    _wait(GRACE_S, lambda: not _children())
    _signal_children(signal.SIGKILL)
    time.sleep(
        GRACE_S
    )  # Snakemake sees its jobs fail, removes what they left and its lock, and ends before this does
    _signal_children(signal.SIGKILL)
    os._exit(EXIT_STATUS)


def _wait(seconds: float, over) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not over():
        time.sleep(0.05)


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
