"""DP-EM against scikit-learn's GaussianMixture, side by side, and what its loose ends cost on simulated profiles.

``python benchmarks/dpem.py`` writes results/benchmarks/dpem.parquet. Speed: processor seconds per iteration of 20, on
one thread, both from the same start; and how much memory a million records take beyond themselves. Quality: nats per
household that ``dpem_zcdp`` loses to a mixture fitted by EM without privacy, held out, under every eigenvalue floor
of the ball and with class sums divided by their own counts (as printed) or the noisy ones.
"""

from __future__ import annotations

import time
import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sound import fit_em
from table import write
from threadpoolctl import threadpool_limits

from meterdp.core.noise import StudyNoise, fixed_normals, keyed_generator
from meterdp.mechanisms.dpem.mechanism import DpEmZcdp, EmSettings, fit, start_mixture, to_unit_ball
from meterdp.mechanisms.interface import PrivateRecords, PublicSettings
from meterdp.mixture.density import mean_log_likelihood
from meterdp.mixture.draws import Mixture, MixtureDraws
from meterdp_papers.liu.errata_inputs import household_mixture

SEED, ITERATIONS, DIMENSION, CLASSES = 1, 20, 100, 10
LOW, HIGH = np.log([0.01, 100.0])
DELTA, FLOOR, HELD_OUT, DRAWS = 1e-5, 1e-3, 4000, 10
FLOORS = (1e-5, 1e-4, 1e-3, 1e-2)


def ball_records(n: int) -> np.ndarray:
    """Return n records of ten groups in the unit ball whose entries fall off like principal components."""
    random = keyed_generator(SEED, "benchmark", "dpem", n)
    width = 1 / np.sqrt(1 + np.arange(DIMENSION))
    x = random.standard_normal((n, DIMENSION))
    x *= 0.15 * width
    x += (0.1 * width * random.standard_normal((CLASSES, DIMENSION)))[random.integers(0, CLASSES, n)]
    return to_unit_ball(x, 1.0)


def seconds(run) -> float:
    """Return processor seconds of one call."""
    begin = time.process_time()
    run()
    return time.process_time() - begin


def scikit_learn(x: np.ndarray, start: Mixture) -> float:
    """Return seconds per iteration, those of its setting up left out."""

    def run(iterations: int) -> float:
        model = GaussianMixture(
            CLASSES,
            tol=0,
            reg_covar=0,
            max_iter=iterations,
            weights_init=start.weights,
            means_init=start.means,
            precisions_init=np.linalg.inv(start.covariances),
        )
        return seconds(lambda: model.fit(x))

    return (run(1 + ITERATIONS) - run(1)) / ITERATIONS


def speed() -> list[tuple]:
    """Return a row per precision and noise."""
    x, start = ball_records(50_000), start_mixture(fixed_normals("benchmark", (CLASSES, DIMENSION)))
    other, rows = scikit_learn(x, start), []
    for dtype in ("float64", "float32"):
        for step_epsilon in (np.inf, 0.05):
            settings = EmSettings(ITERATIONS, "GGG", step_epsilon=step_epsilon, dtype=dtype)
            noise = StudyNoise(SEED, "benchmark", "dpem")
            ours = seconds(lambda settings=settings, noise=noise: fit(x, start, settings, noise)) / ITERATIONS
            words = "no noise" if np.isinf(step_epsilon) else "noise"
            case = f"an iteration, N = 50,000, d = {DIMENSION}, K = {CLASSES}, {dtype}, {words}"
            rows.append((case, ours, "scikit-learn", other, other / ours, ""))
    large = ball_records(1_000_000)
    tracemalloc.start()
    ours = seconds(lambda: fit(large, start, EmSettings(1, "GGG"), StudyNoise(SEED, "benchmark", "dpem")))
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    words = f"{peak:.0f} MiB beside the {large.nbytes / 2**20:.0f} of the records"
    return [*rows, ("an iteration, N = 1,000,000", ours, "", np.nan, np.nan, words)]


def loose_ends() -> list[tuple]:
    """Return a row per number of households, epsilon and divisor: nats lost under every floor."""
    source, rows = household_mixture(12), []
    for n in (1409, 10_000):
        random = keyed_generator(SEED, "benchmark", "dpem", "households", n)
        label = random.choice(len(source.weights), size=n + HELD_OUT, p=source.weights / source.weights.sum())
        noise = random.standard_normal((n + HELD_OUT, 12, 1))
        x = source.means[label] + (np.linalg.cholesky(source.covariances)[label] @ noise)[..., 0]
        x = np.clip(x, LOW, HIGH)
        train, test = x[:n], x[n:]
        fitted = fit_em(train, 6).mixture
        best = mean_log_likelihood(test, MixtureDraws.single(fitted))[0]
        for epsilon in (0.5, 2.0, 8.0):
            mechanism = DpEmZcdp.calibrate(PublicSettings(epsilon, DELTA, 6, 12, n, LOW, HIGH, FLOOR))
            for divisor in ("own", "noisy"):
                lost = {}
                for floor in FLOORS:
                    settings = replace(mechanism.settings, divisor=divisor, eigenvalue_floor=floor)
                    of = replace(mechanism, settings=settings)
                    drawn = of.release(PrivateRecords(train), StudyNoise(SEED, "dpem", epsilon), DRAWS).mixtures
                    lost[floor] = best - mean_log_likelihood(test, drawn).mean()
                case = f"nats lost, N = {n:,}, eps = {epsilon:g}, divided by {divisor} counts"
                words = ", ".join(f"floor {floor:g}: {nats:.3g}" for floor, nats in lost.items())
                rows.append((case, np.nan, "", np.nan, np.nan, words))
    return rows


def main() -> None:
    """Run all cases and write the table."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        rows = [*speed(), *loose_ends()]
    for row in rows:
        print(row, flush=True)
    write("dpem", rows)


if __name__ == "__main__":
    main()
