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
    Perturbation,
    check_records,
    clipped_weights,
    mirrored,
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
    change: float = CHANGE,
    counts: Literal["noisy", "exact"] = "noisy",
    divisor: Literal["own", "noisy"] = "own",
) -> np.ndarray:
    """Run the paper's private K-means: Laplace noise on the shares, (14), and on every mean, (15), (16).

    Takes records (N, d) in the unit ball and public centres (K, d), and returns centres (K, d). ``step_epsilon`` is
    the budget of each answer; infinite for Lloyd's algorithm without noise. ``count_floor`` is a
    public floor of the noisy counts that (15) divides by (defect P2). The mean itself is that of the class, as (16)
    prints, or with ``divisor`` "noisy" the class sum over the noisy count; a class of no record keeps its centre.

    ``change`` is what one record changes counts and norms of class sums by: 2 in (15), for one that is replaced; 1
    for one more or less. With "exact" ``counts`` the noise is scaled by the number of members itself, which the
    paper's public code does and charges nothing for.
    """
    check_records(x, len(start))
    perturbation, centres = Perturbation(noise, step_epsilon), start
    n, d = x.shape
    for _ in range(iterations):
        members, sums = _members(x, centres)
        used = members
        if counts == "noisy":
            shares, _ = clipped_weights(perturbation.vector(members / n, change / n, "laplace"))
            used = n * shares
        used = np.maximum(used, count_floor)[:, None]
        by = np.maximum(members, 1.0)[:, None] if divisor == "own" else used
        means = np.where(members[:, None] > 0, sums / by, centres)
        centres = perturbation.vector(means, change * math.sqrt(d) / used, "laplace")
    return centres


def dp_lloyd(
    x: np.ndarray,
    start: np.ndarray,
    iterations: int,
    step_epsilon: float,
    noise: NoiseSource,
    count_floor: float = 1.0,
    sensitivity: float | None = None,
) -> np.ndarray:
    """Run DPLloyd: Lap((d + 1)/step_epsilon) on every count and on every coordinate of every sum.

    As :func:`dp_kmeans`, but one iteration is one answer: linear composition gives it epsilon/J. The
    sensitivity d + 1, unless another is given, is that of one record more or less with coordinates in [-1, 1]; a
    replaced record changes counts and sums of two classes, so it takes twice as much (defect P6). A class whose
    noisy count is below the floor is divided by the floor.
    """
    check_records(x, len(start))
    perturbation, centres = Perturbation(noise, step_epsilon), start
    sensitivity = x.shape[1] + 1 if sensitivity is None else sensitivity
    for _ in range(iterations):
        counts, sums = _members(x, centres)
        noisy_counts = perturbation.vector(counts, sensitivity, "laplace")
        centres = perturbation.vector(sums, sensitivity, "laplace") / np.maximum(noisy_counts, count_floor)[:, None]
    return centres


def answers_of(iterations: int, in_each: int = 1) -> Sequence:
    """Return so many Laplace answers in each iteration for an accountant: of DPLloyd one."""
    return Sequence(iterations * in_each, 0, 0.0)


def nicv(x: np.ndarray, centres: np.ndarray) -> float:
    """Return the normalised intra-cluster variance: the mean squared distance of records to the nearest centre."""
    total = 0.0
    for part, label in _assigned(x, centres):
        residual = part - centres[label]
        total += float(np.einsum("nd,nd->", residual, residual))
    return total / len(x)


def _members(x: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return counts (K,) and sums (K, d) of the records nearest to each centre (K, d)."""
    k, d = centres.shape
    counts, sums = np.zeros(k), np.zeros((k, d))
    for part, label in _assigned(x, centres):
        counts += np.bincount(label, minlength=k)
        sums += np.column_stack([np.bincount(label, part[:, j], k) for j in range(d)])
    return counts, sums


def _assigned(x: np.ndarray, centres: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield records (n, d) and the nearest centre of each, (n,)."""
    squares = np.einsum("kd,kd->k", centres, centres)
    for start in range(0, len(x), _ROWS_AT_ONCE):
        part = x[start : start + _ROWS_AT_ONCE]
        yield part, (squares - 2 * part @ centres.T).argmin(axis=1)


# Noise makes negative variances; without a floor the next iteration divides by one.
LEAST_VARIANCE = 1e-6


@dataclass(frozen=True)
class Factors:
    """A factor analysis."""

    loadings: np.ndarray  # (d, q), W
    noise_variances: np.ndarray  # (d,), diagonal of Psi, positive

    def mean_log_likelihood(self, second_moment: np.ndarray) -> float:
        """Return the mean log-density of records with this second moment (d, d), nats per record."""
        scaled = self.loadings / self.noise_variances[:, None]
        precision = np.eye(self.loadings.shape[1]) + self.loadings.T @ scaled  # G^-1, (q, q)
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
    """Return the second moment (d, d) of records (N, d) in the unit ball with Gaussian noise, by Analyze Gauss.

    ``epsilon``, infinite for no noise, and ``delta`` are of the whole analysis; ``change`` is as in
    :func:`analyze_gauss_std`. ``misread`` gives the noise its variance where the standard deviation belongs (defect
    P3): far too little.
    """
    check_records(x, 1)
    exact = second_moment(x)
    if math.isinf(epsilon):
        return exact
    if misread:
        too_little = analyze_gauss_std(len(x), epsilon, delta, change) ** 2
        return mirrored(exact + too_little * noise.normal(exact.shape))
    return Perturbation(noise, epsilon, delta).symmetric(exact, change / len(x))


def start_factors(normals: np.ndarray) -> Factors:
    """Return a public start from public standard normal numbers (d, q); the paper prints none.

    Columns of the loadings have norm one half on average, noise variances are 1/d, as of records that fill the ball.
    """
    dimension = len(normals)
    return Factors(0.5 * normals / math.sqrt(dimension), np.full(dimension, 1 / dimension))


def fit_factors(
    second_moment: np.ndarray,
    iterations: int,
    start: Factors,
    loadings: Literal["new", "old"] = "new",
    least_variance: float = LEAST_VARIANCE,
) -> Factors:
    """Run EM on a second moment (d, d), private or not: at no further cost of privacy.

    ``loadings`` says which W stands in Psi^new = diag(Lambda - W G W' Psi^-1 Lambda); the paper leaves it open. "new"
    is EM, whose likelihood never falls; both have the same fixed points. ``least_variance`` is a public floor of
    noise variances.
    """
    w, psi = start.loadings, start.noise_variances
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
