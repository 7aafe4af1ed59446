"""The Laplace baseline: claim, noise of the stated scale, feasible output."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from meterdp.core.noise import StudyNoise
from meterdp.mechanisms.reference.baseline import IidLaplace
from tests.unit.mechanisms.made_up import public, records


@pytest.fixture(scope="module")
def private():
    return records(0, n=400, d=4, k=3)


def test_claim_is_the_papers_and_not_for_release(private):
    guarantee = IidLaplace.calibrate(public(private, 2.0)).guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.adjacency) == (2.0, 0.0, "label_flip")
    assert guarantee.family == "published"


@pytest.mark.parametrize(("factor", "accepted"), [(1.0, True), (1.3, False), (0.77, False)])
def test_mean_noise_is_laplace_of_the_published_scale(private, factor, accepted):
    """Kolmogorov-Smirnov on 30,000 numbers; false alarm and miss are both below 1e-9."""
    draws, epsilon = 2500, 1.5
    released = IidLaplace.calibrate(public(private, epsilon)).release(private, StudyNoise(1, "laplace"), draws)
    scale = private.sensitivities.means_l1 / (epsilon / 3)
    noise = (released.mixtures.means - private.fit.mixture.means) / scale[:, None]
    p = kstest(noise.ravel() * factor, "laplace").pvalue
    assert (p > 1e-9) == accepted


def test_released_mixtures_are_feasible_and_projection_is_counted(private):
    settings = public(private, 0.5)
    released = IidLaplace.calibrate(settings).release(private, StudyNoise(2, "laplace"), 200)
    assert released.mixtures.weights.sum(axis=1) == pytest.approx(1)
    assert released.mixtures.weights.min() >= 0
    lowest = np.linalg.eigvalsh(released.mixtures.covariances).min()
    assert lowest >= settings.eigenvalue_floor * (1 - 1e-6)
    assert released.projected.any()
    assert released.responsibilities_model is None, "the labels are those of the fit"


def test_little_noise_leaves_the_fit(private):
    released = IidLaplace.calibrate(public(private, 1e9)).release(private, StudyNoise(3, "laplace"), 3)
    assert released.mixtures.means == pytest.approx(np.repeat(private.fit.mixture.means[None], 3, 0), abs=1e-6)
    assert released.mixtures.covariances[0] == pytest.approx(private.fit.mixture.covariances, abs=1e-6)
    assert not released.projected.any()
