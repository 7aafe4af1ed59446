"""The baselines: claims, the constant of Lemma 1, noise of the stated scale, feasible mixtures, constraint (10)."""

from __future__ import annotations

import math

import cvxpy as cp
import numpy as np
import pytest
from scipy.stats import chi2, kstest

from meterdp.core.noise import StudyNoise
from meterdp.mechanisms.reference.baseline import (
    ColouredGaussian,
    ColouredGaussianL1,
    IidGaussian,
    IidGaussianL1,
    IidLaplace,
    project_simplex,
)
from meterdp.mechanisms.reference.label_flip import lemma_1_multiplier
from meterdp.privacy.gaussian import delta
from tests.unit.mechanisms.made_up import largest_reach, public, records


@pytest.fixture(scope="module")
def private():
    return records(0, n=400, d=4, k=3)


@pytest.fixture(scope="module")
def fewer():
    return records(0, n=200, d=3, k=3)


@pytest.mark.parametrize(("factor", "accepted"), [(1.0, True), (1.3, False), (0.77, False)])
def test_mean_noise_is_laplace_of_the_published_scale(private, factor, accepted):
    """Kolmogorov-Smirnov on 30,000 numbers; false alarm and miss are both below 1e-9."""
    draws, epsilon = 2500, 1.5
    released = IidLaplace.calibrate(public(private, epsilon)).release(private, StudyNoise(1, "laplace"), draws)
    scale = private.sensitivities.means_l1 / (epsilon / 3)
    noise = (released.mixtures.means - private.fit.mixture.means) / scale[:, None]
    p = kstest(noise.ravel() * factor, "laplace").pvalue
    assert (p > 1e-9) == accepted


@pytest.mark.parametrize("kind", [IidLaplace, IidGaussian])
def test_projection_is_counted_and_covariances_are_symmetric(private, kind):
    released = kind.calibrate(public(private, 0.5)).release(private, StudyNoise(2, "projected"), 200)
    assert released.projected.any()
    assert released.mixtures.covariances == pytest.approx(np.swapaxes(released.mixtures.covariances, -1, -2))
    assert released.responsibilities_model is None, "the labels are those of the fit"


def test_little_noise_leaves_the_fit(private):
    released = IidLaplace.calibrate(public(private, 1e9)).release(private, StudyNoise(3, "laplace"), 3)
    assert released.mixtures.means == pytest.approx(np.repeat(private.fit.mixture.means[None], 3, 0), abs=1e-6)
    assert released.mixtures.covariances[0] == pytest.approx(private.fit.mixture.covariances, abs=1e-6)
    assert not released.projected.any()


def test_lemma_1_is_loose_in_the_papers_range_and_fails_above():
    """Defect L7, by the exact Gaussian curve: enough noise at epsilon = 1/3 to 9, too little at 9.5."""
    for epsilon in (1 / 3, 1.0, 4.0, 9.0):
        assert delta(1 / lemma_1_multiplier(epsilon, 1e-5), epsilon) < 1e-5
    assert delta(1 / lemma_1_multiplier(9.5, 1e-5), 9.5) > 1e-5


@pytest.mark.parametrize(("kind", "norm"), [(IidGaussian, "l2"), (IidGaussianL1, "l1")])
@pytest.mark.parametrize(("factor", "accepted"), [(1.0, True), (1.3, False), (0.77, False)])
def test_noise_is_gaussian_of_the_published_scale(private, kind, norm, factor, accepted):
    """Kolmogorov-Smirnov on 2500 weights, 30,000 means and covariance entries; false alarm and miss below 1e-9."""
    draws, epsilon = 2500, 1e4
    released, fit = kind.calibrate(public(private, epsilon)).release(private, StudyNoise(1, norm), draws), private.fit
    multiplier = math.sqrt(2 * math.log(2 / (1e-5 / 3))) / (epsilon / 3)
    scale = {
        part: multiplier * getattr(private.sensitivities, f"{part}_{norm}")
        for part in ("weights", "means", "covariances")
    }
    kept = ~released.projected
    assert kept.sum() > 1500
    means = (released.mixtures.means - fit.mixture.means) / scale["means"][:, None]
    # What is left of independent noise once weights sum to one again.
    weights = (released.mixtures.weights - fit.mixture.weights)[kept, 0] / scale["weights"] / math.sqrt(1 - 1 / 3)
    covariance = released.mixtures.covariances[kept, 0, 0, 1] - fit.mixture.covariances[0, 0, 1]
    for noise in (means.ravel(), weights, covariance / scale["covariances"][0]):
        assert (kstest(noise * factor, "norm").pvalue > 1e-9) == accepted


def mean_covariances(fewer, settings):
    factors = ColouredGaussian.calibrate(settings).mean_factors(fewer)
    return factors @ np.swapaxes(factors, 1, 2)


def test_constraint_10_holds_with_equality_after_every_flip(fewer):
    """Oracle: the means of all data sets one flip away, refitted; a third of the budget."""
    settings = public(fewer, 2.0)
    allowed = (2.0 / 3) ** 2 / (2 * math.log(2 / (1e-5 / 3)))
    assert largest_reach(fewer, mean_covariances(fewer, settings)) == pytest.approx(np.full(3, allowed), rel=1e-6)


def test_noise_on_means_is_less_than_the_iid_baselines(fewer):
    """White noise at the l2 sensitivity satisfies (10) too, so the minimum of the trace cannot be above it."""
    settings = public(fewer, 1.0)
    white = IidGaussian.calibrate(settings).mean_factors(fewer)
    coloured = np.trace(mean_covariances(fewer, settings), axis1=1, axis2=2)
    assert (coloured <= (white**2).sum(axis=(1, 2)) * (1 + 1e-6)).all()


@pytest.mark.parametrize(("factor", "accepted"), [(1.0, True), (1.3, False), (0.77, False)])
def test_mean_noise_has_the_designed_covariance(fewer, factor, accepted):
    """Squared Mahalanobis lengths of 6000 draws are chi-square with d degrees of freedom; errors below 1e-9."""
    settings = public(fewer, 1.0)
    released = ColouredGaussian.calibrate(settings).release(fewer, StudyNoise(1, "coloured"), 6000)
    noise = released.mixtures.means - fewer.fit.mixture.means
    for k, covariance in enumerate(mean_covariances(fewer, settings)):
        length = np.einsum("ri,ij,rj->r", noise[:, k], np.linalg.inv(covariance), noise[:, k]) * factor**2
        assert (kstest(length, chi2(3).cdf).pvalue > 1e-9) == accepted


def test_simplex_projection_agrees_with_cvxpy():
    rng = np.random.default_rng(0)
    noisy = rng.normal(size=(20, 5)) * 10 ** rng.uniform(-3, 3, size=(20, 1))
    ours, _ = project_simplex(noisy)
    for row, point in zip(noisy, ours, strict=True):
        w = cp.Variable(5)
        cp.Problem(cp.Minimize(cp.sum_squares(w - row)), [w >= 0, cp.sum(w) == 1]).solve(solver=cp.CLARABEL)
        assert point == pytest.approx(w.value, abs=1e-4 * max(1, np.abs(row).max()))
    assert ours.sum(axis=1) == pytest.approx(1)


def test_weights_that_only_need_a_shift_are_not_flagged():
    weights, projected = project_simplex(np.array([[0.3, 0.4, 0.5], [0.9, 0.3, -0.2], [1.0, 0.0, 0.0]]))
    assert projected.tolist() == [False, True, False]
    assert weights[0] == pytest.approx([0.7 / 3, 1 / 3, 1.3 / 3])
    assert weights[1] == pytest.approx([0.8, 0.2, 0.0])


@pytest.mark.parametrize(("kind", "iid"), [(ColouredGaussian, IidGaussian), (ColouredGaussianL1, IidGaussianL1)])
def test_weights_and_covariances_are_those_of_the_iid_baseline_and_means_have_no_l1_bound(fewer, kind, iid):
    settings = public(fewer, 1.0)
    ours, white, exact = (
        k.calibrate(settings).release(fewer, StudyNoise(2, "same"), 50) for k in (kind, iid, ColouredGaussian)
    )
    assert (ours.mixtures.weights == white.mixtures.weights).all()
    assert (ours.mixtures.covariances == white.mixtures.covariances).all()
    assert (ours.projected == white.projected).all()
    assert not np.isclose(ours.mixtures.means, white.mixtures.means).any()
    assert (ours.mixtures.means == exact.mixtures.means).all()
