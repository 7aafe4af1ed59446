"""The coloured baseline: (10) holds after every refitted flip, noise of the stated covariance, the rest as i.i.d."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2, kstest

from meterdp.core.noise import StudyNoise
from meterdp.mechanisms.reference.baseline import ColouredGaussian, IidGaussian
from tests.unit.mechanisms.flips import largest_reach
from tests.unit.mechanisms.made_up import public, records


@pytest.fixture(scope="module")
def private():
    return records(0, n=200, d=3, k=3)


def mean_covariances(private, settings):
    factors = ColouredGaussian.calibrate(settings).mean_factors(private)
    return factors @ np.swapaxes(factors, 1, 2)


def test_claim_is_the_papers_and_not_for_release(private):
    guarantee = ColouredGaussian.calibrate(public(private, 2.0)).guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.adjacency) == (2.0, 1e-5, "label_flip")
    assert guarantee.family == "published"


def test_constraint_10_holds_with_equality_after_every_flip(private):
    """Oracle: the means of all data sets one flip away, refitted; a third of the budget."""
    settings = public(private, 2.0)
    allowed = (2.0 / 3) ** 2 / (2 * math.log(2 / (1e-5 / 3)))
    assert largest_reach(private, mean_covariances(private, settings)) == pytest.approx(np.full(3, allowed), rel=1e-6)


def test_noise_on_means_is_less_than_the_iid_baselines(private):
    """White noise at the l2 sensitivity satisfies (10) too, so the minimum of the trace cannot be above it."""
    settings = public(private, 1.0)
    white = IidGaussian.calibrate(settings).mean_factors(private)
    coloured = np.trace(mean_covariances(private, settings), axis1=1, axis2=2)
    assert (coloured <= (white**2).sum(axis=(1, 2)) * (1 + 1e-6)).all()


@pytest.mark.parametrize(("factor", "accepted"), [(1.0, True), (1.3, False), (0.77, False)])
def test_mean_noise_has_the_designed_covariance(private, factor, accepted):
    """Squared Mahalanobis lengths of 6000 draws are chi-square with d degrees of freedom; errors below 1e-9."""
    settings = public(private, 1.0)
    released = ColouredGaussian.calibrate(settings).release(private, StudyNoise(1, "coloured"), 6000)
    noise = released.mixtures.means - private.fit.mixture.means
    for k, covariance in enumerate(mean_covariances(private, settings)):
        length = np.einsum("ri,ij,rj->r", noise[:, k], np.linalg.inv(covariance), noise[:, k]) * factor**2
        assert (kstest(length, chi2(3).cdf).pvalue > 1e-9) == accepted


def test_weights_and_covariances_are_those_of_the_iid_baseline(private):
    settings = public(private, 1.0)
    coloured = ColouredGaussian.calibrate(settings).release(private, StudyNoise(2, "same"), 50)
    white = IidGaussian.calibrate(settings).release(private, StudyNoise(2, "same"), 50)
    assert (coloured.mixtures.weights == white.mixtures.weights).all()
    assert (coloured.mixtures.covariances == white.mixtures.covariances).all()
    assert (coloured.projected == white.projected).all()
    assert not np.isclose(coloured.mixtures.means, white.mixtures.means).any()
