"""Time and memory of private mixtures of many records with many entries, beside scikit-learn's GaussianMixture.

``python benchmarks/ball.py`` (``make benchmark``) writes results/benchmarks/ball.parquet: 20 iterations on 50,000
records of 100 entries in 10 classes, by ``sound`` for records in a ball, against 20 iterations of scikit-learn with
as many classes, in turn, in one process, on one thread and on all; and 2 rounds on 1,000,000 records in a process of
its own, with the memory they take beyond them. benchmarks/dpem.py does the same for the published DP-EM.
Quality is the log-likelihood per record after the last iteration.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
import psutil
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from table import load, write
from threadpoolctl import threadpool_limits

from meterdp.core.noise import StudyNoise
from meterdp.mechanisms.proven.mechanism import fit_ball
from meterdp.mixture.density import record_log_densities
from meterdp.mixture.draws import Mixture

RECORDS, MANY, DIMENSION, CLASSES, ITERATIONS = 50_000, 1_000_000, 100, 10, 20
EPSILON, DELTA = 2.0, 1e-5
ROUNDS = 3  # of measurements, the best of which counts
FEW_ITERATIONS = 2


def records(n: int) -> np.ndarray:
    """Return records of overlapping classes in the unit ball, made some at a time."""
    rng = np.random.default_rng(5)
    spectrum = np.exp(-np.arange(DIMENSION) / 40)
    means, scales = rng.normal(size=(CLASSES, DIMENSION)), rng.uniform(0.5, 1.3, size=CLASSES)
    out = np.empty((n, DIMENSION))
    for first in range(0, n, RECORDS):
        part = out[first : first + RECORDS]
        labels = rng.integers(0, CLASSES, len(part))
        part[:] = spectrum * (means[labels] + scales[labels, None] * rng.normal(size=part.shape))
        part /= 25
    return out


def ours(x: np.ndarray, iterations: int) -> Mixture:
    """Run ``sound`` in the unit ball."""
    return fit_ball(x, CLASSES, EPSILON, DELTA, StudyNoise(1, "benchmark"), rounds=iterations).mixture


def scikit_learn(x: np.ndarray, iterations: int) -> Mixture:
    """Run EM without privacy, from random responsibilities."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = GaussianMixture(CLASSES, tol=0, max_iter=iterations, init_params="random", random_state=0).fit(x)
    return Mixture(found.weights_, found.means_, found.covariances_)


def timed(run, x: np.ndarray) -> tuple[float, Mixture]:
    """Return seconds and what came out."""
    begin = time.perf_counter()
    found = run(x, ITERATIONS)
    return time.perf_counter() - begin, found


def speed(threads: int) -> dict:
    """Measure both in turn; return a row."""
    x, runs = records(RECORDS), (ours, scikit_learn)
    seconds, found = {run: [] for run in runs}, {}
    with threadpool_limits(threads):
        for _ in range(ROUNDS):
            for run in runs:
                took, found[run] = timed(run, x)
                seconds[run].append(took)
    best = {run: min(taken) for run, taken in seconds.items()}
    level = {run: record_log_densities(x[:5000], found[run]).mean() for run in runs}
    row = {
        "case": f"{ITERATIONS} iterations, {RECORDS:,} x {DIMENSION}, K = {CLASSES}, {threads} threads",
        "ours_s": best[ours],
        "other": "scikit-learn's GaussianMixture, not private",
        "other_s": best[scikit_learn],
        "ratio": best[scikit_learn] / best[ours],
        "quality": f"{level[ours]:.1f} against {level[scikit_learn]:.1f} nats a record",
        "load": load(),
    }
    print(row, flush=True)
    return row


def memory(n: int) -> dict:
    """Return seconds and the memory beyond the records, in a process of its own."""
    x = records(n)
    before, begin = psutil.Process().memory_info().rss, time.perf_counter()
    ours(x, FEW_ITERATIONS)
    seconds = time.perf_counter() - begin
    extra = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    return {"seconds": seconds, "extra_gib": extra / 2**30, "records_gib": x.nbytes / 2**30}


def main() -> None:
    """Measure and write the table."""
    rows = [speed(threads) for threads in sorted({1, os.cpu_count()})]
    for n in (RECORDS, MANY):
        words = [sys.executable, __file__, str(n)]
        said = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        rows.append(
            {
                "case": f"{FEW_ITERATIONS} iterations, {n:,} x {DIMENSION}, K = {CLASSES}",
                "ours_s": said["seconds"],
                "other": "none: memory",
                "other_s": np.nan,
                "ratio": np.nan,
                "quality": f"{said['extra_gib']:.2f} GiB beyond the {said['records_gib']:.2f} GiB of records",
                "load": load(),
            }
        )
        print(rows[-1], flush=True)
    write("ball", rows)


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(memory(int(sys.argv[1]))))
    else:
        main()
