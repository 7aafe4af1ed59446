"""DP-EM for mixtures: against scikit-learn without noise, a slow loop of the formulas with it, and brute force."""

import dataclasses
import math
import warnings

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from meterdp.core.noise import StudyNoise, fixed_normals
from meterdp.mechanisms.dpem.mechanism import (
    EmSettings,
    Iterate,
    MixtureModel,
    Perturbation,
    clipped_weights,
    fit,
    iterates,
    start_mixture,
)
from meterdp.mixture.density import mean_log_likelihood
from meterdp.mixture.draws import Mixture, MixtureDraws
from meterdp.mixture.gmm import class_sums
from tests.unit.mechanisms.made_up import NotedNoise, clusters

# Of statistical tests.
FALSE_ALARM = 1e-10
READINGS = [(divisor, centre) for divisor in ("own", "noisy") for centre in ("noisy", "own")]


def start(k, d, seed=0):
    return start_mixture(fixed_normals(f"start {seed}", (k, d)))


def scikit_learn(x, given, iterations):
    """Oracle: GaussianMixture from the same start."""
    model = GaussianMixture(
        given.classes,
        tol=0,
        reg_covar=0,
        max_iter=iterations,
        weights_init=given.weights,
        means_init=given.means,
        precisions_init=np.linalg.inv(given.covariances),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(x)


@pytest.mark.parametrize(("divisor", "centre"), READINGS)
@pytest.mark.parametrize(("n", "d", "k", "iterations"), [(400, 2, 3, 1), (3000, 12, 4, 15), (2000, 30, 2, 6)])
def test_without_noise_it_is_em(n, d, k, iterations, divisor, centre):
    x, given = clusters(n, d, k), start(k, d)
    settings = EmSettings(iterations, "GGG", eigenvalue_floor=1e-9, divisor=divisor, centre=centre)
    got = fit(x, given, settings, StudyNoise(0, "em"))
    oracle = scikit_learn(x, given, iterations)
    assert got.weights == pytest.approx(oracle.weights_, abs=1e-8)
    assert got.means == pytest.approx(oracle.means_, abs=1e-8)
    assert got.covariances == pytest.approx(oracle.covariances_, abs=1e-8)


def test_single_precision_ends_where_double_precision_does():
    x, given = clusters(4_000, 30, 5), start(5, 30)
    end = {}
    for dtype in ("float64", "float32"):
        end[dtype] = fit(x, given, EmSettings(20, "GGG", eigenvalue_floor=1e-4, dtype=dtype), StudyNoise(0, "em"))
    mean = {dtype: mean_log_likelihood(x, MixtureDraws.single(m))[0] for dtype, m in end.items()}
    assert mean["float32"] == pytest.approx(mean["float64"], abs=1e-4)


def printed(x, given, settings, drawn):
    """Oracle: one iteration written from (11)-(19) and the MAP formulas, one class and one record at a time."""
    n, d = x.shape
    k = given.classes
    gamma = np.zeros((n, k))
    for i in range(n):
        for j in range(k):
            residual = x[i] - given.means[j]
            inverse = np.linalg.inv(given.covariances[j])
            scale = math.sqrt(np.linalg.det(2 * math.pi * given.covariances[j]))
            gamma[i, j] = given.weights[j] * math.exp(-residual @ inverse @ residual / 2) / scale
        gamma[i] /= gamma[i].sum()
    is_map = settings.estimate == "map"
    kappa, nu, s_0, alpha = 1, d + 2, 0.1 * np.eye(d), 2
    multiplier = math.sqrt(2 * math.log(1.25 / settings.step_delta)) / settings.step_epsilon
    llg = settings.scheme == "LLG"

    pi = gamma.sum(axis=0) / n
    pi = pi + drawn[0] * (2 / n / settings.step_epsilon if llg else multiplier * 2 / n)
    pi = np.minimum(np.maximum(pi, 0), 1)
    pi /= pi.sum()
    out = []
    for j in range(k):
        noisy = max(n * pi[j], settings.count_floor)
        count = gamma[:, j].sum() if settings.divisor == "own" else noisy
        mu = sum(gamma[i, j] * x[i] for i in range(n)) / count
        if is_map:
            mu = count * mu / (count + kappa)
        size = 2 / (noisy + kappa if is_map else noisy)
        noisy_mu = mu + drawn[1][j] * (size * math.sqrt(d) / settings.step_epsilon if llg else size * multiplier)
        # The MLE mean that the centre stands for.
        centre = noisy_mu if settings.centre == "noisy" else mu
        mle = centre * (count + kappa) / count if is_map else centre
        sigma = sum(gamma[i, j] * np.outer(x[i], x[i]) for i in range(n)) / count - np.outer(mle, mle)
        size = 2 / noisy
        if is_map:
            sigma = s_0 + count * sigma + kappa * count / (kappa + count) * np.outer(mle, mle)
            sigma = sigma / (nu + count + d + 2)
            size = 2 / (noisy + nu + d + 2)
        for a in range(d):
            for b in range(a, d):
                sigma[a, b] += size * multiplier * drawn[2][j, a, b]
                sigma[b, a] = sigma[a, b]
        values, vectors = np.linalg.eigh(sigma)
        sigma = vectors @ np.diag(np.maximum(values, settings.eigenvalue_floor)) @ vectors.T
        out.append((noisy_mu, sigma))
    if is_map:
        pi = (n * pi + alpha - 1) / (n + k * alpha - k)
    return pi, np.array([m for m, _ in out]), np.array([s for _, s in out])


@pytest.mark.parametrize("estimate", ["mle", "map"])
@pytest.mark.parametrize("scheme", ["GGG", "LLG"])
@pytest.mark.parametrize(("divisor", "centre"), READINGS)
@pytest.mark.parametrize("step_epsilon", [math.inf, 2.0, 0.05])
def test_an_iteration_is_what_the_paper_prints(estimate, scheme, divisor, centre, step_epsilon):
    x, given = clusters(300, 3, 4), start(4, 3)
    settings = EmSettings(1, scheme, estimate, step_epsilon, 1e-4, 1e-3, 2.5, divisor, centre)
    noise = NotedNoise("one iteration")
    got = fit(x, given, settings, noise)
    first = "laplace" if scheme == "LLG" else "gaussian"
    assert [distribution for distribution, _ in noise.drawn] == [first, first, "gaussian"]
    weights, means, covariances = printed(x, given, settings, [z for _, z in noise.drawn])
    assert got.weights == pytest.approx(weights, rel=1e-9)
    assert got.means == pytest.approx(means, rel=1e-9, abs=1e-12)
    assert got.covariances == pytest.approx(covariances, rel=1e-7, abs=1e-9)


def test_sums_change_by_no_more_than_the_sensitivities():
    rng = np.random.default_rng(3)
    n, d, k = 12, 3, 3
    largest = np.zeros(4)
    for trial in range(600):
        given = start(k, d, trial)
        # Narrow classes make responsibilities of zero and one.
        given = dataclasses.replace(given, covariances=given.covariances * rng.choice([1.0, 0.1, 0.01]))
        x = clusters(n, d, k, trial)
        other = x.copy()
        one, two = rng.normal(size=(2, d))
        if trial % 3 == 0:
            one = given.means[rng.integers(k)]
            two = -one if trial % 2 else given.means[rng.integers(k)]
        if trial % 3 == 1:
            one = np.ones(d)
            two = -one
        x[0], other[0] = one / np.linalg.norm(one), two / np.linalg.norm(two)
        a, b = class_sums(x, given), class_sums(other, given)
        change = a.sums - b.sums
        seen = [
            np.abs(a.counts - b.counts).sum(),
            np.linalg.norm(change, axis=1).max(),
            np.abs(change).sum(axis=1).max(),
            np.linalg.norm(a.second_moments - b.second_moments, axis=(1, 2)).max(),
        ]
        largest = np.maximum(largest, seen)
    # Times 1/N, 1/N~_k, 1/N~_k and 1/N~_k: (13), Delta_2 and Delta_1 of (15), and (18).
    bounds = np.array([2, 2, 2 * math.sqrt(d), 2])
    assert (largest <= bounds * (1 + 1e-12)).all()
    # (13) and (15) are attained; (18) is not: second moments of unit vectors differ by sqrt(2) at most.
    assert largest[:3] == pytest.approx(bounds[:3], rel=0.02)
    assert largest[3] == pytest.approx(math.sqrt(2), rel=0.02)


@pytest.mark.parametrize("estimate", ["mle", "map"])
@pytest.mark.parametrize("scheme", ["GGG", "LLG"])
def test_whatever_the_noise_the_result_is_a_mixture(scheme, estimate):
    x = clusters(500, 5, 4)
    for step_epsilon in (1e-6, 1e-3, 0.1, 10.0):
        settings = EmSettings(6, scheme, estimate, step_epsilon)
        perturbation = Perturbation(StudyNoise(1, "much", repr(step_epsilon)), step_epsilon, settings.step_delta)
        for one in iterates(MixtureModel(500, settings), x, Iterate(start(4, 5)), 6, perturbation):
            got = one.mixture
            assert got.weights.sum() == pytest.approx(1) and (got.weights >= 0).all()
            assert np.isfinite(got.means).all()
            least = np.linalg.eigvalsh(got.covariances)[:, 0]
            assert (least > 0.9 * settings.eigenvalue_floor).all()
    assert one.projected in (True, False)


def test_a_class_of_no_record_is_left_at_the_floor():
    given = Mixture(np.array([1.0, 0.0]), np.zeros((2, 2)), np.tile(np.eye(2), (2, 1, 1)))
    got = fit(clusters(50, 2, 1), given, EmSettings(2, "GGG", eigenvalue_floor=0.01), StudyNoise(0, "empty"))
    assert got.weights == pytest.approx([1, 0])
    assert (got.means[1] == 0).all() and got.covariances[1] == pytest.approx(0.01 * np.eye(2))


def test_weights_are_clipped_and_renormalised():
    weights, cut = clipped_weights(np.array([0.5, -0.2, 1.4]))
    assert weights == pytest.approx([1 / 3, 0, 2 / 3]) and cut
    weights, cut = clipped_weights(np.array([0.5, 0.3]))
    assert weights == pytest.approx([0.625, 0.375]) and not cut
    assert clipped_weights(np.array([-1.0, -2.0]))[0] == pytest.approx([0.5, 0.5])


def test_the_accountant_is_told_every_answer():
    ggg, llg = (EmSettings(20, scheme, step_delta=1e-6).sequence(10) for scheme in ("GGG", "LLG"))
    assert (ggg.laplace, ggg.gaussian, ggg.step_delta) == (0, 20 * 21, 1e-6)
    assert (llg.laplace, llg.gaussian) == (20 * 11, 20 * 10)


def test_no_iteration_returns_the_start():
    x, given = clusters(20, 2, 3), start(3, 2)
    assert fit(x, given, EmSettings(0, "GGG"), StudyNoise(0, "none")) is given


@pytest.mark.parametrize("d", [1, 2, 100])
def test_a_start_is_public_and_in_the_unit_ball(d):
    a, b = start(10, d), start(10, d)
    assert (a.means == b.means).all() and not (a.means == start(10, d, 1).means).all()
    norms = np.linalg.norm(a.means, axis=1)
    assert (norms <= 1 + 1e-12).all()
    if d == 100:
        assert norms == pytest.approx(0.5, rel=0.3)
    assert a.weights.sum() == pytest.approx(1)
    assert np.trace(a.covariances, axis1=1, axis2=2) == pytest.approx(1)
