"""Labels of K-means, fits (2a)-(2c) and Remark 1, and class sums: sample statistics, floors that are counted,
frequencies in the set S, sums against a loop over records."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import multivariate_normal

from meterdp.errors import InputError
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import class_sums, discretise, fit_given, fit_labels, kmeans_labels, raise_eigenvalues

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


def test_a_mixture_fitted_elsewhere_is_numbered_by_frequency_and_labels_by_probability():
    """Oracle: the fit to labels, whose classes are handed over in another order and with other frequencies."""
    x, labels = labelled([8, 60, 20], d=2, seed=4)
    own = fit_labels(x, labels, FLOOR).mixture
    elsewhere = Mixture(np.array([0.081, 0.679, 0.24]), own.means, own.covariances)
    fit = fit_given(x, elsewhere, FLOOR)
    assert fit.counts.tolist() == [60, 21, 7] and fit.mixture.weights == pytest.approx(fit.counts / 88)
    assert fit.labels.tolist() == [3] * 8 + [1] * 60 + [2] * 20
    assert (fit.mixture.means == own.means[[1, 2, 0]]).all()
    assert (fit.sample_covariances == own.covariances[[1, 2, 0]]).all() and not fit.floored.any()
    with pytest.raises(InputError, match="floor is not positive"):
        fit_given(x, elsewhere, 0.0)


def blobs(sizes, centres, seed=0):
    rng = np.random.default_rng(seed)
    return np.vstack([c + 0.01 * rng.normal(size=(n, 2)) for n, c in zip(sizes, centres, strict=True)])


def test_separated_blobs_are_found_and_numbered_by_size():
    x = blobs([5, 50, 20], [(0, 0), (10, 0), (0, 10)])
    labels = kmeans_labels(x, 3, seed=3)
    assert labels.dtype == np.int32
    assert labels.tolist() == [3] * 5 + [1] * 50 + [2] * 20


def test_ties_in_size_go_by_the_first_entry_of_the_mean():
    x = blobs([10, 10, 10], [(5, 0), (-5, 0), (0, 9)])
    assert kmeans_labels(x, 3, seed=0).tolist() == [3] * 10 + [1] * 10 + [2] * 10


def test_same_seed_gives_the_same_labels():
    x = np.random.default_rng(1).normal(size=(300, 4))
    assert (kmeans_labels(x, 5, 7) == kmeans_labels(x, 5, 7)).all()


def test_one_class_and_as_many_classes_as_records():
    x = np.array([[0.0], [3.0], [9.0]])
    assert kmeans_labels(x, 1, 0).tolist() == [1, 1, 1]
    assert sorted(kmeans_labels(x, 3, 0)) == [1, 2, 3]


@pytest.mark.parametrize(
    ("x", "k", "words"),
    [
        (np.zeros((2, 3)), 3, "fewer households than classes"),
        (np.zeros((9, 3)), 2, "fewer distinct profiles than classes"),
        (np.zeros((9, 3)), 0, "below one"),
    ],
)
def test_impossible_requests_are_one_sentence(x, k, words):
    with pytest.raises(InputError, match=words):
        kmeans_labels(x, k, 0)


def unit_ball(n, d, seed=0):
    x = np.random.default_rng([seed, n, d]).normal(size=(n, d)) / np.sqrt(2 * d)
    return x / np.maximum(np.linalg.norm(x, axis=1), 1)[:, None]


def mixture(k, d, seed=0):
    rng = np.random.default_rng([seed, k, d])
    root = rng.normal(size=(k, d, d)) * 0.3 / np.sqrt(d)
    covariances = root @ np.swapaxes(root, 1, 2) + 1e-3 * np.eye(d)
    return Mixture(rng.dirichlet(np.full(k, 3.0)), unit_ball(k, d, 7), covariances)


def by_record(x, mixture):
    """Oracle: one record at a time."""
    counts, sums = np.zeros(mixture.classes), np.zeros(mixture.means.shape)
    moments, total = np.zeros(mixture.covariances.shape), 0.0
    for row in x:
        log_joint = np.array(
            [
                np.log(w) + multivariate_normal(m, c).logpdf(row)
                for w, m, c in zip(mixture.weights, mixture.means, mixture.covariances, strict=True)
            ]
        )
        share = softmax(log_joint)
        total += np.logaddexp.reduce(log_joint)
        counts += share
        sums += share[:, None] * row
        moments += share[:, None, None] * np.outer(row, row)
    return counts, sums, moments, total


@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 1), (57, 3, 4), (200, 26, 3), (90, 60, 2)])
@pytest.mark.parametrize("chunk_bytes", [1, 800_000])
def test_sums_are_those_of_a_loop_over_records(monkeypatch, n, d, k, chunk_bytes):
    monkeypatch.setattr("meterdp.mixture.gmm._CHUNK_BYTES", chunk_bytes)
    x, classes = unit_ball(n, d), mixture(k, d)
    got = class_sums(x, classes)
    counts, sums, moments, total = by_record(x, classes)
    assert got.counts == pytest.approx(counts, rel=1e-9, abs=1e-12)
    assert got.sums == pytest.approx(sums, rel=1e-9, abs=1e-12)
    assert got.second_moments == pytest.approx(moments, rel=1e-9, abs=1e-12)
    assert got.log_likelihood == pytest.approx(total, rel=1e-10)
    assert (got.second_moments == np.swapaxes(got.second_moments, 1, 2)).all()


def test_single_precision_is_good_to_a_millionth_of_a_record():
    x, classes = unit_ball(20_000, 40), mixture(5, 40)
    double, single = class_sums(x, classes), class_sums(x, classes, np.float32)
    n = len(x)
    assert single.counts.dtype == single.second_moments.dtype == np.float64
    assert single.counts / n == pytest.approx(double.counts / n, abs=1e-6)
    assert single.sums / n == pytest.approx(double.sums / n, abs=1e-6)
    assert single.second_moments / n == pytest.approx(double.second_moments / n, abs=1e-6)
    assert single.log_likelihood / n == pytest.approx(double.log_likelihood / n, abs=1e-5)


def test_a_class_without_weight_and_a_far_class_get_nothing():
    x, classes = unit_ball(50, 3), mixture(3, 3)
    means = classes.means + np.array([0, 0, 1e6])[:, None]
    got = class_sums(x, Mixture(np.array([0.7, 0.0, 0.3]), means, classes.covariances))
    assert got.counts == pytest.approx([50, 0, 0])
    assert (got.sums[1:] == 0).all() and (got.second_moments[1:] == 0).all()
    assert np.isfinite(got.log_likelihood)


def test_memory_does_not_grow_with_the_records():
    x, classes = unit_ball(40_000, 20), mixture(4, 20)
    class_sums(x[:10], classes)
    tracemalloc.start()
    class_sums(x, classes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6 < x.nbytes
