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
from scipy.linalg import qr
from table import seconds, write

from meterdp.core.noise import keyed_generator
from meterdp.mechanisms.reference.label_flip import mean_changes
from meterdp.mixture.gmm import fit_labels
from meterdp.solvers.ellipsoid import solve
from meterdp_papers.liu.errata_inputs import TABLE_1, household_mixture

REPEATS = 7
SMALL = {(1000, 3): 200, (150, 4): 200, (5000, 5): 50}
SIZES = [10**3, 10**4, 10**5, 10**6]
DIMENSION = 12
SEED = 1
# CVXPY with cutting planes: rows to begin with, violation at which no more are added, and rounds.
ROWS_PER_DIMENSION = 15
CUT_TOLERANCE = 1e-9
ROUNDS = 100


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


def with_cvxpy(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Solve the precision form by CVXPY and Clarabel; returns a factor of X (d, d), rows, their multipliers.

    From the outermost points on those outside are added until none is: interior-point solvers return infeasible
    "optima" for (23) as printed.
    """
    d = points.shape[1]
    batch = ROWS_PER_DIMENSION * d
    spread = np.linalg.norm(points, axis=0)
    outermost = np.argsort(-np.square(points / spread).sum(axis=1), kind="stable")[:batch]
    # Pivots span the space even where the outermost points do not.
    pivots = qr(points.T, mode="r", pivoting=True)[1][:d]
    rows = np.union1d(outermost, pivots)
    for _ in range(ROUNDS):
        precision, weights = with_cvxpy_at_once(points[rows])
        outside = np.einsum("ni,ni->n", points @ precision, points)
        outside[rows] = 0.0
        new = np.flatnonzero(outside > 1 + CUT_TOLERANCE)
        if not len(new):
            break
        solved = rows
        rows = np.concatenate([rows, new[np.argsort(-outside[new], kind="stable")][:batch]])
    else:
        rows = solved
    values, vectors = np.linalg.eigh(precision)
    # An inaccurate X may have an eigenvalue of zero or less; a tiny positive one costs optimality, not feasibility.
    return (vectors * np.sqrt(np.maximum(values, 1e-16 * values[-1]))).T, rows, weights


def with_cvxpy_at_once(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the solver's X = M^-1 (d, d), symmetric, and its multipliers (N,), not negative, with every point as a
    row.
    """
    n, d = points.shape
    x = cp.Variable((d, d), PSD=True)
    features = np.einsum("ni,nj->nij", points, points).reshape(n, d * d)
    inside = features @ cp.vec(x, order="C") <= 1
    cp.Problem(cp.Minimize(cp.tr_inv(x)), [inside]).solve(solver=cp.CLARABEL)
    return (x.value + x.value.T) / 2, np.maximum(inside.dual_value, 0)


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
    with_cvxpy(np.eye(2))
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
