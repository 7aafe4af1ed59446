"""What a user sees of a run: the running steps and what is left; and work shared out among processes."""

import logging
import multiprocessing
import os
from enum import Enum

import numpy as np
import pytest

from meterdp.core.steps import OTHERWISE_S, TYPICAL_S, StepReport, in_processes, seconds_per_job, sentence
from meterdp.errors import InputError

Event = Enum("Event", "JOB_INFO JOB_FINISHED JOB_ERROR PROGRESS JOB_STARTED RUN_INFO")


class Run:
    """A run as the events Snakemake logs, with a clock to turn."""

    def __init__(self, jobs, seconds, cores=1):
        self.now, self.lines = 0.0, []
        self.report = StepReport(jobs, seconds, cores, write=self.lines.append, clock=lambda: self.now)
        self.logger = logging.Logger("run", logging.INFO)
        self.logger.addHandler(self.report)

    def tell(self, event, **extra):
        self.logger.info("x", extra={"event": event, **extra})

    def start(self, jobid, rule, message=None):
        self.tell(Event.JOB_INFO, jobid=jobid, rule_name=rule, rule_msg=message)

    def finish(self, jobid):
        self.tell(Event.JOB_FINISHED, job_id=jobid)


def test_a_line_names_the_running_steps_and_the_end_is_said():
    run = Run({"fit": 2, "draw": 1}, lambda rule: 60.0)
    run.start(1, "fit", "Fitting, shard 002")
    assert run.lines[0].endswith("0 of 3 steps; running: fitting, shard 002"), "no estimate before something is done"
    run.now = 60
    run.finish(1)
    run.start(2, "fit", "Fitting, shard 003")
    run.now = 66
    run.start(3, "draw")
    assert run.lines[-1].endswith("1 of 3 steps, about 2 min left; running: fitting, shard 003; draw")
    run.finish(2)
    run.finish(3)
    assert run.lines[-1].endswith("all 3 steps are done")


def test_lines_keep_a_distance_and_long_lists_are_cut():
    run = Run({"fit": 9}, lambda rule: 60.0, cores=8)
    for job in range(9):
        run.start(job, "fit", f"Fit {job}")
    assert len(run.lines) == 1
    run.now = 10
    run.tell(Event.JOB_ERROR, jobid=8)
    assert run.lines[-1].endswith("running: fit 0; fit 1; fit 2; fit 3 and 4 more")


@pytest.mark.parametrize("speed", [0.5, 3.0])
def test_the_estimate_follows_the_speed_of_the_run(speed):
    run = Run({"fit": 100}, lambda rule: 30.0)
    for job in range(50):
        run.start(job, "fit")
        run.now += 30.0 / speed
        run.finish(job)
    assert run.report.left_s() == pytest.approx(50 * 30.0 / speed, rel=0.1)


STUDY = (
    "ingest profile_shard profile_shard profile_shard profile_shard household_study feeder_study fit_mixture "
    "group_forecast consumption forecast forecast forecast forecast vary_mixture fidelity compare_forecasters "
    "design_noise delta_curves draw"
).split()
OF_A_YEAR = {"ingest": 20, "profile_shard": 12, "consumption": 12, "forecast": 8} | {"household_study": 4}


@pytest.mark.parametrize("slowness", [OF_A_YEAR, dict.fromkeys(STUDY, 4), {}])
def test_what_is_said_first_is_no_promise_that_grows(slowness):
    """Steps that take longer by their own factors, as with a large export, or all of them; two at a time."""
    typical = {rule: TYPICAL_S.get(rule, OTHERWISE_S) for rule in STUDY}
    run = Run({rule: STUDY.count(rule) for rule in STUDY}, typical.get, cores=2)
    waiting, ends, said = list(enumerate(STUDY)), {}, []
    while waiting or ends:
        while waiting and len(ends) < 2:
            jobid, rule = waiting.pop(0)
            ends[jobid] = run.now + typical[rule] * slowness.get(rule, 1)
            run.start(jobid, rule)
        run.now += 1
        # Nothing is said before.
        if run.lines and " left;" in run.lines[-1]:
            said.append((run.now, run.report.left_s()))
        for jobid in [jobid for jobid, end in ends.items() if end <= run.now]:
            del ends[jobid]
            run.finish(jobid)
    assert len(said) > 0.6 * run.now
    assert all(left >= 0.5 * (run.now - at) for at, left in said)
    lowest = np.minimum.accumulate([left for _, left in said])
    assert all(left < 1.4 * least + 15 for (_, left), least in zip(said, lowest, strict=True))


def test_a_slow_machine_is_noticed_in_a_short_run():
    """Ten times slower than the typical seconds say, as with a large export."""
    run = Run({"fit": 8}, lambda rule: 2.0, cores=2)
    for job in range(4):
        run.start(job, "fit")
        run.now += 20.0
        run.finish(job)
    assert run.report.left_s() > 60


def test_the_seconds_of_a_rule_come_from_its_benchmarks_if_there_are_any(tmp_path):
    (tmp_path / "forecast").mkdir()
    for shard, seconds in (("000", 3.0), ("001", 5.0)):
        (tmp_path / f"forecast/{shard}.tsv").write_text(f"s\th:m:s\n{seconds}\t0:00:03\n")
    (tmp_path / "ingest.tsv").write_text("")
    assert seconds_per_job("forecast", tmp_path) == 4.0
    assert seconds_per_job("ingest", tmp_path) == TYPICAL_S["ingest"]
    assert seconds_per_job("new_rule", tmp_path) == OTHERWISE_S


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3, "less than a minute"), (50, "about 1 min"), (600, "about 10 min"), (9000, "about 2.5 h")],
)
def test_durations_in_words(seconds, words):
    assert sentence(seconds) == words


def test_snakemakes_own_counting_stays_off_the_terminal_only(tmp_path):
    run = Run({"fit": 1}, lambda rule: 1.0)
    terminal, file = logging.StreamHandler((tmp_path / "terminal").open("w")), logging.FileHandler(tmp_path / "log")
    run.logger.addHandler(terminal)
    run.logger.addHandler(file)
    run.report.listen(run.logger, instead=True)
    run.tell(Event.JOB_STARTED)
    run.logger.info("Select jobs to execute...")
    run.logger.info("Nothing to be done")
    terminal.flush()
    assert (tmp_path / "terminal").read_text() == "Nothing to be done\n"
    assert (tmp_path / "log").read_text() == "x\nSelect jobs to execute...\nNothing to be done\n"


def test_a_stopped_run_says_no_more_on_the_terminal(tmp_path):
    run, stopped = Run({"fit": 1}, lambda rule: 1.0), []
    terminal, file = logging.StreamHandler((tmp_path / "terminal").open("w")), logging.FileHandler(tmp_path / "log")
    run.logger.addHandler(terminal)
    run.logger.addHandler(file)
    run.report.listen(run.logger, stopped=lambda: bool(stopped))
    run.logger.error("a job that failed by itself")
    stopped.append(True)
    run.start(1, "fit")
    run.logger.error("a job that was ended")
    terminal.flush()
    assert (tmp_path / "terminal").read_text() == "a job that failed by itself\n" and run.lines == []
    assert (tmp_path / "log").read_text() == "a job that failed by itself\nx\na job that was ended\n"


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
