"""The Gaussian baseline: claim, the constant of Lemma 1, noise of the stated scale, feasible output."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstest

from meterdp.core.noise import StudyNoise
from meterdp.mechanisms.reference.baseline import IidGaussian
from meterdp.mechanisms.reference.label_flip import lemma_1_multiplier
from meterdp.privacy.gaussian import delta
from tests.unit.mechanisms.made_up import public, records


@pytest.fixture(scope="module")
def private():
    return records(0, n=400, d=4, k=3)


def test_claim_is_the_papers_and_not_for_release(private):
    guarantee = IidGaussian.calibrate(public(private, 2.0)).guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.adjacency) == (2.0, 1e-5, "label_flip")
    assert guarantee.family == "published"


def test_lemma_1_is_loose_in_the_papers_range_and_fails_above():
    """Defect L7, by the exact Gaussian curve: enough noise at epsilon = 1/3 to 9, too little at 9.5."""
    for epsilon in (1 / 3, 1.0, 4.0, 9.0):
        assert delta(1 / lemma_1_multiplier(epsilon, 1e-5), epsilon) < 1e-5
    assert delta(1 / lemma_1_multiplier(9.5, 1e-5), 9.5) > 1e-5


@pytest.mark.parametrize(("factor", "accepted"), [(1.0, True), (1.3, False), (0.77, False)])
def test_noise_is_gaussian_of_the_published_scale(private, factor, accepted):
    """Kolmogorov-Smirnov on 30,000 means and covariance entries; false alarm and miss below 1e-9."""
    draws, epsilon = 2500, 1e4
    released = IidGaussian.calibrate(public(private, epsilon)).release(private, StudyNoise(1, "gaussian"), draws)
    multiplier = math.sqrt(2 * math.log(2 / (1e-5 / 3))) / (epsilon / 3)
    noise = released.mixtures.means - private.fit.mixture.means
    means = noise / (multiplier * private.sensitivities.means_l2)[:, None]
    assert (kstest(means.ravel() * factor, "norm").pvalue > 1e-9) == accepted
    kept = ~released.projected
    covariance = released.mixtures.covariances[kept, 0, 0, 1] - private.fit.mixture.covariances[0, 0, 1]
    p = kstest(covariance / (multiplier * private.sensitivities.covariances_l2[0]) * factor, "norm").pvalue
    assert kept.sum() > 1500
    assert (p > 1e-9) == accepted


def test_released_mixtures_are_feasible(private):
    settings = public(private, 0.5)
    released = IidGaussian.calibrate(settings).release(private, StudyNoise(2, "gaussian"), 200)
    assert released.mixtures.weights.sum(axis=1) == pytest.approx(1)
    assert np.linalg.eigvalsh(released.mixtures.covariances).min() >= settings.eigenvalue_floor * (1 - 1e-6)
    symmetric = np.swapaxes(released.mixtures.covariances, -1, -2)
    assert released.mixtures.covariances == pytest.approx(symmetric)
