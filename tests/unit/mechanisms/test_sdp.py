"""The noise-shape SDP (23): feasible, certified, and equal to an independent solution of the problem as printed."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from meterdp.mechanisms.sdp import solve


def as_printed(z):
    """Oracle: (23) with Schur complements, one semidefinite block a point, solved by SCS at high accuracy."""
    d = z.shape[1]
    m = cp.Variable((d, d), symmetric=True)
    blocks = [cp.bmat([[np.ones((1, 1)), v[None]], [v[:, None], m]]) >> 0 for v in z]
    problem = cp.Problem(cp.Minimize(cp.trace(m)), blocks)
    problem.solve(solver=cp.CLARABEL)
    return problem.value


def reach(solution, z):
    return np.einsum("ni,ij,nj->n", z, np.linalg.pinv(solution.matrix, rcond=1e-12), z)


@pytest.mark.parametrize("seed", range(3))
def test_optimum_agrees_with_the_problem_as_printed(seed):
    z = np.random.default_rng(seed).normal(size=(30, 3))
    solution = solve(z)
    assert np.trace(solution.matrix) == pytest.approx(as_printed(z), rel=1e-5)
    assert solution.relative_gap < 1e-6


@pytest.mark.parametrize(("n", "d"), [(1409, 12), (5000, 5), (60, 12), (100, 1)])
def test_answer_is_feasible_and_certified(n, d):
    rng = np.random.default_rng(n)
    z = rng.normal(size=(n, d)) * rng.gamma(1.0, size=(n, 1)) * 1e-3
    solution = solve(z)
    assert reach(solution, z).max() == pytest.approx(1, abs=1e-9)
    assert -1e-12 <= solution.relative_gap < 1e-6


def test_one_point_needs_noise_in_its_direction_only():
    z = np.array([[3.0, 4.0]])
    solution = solve(z)
    assert solution.matrix == pytest.approx(z.T @ z, rel=1e-6)


def test_orthogonal_points_give_their_closed_form():
    """Oracle: for z = s_i e_i the optimum is (sum s_i) diag(s_i)... by symmetry M = diag(s_i^2) is least."""
    s = np.array([1.0, 2.0, 5.0])
    assert solve(np.diag(s)).matrix == pytest.approx(np.diag(s**2), rel=1e-6, abs=1e-6)


def test_points_in_a_subspace_and_at_the_origin():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 6))
    solution = solve(np.vstack([z, np.zeros((3, 6))]))
    assert np.linalg.matrix_rank(solution.matrix, tol=1e-9) == 2
    assert reach(solution, z).max() == pytest.approx(1, abs=1e-6)
    assert (solve(np.zeros((4, 3))).matrix == 0).all()


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_units_do_not_matter(scale):
    z = np.random.default_rng(4).normal(size=(200, 4))
    ours = solve(scale * z)
    assert ours.matrix == pytest.approx(scale**2 * solve(z).matrix, rel=1e-6)


def test_ill_conditioned_points_stay_feasible():
    """Singular classes whitened by the floor: directions a thousand times longer than others."""
    rng = np.random.default_rng(6)
    z = rng.normal(size=(400, 8)) * np.logspace(-3, 2, 8)
    solution = solve(z)
    assert reach(solution, z).max() <= 1 + 1e-6
    assert solution.relative_gap < 1e-2
