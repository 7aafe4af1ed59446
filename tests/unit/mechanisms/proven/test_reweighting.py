"""From marginals to profiles: the reweighting against closed forms and scipy, samples within bounds and near their
distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import root

from meterdp.core.noise import StudyNoise
from meterdp.evaluation.fidelity import energy_kwh, kolmogorov_smirnov, wasserstein
from meterdp.mechanisms.proven import marginals
from meterdp.mechanisms.proven.marginals import (
    CANDIDATES,
    Marginals,
    Reference,
    features,
    fit_exponents,
    sample_reweighted,
    statistics_of,
)
from meterdp.mixture.draws import Mixture, sample
from tests.unit.mechanisms.made_up import HIGH, LOW

D = 4
DISTRIBUTION = Mixture(
    np.array([0.6, 0.4]),
    np.array([[-2.0, -1.5, -1.0, -1.2], [0.5, 0.0, 0.5, 1.0]]),
    np.array([0.3 * np.eye(D) + 0.2, 0.2 * np.eye(D) + 0.1]),
)


@pytest.fixture(scope="module")
def reference():
    return Reference(DISTRIBUTION, LOW, HIGH)


@pytest.mark.parametrize("mean", [-0.9, -0.2, 0.0, 0.5])
def test_one_coin_has_the_closed_form(mean):
    """Of +-1 with even odds E = tanh t: t + penalty solves tanh t + penalty t = m."""
    pool = np.repeat([[-1.0], [1.0]], 5000, axis=0)
    t = fit_exponents(pool, np.array([mean]), 1e-6)[0]
    assert math.tanh(t) == pytest.approx(mean, abs=2e-3)


@pytest.mark.parametrize("noise_std", [0.001, 0.03, 0.3])
def test_the_optimum_is_where_the_gradient_vanishes(noise_std):
    """Oracle: scipy's root of E_t f + penalty t = m; the penalty is that of the most likely prior, by scipy."""
    rng = np.random.default_rng(int(1000 * noise_std))
    pool = np.cos(np.pi * rng.random((4000, 1)) * np.arange(1, 5)) + 0.2 * rng.normal(size=(4000, 4))
    means = pool.mean(axis=0) + [0.2, -0.1, 0.05, 0.0] + noise_std * rng.normal(size=4)
    variance = noise_std**2 + 1 / 4000
    covariance, found = np.cov(pool.T, bias=True), means - pool.mean(axis=0)
    likelihood = [
        stats.multivariate_normal.logpdf(found, np.zeros(4), s**2 * covariance + variance * np.eye(4))
        for s in marginals.PRIOR_STDS
    ]
    penalty = variance / marginals.PRIOR_STDS[int(np.argmax(likelihood))] ** 2

    def gradient(t):
        weight = np.exp(pool @ t - (pool @ t).max())
        return weight @ pool / weight.sum() - means + penalty * t

    expected = root(gradient, np.zeros(4), tol=1e-12).x
    assert fit_exponents(pool, means, noise_std) == pytest.approx(expected, abs=1e-3 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("noise_std", [1e-9, 1.0, 1e6])
def test_nothing_overflows_and_noise_alone_reweighting_little(reference, noise_std):
    rng = np.random.default_rng(5)
    pool = features(reference.pool, reference)
    for means in (pool.mean(axis=0) + noise_std * rng.normal(size=pool.shape[1]), np.full(pool.shape[1], 1e3)):
        t = fit_exponents(pool, means, noise_std)
        assert np.isfinite(t).all()
    noisy = fit_exponents(pool, pool.mean(axis=0) + noise_std * rng.normal(size=pool.shape[1]), noise_std)
    if noise_std >= 1:
        assert (pool @ noisy).std() < 1.5, "weights of the mixture stay within a factor of a few"


def test_profiles_stay_within_the_bounds_repeat_and_have_the_reweighted_means(reference):
    """Feature means against those of the weighted pool: within the sampling error of independent profiles."""
    t = np.zeros(statistics_of(D))
    t[[0, 5, 16]] = -0.6, 0.3, 0.5
    n = 2000
    x = sample_reweighted(reference, t, n, StudyNoise(3, "reweighting"))
    assert x.shape == (n, D) and x.min() >= LOW and x.max() <= HIGH
    assert np.array_equal(x, sample_reweighted(reference, t, n, StudyNoise(3, "reweighting")))
    pool = features(reference.pool, reference)
    weight = np.exp(pool @ t)
    expected = weight @ pool / weight.sum()
    error = 6 * pool.std(axis=0) * math.sqrt(1 / (CANDIDATES * n) + weight @ weight / weight.sum() ** 2)
    assert (np.abs(features(x, reference).mean(axis=0) - expected) <= error + 0.01).all()
    assert np.unique(x, axis=0).shape == x.shape, "no profile twice"
    # In random order: energies of the first half are like those of the second.
    halves = energy_kwh(x)[: n // 2], energy_kwh(x)[n // 2 :]
    assert stats.ks_2samp(*halves).pvalue > 1e-9


@pytest.mark.parametrize("n", [1, 3, 25])
def test_few_profiles_and_several_blocks(reference, n, monkeypatch):
    monkeypatch.setattr(marginals, "_PROFILES_AT_ONCE", 10)
    monkeypatch.setattr(marginals, "_DRAWN_AT_ONCE", 50)
    assert sample_reweighted(reference, np.zeros(statistics_of(D)), n, StudyNoise(4, "few")).shape == (n, D)


def test_exponents_that_favour_one_record_in_a_thousand_still_end(reference):
    """The cut bounds the work: at least the share ``CUT_SHARE`` of what is drawn is kept."""
    t = np.zeros(statistics_of(D))
    t[-1] = 50.0
    x = sample_reweighted(reference, t, 20, StudyNoise(5, "rare"))
    assert (energy_kwh(x) >= np.quantile(reference.energy, 0.985)).all()


def test_of_neighbours_one_stays_and_the_sum_is_balanced():
    rng = np.random.default_rng(6)
    of = rng.normal(size=(500 * CANDIDATES, 7))
    chosen = marginals._balanced(of, rng.permutation(500))
    assert np.array_equal(np.sort(chosen // CANDIDATES), np.arange(500))
    total = np.linalg.norm((of - of.mean(axis=0))[chosen].sum(axis=0))
    assert total < 0.2 * math.sqrt(500 * 7), "far below that of a random choice"


def test_marginals_bring_profiles_of_a_wrong_mixture_nearer_to_the_households(reference):
    """Households of another distribution; hardly any noise. Distances fall by half and more."""
    true = Mixture(DISTRIBUTION.weights[::-1], DISTRIBUTION.means + 0.2, 0.7 * DISTRIBUTION.covariances)
    noise = StudyNoise(7, "wrong mixture")
    x, _ = sample(true, 4000, noise)
    x = np.clip(x, LOW, HIGH)
    beside = Marginals(reference, features(x, reference).mean(axis=0), 1e-4)
    reweighted = sample_reweighted(reference, beside.exponents, 4000, noise)
    plain, _ = sample(DISTRIBUTION, 4000, noise)
    for distance in (
        lambda y: kolmogorov_smirnov(y, x).mean(),
        lambda y: wasserstein(energy_kwh(y)[:, None], energy_kwh(x)[:, None])[0],
    ):
        assert distance(reweighted) < 0.5 * distance(np.clip(plain, LOW, HIGH))
