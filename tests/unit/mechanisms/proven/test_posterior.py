"""Post-processing of the sound release: it trusts what is well measured and falls back where noise rules.

Responses of clipped Gaussian sums against Monte Carlo and finite differences of it, and closed forms at the ends.
"""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from meterdp.mechanisms.proven.posterior import (
    EIGENVALUE_RATIOS,
    RADIUS_FACTOR,
    SCALE_RANGE,
    clipped_mean_square,
    household_shape,
    pooled_parameters,
    positive_counts,
    radius_from,
    response,
    round_parameters,
    shrink_covariances,
    shrink_shift,
)
from meterdp.mechanisms.proven.stack import RADIUS_EDGES, StackWeights, moment_stack
from meterdp.privacy.mechanism import clip_to_unit_ball
from meterdp.solvers.svec import smat


@pytest.mark.parametrize("noisy", [-60.0, -5.0, 0.0, 3.0, 200.0])
def test_positive_counts_are_posterior_means(noisy):
    """Oracle: quadrature of the posterior under a flat prior on [0, infinity)."""
    std = 10.0
    top = max(noisy, 0) + 12 * std
    mass = quad(lambda n: norm.pdf(noisy, n, std), 0, top, points=[max(noisy, 0.0)], limit=200)[0]
    mean = quad(lambda n: n * norm.pdf(noisy, n, std), 0, top, points=[max(noisy, 0.0)], limit=200)[0] / mass
    assert positive_counts(np.array([noisy]), std)[0] == pytest.approx(mean, rel=1e-5)


def test_positive_counts_stay_positive_however_negative_the_noise():
    counts = positive_counts(np.array([-1e3, -1e6, -1e12]), 1.0)
    assert (counts > 0).all()
    assert np.isfinite(counts).all()


def test_shifts_are_kept_without_noise_and_dropped_when_noise_explains_them():
    means = np.random.default_rng(0).normal(size=(1, 2, 8))
    assert shrink_shift(means, np.zeros((1, 2))) == pytest.approx(means)
    assert (shrink_shift(means, np.full((1, 2), 100.0)) == 0).all()
    assert (shrink_shift(np.zeros((1, 1, 8)), np.ones((1, 1))) == 0).all()


def random_covariances(rng, count, d):
    root = rng.normal(size=(count, d, 2 * d))
    return root @ root.transpose(0, 2, 1) / (2 * d)


def test_covariances_are_kept_without_noise():
    rng = np.random.default_rng(1)
    target = random_covariances(rng, 5, 4)
    raw = target * rng.uniform(0.5, 2, size=(5, 1, 1))
    assert shrink_covariances(raw, target, np.zeros(5)) == pytest.approx(raw)


def test_pure_noise_leaves_little_of_itself():
    """Mean squared error over 300 draws is at most a tenth of that of the raw matrices; seeded."""
    rng = np.random.default_rng(2)
    target = random_covariances(rng, 1, 6)
    raw = target + smat(0.3 * rng.normal(size=(300, 21)), 6)
    out = shrink_covariances(raw, np.repeat(target, 300, axis=0), np.full(300, 0.09))
    assert ((out - target) ** 2).sum() < 0.1 * ((raw - target) ** 2).sum()


def test_shrunken_covariances_are_positive_definite_whatever_the_noise():
    rng = np.random.default_rng(3)
    target = random_covariances(rng, 400, 6)
    variance = 10.0 ** rng.uniform(-4, 4, size=400)
    raw = target + smat(np.sqrt(variance)[:, None] * rng.normal(size=(400, 21)), 6)
    out = shrink_covariances(raw, target, variance)
    assert np.linalg.eigvalsh(out).min() > 0


def test_structure_far_above_the_noise_survives():
    raw = np.diag([5.0, 1.0, 1.0, 1.0])[None]
    out = shrink_covariances(raw, np.eye(4)[None], np.array([1e-3]))
    assert out[0] == pytest.approx(raw[0], abs=0.02)


def test_radius_is_the_edge_that_few_exceed():
    histogram = np.zeros((2, len(RADIUS_EDGES) - 1))
    histogram[0, 10] = 100
    histogram[1, [4, 16]] = 50
    radius = radius_from(histogram, np.full(2, 100.0), 9)
    assert radius == pytest.approx(RADIUS_FACTOR * np.sqrt(9 * 2.0 ** RADIUS_EDGES[[11, 17]]))


def test_radius_is_in_public_range_even_for_pure_noise():
    rng = np.random.default_rng(4)
    radius = radius_from(1e6 * rng.normal(size=(1000, len(RADIUS_EDGES) - 1)), np.full(1000, 100.0), 12)
    assert radius.min() >= RADIUS_FACTOR * np.sqrt(12 * 2.0 ** RADIUS_EDGES[1])
    assert radius.max() <= RADIUS_FACTOR * np.sqrt(12 * 2.0 ** RADIUS_EDGES[-1])


WEIGHTS = StackWeights(0.3, 0.5, 1.0)


def test_an_exact_pooled_stack_gives_the_moments_of_the_clipped_records():
    rng = np.random.default_rng(5)
    colour = np.linalg.cholesky(0.6 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4))))
    z = rng.normal(size=(2000, 4)) @ (2 * np.eye(4) + rng.uniform(-0.5, 0.5, size=(4, 4))) + 0.5
    radius = np.array([np.linalg.norm(z, axis=1).max() * 1.01])
    stack = moment_stack(clip_to_unit_ball(z[None] / radius[:, None, None]), WEIGHTS)
    mean, covariance = pooled_parameters(stack, 1e-9, WEIGHTS, np.array([2000.0]), radius, colour)
    x = z @ colour.T
    assert mean[0] == pytest.approx(x.mean(axis=0))
    assert covariance[0] == pytest.approx(np.cov(x.T, bias=True), abs=1e-5)


def test_pooled_noise_neither_collapses_nor_explodes():
    """48 hours, 400 households, noise of the study: the scale of every draw stays within a factor of three."""
    rng, d, n = np.random.default_rng(10), 48, 400
    z = rng.normal(size=(n, d)) + rng.normal(size=(n, 1))
    radius = np.full(200, 1.3 * np.sqrt(2 * d))
    stack = moment_stack(clip_to_unit_ball(z[None] / radius[0]), WEIGHTS)
    noisy = stack + 6 * rng.normal(size=(200, stack.shape[1]))
    _, covariance = pooled_parameters(noisy, 6.0, WEIGHTS, np.full(200, float(n)), radius, np.eye(d))
    trace = np.trace(covariance, axis1=1, axis2=2) / d
    assert trace.min() > 2 / 3
    assert trace.max() < 6
    assert np.linalg.eigvalsh(covariance).min() > 0.05


@pytest.mark.parametrize(("level", "rest", "correlation"), [(1.0, 0.6, 0.5), (0.0, 2.0, 0.0), (0.5, 0.5, 0.6)])
def test_household_shape_recovers_a_level_and_its_hours(level, rest, correlation):
    lags = np.abs(np.subtract.outer(np.arange(24), np.arange(24)))
    truth = (level + rest * correlation**lags)[None]
    assert household_shape(truth) == pytest.approx(truth, rel=0.03, abs=0.02)


@pytest.mark.parametrize("d", [1, 2, 3, 12])
def test_household_shape_is_positive_semidefinite_whatever_it_is_given(d):
    rng = np.random.default_rng(d)
    a = rng.normal(size=(300, d, d)) * 10.0 ** rng.uniform(-5, 5, size=(300, 1, 1))
    shapes = household_shape(a + np.swapaxes(a, 1, 2))
    assert np.isfinite(shapes).all()
    scale = np.abs(shapes).max(axis=(1, 2))
    assert (np.linalg.eigvalsh(shapes)[:, 0] >= -1e-9 * scale).all()


def test_one_round_without_noise_finds_gaussian_classes_near_the_standard_ones():
    """Oracle: 400,000 records drawn from known classes; what is left is the first order of the clipping constants."""
    rng, d, radius = np.random.default_rng(6), 4, 1.1 * 2.0
    stacks, truth = [], []
    for n, shift, scale in ((300_000, 0.1, 1.3), (100_000, -0.2, 0.6)):
        shape = np.eye(d) + 0.08 * (np.ones((d, d)) - np.eye(d))
        x = shift + rng.normal(size=(n, d)) @ np.linalg.cholesky(scale * shape).T
        stacks.append(moment_stack(clip_to_unit_ball(x[None] / radius), WEIGHTS)[0])
        truth.append((n, shift, scale * shape))
    out = round_parameters(np.array(stacks)[None], 1e-6, WEIGHTS, np.array([400_000.0]), radius, d)
    for k, (n, shift, covariance) in enumerate(truth):
        assert out[0][0, k] == pytest.approx(n / 400_000)
        assert out[1][0, k] == pytest.approx(np.full(d, shift), abs=0.03)
        assert out[2][0, k] == pytest.approx(covariance, abs=0.04)


def test_a_round_that_sees_only_noise_changes_little():
    """Standard normal classes, noise far above the signal: shifts and shapes stay near (0, I)."""
    rng, d, radius = np.random.default_rng(7), 6, 1.1 * np.sqrt(6)
    x = rng.normal(size=(3000, d))
    stack = np.stack([moment_stack(clip_to_unit_ball(x[None, i::2] / radius), WEIGHTS)[0] for i in range(2)])
    noisy = stack + 3000 * rng.normal(size=(300, *stack.shape))
    weights, shift, covariance = round_parameters(noisy, 3000.0, WEIGHTS, np.full(300, 3000.0), radius, d)
    assert weights.sum(axis=1) == pytest.approx(1)
    assert np.median(np.linalg.norm(shift, axis=-1)) < 0.5
    assert np.median(np.abs(np.log(np.linalg.eigvalsh(covariance)))) < 0.7


def test_a_class_without_records_gets_a_small_weight_and_a_usable_shape():
    rng, d, radius = np.random.default_rng(8), 4, 1.1 * 2.0
    full = moment_stack(clip_to_unit_ball(rng.normal(size=(1, 5000, d)) / radius), WEIGHTS)[0]
    stack = np.stack([0.6 * full, 0.4 * full, 0 * full])
    noisy = stack + 4 * rng.normal(size=(500, *stack.shape))
    weights, shift, covariance = round_parameters(noisy, 4.0, WEIGHTS, np.full(500, 5000.0), radius, d)
    assert weights[:, 2].max() < 0.03
    assert (weights > 0).all()
    assert np.isfinite(shift).all()
    values = np.linalg.eigvalsh(covariance)
    assert values.min() >= 0.1 * SCALE_RANGE[0] * EIGENVALUE_RATIOS[0]
    assert values.max() <= d * SCALE_RANGE[1]


def test_rounds_are_finite_and_positive_definite_whatever_the_noise():
    rng, d = np.random.default_rng(9), 5
    for std in (1e-9, 1.0, 1e3, 1e9):
        noisy = std * rng.normal(size=(200, 3, 1 + d + d * (d + 1) // 2))
        weights, shift, covariance = round_parameters(noisy, std, WEIGHTS, np.full(200, 50.0), 2.5, d)
        assert (weights > 0).all()
        assert np.isfinite(shift).all()
        assert np.linalg.eigvalsh(covariance).min() > 0


DRAWS = 400_000


@pytest.mark.parametrize("d", [1, 2, 5, 12])
@pytest.mark.parametrize("factor", [0.6, 1.1, 2.0])
def test_responses_match_monte_carlo_with_common_random_numbers(d, factor):
    """Symmetric differences of step 0.1; seven standard errors and the second order are below the tolerance."""
    radius, step = factor * np.sqrt(d), 0.1
    z = np.random.default_rng(d).normal(size=(DRAWS, d))
    of = response(d, radius)
    square = np.minimum((z**2).sum(axis=1), radius**2).mean() / d
    assert of.mean_square == pytest.approx(square, rel=0.01)

    def clipped(y):
        return radius * clip_to_unit_ball(y / radius)

    shift = step * np.eye(d)[0]
    slope = (clipped(z + shift) - clipped(z - shift))[:, 0].mean() / (2 * step)
    assert of.mean == pytest.approx(slope, rel=0.01)
    if d > 1:
        reweighting = np.zeros(d)
        reweighting[:2] = step, -step
        up, down = (clipped(z * np.sqrt(1 + sign * reweighting)) for sign in (1, -1))
        change = ((up**2 - down**2)[:, 0] - (up**2 - down**2)[:, 1]).mean() / 2 / (2 * step)
        assert of.shape == pytest.approx(change / of.mean_square, rel=0.02)


@pytest.mark.parametrize("d", [1, 3, 12])
def test_nothing_is_corrected_where_nothing_is_clipped(d):
    of = response(d, 100.0)
    assert of.mean == pytest.approx(1)
    assert of.shape == pytest.approx(1)
    assert of.scale(np.array([0.5, 1.0, 2.0])) == pytest.approx([0.5, 1.0, 2.0], rel=2e-3)


@pytest.mark.parametrize("factor", [0.6, 1.1, 2.0])
def test_scale_inverts_the_clipped_mean_square(factor):
    d, scales = 12, np.array([0.2, 0.7, 1.0, 1.5, 4.0])
    square = factor**2 * d
    mean_squares = scales * clipped_mean_square(d, square / scales)
    assert response(d, factor * np.sqrt(d)).scale(mean_squares) == pytest.approx(scales, rel=5e-3)
