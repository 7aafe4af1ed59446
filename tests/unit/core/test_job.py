"""What every adapter runs in: threads capped, failures with one sentence."""

import errno
import sys

import numpy as np
import pytest
import sklearn.cluster  # noqa: F401  (brings OpenMP)
from threadpoolctl import threadpool_info, threadpool_limits

from meterdp.core.job import REFUSAL, job
from meterdp.errors import InputError


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
