"""The noise-shape SDP (23): feasible, certified, and equal to independent solutions and closed forms."""

from __future__ import annotations

import itertools

import cvxpy as cp
import numpy as np
import pytest

from meterdp.errors import InputError
from meterdp.solvers import ellipsoid
from meterdp.solvers.ellipsoid import solve
from meterdp.solvers.ellipsoid_kernel import interior_point

ACCURACY = 1e-9


def as_printed(z):
    """Oracle: (23) with Schur complements, one semidefinite block a point, solved by Clarabel."""
    d = z.shape[1]
    m = cp.Variable((d, d), symmetric=True)
    blocks = [cp.bmat([[np.ones((1, 1)), v[None]], [v[:, None], m]]) >> 0 for v in z]
    problem = cp.Problem(cp.Minimize(cp.trace(m)), blocks)
    problem.solve(solver=cp.CLARABEL)
    return problem.value


def precision_form(z):
    """Oracle: min tr X^-1 subject to z_n' X z_n <= 1, a row a point, by Clarabel; the longest has length one."""
    size = np.linalg.norm(z, axis=1).max()
    x = cp.Variable((z.shape[1], z.shape[1]), PSD=True)
    features = np.einsum("ni,nj->nij", z, z).reshape(len(z), -1) / size**2
    cp.Problem(cp.Minimize(cp.tr_inv(x)), [features @ cp.vec(x, order="C") <= 1]).solve(solver=cp.CLARABEL)
    return np.linalg.inv((x.value + x.value.T) / 2) * size**2


def reach(matrix, z):
    """Oracle: max_n z_n' M^-1 z_n on the span of the points, by a Cholesky factorisation in extended precision."""
    _, spread, axes = np.linalg.svd(z, full_matrices=False)
    axes = axes[: len(spread)][spread > 1e-14 * spread[0]].T.astype(np.longdouble)
    lower, y = axes.T @ matrix @ axes, (z @ axes).T
    for j in range(len(lower)):
        assert lower[j, j] > 0
        lower[j, j] = np.sqrt(lower[j, j])
        lower[j + 1 :, j] /= lower[j, j]
        for i in range(j + 1, len(lower)):
            lower[i:, i] -= lower[i:, j] * lower[i, j]
        y[j] = (y[j] - lower[j, :j] @ y[:j]) / lower[j, j]
    return float((y * y).sum(axis=0).max())


def gaussian(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def on_sphere(n, d):
    return gaussian(n, d) / np.linalg.norm(gaussian(n, d), axis=1, keepdims=True)


def with_outlier(size):
    z = gaussian(300, 5)
    z[0] *= size
    return z


TAME = {
    "d = 1": gaussian(100, 1),
    "fewer points than dimensions": gaussian(3, 6),
    "as many points as dimensions": gaussian(7, 7),
    "on a line": gaussian(40, 1) * np.array([[1.0, -2.0, 3.0]]),
    "in a plane, and the origin": np.vstack([gaussian(50, 2) @ gaussian(2, 6, seed=1), np.zeros((3, 6))]),
    "duplicates": np.repeat(gaussian(20, 6), 50, axis=0),
    "pairs of opposite sign": np.vstack([gaussian(200, 5), -gaussian(200, 5)]),
    "on the sphere": on_sphere(1000, 4),
    "on a lattice": np.round(gaussian(800, 4)),
    "class-based: two lengths": gaussian(1409, 12) * np.where(np.arange(1409) < 14, 1 / 13, 1 / 15)[:, None],
    "tiny": 1e-12 * gaussian(200, 4),
    "huge": 1e12 * gaussian(200, 4),
}
NASTY = {
    "heavy tails": np.random.default_rng(1).standard_cauchy((3000, 6)),
    "lengths over eight decades": gaussian(500, 5) * 10 ** np.linspace(-8, 0, 500)[:, None],
    "outlier 1e3": with_outlier(1e3),
    "outlier 1e9": with_outlier(1e9),
    "ill-conditioned 1e3": gaussian(400, 8) * np.logspace(-3, 0, 8),
    "ill-conditioned 1e6": gaussian(400, 8) * np.logspace(-6, 0, 8),
    "ill-conditioned 1e6, turned": gaussian(400, 8) * np.logspace(-6, 0, 8) @ np.linalg.qr(gaussian(8, 8, 2))[0],
    "ill-conditioned 1e12": gaussian(400, 4) * np.logspace(-12, 0, 4),
    "near-parallel 1e-4": np.ones(6) + 1e-4 * gaussian(300, 6),
    "near-parallel 1e-8": np.ones(6) + 1e-8 * gaussian(300, 6),
    "near-parallel pairs": np.vstack([gaussian(100, 5), gaussian(100, 5) + 1e-9 * gaussian(100, 5, 3)]),
    "tight clusters": (gaussian(8, 5)[:, None] + 1e-6 * gaussian(400, 5).reshape(8, 50, 5)).reshape(-1, 5),
}


@pytest.mark.parametrize("seed", range(3))
def test_optimum_agrees_with_the_problem_as_printed(seed):
    z = gaussian(30, 3, seed)
    solution = solve(z)
    assert np.trace(solution.matrix) == pytest.approx(as_printed(z), rel=1e-5)
    assert solution.relative_gap < ACCURACY


@pytest.mark.parametrize("case", TAME)
def test_answer_is_feasible_and_certified(case):
    """Oracle: extended precision. The largest constraint is tight, so M is not inflated more than needed either."""
    solution = solve(TAME[case])
    assert 1 - 1e-9 < reach(solution.matrix, TAME[case]) <= 1 + 1e-12
    assert 0 <= solution.relative_gap <= ACCURACY


@pytest.mark.parametrize("case", NASTY)
def test_own_solver_survives_nasty_points(case):
    solution = solve(NASTY[case])
    assert reach(solution.matrix, NASTY[case]) <= 1
    assert 0 <= solution.relative_gap <= 1e-9


@pytest.mark.parametrize("first", range(0, 150, 30))
def test_random_points_of_every_kind_are_feasible_and_certified(first):
    """Random sizes, tails, gradings, outliers, turns, shifts and repetitions, one mixture of them a seed."""
    for seed in range(first, first + 30):
        z = random_points(seed)
        solution = solve(z)
        if np.any(z):
            assert reach(solution.matrix, z) <= 1 + 1e-12, seed
        assert 0 <= solution.relative_gap <= 1e-9, seed


def random_points(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 10))
    n = d + int(10 ** rng.uniform(0, 3))
    z = rng.normal(size=(n, d))
    kinds = [
        lambda z: rng.standard_t(1, size=z.shape),
        lambda z: z * 10 ** rng.uniform(-6, 0, size=d),
        lambda z: z * 10 ** rng.uniform(-6, 0, size=(n, 1)),
        lambda z: z * np.where(np.arange(n) < 2, 10 ** rng.uniform(0, 8), 1)[:, None],
        lambda z: z / np.linalg.norm(z, axis=1, keepdims=True),
        np.round,
        lambda z: z @ rng.normal(size=(d, d)),
        lambda z: z + 10 * rng.normal(size=d),
        lambda z: z[rng.integers(0, n, size=n)],
    ]
    for kind in rng.permutation(len(kinds))[:2]:
        z = kinds[kind](z)
    return z


@pytest.mark.parametrize(("n", "d"), [(40, 1), (150, 4), (1409, 12), (5000, 5), (60, 12)])
def test_own_solver_agrees_with_cvxpy(n, d):
    """Oracle: Clarabel on the precision form. M is unique, and flat in second order around the optimum."""
    z = gaussian(n, d, seed=n) * np.random.default_rng(n).gamma(2.0, size=(n, 1))
    ours, theirs = solve(z).matrix, precision_form(z)
    assert np.trace(ours) == pytest.approx(np.trace(theirs), rel=1e-6)
    assert np.abs(ours - theirs).max() <= 3e-3 * np.abs(theirs).max()


def corners_of_a_box(d):
    """By symmetry M is diagonal; sum s_i^2 / m_i = 1 with least sum m_i gives m_i = s_i sum s_j."""
    s = np.arange(1.0, d + 1)
    return np.array(list(itertools.product(*[(-side, side) for side in s]))), np.diag(s * s.sum())


def orthogonal_points():
    """z = s_i e_i forces M_ii >= s_i^2, so M = diag(s_i^2); a turn of the points turns M."""
    s, turn = np.array([1.0, 2.0, 5.0]), np.linalg.qr(gaussian(3, 3))[0]
    return np.diag(s) @ turn, turn.T @ np.diag(s**2) @ turn


CLOSED_FORMS = {
    "one point": (np.array([[3.0, 4.0]]), np.outer([3.0, 4.0], [3.0, 4.0])),
    "one dimension, the longest point": (gaussian(50, 1), np.square(gaussian(50, 1)).max()),
    "orthogonal points": orthogonal_points(),
    "corners of a square": corners_of_a_box(2),
    "corners of a box in five dimensions": corners_of_a_box(5),
}


@pytest.mark.parametrize("case", CLOSED_FORMS)
def test_closed_forms(case):
    z, matrix = CLOSED_FORMS[case]
    solution = solve(z)
    assert solution.matrix == pytest.approx(matrix, rel=1e-4, abs=1e-3 if "box" in case or "square" in case else 1e-5)
    assert np.trace(solution.matrix) == pytest.approx(np.trace(np.atleast_2d(matrix)), rel=ACCURACY)


def test_no_points_and_zero_points_need_no_noise():
    assert (solve(np.zeros((4, 3))).matrix == 0).all()
    assert (solve(np.zeros((0, 3))).matrix == 0).all()


def test_no_noise_is_spent_outside_the_span():
    matrix = solve(TAME["in a plane, and the origin"]).matrix
    assert np.linalg.eigvalsh(matrix)[:4] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-100, 1e-12, 1e12, 1e100])
def test_units_do_not_matter(scale):
    z = gaussian(200, 4)
    assert solve(scale * z).matrix == pytest.approx(scale**2 * solve(z).matrix, rel=1e-6)


def test_plain_vectors_give_the_minimum_trace_noise_of_the_coloured_gaussian():
    """Both answers allow the same vectors v; only the one solved with plain v has the least trace of Gamma^-1."""
    v = gaussian(300, 4) @ np.diag([1.0, 2.0, 4.0, 8.0])
    lower = np.linalg.cholesky(np.cov(v.T))
    plain = solve(v).matrix
    whitened = lower @ solve(np.linalg.solve(lower, v.T).T).matrix @ lower.T
    assert reach(plain, v) <= 1
    assert reach(whitened, v) == pytest.approx(1, abs=1e-9)
    assert np.trace(plain) < 0.99 * np.trace(whitened)


@pytest.mark.parametrize("seed", range(5))
def test_no_solver_is_trusted(monkeypatch, seed):
    """A solver that returns noise: still feasible, and the certificate still encloses the optimum."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(100, 4))
    best = np.trace(solve(z).matrix)
    answer = rng.normal(size=(4, 4)), np.arange(100), rng.normal(size=100)
    monkeypatch.setattr(ellipsoid, "own", lambda points, work: answer)
    solution = solve(z)
    assert reach(solution.matrix, z) <= 1
    assert np.trace(solution.matrix) / (1 + solution.relative_gap) < best < np.trace(solution.matrix)


@pytest.mark.parametrize("seed", range(5))
def test_an_early_end_is_feasible_with_its_honest_gap(monkeypatch, seed):
    z = gaussian(5000, 6, seed)
    best = np.trace(solve(z).matrix)
    monkeypatch.setattr(ellipsoid, "ROUNDS", 1)
    solution = solve(z)
    assert reach(solution.matrix, z) <= 1
    assert solution.relative_gap > 1e-6
    assert np.trace(solution.matrix) / (1 + solution.relative_gap) < best < np.trace(solution.matrix)


@pytest.mark.parametrize("make", [gaussian, on_sphere])
@pytest.mark.parametrize("d", [1, 3, 6])
@pytest.mark.parametrize("count", [150, 300])
def test_points_that_touch_the_optimum_are_never_eliminated(make, d, count):
    """Oracle: the optimum itself, for answers of every quality on the way to it, feasible (300) or not (150)."""
    points = make(300, d)
    inverse = np.linalg.inv(solve(points).matrix)
    touching = np.einsum("ni,ij,nj->n", points, inverse, points) > 1 - 1e-8
    start = np.eye(d) / (2 * np.linalg.norm(points, axis=1).max())
    kept = []
    for target in (3.0, 1.0, 0.3, 0.1, 1e-2, 1e-3, 1e-6):
        factor, weights, value, _, reweighting = interior_point(points[:count], start, np.ones(count), target)
        w, leverage = ellipsoid._price(points, factor)
        keep = ellipsoid._may_be_active(w, leverage, weights.sum(), value, max(w.max(), 1.0), reweighting)
        assert keep[touching].all()
        kept.append(keep.sum())
    assert touching.any()
    if make is gaussian and count == 300:
        assert min(kept) < 50


def test_interior_point_keeps_a_feasible_pair():
    """Strictly feasible X, positive weights, orthogonal rows, and a gap that a closed form confirms."""
    points = gaussian(60, 4)
    start = np.eye(4) / (2 * np.linalg.norm(points, axis=1).max())
    for target in (1e-1, 1e-4, 1e-9):
        factor, weights, value, gap, _ = interior_point(points, start, np.ones(60), target)
        assert np.square(points @ factor.T).sum(axis=1).max() < 1
        assert (weights > 0).all()
        gram = factor @ factor.T
        assert gram == pytest.approx(np.diag(np.diag(gram)), abs=1e-12 * gram.max())
        # Lagrangian bound: min over X of tr X^-1 + sum weight_n (z_n' X z_n - 1) = 2 tr A^1/2 - sum weight_n.
        spectrum = np.linalg.eigvalsh(points.T @ (weights[:, None] * points))
        true_gap = 1 - (2 * np.sqrt(spectrum).sum() - weights.sum()) / value
        assert value == pytest.approx(np.trace(np.linalg.inv(factor.T @ factor)), rel=1e-9)
        assert gap == pytest.approx(true_gap, rel=0.5, abs=1e-13)


def test_unusable_input_is_refused_without_showing_it():
    for value in (np.nan, np.inf, 3e200, 3e-200):
        with pytest.raises(InputError, match="out of range") as refusal:
            solve(np.full((3, 2), value))
        assert "3" not in str(refusal.value)


def test_no_weights_prove_more_than_the_optimum():
    """Weak duality: whatever the weights, negative or not normalised, the bound stays below the optimum."""
    z = gaussian(50, 3)
    least = np.trace(solve(z).matrix)
    for weights in np.random.default_rng(0).normal(size=(20, 50)):
        assert ellipsoid._lower_bound(z, weights) < least
        assert ellipsoid._lower_bound(z, 7 * weights) == pytest.approx(ellipsoid._lower_bound(z, weights))
