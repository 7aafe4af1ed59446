"""Label-flip sensitivities: the oracle recomputes (2a)-(2c) after every single flip."""

from __future__ import annotations

import numpy as np
import pytest

from meterdp.mechanisms.reference.label_flip import covariance_changes, flip_sensitivities, mean_changes


def statistics(x, labels, k):
    """Count, mean and unbiased covariance of one class; zero for a class of one record."""
    own = x[labels == k]
    covariance = np.cov(own.T).reshape(x.shape[1], -1) if len(own) > 1 else np.zeros((x.shape[1],) * 2)
    return own.mean(axis=0), covariance


def brute_force(x, labels, classes):
    """Largest l1 and l2 change of (pi, mu_k, Sigma_k) over all flips that leave no class empty."""
    upper = np.triu_indices(x.shape[1])
    largest = np.zeros((6, classes))
    before = [statistics(x, labels, k + 1) for k in range(classes)]
    for n in range(len(x)):
        for target in range(1, classes + 1):
            flipped = labels.copy()
            flipped[n] = target
            if target == labels[n] or not (flipped == labels[n]).any():
                continue
            change = (np.bincount(flipped, minlength=classes + 1) - np.bincount(labels, minlength=classes + 1)) / len(
                x
            )
            for k in range(classes):
                mean, covariance = statistics(x, flipped, k + 1)
                parts = [change, mean - before[k][0], (covariance - before[k][1])[upper]]
                norms = [np.linalg.norm(p, order) for p in parts for order in (1, 2)]
                largest[:, k] = np.maximum(largest[:, k], norms)
    return largest


@pytest.mark.parametrize(
    "sizes", [(20, 15, 9), (12, 3, 2), (10, 2, 1), (5, 1, 1), (2, 2), (1, 1, 6)], ids=lambda s: "-".join(map(str, s))
)
@pytest.mark.parametrize("d", [1, 3])
def test_formulas_agree_with_recomputation_after_every_flip(sizes, d):
    rng = np.random.default_rng(sum(sizes) + d)
    labels = np.repeat(np.arange(1, len(sizes) + 1), sizes)
    x = rng.normal(size=(len(labels), d)) * 10 ** rng.uniform(-3, 3) + 100 * rng.normal()
    k = len(sizes)
    fitted = [statistics(x, labels, j + 1) for j in range(k)]
    ours = flip_sensitivities(x, labels, np.stack([f[0] for f in fitted]), np.stack([f[1] for f in fitted]))
    expected = brute_force(x, labels, k)
    scale = np.abs(x).max() ** 2 * 1e-10
    assert ours.weights_l1 == pytest.approx(expected[0].max())
    assert ours.weights_l2 == pytest.approx(expected[1].max())
    assert ours.means_l1 == pytest.approx(expected[2], rel=1e-9, abs=scale)
    assert ours.means_l2 == pytest.approx(expected[3], rel=1e-9, abs=scale)
    assert ours.covariances_l1 == pytest.approx(expected[4], rel=1e-7, abs=scale)
    assert ours.covariances_l2 == pytest.approx(expected[5], rel=1e-7, abs=scale)


@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0, 30.0])
def test_no_record_ruled_out_by_the_triangle_inequality_would_have_been_the_largest(spread):
    """Oracle: norms of all changes, for classes that coincide, overlap and lie far apart; heavy-tailed records."""
    rng = np.random.default_rng(int(10 * spread))
    labels = np.repeat([1, 2, 3, 4, 5], [400, 90, 7, 3, 1])
    x = rng.standard_t(2, size=(501, 4)) + spread * labels[:, None] * rng.normal(size=4)
    fitted = [statistics(x, labels, j + 1) for j in range(5)]
    arguments = x, labels, np.stack([f[0] for f in fitted]), np.stack([f[1] for f in fitted])
    ours = flip_sensitivities(*arguments)
    for order, found in ((1, ours.covariances_l1), (2, ours.covariances_l2)):
        expected = [np.linalg.norm(covariance_changes(*arguments, j + 1), order, axis=1).max() for j in range(5)]
        assert found == pytest.approx(expected, rel=1e-12)


def test_there_is_one_change_per_record_and_none_that_empties_a_class():
    x = np.arange(10.0).reshape(5, 2)
    labels = np.array([1, 1, 1, 2, 1])
    means = np.stack([x[labels == 1].mean(axis=0), x[3]])
    covariances = np.stack([np.cov(x[labels == 1].T), np.zeros((2, 2))])
    assert mean_changes(x, labels, means, 1).shape == (4, 2), "the only member of class 2 cannot enter class 1"
    assert mean_changes(x, labels, means, 2).shape == (4, 2), "nor can it leave class 2"
    assert covariance_changes(x, labels, means, covariances, 2).shape == (4, 3)


def test_a_component_that_labels_nobody_has_a_sensitivity_too():
    """EM can leave a component that is the most probable one of no record."""
    x = np.array([[1.0], [2.0], [5.0]])
    assert mean_changes(x, np.array([1, 1, 1]), np.array([[8 / 3], [3.0]]), 2).ravel() == pytest.approx([-2, -1, 2])
