"""An iteration of Algorithm 1, incremental against recomputing g of (46) for all pairs, side by side in one run.

``make benchmark`` writes results/benchmarks/class_noise.parquet with one row per case: seconds of one iteration of
the compiled descent, the other's seconds, their ratio, and the largest difference in J over the iterations compared.
All pairs are recomputed in two ways: by one matrix product on packed features, and label by label.
"""

from __future__ import annotations

import os
import statistics
import time

import numpy as np
from table import write

from meterdp.class_noise.designs import algorithm1
from meterdp.class_noise.designs.algorithm1 import descend, descent_state, neighbour_graph
from meterdp.core.noise import keyed_generator

CLASSES, ENTRIES, RHO, SEED = 687, 12, 0.68571, 1
ITERATIONS, COMPARED, REPEATS = 2000, 40, 5


def simulated_classes(query_model: str) -> tuple[np.ndarray, np.ndarray]:
    """Return means (n, k) and covariances of the query (n, k, k) of classes drawn at random, all neighbours."""
    random = keyed_generator(SEED, "benchmark", "class_noise", query_model)
    means = 0.3 * random.normal(size=(CLASSES, ENTRIES))
    root = random.normal(size=(CLASSES, ENTRIES, ENTRIES + 2))
    scale = {"deterministic": 0.0, "stochastic": 0.05}[query_model]
    return means - means.mean(axis=0), scale * root @ np.swapaxes(root, 1, 2)


def by_packed_product(means: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """g for all ordered pairs by one matrix product: features of mu_X against the coefficients of A_X'; (n, n)."""
    i, j = np.triu_indices(means.shape[1])
    features = np.hstack([means[:, i] * means[:, j], means, np.ones((len(means), 1))])
    at_mean = np.einsum("nij,nj->ni", precision, means)
    log_det = np.linalg.slogdet(precision)[1]
    constant = np.sum(at_mean * means, axis=1) - log_det
    coefficients = np.hstack([precision[:, i, j] * np.where(i == j, 1.0, 2.0), -2 * at_mean, constant[:, None]])
    return features @ coefficients.T + log_det[:, None]


def by_label(means: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """g for all ordered pairs, label by label; (n, n)."""
    log_det = np.linalg.slogdet(precision)[1]
    columns = [
        np.sum(((mean - means) @ matrix) * (mean - means), axis=1)
        for mean, matrix in zip(means, precision, strict=True)
    ]
    return np.stack(columns, axis=1) - log_det[None, :] + log_det[:, None]


def recompute(means: np.ndarray, precision: np.ndarray, all_pairs, iterations: int) -> np.ndarray:
    """Run Algorithm 1 with all pairs recomputed at every iteration and every trial step; returns J of each."""
    surrogate, precision = [], precision.copy()
    g = all_pairs(means, precision)
    np.fill_diagonal(g, -np.inf)
    for _ in range(iterations):
        a, b = np.unravel_index(g.argmax(), g.shape)
        surrogate.append(g[a, b])
        v, to_b, inverse = means[b] - means[a], means[b] - means, np.linalg.inv(precision[b])
        gradient = np.outer(v, v) - inverse
        rise = np.sum(inverse * inverse) - v @ inverse @ v
        slope = np.sum((to_b @ inverse) * to_b, axis=1) - (to_b @ v) ** 2 - rise
        rising = slope > 0
        rising[b] = False
        step = min([algorithm1.FIRST_STEP, *(g[a, b] - g[rising, b]) / slope[rising]])
        if rise > 0:
            step = min(step, (g[a, b] - g[b].max()) / rise)
        if step <= algorithm1.SMALLEST_STEP:
            break
        for _ in range(algorithm1.HALVINGS + 1):
            values, vectors = np.linalg.eigh(precision[b] - step * gradient)
            trial = precision.copy()
            trial[b] = (vectors * np.maximum(values, algorithm1.EIGENVALUE_FLOOR * np.abs(values).max())) @ vectors.T
            new = all_pairs(means, trial)
            np.fill_diagonal(new, -np.inf)
            if new[a, b] < g[a, b] and new.max() <= g[a, b]:
                break
            step *= 0.5
        else:
            break
        precision, g = trial, new
    return np.array(surrogate)


def incremental(state, iterations: int):
    """Run the compiled descent; returns its trace."""
    return descend(state, np.arange(state.log_det.size), iteration_limit=iterations).trace


def seconds_of_one(run, *arguments) -> tuple[float, np.ndarray]:
    """Return seconds per iteration and J of the iterations of a run."""
    begin = time.perf_counter()
    surrogate = run(*arguments)
    return (time.perf_counter() - begin) / surrogate.size, surrogate


def compare(query_model: str) -> list[tuple]:
    """Time both on the same classes, in turn; one row for each way to recompute."""
    means, covariance = simulated_classes(query_model)
    total = covariance + RHO / ENTRIES * np.eye(ENTRIES)
    graph = neighbour_graph(np.argwhere(~np.eye(CLASSES, dtype=bool)), CLASSES)
    start = descent_state(graph, means, total)

    def ours() -> np.ndarray:
        return incremental(descent_state(graph, means, total), ITERATIONS).surrogate

    set_up = statistics.median(_timed(descent_state, graph, means, total) for _ in range(REPEATS))
    ours()  # compiles; the cache is kept between runs
    rows = []
    for other, all_pairs in (("all pairs, packed product", by_packed_product), ("all pairs, by label", by_label)):
        before = [_timed(ours) for _ in range(REPEATS)]
        other_s, theirs = seconds_of_one(recompute, means, start.precision, all_pairs, COMPARED)
        after = [_timed(ours) for _ in range(REPEATS)]
        surrogate = ours()
        taken = (statistics.median([*before, *after]) - set_up) / surrogate.size
        shared = min(theirs.size, surrogate.size)
        difference = np.abs(theirs[:shared] / surrogate[:shared] - 1).max()
        case = f"{CLASSES} classes, k={ENTRIES}, {CLASSES * (CLASSES - 1):,} pairs, {query_model}"
        quality = (
            f"J differs by at most {difference:.1e} of itself over {shared} iterations and never rises over "
            f"{surrogate.size}: largest change {np.diff(surrogate).max():.1e}; set-up {1e3 * set_up:.0f} ms; load "
            f"{os.getloadavg()[0]:.1f}"
        )
        rows.append((case, taken, other, other_s, other_s / taken, quality))
        print(rows[-1], flush=True)
    return rows


def _timed(call, *arguments) -> float:
    begin = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - begin


def main() -> None:
    """Run both query models and write the table."""
    rows = [row for query_model in ("deterministic", "stochastic") for row in compare(query_model)]
    write("class_noise", rows)


if __name__ == "__main__":
    main()
