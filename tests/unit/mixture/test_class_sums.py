"""Class sums: against a loop over records, whatever the chunks; single precision; memory."""

import tracemalloc

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import multivariate_normal

from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import class_sums


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
    x, given = unit_ball(n, d), mixture(k, d)
    got = class_sums(x, given)
    counts, sums, moments, total = by_record(x, given)
    assert got.counts == pytest.approx(counts, rel=1e-9, abs=1e-12)
    assert got.sums == pytest.approx(sums, rel=1e-9, abs=1e-12)
    assert got.second_moments == pytest.approx(moments, rel=1e-9, abs=1e-12)
    assert got.log_likelihood == pytest.approx(total, rel=1e-10)
    assert (got.second_moments == np.swapaxes(got.second_moments, 1, 2)).all()


def test_single_precision_is_good_to_a_millionth_of_a_record():
    x, given = unit_ball(20_000, 40), mixture(5, 40)
    double, single = class_sums(x, given), class_sums(x, given, np.float32)
    n = len(x)
    assert single.counts.dtype == single.second_moments.dtype == np.float64
    assert single.counts / n == pytest.approx(double.counts / n, abs=1e-6)
    assert single.sums / n == pytest.approx(double.sums / n, abs=1e-6)
    assert single.second_moments / n == pytest.approx(double.second_moments / n, abs=1e-6)
    assert single.log_likelihood / n == pytest.approx(double.log_likelihood / n, abs=1e-5)


def test_a_class_without_weight_and_a_far_class_get_nothing():
    x, given = unit_ball(50, 3), mixture(3, 3)
    means = given.means + np.array([0, 0, 1e6])[:, None]
    got = class_sums(x, Mixture(np.array([0.7, 0.0, 0.3]), means, given.covariances))
    assert got.counts == pytest.approx([50, 0, 0])
    assert (got.sums[1:] == 0).all() and (got.second_moments[1:] == 0).all()
    assert np.isfinite(got.log_likelihood)


@pytest.mark.parametrize("n", [4000, 40_000])
def test_memory_does_not_grow_with_the_records(n):
    x, given = unit_ball(n, 20), mixture(4, 20)
    class_sums(x[:10], given)
    tracemalloc.start()
    class_sums(x, given)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6 < 40_000 * 20 * 8
