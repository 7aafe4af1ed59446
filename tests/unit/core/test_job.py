"""What every adapter runs in: threads capped, failures with one sentence, no private number told; and how it ends."""

import ctypes
import errno
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
import sklearn.cluster  # noqa: F401  (brings OpenMP)
from threadpoolctl import threadpool_info, threadpool_limits

from meterdp.core.job import EXIT_STATUS, GRACE_S, REFUSAL, STOPPED, job, progress
from meterdp.errors import InputError
from meterdp.forecasting import arma


def threads_in_use():
    return [library["num_threads"] for library in threadpool_info()]


@pytest.mark.parametrize("threads", [1, 2])
def test_libraries_keep_to_the_threads_the_scheduler_gave(tmp_path, threads):
    with threadpool_limits(3):
        before = threads_in_use()
        with job([], [tmp_path / "a.log"], threads):
            np.eye(3) @ np.eye(3)
            assert threads_in_use() and max(threads_in_use()) <= threads
        assert threads_in_use() == before


def test_a_job_has_one_thread_unless_it_is_given_more(tmp_path):
    with job([], [tmp_path / "a.log"]):
        assert set(threads_in_use()) == {1}


def test_bad_input_ends_a_job_with_one_sentence(tmp_path):
    with pytest.raises(SystemExit), job([], [tmp_path / "a.log"]):
        raise InputError("is not a file", field="export.path", hint="give the path of the meter export")
    assert [line.startswith(REFUSAL) for line in (tmp_path / "a.log").read_text().splitlines() if line] == [True]


SECRET = "Wilhelmina Quackenbush read 7.318264519"


def quotes_a_record(kind):
    raise kind(f"could not convert {SECRET}")


def fails(tmp_path, capsys, error):
    """What a job says, on the terminal and in its log, when ``error`` is called in it."""
    with pytest.raises(SystemExit) as left, job([], [tmp_path / "a.log"]):
        error()
    assert left.value.code == 1
    terminal = capsys.readouterr().err
    assert (tmp_path / "a.log").read_text() == terminal
    return terminal


@pytest.mark.parametrize("kind", [ValueError, KeyError, RuntimeError, UnicodeError])
def test_an_error_that_quotes_a_record_is_shown_without_what_it_says(tmp_path, capsys, kind):
    said = fails(tmp_path, capsys, lambda: quotes_a_record(kind))
    assert "Quackenbush" not in said and "7.318" not in said
    assert "in quotes_a_record" in said and kind.__name__ in said and "raise kind(f" in said


def test_neither_do_the_errors_it_came_from_say_it(tmp_path, capsys):
    def chained():
        try:
            quotes_a_record(KeyError)
        except KeyError as first:
            try:
                raise ValueError(SECRET)
            except ValueError:
                raise RuntimeError(SECRET) from first

    said = fails(tmp_path, capsys, chained)
    assert "Quackenbush" not in said and "KeyError" in said and "Which led to" in said and "RuntimeError" in said


def test_a_full_disk_is_said_in_one_sentence_with_its_hint(tmp_path, capsys):
    def full():
        raise OSError(errno.ENOSPC, "No space left on device", SECRET)

    said = fails(tmp_path, capsys, full)
    sentence = next(line for line in said.splitlines() if line.startswith(REFUSAL))
    assert "No space left on device" in sentence and "free disk space" in sentence and "Quackenbush" not in said


def test_a_log_that_cannot_be_written_ends_no_job_and_hides_no_error(tmp_path, capsys):
    """/dev/full takes nothing, as a full disk does."""
    with pytest.raises(SystemExit), job([], ["/dev/full"]):
        quotes_a_record(ValueError)
    said = capsys.readouterr().err
    assert "Quackenbush" not in said and "in quotes_a_record" in said
    with job([], ["/dev/full"]):
        print("a word", file=sys.stderr)
    assert "a word" in capsys.readouterr().err


def test_a_log_in_no_folder_is_refused(tmp_path, capsys):
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit), job([], [tmp_path / "file/a.log"]):
        raise AssertionError("the job ran")
    assert capsys.readouterr().err.strip().startswith(REFUSAL)


@pytest.mark.parametrize("follows", [None, TypeError, InputError])
def test_a_job_that_is_stopped_within_compiled_code_says_nothing(tmp_path, capsys, follows):
    """C swallows what a callback raises, says so, and goes on without its result."""
    with pytest.raises(SystemExit) as left, job([], [tmp_path / "a.log"]):
        ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGTERM))()
        if follows is not None:
            raise follows("no result")
    assert left.value.code == EXIT_STATUS
    assert (tmp_path / "a.log").read_text() == capsys.readouterr().err == ""


def test_numbers_are_told_where_they_are_public(capsys):
    assert list(progress(range(3), "trials", every_s=0.0)) == [0, 1, 2]
    assert re.findall(r"trials: (\d)/3 \(0 s\)", capsys.readouterr().err) == ["0", "1", "2"]


def test_tens_of_per_cent_are_told_where_they_are_not(capsys):
    assert list(progress(range(37), "fits", every_s=0.0, private=True)) == list(range(37))
    told = re.findall(r"fits: (.*) \(0 s\)", capsys.readouterr().err)
    assert told[0] == "0 %" and told[-1] == "90 %" and {int(t.split()[0]) % 10 for t in told} == {0}


@pytest.mark.parametrize("threads", [1, 2])
def test_fits_do_not_tell_how_many_households_are_kept(monkeypatch, capsys, threads):
    monkeypatch.setattr("meterdp.core.job.progress", lambda *given, **more: progress(*given, **more, every_s=0.0))
    rows = np.random.default_rng(1).normal(size=(23, 200))
    assert len(arma.fit_households(rows, arma.ArmaSettings(order=(1, 0), starts=1), threads)) == 23
    said = capsys.readouterr().err
    assert "ARMA fits: 90 %" in said and "23" not in re.sub(r"\(\d+ s\)", "", said)


# SIGTERM ends a run and all it started, whatever they do about it.
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
stopped = stop.stop_on_sigterm()
assert not stopped()
with lock:
    # Only now may the signal come: its handler would take the lock first and keep it.
    print(*(job.pid for job in jobs), flush=True)
    if {ends}:
        for job in jobs:
            job.wait()
        print(*(job.returncode for job in jobs), stopped(), flush=True)
    else:
        time.sleep(600)
"""


def end(actions, ends):
    process = subprocess.Popen(
        [sys.executable, "-c", RUN.replace("{actions}", repr(actions)).replace("{ends}", repr(ends))
         .replace("{{action}}", "{action}")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    children = list(map(int, process.stdout.readline().split()))
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)
    output, said = process.communicate(timeout=60)
    assert said.strip() == STOPPED
    deadline = time.monotonic() + 60
    while any(map(psutil.pid_exists, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(psutil.pid_exists, children))
    return process.returncode, output.split()


@pytest.mark.parametrize("actions", [["SIG_DFL"], ["SIG_IGN", "SIG_DFL"]])
def test_a_run_that_hangs_is_ended_with_its_jobs(actions):
    assert end(actions, ends=False) == (143, [])


def test_a_run_that_ends_by_itself_sees_how_its_jobs_ended():
    assert end(["SIG_DFL", "SIG_IGN"], ends=True) == (0, ["-15", "-9", "True"])


def test_all_of_it_takes_less_than_ten_seconds():
    assert 2 * GRACE_S < 9
