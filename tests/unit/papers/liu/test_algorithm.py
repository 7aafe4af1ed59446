"""Algorithm 1's convergence table and the printed semi-definite program."""

import cvxpy as cp
import numpy as np
import pytest

from meterdp.core.parquet import as_arrow
from meterdp.solvers.ellipsoid import program as sdp
from meterdp_papers.liu import synthetic
from meterdp_papers.liu.synthetic import Setting
from meterdp_papers.liu.tables import LIU_CONVERGENCE, LIU_SDP_WORK

FLOOR = 1e-3


def test_printed_constraints_are_the_changes_of_the_mean_over_all_flips():
    """Oracle: flip every label to every other class and fit again."""
    private = synthetic._data_set(40, 3, FLOOR, 1)
    x, labels = private.x, private.labels
    changes = []
    for n in range(len(x)):
        for target in {1, 2, 3} - {labels[n]}:
            flipped = labels.copy()
            flipped[n] = target
            changes.append([x[flipped == k].mean(axis=0) - x[labels == k].mean(axis=0) for k in (1, 2, 3)])
    changes = np.array(changes)
    for k in range(3):
        # A flip between two other classes changes nothing and needs no constraint; signs do not matter.
        moved = changes[:, k][np.abs(changes[:, k]).max(axis=1) > 0]
        found = synthetic.printed_constraints(private, k)
        assert found.shape == moved.shape
        key = lambda v: np.sort((v**2).sum(axis=1))  # noqa: E731
        assert key(found) == pytest.approx(key(moved))


def test_the_printed_program_and_the_precision_form_have_one_optimum():
    """Oracle: each other, two formulations of (23)."""
    private = synthetic._data_set(60, 3, FLOOR, 2)
    for k in range(3):
        covariance = private.fit.mixture.covariances[k]
        constraints = synthetic.printed_constraints(private, k)
        trace, iterations, size = synthetic.solve_printed(constraints, covariance)
        points = np.linalg.solve(np.linalg.cholesky(covariance), private.differences[k].T).T
        assert trace == pytest.approx(np.trace(sdp.solve(points).matrix), rel=1e-4)
        assert 1 < iterations < 100 and size == 6 + 10 * len(constraints)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_printed_program_is_what_cvxpy_writes_for_the_same_inequalities(d):
    generator = np.random.default_rng(d)
    points = generator.normal(size=(7, d)) * 10.0 ** generator.uniform(-3, 3, (7, 1))
    points[1] = points[0]  # a constraint twice
    covariance = np.cov(generator.normal(size=(d, 3 * d + 3))).reshape(d, d)
    matrix = cp.Variable((d, d), symmetric=True)
    scale = np.abs(points).max()
    inside = [cp.bmat([[np.ones((1, 1)), p[None]], [p[:, None], matrix]]) >> 0 for p in points / scale]
    problem = cp.Problem(cp.Minimize(cp.trace(np.linalg.inv(covariance) @ matrix)), inside)
    expected = problem.solve(solver=cp.CLARABEL) * scale**2
    assert synthetic.solve_printed(points, covariance)[0] == pytest.approx(expected, rel=1e-5)


def test_convergence_watches_the_data_sets_of_fig_1():
    table = synthetic.convergence(2, FLOOR, 4)
    as_arrow(LIU_CONVERGENCE, table)
    assert len(table) == 2 * 5 and set(table["trial"]) == {0, 1}
    # Defect L9: (23) makes (20b) tight for every k, so (25) returns the start.
    assert (table["pass_count"] == 2).all() and table["epsilon_0_share"].to_numpy() == pytest.approx(1 / 3)


def test_work_is_counted_at_every_size_and_twice_gives_the_same(monkeypatch):
    monkeypatch.setattr(synthetic, "RECORD_COUNTS", (40, 60))
    monkeypatch.setattr(synthetic, "CLASS_COUNTS", (2, 3))
    monkeypatch.setattr(synthetic, "CLASS_SWEEP_RECORDS", 40)
    monkeypatch.setattr(synthetic, "OWN_RECORD_COUNTS", (100, 200))
    table, again = (synthetic.sdp_work(1, FLOOR, 1) for _ in range(2))
    assert table.equals(again)
    as_arrow(LIU_SDP_WORK, table)
    assert (table["work"] > 0).all()
    # Our solver prices every point of all five classes at least once, and each price is d^2 multiplications.
    own = table[table["solver"] == "own"]
    assert (own["work"] >= 9 * 5 * own["record_count"]).all()
    assert table.groupby(["solver", "varied"]).size().to_dict() == {
        ("interior_point", "classes"): 2,
        ("interior_point", "records"): 2,
        ("own", "records"): 2,
    }
    assert (table.loc[table["varied"] == "records", "class_count"] == Setting().classes).all()
