"""The Gaussian baseline as the paper states it: every l2 sensitivity replaced by the l1 one."""

from __future__ import annotations

import numpy as np
import pytest

from meterdp.core.noise import StudyNoise
from meterdp.mechanisms.reference.baseline import IidGaussian, IidGaussianL1
from tests.unit.mechanisms.made_up import public, records


@pytest.fixture(scope="module")
def private():
    return records(0, n=400, d=4, k=3)


def test_claim_is_the_papers_and_not_for_release(private):
    guarantee = IidGaussianL1.calibrate(public(private, 2.0)).guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.adjacency) == (2.0, 1e-5, "label_flip")
    assert guarantee.family == "published"
    assert guarantee.proof == "docs/proofs/iid_gaussian.md"


def test_noise_is_that_of_the_exact_baseline_times_l1_over_l2(private):
    """The distribution itself is tested in test_iid_gaussian.py; same draws, other scale."""
    settings, s = public(private, 1e4), private.sensitivities
    fit = private.fit.mixture
    exact, bounded = (
        kind.calibrate(settings).release(private, StudyNoise(1, "same"), 400) for kind in (IidGaussian, IidGaussianL1)
    )
    kept = ~(exact.projected | bounded.projected)
    assert kept.sum() > 50
    ratio = (bounded.mixtures.means - fit.means) / (exact.mixtures.means - fit.means)
    assert ratio == pytest.approx(np.broadcast_to((s.means_l1 / s.means_l2)[:, None], ratio.shape), rel=1e-6)
    bounded_noise, exact_noise = (r.mixtures.covariances[kept] - fit.covariances for r in (bounded, exact))
    ratio = bounded_noise / exact_noise
    expected = (s.covariances_l1 / s.covariances_l2)[:, None, None]
    assert ratio == pytest.approx(np.broadcast_to(expected, ratio.shape), rel=1e-4)
    ratio = (bounded.mixtures.weights - fit.weights)[kept] / (exact.mixtures.weights - fit.weights)[kept]
    assert ratio == pytest.approx(np.full(ratio.shape, np.sqrt(2)), rel=1e-6)


def test_l1_is_never_the_smaller_bound(private):
    s = private.sensitivities
    assert s.weights_l1 > s.weights_l2
    assert (s.means_l1 > s.means_l2).all() and (s.covariances_l1 > s.covariances_l2).all()
