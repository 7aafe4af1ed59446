"""The one log-density: against scipy, whatever the chunk, the root and the weights."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from meterdp.mixture.density import (
    class_log_densities,
    class_shares,
    log_densities,
    record_log_densities,
    standardised,
)
from meterdp.mixture.draws import Mixture


@pytest.fixture
def mixture():
    rng = np.random.default_rng(4)
    covariances = np.array([np.cov(rng.normal(size=(9, 3)).T) for _ in range(4)])
    return Mixture(rng.dirichlet(np.ones(4)), rng.normal(size=(4, 3)), covariances)


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
    assert record_log_densities(x, mixture) == pytest.approx(np.log(expected.sum(axis=0)))


def test_shares_are_posterior_class_probabilities_whatever_the_root(mixture, x):
    expected = densities(x, mixture)
    expected /= expected.sum(axis=0)
    assert class_shares(class_log_densities(x, mixture)) == pytest.approx(expected)
    values, vectors = np.linalg.eigh(mixture.covariances)
    whiten = np.linalg.inv(vectors * np.sqrt(values)[:, None, :])
    z = standardised(x, mixture.means, whiten, out=np.empty((4, 57, 3)))
    assert class_shares(log_densities(z, mixture.weights, whiten)) == pytest.approx(expected)


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
