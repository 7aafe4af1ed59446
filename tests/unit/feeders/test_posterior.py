"""Shrinkage of noisy sums, against dense linear algebra."""

import numpy as np
import pytest

from meterdp.feeders.plan import HOUSEHOLD_FACTORS, MEAN_FACTORS, Observed, conditional, posterior

FEEDERS = 5
COUNT = np.array([3.0, 10.0, 1.0, 7.0, 0.0])
SPREAD = COUNT * (1 + 0.02 * np.maximum(COUNT - 1, 0))
HOUSEHOLD, MEAN = np.array([1.0, 0.4]), np.array([0.7, 2.0])


def dense(seen, k, household_std, mean_std):
    """Log-likelihood, mean and covariance of the sums of coefficient k by the formulas of a joint normal
    distribution."""
    prior = np.diag(SPREAD) * household_std**2 + mean_std**2 * np.outer(COUNT, COUNT)
    look, noise, answer = [np.ones((1, FEEDERS))], [seen.all_variance[k]], [seen.all_meters[k]]
    if seen.precision[k] > 0:
        look.append(np.eye(FEEDERS))
        noise += [1 / seen.precision[k]] * FEEDERS
        answer += seen.feeders[:, k].tolist()
    look, noise, answer = np.concatenate(look), np.diag(noise), np.array(answer)
    distribution = look @ prior @ look.T + noise
    gain = prior @ look.T @ np.linalg.inv(distribution)
    log_likelihood = -0.5 * (np.linalg.slogdet(distribution)[1] + answer @ np.linalg.solve(distribution, answer))
    return log_likelihood, gain @ answer, prior - gain @ look @ prior


@pytest.fixture
def seen():
    """The first coefficient was measured of feeders and of all, the second of all only."""
    generator = np.random.default_rng(3)
    feeders = generator.normal(0, 4, (FEEDERS, 2)) * [1, 0]
    return Observed(feeders, np.array([0.3, 0.0]), generator.normal(0, 9, 2), np.array([4.0, 25.0]))


def test_given_the_scales_it_is_the_conditional_normal_distribution(seen):
    _, mean, variance = conditional(seen, COUNT, SPREAD, HOUSEHOLD, MEAN)
    for k in range(2):
        _, exact, covariance = dense(seen, k, HOUSEHOLD[k], MEAN[k])
        assert mean[:, k] == pytest.approx(exact, rel=1e-10, abs=1e-12)
        assert variance[:, k] == pytest.approx(np.diag(covariance), rel=1e-10, abs=1e-12)


def test_the_likelihood_of_scales_is_that_of_the_normal_distribution(seen):
    """Up to a constant that is the same for all scales."""
    differences = []
    for s, b in ((1.0, 1.0), (0.25, 2.0), (4.0, 0.1)):
        ours = conditional(seen, COUNT, SPREAD, s * HOUSEHOLD, b * MEAN)[0]
        differences.append(ours - sum(dense(seen, k, s * HOUSEHOLD[k], b * MEAN[k])[0] for k in range(2)))
    assert np.ptp(differences) < 1e-9


def test_scales_are_integrated_over_their_grid(seen):
    """Oracle: the mixture of normal distributions, written out with dense algebra."""
    log_weight, means, variances = [], [], []
    for s in HOUSEHOLD_FACTORS:
        for b in MEAN_FACTORS:
            parts = [dense(seen, k, s * HOUSEHOLD[k], b * MEAN[k]) for k in range(2)]
            log_weight.append(sum(part[0] for part in parts))
            means.append([part[1] for part in parts])
            variances.append([np.diag(part[2]) for part in parts])
    weight = np.exp(np.array(log_weight) - max(log_weight))
    weight /= weight.sum()
    mean = np.tensordot(weight, means, 1)
    variance = np.tensordot(weight, np.array(means) ** 2 + variances, 1) - mean**2
    ours = posterior(seen, COUNT, SPREAD, HOUSEHOLD, MEAN)
    assert ours[0] == pytest.approx(mean.T, rel=1e-9, abs=1e-12)
    assert ours[1] == pytest.approx(variance.T, rel=1e-8, abs=1e-12)


def test_exact_measurements_are_kept_and_worthless_ones_ignored(seen):
    some = COUNT > 0
    exact = Observed(seen.feeders, np.array([1e12, 1e12]), seen.feeders[some].sum(axis=0), np.full(2, 1e-12))
    assert posterior(exact, COUNT, SPREAD, HOUSEHOLD, MEAN)[0][some] == pytest.approx(seen.feeders[some], abs=1e-4)
    none = Observed(seen.feeders, np.full(2, 1e-12), seen.all_meters, np.full(2, 1e12))
    assert np.abs(posterior(none, COUNT, SPREAD, HOUSEHOLD, MEAN)[0]).max() < 1e-3
