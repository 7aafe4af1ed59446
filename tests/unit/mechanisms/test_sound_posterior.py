"""Post-processing of the sound release: it trusts what is well measured and falls back where noise rules."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from meterdp.mechanisms.sound_posterior import (
    RADIUS_FACTOR,
    mixture_parameters,
    positive_counts,
    radius_from,
    shrink_covariances,
    shrink_means,
)
from meterdp.mechanisms.sound_stack import RADIUS_EDGES, StackWeights, smat, svec


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


def test_means_are_kept_without_noise_and_dropped_when_noise_explains_them():
    means = np.random.default_rng(0).normal(size=(1, 2, 8))
    assert shrink_means(means, np.zeros((1, 2))) == pytest.approx(means)
    assert (shrink_means(means, np.full((1, 2), 100.0)) == 0).all()
    assert (shrink_means(np.zeros((1, 1, 8)), np.ones((1, 1))) == 0).all()


def random_covariances(rng, count, d):
    root = rng.normal(size=(count, d, 2 * d))
    return root @ root.transpose(0, 2, 1) / (2 * d)


def test_covariances_are_kept_without_noise():
    rng = np.random.default_rng(1)
    raw = random_covariances(rng, 5, 4)
    target = random_covariances(rng, 5, 4)
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
    radius = radius_from(histogram, 100, 9)
    expected = RADIUS_FACTOR * np.sqrt(9 * 2.0 ** RADIUS_EDGES[[11, 17]])
    assert radius == pytest.approx(expected)


def test_radius_is_public_range_even_for_pure_noise():
    rng = np.random.default_rng(4)
    radius = radius_from(1e6 * rng.normal(size=(1000, len(RADIUS_EDGES) - 1)), 100, 12)
    assert radius.min() >= RADIUS_FACTOR * np.sqrt(12 * 2.0 ** RADIUS_EDGES[1])
    assert radius.max() <= RADIUS_FACTOR * np.sqrt(12 * 2.0 ** RADIUS_EDGES[-1])


def exact_stack(counts, means, covariances, weights):
    moments = counts[:, None, None] * (covariances + means[:, :, None] * means[:, None, :])
    return np.concatenate(
        [weights.count * counts[:, None], weights.mean * counts[:, None] * means, weights.moment * svec(moments)],
        axis=1,
    )[None]


def test_an_exact_stack_gives_back_its_parameters():
    rng = np.random.default_rng(5)
    weights = StackWeights(0.2, 0.5, 0.8)
    counts, means = np.array([500.0, 300.0, 200.0]), 0.2 * rng.normal(size=(3, 4))
    covariances = 0.1 * random_covariances(rng, 3, 4)
    shares, out_means, out = mixture_parameters(
        exact_stack(counts, means, covariances, weights), 1e-9, weights, 1000, 4
    )
    assert shares[0] == pytest.approx(counts / 1000)
    assert out_means[0] == pytest.approx(means, abs=1e-6)
    assert out[0] == pytest.approx(covariances, abs=1e-6)


def test_a_class_without_records_gets_a_small_weight_and_a_pooled_shape():
    rng = np.random.default_rng(6)
    weights = StackWeights(0.2, 0.5, 0.8)
    shape = 0.1 * random_covariances(rng, 1, 4)
    stack = exact_stack(np.array([3000.0, 2000.0, 0.0]), np.zeros((3, 4)), np.repeat(shape, 3, axis=0), weights)
    std = 4.0
    noisy = stack + std * rng.normal(size=(500, *stack.shape[1:]))
    shares, means, covariances = mixture_parameters(noisy, std, weights, 5000, 4)
    assert shares[:, 2].max() < 0.03
    assert (shares > 0).all()
    assert np.linalg.norm(means[:, 2], axis=1).max() < 2, "not far outside the clipping ball"
    ratio = np.linalg.eigvals(np.linalg.solve(np.repeat(shape[None], 500, 0)[:, 0], covariances[:, 2])).real
    assert ratio.min() > 0.05
    assert ratio.max() < 20
