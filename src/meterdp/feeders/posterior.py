"""Posterior means of feeder sums from noisy ones: what all feeders share is measured well, what is its own is shrunk.

Model of one coefficient: the sum of feeder f is S_f = n_f theta + r_f s a_f with theta ~ N(0, b^2), a_f standard
normal and a public r_f, sqrt(n_f) if meters are alike wherever they are. Observed are S_f and the sum of all S_f,
each with noise of known variance. Factors on s and on b are common to a block of coefficients and integrated over a
public grid, so that the result neither trusts the public distribution too much nor follows the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

# Factors on the public standard deviations, equally likely beforehand.
HOUSEHOLD_FACTORS = 2.0 ** np.arange(-2.0, 2.01)
MEAN_FACTORS = 2.0 ** np.arange(-3.0, 2.01)
# Factors with a likelihood this much smaller than that of the best, as a logarithm, count for nothing.
NEGLIGIBLE_LOG = 35.0


@dataclass(frozen=True)
class Observed:
    """Noisy sums of a block of K coefficients.

    Parameters
    ----------
    feeders : (F, K) float64
        Sums of every feeder.
    precision : (K,) float64
        Of their noise: one over its variance, 0 where feeders were not measured.
    all_meters : (K,) float64
        Sums over all feeders.
    all_variance : (K,) float64
        Of their noise.
    """

    feeders: np.ndarray
    precision: np.ndarray
    all_meters: np.ndarray
    all_variance: np.ndarray


def posterior(
    seen: Observed, count: np.ndarray, variance_factor: np.ndarray, household_std: np.ndarray, mean_std: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance (F, K) of the exact sums of feeders.

    Parameters
    ----------
    seen : Observed
    count : (F,) array
        n, meters of every feeder.
    variance_factor : (F,) float64
        r^2.
    household_std, mean_std : (K,) float64
        s and b of the public distribution.
    """
    found = []
    for s, b in product(HOUSEHOLD_FACTORS, MEAN_FACTORS):
        found.append(conditional(seen, count, variance_factor, s * household_std, b * mean_std))
        best = max(log_likelihood for log_likelihood, _, _ in found)
        # Of thousands of feeders hardly any two factors are left, and no memory is needed for the others.
        found = [one for one in found if one[0] > best - NEGLIGIBLE_LOG]
    log_weight = np.array([log_likelihood for log_likelihood, _, _ in found])
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    mean = sum(w * m for w, (_, m, _) in zip(weight, found, strict=True))
    # Of the law of total variance; differences of squares would cancel.
    variance = sum(w * (v + (m - mean) ** 2) for w, (_, m, v) in zip(weight, found, strict=True))
    return mean, variance


def conditional(
    seen: Observed, count: np.ndarray, variance_factor: np.ndarray, household_std: np.ndarray, mean_std: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the log-likelihood of the noisy sums, up to a constant, and mean and variance (F, K) of the exact ones.

    The factors are given. First the feeders: theta by generalised least squares, which leaves a covariance of a
    diagonal and one outer product. Then the sum of all of them, as one Kalman update.
    """
    n, y = np.asarray(count, float)[:, None], seen.feeders
    sampling = np.asarray(variance_factor)[:, None] * household_std**2
    left = 1 / (1 + sampling * seen.precision)
    own_precision = seen.precision * left
    from_feeders = (n**2 * own_precision).sum(axis=0)
    theta_variance = 1 / (from_feeders + 1 / mean_std**2)
    pulled = (n * y * own_precision).sum(axis=0)
    theta = theta_variance * pulled
    mean = left * n * theta + (1 - left) * y
    alone, along = sampling * left, n * left
    with_all = alone + along * theta_variance * along.sum(axis=0)
    variance = alone + along**2 * theta_variance
    all_variance = with_all.sum(axis=0) + seen.all_variance
    surprise = seen.all_meters - mean.sum(axis=0)
    log_likelihood = 0.5 * (
        np.log(left).sum()
        - np.log1p(mean_std**2 * from_feeders).sum()
        - (y**2 * own_precision).sum()
        + (theta * pulled).sum()
        - (np.log(all_variance) + surprise**2 / all_variance).sum()
    )
    return float(log_likelihood), mean + with_all / all_variance * surprise, variance - with_all**2 / all_variance
