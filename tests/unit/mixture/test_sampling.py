"""Sampling from a mixture: class frequencies, means and covariances of a large seeded sample."""

from __future__ import annotations

import numpy as np
import pytest

from meterdp.core.noise import StudyNoise
from meterdp.mixture.draws import Mixture, sample

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
