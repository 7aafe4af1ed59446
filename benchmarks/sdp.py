"""Our solver of (23) against CVXPY with Clarabel, side by side in one run.

``make benchmark`` writes results/benchmarks/sdp.parquet with one row per case: our median seconds, the other's
seconds, their ratio, and how good both answers are. ``python benchmarks/sdp.py 1`` runs the slow problem as printed
for one class only instead of all six.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time

import cvxpy as cp
import numpy as np
from table import seconds, write

from meterdp.core.noise import keyed_generator
from meterdp.mechanisms.reference.label_flip import mean_changes
from meterdp.mixture.gmm import fit_labels
from meterdp.solvers.ellipsoid import solve, with_cvxpy, with_cvxpy_at_once
from meterdp_papers.liu.errata_inputs import TABLE_1, household_mixture

REPEATS = 7
SMALL = {(1000, 3): 200, (150, 4): 200, (5000, 5): 50}
SIZES = [10**3, 10**4, 10**5, 10**6]
DIMENSION = 12
SEED = 1


def ami_vectors() -> list[np.ndarray]:
    """Return the whitened difference vectors of the paper's AMI setting, one (1409, 12) array a class."""
    random = keyed_generator(SEED, "benchmark", "sdp")
    mixture = household_mixture(DIMENSION)
    labels = np.repeat(np.arange(1, len(TABLE_1) + 1), TABLE_1)
    turned = np.linalg.cholesky(mixture.covariances)[labels - 1] @ random.normal(size=(len(labels), DIMENSION, 1))
    x = mixture.means[labels - 1] + turned[:, :, 0]
    fit = fit_labels(x, labels, 1e-9).mixture
    lower = np.linalg.cholesky(fit.covariances)
    return [np.linalg.solve(lower[k], mean_changes(x, labels, fit.means, k + 1).T).T for k in range(len(TABLE_1))]


def as_printed(z: np.ndarray) -> np.ndarray:
    """Solve (23) as printed: one Schur-complement block for every point. Returns M."""
    d = z.shape[1]
    m = cp.Variable((d, d), symmetric=True)
    blocks = [cp.bmat([[np.ones((1, 1)), point[None]], [point[:, None], m]]) >> 0 for point in z]
    cp.Problem(cp.Minimize(cp.trace(m)), blocks).solve(solver=cp.CLARABEL)
    return m.value


def precision_form(z: np.ndarray) -> np.ndarray:
    """Solve the precision form with every point as a row. Returns M."""
    return np.linalg.inv(with_cvxpy_at_once(z)[0])


def cutting_planes(z: np.ndarray) -> np.ndarray:
    """Solve the precision form with the rows that matter. Returns M."""
    factor = with_cvxpy(z)[0]
    return np.linalg.inv(factor.T @ factor)


def violation(matrix: np.ndarray, z: np.ndarray) -> float:
    """Return max_n z_n' M^-1 z_n - 1, by a plain linear solve."""
    return float(np.einsum("ni,in->n", z, np.linalg.solve(matrix, z.T)).max() - 1)


def compare(case: str, vectors: list[np.ndarray], other: str, solver, repeats: int = REPEATS) -> tuple:
    """Time both on the same problems, in turn; the other gets its vectors scaled to length one, which suits it."""
    ours_s = other_s = gap = ours_off = other_off = difference = 0.0
    for z in vectors:
        z = z / np.linalg.norm(z, axis=1).max()
        before = [seconds(solve, z)[0] for _ in range(repeats)]
        taken, theirs = seconds(solver, z)
        after, answers = zip(*[seconds(solve, z) for _ in range(repeats)], strict=True)
        ours = answers[0]
        ours_s += statistics.median([*before, *after])
        other_s += taken
        gap = max(gap, ours.relative_gap)
        ours_off, other_off = max(ours_off, violation(ours.matrix, z)), max(other_off, violation(theirs, z))
        difference = max(difference, abs(np.trace(theirs) / np.trace(ours.matrix) - 1))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    quality = (
        f"certified gap {gap:.1e}; largest violation {ours_off:.1e} against {other_off:.1e}; traces differ by "
        f"{difference:.1e}; peak memory so far {peak:.1f} GiB"
    )
    row = (case, ours_s, other, other_s, other_s / ours_s, quality)
    print(row, flush=True)
    return row


def main(printed_classes: int) -> None:
    """Run all cases and write the table."""
    solve(np.eye(2))  # compiles the kernel once; the cache is kept between runs
    solve(np.eye(2), "cvxpy")
    rows = []
    for (n, d), repeats in SMALL.items():
        z = keyed_generator(SEED, "benchmark", "sdp", n, d).normal(size=(n, d))
        rows.append(compare(f"N={n:,}, d={d}", [z], "CVXPY, precision form", precision_form, repeats))
    ami = ami_vectors()
    setting = f"N={sum(TABLE_1):,}, d={DIMENSION}, {{}} of {len(ami)} classes"
    for other, solver, classes in [
        ("CVXPY, cutting planes", cutting_planes, len(ami)),
        ("CVXPY, precision form", precision_form, len(ami)),
        ("CVXPY, (23) as printed", as_printed, printed_classes),
    ]:
        rows.append(compare(setting.format(classes), ami[:classes], other, solver))
    for n in SIZES:
        z = keyed_generator(SEED, "benchmark", "sdp", n, DIMENSION).normal(size=(n, DIMENSION))
        rows.append(compare(f"N={n:,}, d={DIMENSION}", [z], "CVXPY, cutting planes", cutting_planes))
    taken = [row[1] for row in rows[-len(SIZES) :]]
    slopes = np.diff(np.log(taken)) / np.diff(np.log(SIZES))
    slope = float(np.polyfit(np.log(SIZES), np.log(taken), 1)[0])
    quality = f"log-log slope of seconds in N {slope:.2f}, steepest between neighbours {slopes.max():.2f}"
    rows.append((f"N={SIZES[0]:,} to {SIZES[-1]:,}, d={DIMENSION}", sum(taken), "none", np.nan, np.nan, quality))
    print(rows[-1], flush=True)
    write("sdp", rows)


if __name__ == "__main__":
    begin = time.perf_counter()
    main(int(sys.argv[1]) if len(sys.argv) > 1 else len(TABLE_1))
    print(f"{time.perf_counter() - begin:.0f} s in all")
