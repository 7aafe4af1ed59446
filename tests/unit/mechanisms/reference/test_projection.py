"""Projections of perturbed parameters: nearest feasible points, flagged only when something was cut."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from meterdp.mechanisms.reference.projection import project_covariances, project_simplex, symmetric


def test_simplex_projection_agrees_with_cvxpy():
    rng = np.random.default_rng(0)
    noisy = rng.normal(size=(20, 5)) * 10 ** rng.uniform(-3, 3, size=(20, 1))
    ours, _ = project_simplex(noisy)
    for row, point in zip(noisy, ours, strict=True):
        w = cp.Variable(5)
        cp.Problem(cp.Minimize(cp.sum_squares(w - row)), [w >= 0, cp.sum(w) == 1]).solve(solver=cp.CLARABEL)
        assert point == pytest.approx(w.value, abs=1e-4 * max(1, np.abs(row).max()))
    assert ours.sum(axis=1) == pytest.approx(1)


def test_weights_that_only_need_a_shift_are_not_flagged():
    weights, projected = project_simplex(np.array([[0.3, 0.4, 0.5], [0.9, 0.3, -0.2], [1.0, 0.0, 0.0]]))
    assert projected.tolist() == [False, True, False]
    assert weights[0] == pytest.approx([0.7 / 3, 1 / 3, 1.3 / 3])
    assert weights[1] == pytest.approx([0.8, 0.2, 0.0])


def test_upper_triangles_become_symmetric_matrices():
    a = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]])
    assert (symmetric(a[np.triu_indices(3)][None], 3)[0] == a).all()


def test_covariances_are_raised_to_the_floor_and_the_draw_is_flagged():
    good, bad = np.diag([2.0, 1.0]), np.array([[1.0, 2.0], [2.0, 1.0]])
    out, projected = project_covariances(np.array([[good, good], [good, bad]]), 0.1)
    assert projected.tolist() == [False, True]
    assert (out[0] == good).all()
    assert np.linalg.eigvalsh(out[1, 1]) == pytest.approx([0.1, 3.0])
