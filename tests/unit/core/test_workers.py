"""Work shared out among processes is all done, and what goes wrong in one of them is told."""

import multiprocessing
import os

import pytest

from meterdp.core.steps import in_processes
from meterdp.errors import InputError


def touch(folder, name):
    (folder / name).write_text(str(os.getpid()))


@pytest.mark.parametrize("processes", [1, 2, 3, 50])
def test_every_call_is_made_once_and_shared_out(tmp_path, processes):
    in_processes(touch, [(tmp_path, f"{i}") for i in range(7)], processes)
    workers = [int((tmp_path / f"{i}").read_text()) for i in range(7)]
    assert len(set(workers)) == min(processes, 7) and os.getpid() in workers
    assert len(list(tmp_path.iterdir())) == 7


def test_nothing_to_do_starts_no_process():
    in_processes(touch, [], 4)
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("culprit", [0, 1, 5])
def test_an_error_of_any_process_is_raised_here(culprit):
    def work(i):
        if i == culprit:
            raise InputError("is not right", hint="mend it", field="a")

    with pytest.raises(InputError, match="field 'a': is not right; mend it"):
        in_processes(work, [(i,) for i in range(6)], 2)


def test_a_process_that_dies_is_noticed():
    parent = os.getpid()

    def work(i):
        if os.getpid() != parent:
            os._exit(9)

    with pytest.raises(ChildProcessError, match="code 9"):
        in_processes(work, [(i,) for i in range(4)], 2)


def test_where_it_failed_is_told_without_what_it_says(capfd):
    def work(i):
        if i == 1:
            raise ValueError("4711")

    with pytest.raises(ValueError, match="4711"):
        in_processes(work, [(0,), (1,)], 2)
    told = capfd.readouterr().err
    assert 'raise ValueError("4711")' in told and "ValueError: 4711" not in told
