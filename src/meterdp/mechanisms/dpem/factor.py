"""DP-EM for factor analysis (Park et al., Section 6): one noisy second moment, then EM as post-processing.

x = W z + noise of diagonal covariance Psi, with z standard normal and no mean. EM needs the second moment of the
records alone, so it is perturbed once, by Analyze Gauss (Dwork et al. 2014). Psi is diagonal: no d x d matrix is
inverted, and an iteration is one product of the second moment with a (d, q) matrix. Published family.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from meterdp.mechanisms.dpem.mixture import CHANGE
from meterdp.mechanisms.dpem.moments import Perturbation, mirrored
from meterdp.mechanisms.dpem.records import check_records
from meterdp.privacy.noise import NoiseSource

# Noise makes negative variances; without a floor the next iteration divides by one.
LEAST_VARIANCE = 1e-6


@dataclass(frozen=True)
class Factors:
    """A factor analysis.

    Parameters
    ----------
    loadings : (d, q) float64
        W.
    noise_variances : (d,) float64
        Diagonal of Psi, positive.
    """

    loadings: np.ndarray
    noise_variances: np.ndarray

    def posterior_precision(self) -> np.ndarray:
        """Return G^-1 = I + W' Psi^-1 W, (q, q)."""
        w = self.loadings
        return np.eye(w.shape[1]) + w.T @ (w / self.noise_variances[:, None])

    def mean_log_likelihood(self, second_moment: np.ndarray) -> float:
        """Return the mean log-density of records with this second moment (d, d), nats per record."""
        scaled = self.loadings / self.noise_variances[:, None]
        precision = self.posterior_precision()
        # Woodbury: C^-1 = Psi^-1 - Psi^-1 W G W' Psi^-1, and ln|C| = ln|Psi| + ln|G^-1|.
        explained = np.trace(np.linalg.solve(precision, scaled.T @ (second_moment @ scaled)))
        squares = float((np.diagonal(second_moment) / self.noise_variances).sum()) - explained
        log_det = float(np.log(self.noise_variances).sum()) + np.linalg.slogdet(precision)[1]
        return -0.5 * (len(self.loadings) * math.log(2 * math.pi) + log_det + squares)


def second_moment(x: np.ndarray) -> np.ndarray:
    """Return Lambda = X'X/N, (d, d), of records (N, d)."""
    return x.T @ x / len(x)


def analyze_gauss_std(records: int, epsilon: float, delta: float, change: float = CHANGE) -> float:
    """Return the standard deviation sqrt(2 ln(1.25/delta)) change/(N epsilon) of Analyze Gauss, (17), (18).

    ``change`` bounds the Frobenius norm of what one record changes N Lambda by: 2 in (18); one for a record more or
    less, and sqrt(2) for one replaced, which is the exact bound.
    """
    return math.sqrt(2 * math.log(1.25 / delta)) * change / (records * epsilon)


def noisy_second_moment(
    x: np.ndarray, epsilon: float, delta: float, noise: NoiseSource, change: float = CHANGE, misread: bool = False
) -> np.ndarray:
    """Return the second moment (d, d) with one symmetric matrix of Gaussian noise, by Analyze Gauss.

    Parameters
    ----------
    x : (N, d) float64
        Records in the unit ball.
    epsilon, delta : float
        Of the whole analysis; epsilon infinite for no noise.
    noise : NoiseSource
    change : float
        As in :func:`analyze_gauss_std`.
    misread : bool
        Whether the noise gets its variance where the standard deviation belongs (defect P3): far too little.

    Raises
    ------
    InputError
        If an entry is not a finite number, or there is no record.
    """
    check_records(x, 1)
    exact = second_moment(x)
    if math.isinf(epsilon):
        return exact
    if misread:
        too_little = analyze_gauss_std(len(x), epsilon, delta, change) ** 2
        return mirrored(exact + too_little * noise.normal(exact.shape))
    return Perturbation(noise, epsilon, delta).symmetric(exact, change / len(x))


def start_factors(normals: np.ndarray, variance: float | None = None) -> Factors:
    """Return a public start: normal loadings whose columns have norm one half on average, equal noise variances.

    The paper prints none.

    Parameters
    ----------
    normals : (d, q) float64
        Public standard normal numbers, as from :func:`meterdp.core.noise.fixed_normals`.
    variance : float, optional
        1/d by default, what records that fill the ball have.
    """
    dimension = len(normals)
    loadings = 0.5 * normals / math.sqrt(dimension)
    return Factors(loadings, np.full(dimension, 1 / dimension if variance is None else variance))


def fit_factors(
    second_moment: np.ndarray,
    latent: int,
    iterations: int,
    start: Factors,
    loadings: Literal["new", "old"] = "new",
    least_variance: float = LEAST_VARIANCE,
) -> Factors:
    """Run EM on a second moment, private or not: at no further cost of privacy.

    Parameters
    ----------
    second_moment : (d, d) float64
        Symmetric; with noise not positive definite.
    latent : int
        q.
    iterations : int
    start : Factors
        Public.
    loadings : {"new", "old"}
        Which W stands in Psi^new = diag(Lambda - W G W' Psi^-1 Lambda); the paper leaves it open. "new" is EM, whose
        likelihood never falls; both have the same fixed points.
    least_variance : float
        Public floor of noise variances.
    """
    w, psi = start.loadings, start.noise_variances
    if w.shape != (len(second_moment), latent):
        raise ValueError("the start does not have the shape of the analysis")
    variances = np.diagonal(second_moment)
    for _ in range(iterations):
        scaled = w / psi[:, None]
        # (I + W' Psi^-1 W)^-1: on a matrix that noise made indefinite W grows until no inverse is left of the sum.
        _, size, axes = np.linalg.svd(w / np.sqrt(psi)[:, None], full_matrices=False)
        posterior = (axes.T / (1 + size**2)) @ axes
        # Lambda Psi^-1 W G, the expected x z'; and the expected z z'.
        cross = second_moment @ (scaled @ posterior)
        latent_moment = posterior + posterior @ (scaled.T @ cross)
        new = np.linalg.solve(latent_moment.T, cross.T).T
        used = new if loadings == "new" else w
        psi = np.maximum(variances - (used * cross).sum(axis=1), least_variance)
        w = new
    return Factors(w, psi)
