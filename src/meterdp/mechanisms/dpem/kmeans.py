"""Private K-means of Park et al., Section 7 (Fig. 4), and the DPLloyd it is compared with. Published family.

The paper's perturbs shares and means, like DP-EM for mixtures; DPLloyd (Blum et al. 2005; Su et al. 2016) perturbs
counts and sums of coordinates and divides. Both give every answer Laplace noise of a budget that a composition fixes.

DP-EM for factor analysis (Park et al., Section 6): one noisy second moment, then EM as post-processing.

x = W z + noise of diagonal covariance Psi, with z standard normal and no mean. EM needs the second moment of the
records alone, so it is perturbed once, by Analyze Gauss (Dwork et al. 2014). Psi is diagonal: no d x d matrix is
inverted, and an iteration is one product of the second moment with a (d, q) matrix. Published family.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from meterdp.accounting.sequence import Sequence
from meterdp.mechanisms.dpem.mechanism import (
    CHANGE,
    MomentModel,
    Perturbation,
    check_records,
    clipped_weights,
    mirrored,
    moment_em,
)
from meterdp.privacy.noise import NoiseSource

_ROWS_AT_ONCE = 8192


def dp_kmeans(
    x: np.ndarray,
    start: np.ndarray,
    iterations: int,
    step_epsilon: float,
    noise: NoiseSource,
    count_floor: float = 1.0,
) -> np.ndarray:
    """Run the paper's private K-means: Laplace noise on the shares, (14), and on every mean, (15), (16).

    Parameters
    ----------
    x : (N, d) float64
        Records in the unit ball.
    start : (K, d) float64
        Public centres.
    iterations : int
        J.
    step_epsilon : float
        Budget of each of the J (K + 1) answers; infinite for Lloyd's algorithm without noise.
    noise : NoiseSource
    count_floor : float
        Public floor of the noisy counts that (15) divides by (defect P2). The mean itself is that of the class, as
        (16) prints; a class of no record keeps its centre.

    Returns
    -------
    (K, d) float64

    Raises
    ------
    InputError
        If there are fewer records than classes, or an entry is not a finite number.
    """
    return _run(_MeanModel(len(x), count_floor), x, start, iterations, step_epsilon, noise)


def kmeans_sequence(classes: int, iterations: int) -> Sequence:
    """Return the answers of :func:`dp_kmeans` for an accountant."""
    return Sequence(iterations * (classes + 1), 0, 0.0)


def dp_lloyd(
    x: np.ndarray,
    start: np.ndarray,
    iterations: int,
    step_epsilon: float,
    noise: NoiseSource,
    count_floor: float = 1.0,
) -> np.ndarray:
    """Run DPLloyd: Lap((d + 1)/step_epsilon) on every count and on every coordinate of every sum.

    Parameters as in :func:`dp_kmeans`, but one iteration is one answer: linear composition gives it epsilon/J. The
    sensitivity d + 1 is that of one record more or less with coordinates in [-1, 1]; a replaced record of the unit
    ball changes counts and sums of two classes, by up to 2 + 2 sqrt(d), so for d = 2 the paper charges DPLloyd less
    than its own method. A class whose noisy count is below the floor is divided by the floor.
    """
    return _run(_SumModel(count_floor), x, start, iterations, step_epsilon, noise)


def lloyd_sequence(iterations: int) -> Sequence:
    """Return the answers of :func:`dp_lloyd` for an accountant."""
    return Sequence(iterations, 0, 0.0)


def nicv(x: np.ndarray, centres: np.ndarray) -> float:
    """Return the normalised intra-cluster variance: the mean squared distance of records to the nearest centre."""
    total = sum(float(nearest.sum()) for _, _, nearest in _assigned(x, centres))
    return total / len(x)


@dataclass(frozen=True)
class _Members:
    """Counts (K,) and sums (K, d) of the records nearest to each centre (K, d)."""

    counts: np.ndarray
    sums: np.ndarray
    centres: np.ndarray


class _Lloyd:
    """What both models share: their moments."""

    def expected(self, x: np.ndarray, centres: np.ndarray) -> _Members:
        counts, sums = np.zeros(len(centres)), np.zeros(centres.shape)
        for part, label, _ in _assigned(x, centres):
            member = (label[:, None] == np.arange(len(centres))).astype(float)
            counts += member.sum(axis=0)
            sums += member.T @ part
        return _Members(counts, sums, centres)


@dataclass(frozen=True)
class _MeanModel(_Lloyd):
    records: int
    count_floor: float

    def perturbed(self, members: _Members, perturbation: Perturbation) -> np.ndarray:
        n, d = self.records, members.sums.shape[1]
        shares, _ = clipped_weights(perturbation.vector(members.counts / n, CHANGE / n, "laplace"))
        noisy_counts = np.maximum(n * shares, self.count_floor)
        counts = members.counts[:, None]
        means = np.where(counts > 0, members.sums / np.maximum(counts, 1.0), members.centres)
        return perturbation.vector(means, CHANGE * math.sqrt(d) / noisy_counts[:, None], "laplace")


@dataclass(frozen=True)
class _SumModel(_Lloyd):
    count_floor: float

    def perturbed(self, members: _Members, perturbation: Perturbation) -> np.ndarray:
        sensitivity = members.sums.shape[1] + 1
        counts = perturbation.vector(members.counts, sensitivity, "laplace")
        sums = perturbation.vector(members.sums, sensitivity, "laplace")
        return sums / np.maximum(counts, self.count_floor)[:, None]


def _run(
    model: MomentModel, x: np.ndarray, start: np.ndarray, iterations: int, step_epsilon: float, noise: NoiseSource
) -> np.ndarray:
    check_records(x, len(start))
    return moment_em(model, x, start, iterations, Perturbation(noise, step_epsilon))


def _assigned(x: np.ndarray, centres: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield records (n, d), the nearest centre of each, (n,), and its squared distance, (n,)."""
    for start in range(0, len(x), _ROWS_AT_ONCE):
        part = x[start : start + _ROWS_AT_ONCE]
        less_own_square = np.einsum("kd,kd->k", centres, centres) - 2 * part @ centres.T
        label = less_own_square.argmin(axis=1)
        residual = part - centres[label]
        yield part, label, np.einsum("nd,nd->n", residual, residual)


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
