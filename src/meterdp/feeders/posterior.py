"""Posterior means of feeder sums from noisy ones: what all feeders share is measured well, what is its own is shrunk.

Model of one coefficient: the sum of feeder f is n_f theta + sqrt(n_f) s a_f with theta ~ N(0, b^2) and a_f standard
normal, observed with noise of known standard deviation. Scales of s and b are common to a block of coefficients and
integrated over a public grid, so that the result neither trusts the public law too much nor follows noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Factors on the public standard deviations, equally likely beforehand.
HOUSEHOLD_FACTORS = 2.0 ** np.arange(-2.0, 2.01, 0.5)
MEAN_FACTORS = 2.0 ** np.arange(-3.0, 2.01, 0.5)


@dataclass(frozen=True)
class Posterior:
    """Mean and variance of every feeder's sums.

    Parameters
    ----------
    mean, variance : (F, K) float64
    """

    mean: np.ndarray
    variance: np.ndarray


def posterior(
    noisy: np.ndarray, count: np.ndarray, noise_std: np.ndarray, household_std: np.ndarray, mean_std: np.ndarray
) -> Posterior:
    """Return the posterior of the sums of a block of coefficients.

    Parameters
    ----------
    noisy : (F, K) float64
        Noisy sums.
    count : (F,) float64
        n, meters of every feeder.
    noise_std, household_std, mean_std : (K,) float64
        Of the noise, of s and of b.
    """
    weights, means, variances = [], [], []
    for factor in HOUSEHOLD_FACTORS:
        for of_mean in MEAN_FACTORS:
            log_weight, mean, variance = conditional(
                noisy, count, noise_std, factor * household_std, of_mean * mean_std
            )
            weights.append(log_weight), means.append(mean), variances.append(variance)
    weight = np.exp(np.array(weights) - max(weights))
    weight /= weight.sum()
    mean = np.tensordot(weight, np.array(means), 1)
    second = np.tensordot(weight, np.array(means) ** 2 + np.array(variances), 1)
    return Posterior(mean, np.maximum(second - mean**2, 0.0))


def conditional(
    noisy: np.ndarray, count: np.ndarray, noise_std: np.ndarray, household_std: np.ndarray, mean_std: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the log-likelihood of the noisy sums, and mean and variance (F, K) of the exact ones, scales given."""
    n = count[:, None]
    sampling, noise = n * household_std**2, noise_std**2
    own = sampling + noise
    # Precision of theta, from the feeders and from the prior.
    precision = (n**2 / own).sum(axis=0)
    of_theta = 1 / (precision + 1 / mean_std**2)
    pulled = (n * noisy / own).sum(axis=0)
    theta = of_theta * pulled
    log_likelihood = -0.5 * (
        np.log(own).sum() + np.log1p(mean_std**2 * precision).sum() + (noisy**2 / own).sum() - (theta * pulled).sum()
    )
    share = sampling / own
    mean = n * theta + share * (noisy - n * theta)
    variance = share * noise + (n * (1 - share)) ** 2 * of_theta
    return float(log_likelihood), mean, variance
