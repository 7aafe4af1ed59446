"""Which steps of a run are being worked on, and how long the rest may take.

Snakemake logs its progress as events, the same that a logger plugin gets; :class:`StepReport` listens to them and
prints a line like ``[12:03:10] 31 of 57 steps, about 2 min left; running: forecasting, shard 002; drawing figures``.
What runs is named by the message of its rule.

:func:`in_processes` shares independent calls out among processes, for work that holds the interpreter.
"""

from __future__ import annotations

import logging
import multiprocessing
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

# Seconds a job of a rule takes in the default study; only their ratios matter once some jobs are done.
TYPICAL_S = {
    "vary_mixture": 100,
    "household_study": 50,
    "audit_part": 40,
    "design_noise": 17,
    "delta_curves": 15,
    "compare_forecasters": 10,
    "draw": 10,
    "group_forecast": 10,
    "feeder_study": 8,
    "fidelity": 6,
    "forecast": 6,
    "hide_among": 5,
    "ingest": 5,
    "simulate": 5,
}
OTHERWISE_S = 2.0
# No estimate before this share of the work has ended: it would know neither the machine nor the size of the export.
_FIRST_SHARE = 0.1
# The typical seconds are believed as if so many of them had been watched, or this share of all if that is less.
_TRUST_S, _TRUST_SHARE = 20.0, 0.06
_MOST_NAMES = 4


def seconds_per_job(rule: str, benchmarks: Path) -> float:
    """Return the seconds a job of a rule took last time, by Snakemake's benchmarks, or those typical for it."""
    files = [*benchmarks.glob(f"{rule}.tsv"), *benchmarks.glob(f"{rule}/*.tsv")]
    try:
        times = [float(path.read_text().splitlines()[1].split("\t")[0]) for path in files]
    except (OSError, ValueError, IndexError):
        times = []
    return sum(times) / len(times) if times else TYPICAL_S.get(rule, OTHERWISE_S)


def sentence(seconds: float) -> str:
    """Return how long something lasts, about."""
    if seconds < 45:
        return "less than a minute"
    if seconds < 90 * 60:
        return f"about {max(1, round(seconds / 60))} min"
    return f"about {seconds / 3600:.1f} h"


class StepReport(logging.Handler):
    """Print the running steps and an estimate of what is left, when steps start or end and at least twice a minute.

    ``jobs`` counts the jobs of each rule, ``seconds`` says how long one may take, from :func:`seconds_per_job`.
    """

    def __init__(
        self,
        jobs: Mapping[str, int],
        seconds: Callable[[str], float],
        cores: int,
        *,
        write: Callable[[str], object] = lambda line: print(line, file=sys.stderr, flush=True),
        clock: Callable[[], float] = time.monotonic,
        every_s: float = 5.0,
    ):
        super().__init__(logging.INFO)
        self._seconds = {rule: seconds(rule) for rule in jobs}
        self._left = dict(jobs)
        self._cores, self._write, self._clock, self._every_s = min(cores, 4), write, clock, every_s
        self._running: dict[int, tuple[str, str, float]] = {}
        self._steps = sum(jobs.values())
        self._trust_s = min(_TRUST_S, _TRUST_SHARE * sum(count * self._seconds[rule] for rule, count in jobs.items()))
        # Typical seconds of the jobs that have ended, and those they took.
        self._worked_s = self._took_s = 0.0
        self._start, self._said = clock(), -every_s
        self._stopped: Callable[[], bool] = lambda: False

    def emit(self, record: logging.LogRecord) -> None:
        event = _event(record)
        if event == "JOB_INFO":
            words = getattr(record, "rule_msg", None) or record.rule_name
            self._running[record.jobid] = (record.rule_name, words[0].lower() + words[1:], self._clock())
        elif event in ("JOB_FINISHED", "JOB_ERROR"):
            rule, _, since = self._running.pop(getattr(record, "job_id", getattr(record, "jobid", None)), (None,) * 3)
            if event == "JOB_FINISHED" and rule in self._left:
                self._left[rule] -= 1
                self._worked_s += self._seconds[rule]
                self._took_s += self._clock() - since
                if not any(self._left.values()):
                    self._write(f"[{time.strftime('%H:%M:%S')}] all {self._steps} steps are done")
        if event and self._running and self._clock() - self._said >= self._every_s:
            self.say()

    def left_s(self) -> float:
        """Return the seconds that may be left: typical work that remains, as slow as that of this run so far.

        A job that runs for longer than it would then have taken shows how slow the run is, too.
        """
        now = self._clock()
        running = [(self._seconds.get(rule, 0.0), now - since) for rule, _, since in self._running.values()]
        worked_s, took_s = self._worked_s + self._trust_s, self._took_s + self._trust_s
        late = [(typical, took) for typical, took in running if took > typical * took_s / worked_s]
        slowness = (took_s + sum(took for _, took in late)) / (worked_s + sum(typical for typical, _ in late))
        # Never quite all of a running job is behind it.
        begun = [(slowness * typical, min(took, 0.9 * slowness * typical)) for typical, took in running]
        own_s = [whole - behind for whole, behind in begun]
        busy_s = self._took_s + sum(took for _, took in running)
        at_once = (busy_s + self._trust_s) / (now - self._start + self._trust_s / self._cores)
        left_s = slowness * self._typical_left_s() - sum(behind for _, behind in begun)
        # Not before the longest of the running jobs ends.
        return max(left_s / at_once, *own_s, 0.0)

    def _typical_left_s(self) -> float:
        return sum(count * self._seconds[rule] for rule, count in self._left.items())

    def _known(self) -> bool:
        return self._worked_s >= _FIRST_SHARE * (self._worked_s + self._typical_left_s())

    def say(self) -> None:
        if self._stopped():
            return
        names = [name for _, name, _ in self._running.values()]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        done = self._steps - sum(self._left.values())
        left = f", {sentence(self.left_s())} left" if self._known() else ""
        self._write(
            f"[{time.strftime('%H:%M:%S')}] {done} of {self._steps} steps{left}; "
            f"running: {'; '.join(names[:_MOST_NAMES])}{more}"
        )
        self._said = self._clock()

    def listen(
        self,
        logger: logging.Logger,
        instead: bool = False,
        refused: Callable[[], bool] = lambda: False,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Follow Snakemake's logger until the process ends.

        With ``instead`` this stands on the terminal instead of what Snakemake counts. Once a job has ``refused`` its
        input the terminal gets its sentence, and none of Snakemake's traces. Once the run is ``stopped`` it gets
        nothing more: jobs that were ended are no errors.
        """
        self._stopped = stopped
        for handler in logger.handlers:
            if isinstance(handler, logging.StreamHandler) and not isinstance(handler, logging.FileHandler):
                handler.addFilter(
                    lambda record: (
                        not stopped()
                        and not (instead and _counts(record))
                        and not (record.levelno >= logging.ERROR and refused())
                    )
                )
        logger.addHandler(self)
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self, every_s: float = 30.0) -> None:
        """Print the line again while a long step runs."""
        while True:
            time.sleep(every_s / 2)
            with self.lock:
                if self._running and self._clock() - self._said >= every_s:
                    self.say()


def _event(record: logging.LogRecord) -> str | None:
    return getattr(getattr(record, "event", None), "name", None)


def _counts(record: logging.LogRecord) -> bool:
    """Whether a line of Snakemake says no more than :class:`StepReport` does."""
    return _event(record) in ("JOB_STARTED", "JOB_FINISHED", "PROGRESS") or record.msg == "Select jobs to execute..."


def in_processes(work: Callable[..., None], calls: Sequence[tuple], processes: int) -> None:
    """Call ``work`` with every entry of ``calls``, dealt to processes round-robin, this one included.

    What it does must show outside the process, in files. Processes are forked, not started again: imports are shared,
    and a script run by Snakemake cannot be imported a second time. The first error of a call is raised; the calls
    after it in the same process are not made.
    """
    processes = min(processes, len(calls))
    if processes <= 1:
        for call in calls:
            work(*call)
        return
    context = multiprocessing.get_context("fork")
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
