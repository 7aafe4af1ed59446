"""SIGTERM ends a run and all it started, whatever they do about it."""

import signal
import subprocess
import sys
import time

import psutil
import pytest

import meterdp.core.job as stop

RUN = """
import signal, subprocess, sys, threading, time
import meterdp.core.job as stop
stop.GRACE_S = 3.0 if {ends} else 0.3  # a busy machine takes a moment to end by itself
lock = threading.Lock()
signal.signal(signal.SIGTERM, lambda *_: lock.acquire())  # as Snakemake's, while the main thread selects jobs
child = "import signal, time; signal.signal(signal.SIGTERM, {}); print('ready', flush=True); time.sleep(600)"
jobs = [
    subprocess.Popen([sys.executable, "-c", child.format(f"signal.{{action}}")], stdout=subprocess.PIPE)
    for action in {actions}
]
for job in jobs:
    job.stdout.readline()
stop.stop_on_sigterm()
with lock:
    # Only now may the signal come: its handler would take the lock first and keep it.
    print(*(job.pid for job in jobs), flush=True)
    if {ends}:
        for job in jobs:
            job.wait()
        print(*(job.returncode for job in jobs), flush=True)
    else:
        time.sleep(600)
"""


def end(actions, ends):
    process = subprocess.Popen(
        [sys.executable, "-c", RUN.replace("{actions}", repr(actions)).replace("{ends}", repr(ends))
         .replace("{{action}}", "{action}")],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    children = list(map(int, process.stdout.readline().split()))
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    deadline = time.monotonic() + 60
    while any(map(psutil.pid_exists, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(psutil.pid_exists, children))
    return process.returncode, output.split()


@pytest.mark.parametrize("actions", [["SIG_DFL"], ["SIG_IGN", "SIG_DFL"]])
def test_a_run_that_hangs_is_ended_with_its_jobs(actions):
    assert end(actions, ends=False) == (143, [])


def test_a_run_that_ends_by_itself_sees_how_its_jobs_ended():
    assert end(["SIG_DFL", "SIG_IGN"], ends=True) == (0, ["-15", "-9"])


def test_all_of_it_takes_less_than_ten_seconds():
    assert 2 * stop.GRACE_S < 9
