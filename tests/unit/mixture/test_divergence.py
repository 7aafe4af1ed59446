"""KL divergence (8) and log-likelihood: oracles are closed forms, scipy densities and Monte Carlo."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from meterdp.mixture.density import kl_joint, kl_terms, mean_log_likelihood
from meterdp.mixture.draws import Mixture, MixtureDraws


def random_mixture(seed, k=3, d=2):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(k, d, d + 2))
    return Mixture(rng.dirichlet(np.ones(k)), rng.normal(size=(k, d)), roots @ roots.transpose(0, 2, 1))


def stacked(*mixtures):
    return MixtureDraws(*(np.stack([getattr(m, f) for m in mixtures]) for f in ("weights", "means", "covariances")))


def test_divergence_of_a_mixture_from_itself_is_zero():
    p = random_mixture(0)
    assert kl_joint(MixtureDraws.single(p), p) == pytest.approx(0, abs=1e-12)


def test_divergence_of_one_dimensional_gaussians_is_the_textbook_formula():
    p = Mixture(np.ones(1), np.array([[1.0]]), np.array([[[4.0]]]))
    q = Mixture(np.ones(1), np.array([[-1.0]]), np.array([[[9.0]]]))
    expected = np.log(3 / 2) + (4 + 4) / (2 * 9) - 0.5
    assert kl_joint(MixtureDraws.single(p), q) == pytest.approx(expected)


def test_divergence_agrees_with_monte_carlo():
    """Oracle: the mean of ln p~(x, y) - ln p(x, y) under p~; seeded, within five standard errors."""
    released, reference = random_mixture(1), random_mixture(2)
    rng = np.random.default_rng(3)
    n = 200_000
    y = rng.choice(3, size=n, p=released.weights)
    x = released.means[y] + np.einsum(
        "nij,nj->ni", np.linalg.cholesky(released.covariances)[y], rng.normal(size=(n, 2))
    )
    loss = np.empty(n)
    for k in range(3):
        own = y == k
        loss[own] = (
            np.log(released.weights[k] / reference.weights[k])
            + multivariate_normal(released.means[k], released.covariances[k]).logpdf(x[own])
            - multivariate_normal(reference.means[k], reference.covariances[k]).logpdf(x[own])
        )
    error = loss.std() / np.sqrt(n)
    assert abs(kl_joint(MixtureDraws.single(released), reference)[0] - loss.mean()) < 5 * error


def test_draws_are_handled_one_by_one_against_one_or_many_references():
    a, b, p, q = (random_mixture(s) for s in range(4))
    both = kl_joint(stacked(a, b), p)
    assert both == pytest.approx([kl_joint(MixtureDraws.single(m), p)[0] for m in (a, b)])
    paired = kl_joint(stacked(a, b), stacked(p, q))
    assert paired == pytest.approx([both[0], kl_joint(MixtureDraws.single(b), q)[0]])
    assert kl_terms(stacked(a, b), p).shape == (2, 3)


def test_a_released_weight_of_zero_costs_nothing_for_its_class():
    p = random_mixture(0)
    released = Mixture(np.array([0.5, 0.5, 0.0]), p.means, p.covariances)
    expected = 0.5 * np.log(0.5 / p.weights[0]) + 0.5 * np.log(0.5 / p.weights[1])
    assert kl_joint(MixtureDraws.single(released), p) == pytest.approx(expected)


def test_divergence_does_not_change_under_linear_maps():
    """Nasty scaling: eigenvalues over twelve decades."""
    released, reference = random_mixture(5, d=3), random_mixture(6, d=3)
    a = np.diag([1e-6, 1.0, 1e6]) @ np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]

    def mapped(m):
        return Mixture(m.weights, m.means @ a.T, a @ m.covariances @ a.T)

    before = kl_joint(MixtureDraws.single(released), reference)
    after = kl_joint(MixtureDraws.single(mapped(released)), mapped(reference))
    assert after == pytest.approx(before, rel=1e-3)


def test_log_likelihood_agrees_with_scipy():
    mixtures = [random_mixture(s) for s in range(4)]
    x = np.random.default_rng(9).normal(size=(57, 2)) * 3
    expected = [
        np.log(
            sum(
                w * multivariate_normal(m, c).pdf(x)
                for w, m, c in zip(p.weights, p.means, p.covariances, strict=True)
            )
        ).mean()
        for p in mixtures
    ]
    assert mean_log_likelihood(x, stacked(*mixtures)) == pytest.approx(expected)


def test_log_likelihood_survives_zero_weights_and_far_records():
    p = random_mixture(0)
    q = Mixture(np.array([1.0, 0.0, 0.0]), p.means, p.covariances)
    x = np.full((1, 2), 1e4)
    expected = multivariate_normal(p.means[0], p.covariances[0]).logpdf(x)
    assert mean_log_likelihood(x, MixtureDraws.single(q)) == pytest.approx(expected)
