"""Algorithm 1 as printed, and the defects of its text that can be shown on its output (L1, L5, L6, L9)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chi2, kstest

from meterdp.core.noise import StudyNoise
from meterdp.mechanisms.reference.kl import KlPublished, neighbouring_frequencies
from meterdp.mechanisms.reference.kl_exact import KlExact
from tests.unit.mechanisms.made_up import public, records


@pytest.fixture(scope="module")
def private():
    return records(0, n=500, d=3, k=4)


def test_neighbouring_frequencies_are_the_set_14():
    """Oracle: enumerate S and keep what (14) asks for."""
    counts = np.array([3, 1, 2])
    n = counts.sum()
    expected = {
        c
        for c in itertools.product(range(1, n), repeat=3)
        if sum(c) == n
        and sum(a != b for a, b in zip(c, counts, strict=True)) == 2
        and abs(np.array(c) - counts).sum() == 2
    }
    ours = np.rint(neighbouring_frequencies(counts) * n).astype(int)
    assert ours[0].tolist() == counts.tolist()
    assert set(map(tuple, ours[1:])) == expected
    assert len(ours) == 1 + 3 * 2 - 2, "K(K-1) flips less the two that would empty class 2"


def test_design_satisfies_the_printed_updates(private):
    epsilon = 1.5
    design = KlPublished.calibrate(public(private, epsilon)).design(private)
    n, d = private.fit.counts, 3
    inverse_trace = np.array([np.trace(np.linalg.inv(c)) for c in private.fit.mixture.covariances])
    assert design.gamma == pytest.approx(
        np.minimum((d + 1) / d * inverse_trace, 2 * n * (epsilon - design.epsilon_0 - design.epsilon_k) / 3)
    ), "(22)"
    budget = design.epsilon_k + 3 * design.gamma / (2 * n) + design.epsilon_0
    assert budget == pytest.approx(epsilon), "(9) is tight for every class"


def test_alternation_never_leaves_its_starting_split(private):
    """Defect L9: (25) returns epsilon/3 and the objective is the same after the second pass."""
    for epsilon in (0.5, 1.0, 4.0):
        design = KlPublished.calibrate(public(private, epsilon)).design(private)
        assert design.epsilon_0 == pytest.approx(epsilon / 3)
        assert len(design.objectives) == 2
        assert design.objectives[0] == pytest.approx(design.objectives[1])


def test_printed_mapping_is_no_probability_distribution():
    """Defect L6: column j* of F' sums to 0.726 at K = 5, eps_0 = 1/3, and is uniform when every g_i >= 0."""
    five = records(1, n=600, d=3, k=5)
    design = KlPublished.calibrate(public(five, 1.0)).design(five)
    assert (five.fit.counts > 1).all()
    printed = 21 / (1 + 20 * math.exp(1 / 3))
    assert printed == pytest.approx(0.726, abs=5e-4)
    assert np.ptp(design.mapping) == 0
    assert design.mapping.sum() == pytest.approx(printed)


def test_some_outputs_are_impossible_for_a_neighbour():
    """Defect L5: with a uniform mapping a share (K(K-1)+1-(2K-2))/(K(K-1)+1) of the outputs gives D away."""
    counts = np.array([100, 90, 80, 70, 60])
    own = {tuple(r) for r in np.rint(neighbouring_frequencies(counts) * 400).astype(int)}
    neighbour = counts + np.array([-1, 1, 0, 0, 0])
    others = {tuple(r) for r in np.rint(neighbouring_frequencies(neighbour) * 400).astype(int)}
    assert len(own) == 21
    assert len(own - others) == 13


@pytest.mark.parametrize("kind", [KlPublished, KlExact])
@pytest.mark.parametrize(("factor", "accepted"), [(1.0, True), (1.3, False), (0.77, False)])
def test_noise_has_the_designed_distribution(private, kind, factor, accepted):
    """Of 6000 draws, errors below 1e-9. Squared Mahalanobis lengths of means are chi-square (d degrees of freedom).

    For W ~ Wishart_d(I/gamma, d + 1) on covariances, gamma v'Wv/|v|^2 is chi-square with d + 1 degrees of freedom.
    """
    settings = public(private, 1.0)
    mechanism = kind.calibrate(settings)
    design = mechanism.design(private)
    released = mechanism.release(private, StudyNoise(1, "kl"), 6000)
    mixture = private.fit.mixture
    noise = released.mixtures.covariances - mixture.covariances
    v = np.array([0.6, 0.0, 0.8])
    for k in range(4):
        lower = np.linalg.cholesky(mixture.covariances[k])
        shape = lower @ private.shapes[k].matrix @ lower.T
        covariance = shape * 2 * math.log(2 / settings.delta) / design.epsilon_k[k] ** 2
        shift = released.mixtures.means[:, k] - mixture.means[k]
        length = np.einsum("ri,ij,rj->r", shift, np.linalg.inv(covariance), shift) * factor**2
        assert (kstest(length, chi2(3).cdf).pvalue > 1e-9) == accepted
        form = design.gamma[k] * np.einsum("i,rij,j->r", v, noise[:, k], v) * factor
        assert (kstest(form, chi2(4).cdf).pvalue > 1e-9) == accepted
    assert np.linalg.eigvalsh(noise).min() > -1e-9, "defect L1: the release is never below the private covariance"


@pytest.mark.parametrize("kind", [KlPublished, KlExact])
def test_frequencies_are_drawn_from_the_normalised_column(private, kind):
    """Each of the J outputs within six standard errors of its probability."""
    mechanism = kind.calibrate(public(private, 1.0))
    design = mechanism.design(private)
    draws = 20_000
    weights = mechanism.release(private, StudyNoise(3, "kl"), draws).mixtures.weights
    share = (weights[:, None] == design.frequencies).all(axis=-1).mean(axis=0)
    expected = design.mapping / design.mapping.sum()
    assert share.sum() == pytest.approx(1)
    assert np.abs(share - expected).max() < 6 * np.sqrt(expected.max() / draws)


def test_degenerate_classes_get_a_release_all_the_same():
    """A class with no more records than dimensions, another with a single one."""
    private = records(3, n=60, d=12, k=6)
    assert private.fit.floored.any()
    released = KlPublished.calibrate(public(private, 1.0)).release(private, StudyNoise(4, "kl"), 20)
    assert np.isfinite(released.mixtures.means).all()
    assert np.linalg.eigvalsh(released.mixtures.covariances).min() > 0
    assert not released.projected.any()
