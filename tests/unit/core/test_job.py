"""What every adapter runs in: threads capped, failures with one sentence."""

import numpy as np
import pytest
import sklearn.cluster  # noqa: F401  (brings OpenMP)
from threadpoolctl import threadpool_info, threadpool_limits

from meterdp.core.errors import InputError
from meterdp.core.job import REFUSAL, job


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
        raise InputError("is not a file", field="export.path", remedy="give the path of the meter export")
    assert [line.startswith(REFUSAL) for line in (tmp_path / "a.log").read_text().splitlines() if line] == [True]
