"""Algorithm 1 of Liu et al.: does it converge, and what does its semi-definite program cost (Remark 2).

The interior-point side is (23) as printed: one matrix inequality per record and per class it may move to, handed to
Clarabel. Work is counted, not timed: a clock turns with the load of the machine.
"""

from __future__ import annotations

from collections import Counter

import clarabel
import numpy as np
import pandas as pd
from scipy import sparse

from meterdp.core.noise import StudyNoise
from meterdp.mechanisms.published.kl import KlPublished
from meterdp.mechanisms.published.label_flip import LabelledRecords
from meterdp.solvers.ellipsoid import program as sdp
from meterdp_papers.liu.setting import EPSILONS, public_settings
from meterdp_papers.liu.synthetic import Setting, draw_data_set

CONVERGENCE_TRIALS = 100
RECORD_COUNTS = (32, 64, 128)
CLASS_COUNTS = (2, 3, 5, 8)
CLASS_SWEEP_RECORDS = 64
OWN_RECORD_COUNTS = (1000, 4000, 16000, 64000)
WORK_SETS = 3  # data sets per size, at most


def convergence(trials: int, eigenvalue_floor: float, seed: int) -> pd.DataFrame:
    """Return the columns of ``liu_convergence``: Algorithm 1 on the first data sets of Fig. 1, at most a hundred."""
    rows = []
    for trial in range(min(trials, CONVERGENCE_TRIALS)):
        stream = StudyNoise(seed, "reproduce liu", "fig1", "data", "every", trial)
        private, _ = draw_data_set(Setting(), stream, eigenvalue_floor)
        for epsilon in EPSILONS:
            design = KlPublished.calibrate(public_settings(private, epsilon, eigenvalue_floor)).design(private)
            steps = np.diff(design.objectives)
            rows.append(
                {
                    "trial": trial,
                    "epsilon": epsilon,
                    "pass_count": len(design.objectives),
                    "objective_first": design.objectives[0],
                    "objective_last": design.objectives[-1],
                    "largest_rise": steps.max(initial=0.0),
                    "epsilon_0_share": design.epsilon_0 / epsilon,
                }
            )
    return pd.DataFrame(rows)


def printed_constraints(private: LabelledRecords, component: int) -> np.ndarray:
    """Return the vectors (M, d) of (19) for one class as printed, one per record and class k' it may move to.

    A member's change is the same for all k', so its constraint is there K - 1 times; a record of another class
    changes this one by moving to it.
    """
    points = private.differences[component]
    member = private.labels[np.bincount(private.labels)[private.labels] > 1] == component + 1
    return np.repeat(points, np.where(member, private.fit.mixture.classes - 1, 1), axis=0)


def solve_printed(points: np.ndarray, covariance: np.ndarray) -> tuple[float, int, int]:
    """Solve (23) at right-hand side one by Clarabel: min tr(Sigma^-1 M) with one matrix inequality per vector.

    Parameters
    ----------
    points : (M, d) float64
        Difference vectors.
    covariance : (d, d) float64
        Sigma_k.

    Returns
    -------
    trace : float
        The smallest trace. Vectors are whitened and scaled first: in raw units the solver returns infeasible answers.
    iterations : int
        Of Clarabel.
    size : int
        Unknowns of the linear system it factorises at each: entries of the matrix and of all slacks.

    Raises
    ------
    ArithmeticError
        Clarabel ends without a solution.
    """
    m, d = points.shape
    z = np.linalg.solve(np.linalg.cholesky(covariance), points.T).T
    length = np.linalg.norm(z, axis=1).max()
    # Unknowns are the upper triangle of M, column by column, and so are the entries of each [[1, v'], [v, M]]; those
    # off the diagonal times sqrt(2).
    column, row = np.tril_indices(d)
    outer_column, outer_row = np.tril_indices(d + 1)
    weight = np.where(outer_row == outer_column, 1.0, np.sqrt(2))
    from_matrix = outer_row > 0
    block = np.zeros((len(weight), len(row)))
    block[from_matrix] = -np.diag(weight[from_matrix])
    bordered = np.column_stack([np.ones(m), z / length])[:, outer_column]
    right = np.where(from_matrix, 0.0, weight * bordered)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix((len(row), len(row))),
        (row == column).astype(float),
        sparse.kron(np.ones((m, 1)), block, format="csc"),
        right.ravel(),
        [clarabel.PSDTriangleConeT(d + 1)] * m,
        settings,
    ).solve()
    if str(solution.status) not in ("Solved", "AlmostSolved"):
        raise ArithmeticError(f"Clarabel ends with {solution.status} on {m} constraints in {d} dimensions")
    return solution.obj_val * length**2, solution.iterations, len(row) + m * len(weight)


def _data_set(records: int, classes: int, eigenvalue_floor: float, seed: int, trial: int = 0) -> LabelledRecords:
    stream = StudyNoise(seed, "reproduce liu", "sdp work", records, classes, trial)
    return draw_data_set(Setting(classes=classes, records=records), stream, eigenvalue_floor)[0]


def _interior_point(private: LabelledRecords) -> dict[str, float]:
    solved = [
        solve_printed(printed_constraints(private, k), covariance)[1:]
        for k, covariance in enumerate(private.fit.mixture.covariances)
    ]
    return {
        "iteration_count": np.mean([iterations for iterations, _ in solved]),
        "largest_size": max(size for _, size in solved),
        "work": sum(iterations * float(size) ** 3 for iterations, size in solved),
    }


def _own(private: LabelledRecords) -> dict[str, float]:
    counted, largest, d = Counter(), 0, private.x.shape[1]
    for root, vectors in zip(np.linalg.cholesky(private.fit.mixture.covariances), private.differences, strict=True):
        work: Counter = Counter()
        sdp.solve(np.linalg.solve(root, vectors.T).T, work=work)
        counted += work
        largest = max(largest, len(vectors))
    # A price is a product of a point with a matrix; of the Newton steps of a round, whose number does not grow, one.
    return {
        "iteration_count": np.nan,
        "largest_size": largest,
        "work": float(counted["priced"] * d**2 + counted["solved"] * (d * (d + 1) // 2) ** 2),
    }


def sdp_work(trials: int, eigenvalue_floor: float, seed: int) -> pd.DataFrame:
    """Return the columns of ``liu_sdp_work``: what (23) costs for all classes of a data set, d = 3, by its size.

    Work with an interior-point solver is the number of iterations times the cube of the size of the linear system,
    a dense factorisation as Remark 2 counts it; Clarabel itself uses sparsity and needs less. ``WORK_SETS`` data sets
    per size are used, or as many as ``trials`` where these are fewer.
    """
    default = Setting().classes
    cases = [
        *(("interior_point", _interior_point, "records", n, default) for n in RECORD_COUNTS),
        *(("interior_point", _interior_point, "classes", CLASS_SWEEP_RECORDS, k) for k in CLASS_COUNTS),
        *(("own", _own, "records", n, default) for n in OWN_RECORD_COUNTS),
    ]
    rows = []
    for solver, run, varied, records, classes in cases:
        for trial in range(min(trials, WORK_SETS)):
            private = _data_set(records, classes, eigenvalue_floor, seed, trial)
            sizes = {"trial": trial, "record_count": records, "class_count": classes}
            rows.append({"solver": solver, "varied": varied, **sizes, **run(private)})
    return pd.DataFrame(rows)
