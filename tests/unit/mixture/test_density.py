"""The one log-density, the divergence (8) and samples: oracles are scipy, closed forms and Monte Carlo."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from meterdp.core.noise import StudyNoise
from meterdp.mixture.density import (
    class_log_densities,
    class_shares,
    kl_joint,
    kl_terms,
    log_scales,
    mean_log_likelihood,
    record_log_densities,
    standardised,
)
from meterdp.mixture.draws import Mixture, MixtureDraws, sample


def random_mixture(seed, k=3, d=2):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(k, d, d + 2))
    return Mixture(rng.dirichlet(np.ones(k)), rng.normal(size=(k, d)), roots @ roots.transpose(0, 2, 1))


def stacked(*mixtures):
    return MixtureDraws.join([MixtureDraws.single(m) for m in mixtures])


@pytest.fixture
def mixture():
    return random_mixture(4, k=4, d=3)


@pytest.fixture
def x():
    return 3 * np.random.default_rng(9).normal(size=(57, 3))


def densities(x, mixture):
    """Oracle: scipy's normal densities, (K, n)."""
    classes = zip(mixture.weights, mixture.means, mixture.covariances, strict=True)
    return np.array([w * multivariate_normal(m, c).pdf(x) for w, m, c in classes])


@pytest.mark.parametrize("chunk_bytes", [1, 1000, 120_000])
def test_log_densities_are_those_of_scipy_whatever_the_chunk(monkeypatch, mixture, x, chunk_bytes):
    monkeypatch.setattr("meterdp.mixture.density.CHUNK_BYTES", chunk_bytes)
    expected = densities(x, mixture)
    assert class_log_densities(x, mixture) == pytest.approx(np.log(expected))
    of_records = np.log(expected.sum(axis=0))
    assert record_log_densities(x, mixture) == pytest.approx(of_records)
    other = random_mixture(5, k=4, d=3)
    means = [of_records.mean(), np.log(densities(x, other).sum(axis=0)).mean()]
    assert mean_log_likelihood(x, stacked(mixture, other)) == pytest.approx(means)


def test_shares_are_posterior_class_probabilities_whatever_the_root(mixture, x):
    expected = densities(x, mixture)
    expected /= expected.sum(axis=0)
    assert class_shares(class_log_densities(x, mixture)) == pytest.approx(expected)
    values, vectors = np.linalg.eigh(mixture.covariances)
    whiten = np.linalg.inv(vectors * np.sqrt(values)[:, None, :])
    z = standardised(x, mixture.means, whiten, out=np.empty((4, 57, 3)))
    log_density = log_scales(mixture.weights, whiten)[:, None] - 0.5 * (z**2).sum(axis=2)
    assert class_shares(log_density) == pytest.approx(expected)


def test_standardised_records_have_the_coordinates_of_the_class(x):
    rng = np.random.default_rng(5)
    means, root = rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 3))
    z = standardised(x, means, np.linalg.inv(root))
    assert np.einsum("kij,knj->kni", root, z) + means[:, None] == pytest.approx(np.broadcast_to(x, (2, 57, 3)))


def test_shares_of_far_records_are_finite_and_a_class_without_weight_gets_none():
    x = np.array([[1e6, -1e6], [0.0, 0.0]])
    wide = np.eye(2) * np.array([1.0, 1 / 81, 1.0])[:, None, None]
    mixture = Mixture(np.array([0.5, 0.5, 0.0]), np.array([[0.0, 0], [1, 1], [0, 0]]), wide)
    shares = class_shares(class_log_densities(x, mixture))
    assert np.isfinite(shares).all() and shares.sum(axis=0) == pytest.approx(1)
    assert (shares[2] == 0).all()


def test_divergence_of_one_dimensional_gaussians_is_the_textbook_formula():
    p = Mixture(np.ones(1), np.array([[1.0]]), np.array([[[4.0]]]))
    q = Mixture(np.ones(1), np.array([[-1.0]]), np.array([[[9.0]]]))
    expected = np.log(3 / 2) + (4 + 4) / (2 * 9) - 0.5
    assert kl_joint(MixtureDraws.single(p), q) == pytest.approx(expected)


def test_divergence_agrees_with_monte_carlo():
    """Oracle: the mean of ln p~(x, y) - ln p(x, y) under p~; seeded, within five standard errors."""
    released, reference = random_mixture(1), random_mixture(2)
    rng = np.random.default_rng(3)
    n = 200_000
    y = rng.choice(3, size=n, p=released.weights)
    x = released.means[y] + np.einsum(
        "nij,nj->ni", np.linalg.cholesky(released.covariances)[y], rng.normal(size=(n, 2))
    )
    loss = np.empty(n)
    for k in range(3):
        own = y == k
        loss[own] = (
            np.log(released.weights[k] / reference.weights[k])
            + multivariate_normal(released.means[k], released.covariances[k]).logpdf(x[own])
            - multivariate_normal(reference.means[k], reference.covariances[k]).logpdf(x[own])
        )
    error = loss.std() / np.sqrt(n)
    assert abs(kl_joint(MixtureDraws.single(released), reference)[0] - loss.mean()) < 5 * error


def test_draws_are_handled_one_by_one_against_one_or_many_references():
    a, b, p, q = (random_mixture(s) for s in range(4))
    both = kl_joint(stacked(a, b), p)
    assert both == pytest.approx([kl_joint(MixtureDraws.single(m), p)[0] for m in (a, b)])
    paired = kl_joint(stacked(a, b), stacked(p, q))
    assert paired == pytest.approx([both[0], kl_joint(MixtureDraws.single(b), q)[0]])
    assert kl_terms(stacked(a, b), p).shape == (2, 3)


def test_a_released_weight_of_zero_costs_nothing_for_its_class():
    p = random_mixture(0)
    released = Mixture(np.array([0.5, 0.5, 0.0]), p.means, p.covariances)
    expected = 0.5 * np.log(0.5 / p.weights[0]) + 0.5 * np.log(0.5 / p.weights[1])
    assert kl_joint(MixtureDraws.single(released), p) == pytest.approx(expected)


def test_divergence_does_not_change_under_linear_maps():
    """Nasty scaling: eigenvalues over twelve decades."""
    released, reference = random_mixture(5, d=3), random_mixture(6, d=3)
    a = np.diag([1e-6, 1.0, 1e6]) @ np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]

    def mapped(m):
        return Mixture(m.weights, m.means @ a.T, a @ m.covariances @ a.T)

    before = kl_joint(MixtureDraws.single(released), reference)
    after = kl_joint(MixtureDraws.single(mapped(released)), mapped(reference))
    assert after == pytest.approx(before, rel=1e-3)


def test_log_likelihood_survives_zero_weights_and_far_records():
    p = random_mixture(0)
    q = Mixture(np.array([1.0, 0.0, 0.0]), p.means, p.covariances)
    x = np.full((1, 2), 1e4)
    expected = multivariate_normal(p.means[0], p.covariances[0]).logpdf(x)
    assert mean_log_likelihood(x, MixtureDraws.single(q)) == pytest.approx(expected)


P = Mixture(
    np.array([0.7, 0.0, 0.3]),
    np.array([[0.0, 1.0], [50.0, 50.0], [-4.0, 2.0]]),
    np.array([[[1.0, 0.6], [0.6, 2.0]], np.eye(2), [[0.2, 0.0], [0.0, 0.1]]]),
)


def test_sample_has_the_moments_of_each_class():
    """Seeded; tolerances are six standard errors of each moment."""
    n = 100_000
    x, labels = sample(P, n, StudyNoise(1, "sampling"))
    assert x.shape == (n, 2)
    assert labels.dtype == np.int32
    assert not (labels == 2).any(), "a class of weight zero is never drawn"
    assert (labels == 1).mean() == pytest.approx(0.7, abs=6 * np.sqrt(0.21 / n))
    for k in (0, 2):
        own = x[labels == k + 1]
        variance = np.diag(P.covariances[k])
        assert np.abs(own.mean(axis=0) - P.means[k]).max() < 6 * np.sqrt(variance.max() / len(own))
        assert np.abs(np.cov(own.T) - P.covariances[k]).max() < 6 * np.sqrt(2 / len(own)) * variance.max()


def test_same_stream_same_sample_and_no_records_at_all():
    x, _ = sample(P, 10, StudyNoise(1, "a"))
    y, _ = sample(P, 10, StudyNoise(1, "a"))
    assert (x == y).all()
    assert sample(P, 0, StudyNoise(1, "a"))[0].shape == (0, 2)
