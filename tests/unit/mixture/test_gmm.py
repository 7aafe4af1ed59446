"""Fitting (2a)-(2c), EM and Remark 1: sample statistics, floors that are counted, frequencies in the set S."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from meterdp.errors import InputError
from meterdp.mixture.density import mean_log_likelihood
from meterdp.mixture.draws import MixtureDraws
from meterdp.mixture.gmm import discretise, fit_em, fit_labels, raise_eigenvalues
from meterdp.mixture.kmeans import kmeans_labels

FLOOR = 1e-3


def labelled(sizes, d=3, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(1, len(sizes) + 1), sizes)
    return rng.normal(size=(len(labels), d)) + 4 * labels[:, None], labels


def test_fit_is_the_sample_statistics_of_each_class():
    """Oracle: numpy's mean and unbiased covariance."""
    x, labels = labelled([40, 17, 9])
    fit = fit_labels(x, labels, FLOOR)
    assert fit.counts.tolist() == [40, 17, 9]
    assert fit.mixture.weights == pytest.approx([40 / 66, 17 / 66, 9 / 66])
    for k in range(3):
        own = x[labels == k + 1]
        assert fit.mixture.means[k] == pytest.approx(own.mean(axis=0))
        assert fit.mixture.covariances[k] == pytest.approx(np.cov(own.T))
    assert not fit.floored.any()


def test_singular_classes_are_raised_to_the_floor_and_flagged():
    x, labels = labelled([30, 3, 1], d=4)
    fit = fit_labels(x, labels, FLOOR)
    assert fit.floored.tolist() == [False, True, True]
    assert np.linalg.eigvalsh(fit.mixture.covariances)[:, 0] == pytest.approx(
        [np.linalg.eigvalsh(np.cov(x[:30].T))[0], FLOOR, FLOOR]
    )
    assert fit.mixture.covariances[2] == pytest.approx(FLOOR * np.eye(4))
    assert (fit.sample_covariances[2] == 0).all(), "a class of one record has covariance zero before the floor"


def test_identical_records_are_fitted_with_the_floor():
    fit = fit_labels(np.full((5, 2), -1.5), np.ones(5, dtype=int), FLOOR)
    assert fit.mixture.covariances[0] == pytest.approx(FLOOR * np.eye(2))


def test_raising_eigenvalues_is_the_nearest_matrix_above_the_floor():
    """Oracle: no random feasible matrix is nearer in the Frobenius norm."""
    rng = np.random.default_rng(5)
    a = rng.normal(size=(3, 3))
    a = a + a.T
    nearest, raised = raise_eigenvalues(a[None], 0.2)
    assert raised.all()
    for _ in range(500):
        b = rng.normal(size=(3, 3))
        feasible = nearest[0] + 0.3 * (b @ b.T - 0.5 * np.trace(b @ b.T) / 3 * np.eye(3))
        values, vectors = np.linalg.eigh(feasible)
        feasible = (vectors * np.maximum(values, 0.2)) @ vectors.T
        assert np.linalg.norm(nearest[0] - a) <= np.linalg.norm(feasible - a) + 1e-12


def test_empty_classes_and_bad_floors_are_refused():
    x, labels = labelled([5, 5])
    with pytest.raises(InputError, match="no household"):
        fit_labels(x, np.where(labels == 1, 3, labels), FLOOR)
    with pytest.raises(InputError, match="floor is not positive"):
        fit_labels(x, labels, 0.0)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12).filter(lambda w: sum(w) > 1e-6),
    st.integers(0, 500),
)
def test_discretised_frequencies_are_in_the_set_s(raw, extra):
    weights = np.array(raw) / sum(raw)
    n = len(weights) + extra
    counts = discretise(weights, n)
    assert counts.sum() == n
    assert counts.min() >= 1
    # Only classes lifted to one record can push others further than one record from their share.
    lifted = np.maximum(1 - weights * n, 0).sum()
    assert np.abs(counts - weights * n).max() <= 1 + lifted + 1e-9


def test_em_is_at_least_as_likely_as_its_start():
    """Oracle: the definition of EM, and scipy's normal density for the likelihood itself."""
    rng = np.random.default_rng(2)
    x = np.vstack([rng.normal(size=(150, 2)), rng.normal(size=(90, 2)) * 0.5 + 1.5])
    labels = kmeans_labels(x, 2, 0)
    start, fit = fit_labels(x, labels, FLOOR), fit_em(x, labels, 1e-6)

    def likelihood(mixture):
        density = sum(
            w * multivariate_normal(m, c).pdf(x)
            for w, m, c in zip(mixture.weights, mixture.means, mixture.covariances, strict=True)
        )
        return np.log(density).mean()

    assert likelihood(fit.mixture) > likelihood(start.mixture)
    assert mean_log_likelihood(x, MixtureDraws.single(fit.mixture))[0] == pytest.approx(likelihood(fit.mixture))
    assert fit.converged
    assert fit.counts.sum() == len(x)
    assert fit.mixture.weights == pytest.approx(fit.counts / len(x))


def test_em_numbers_classes_by_frequency_and_labels_by_probability():
    x, labels = labelled([8, 60], d=2, seed=4)
    fit = fit_em(x, labels, FLOOR)
    assert fit.counts.tolist() == [60, 8]
    assert fit.labels.tolist() == [2] * 8 + [1] * 60
