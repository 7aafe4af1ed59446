"""An ARMA process in state space: its stationary distribution and one Kalman pass over a series with gaps.

Harvey's form of (59) in Ramakrishna et al.: with r = max(p, q + 1) the state follows s[t+1] = F s[t] + R e[t+1],
x[t] = s[t][0], where F holds phi in its first column and ones above the diagonal and R = (1, theta_1, ...).
The pass is the exact Gaussian filter; all variances are in units of the innovation variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.linalg import solve_discrete_lyapunov


@dataclass(frozen=True)
class ArmaSystem:
    """State-space form of one ARMA process with unit innovation variance: F (r, r), R (r,), and the covariance (r, r)
    of the state before any reading is seen.
    """

    transition: np.ndarray
    loading: np.ndarray
    stationary: np.ndarray


@dataclass(frozen=True)
class FilterPass:
    """What one Kalman pass over a series leaves.

    ``predicted`` (T + 1, r) is the mean of the state of slot t given the readings before t, the last row one step
    past the series; ``innovation`` (T,) reading minus its one-step forecast, NaN in a gap, ``innovation_scale`` (T,)
    its variance in units of the innovation variance.
    """

    predicted: np.ndarray
    innovation: np.ndarray
    innovation_scale: np.ndarray


def arma_system(ar: np.ndarray, ma: np.ndarray) -> ArmaSystem:
    """Return the state-space form of a stationary ARMA(p, q): x[t] = sum phi_i x[t-i] + e[t] + sum theta_j e[t-j]."""
    ar, ma = np.asarray(ar, dtype=float), np.asarray(ma, dtype=float)
    size = max(ar.size, ma.size + 1)
    transition = np.diag(np.ones(size - 1), 1)
    transition[: ar.size, 0] = ar
    loading = np.concatenate([[1.0], ma, np.zeros(size - ma.size - 1)])
    stationary = solve_discrete_lyapunov(transition, np.outer(loading, loading))
    return ArmaSystem(transition, loading, 0.5 * (stationary + stationary.T))


def largest_pole(coefficients: np.ndarray) -> float:
    """Return the largest modulus of the reciprocal roots of 1 - c_1 z - ... - c_n z^n, 0 without coefficients.

    Below one for ``ar``: stationary. Below one for ``-ma``: invertible.
    """
    coefficients = np.asarray(coefficients, dtype=float)
    if coefficients.size == 0:
        return 0.0
    companion = np.diag(np.ones(coefficients.size - 1), 1)
    companion[:, 0] = coefficients
    return float(np.abs(np.linalg.eigvals(companion)).max())


def kalman_pass(system: ArmaSystem, x: np.ndarray) -> FilterPass:
    """Filter the zero-mean series ``x`` (T,), NaN where a reading is missing."""
    x, size = np.ascontiguousarray(x, dtype=float), system.loading.size
    predicted, covariance = np.zeros((x.size + 1, size)), system.stationary.copy()
    innovation, scale = np.full(x.size, np.nan), np.empty(x.size)
    memory = np.empty(size), np.empty(size), *np.empty((2, size, size))
    _filter(x, system.transition, system.loading, predicted, covariance, innovation, scale, *memory)
    return FilterPass(predicted, innovation, scale)


def concentrated_likelihood(innovation: np.ndarray, scale: np.ndarray) -> tuple[float, float, int]:
    """Return the innovation variance that maximises the Gaussian likelihood, the log-likelihood there, the count.

    ``innovation`` (T,) is NaN in gaps, ``scale`` (T,) its variance in units of the innovation variance. The first is
    the mean of innovation^2 / scale over the readings, the second, in nats, exact; NaN if the first is not positive.
    """
    seen = np.isfinite(innovation)
    count, scale = int(seen.sum()), scale[seen]
    variance = float(np.mean(innovation[seen] ** 2 / scale)) if count and (scale > 0.0).all() else 0.0
    if not variance > 0.0:
        return variance, np.nan, count
    return variance, -0.5 * float(count * (np.log(2 * np.pi * variance) + 1) + np.log(scale).sum()), count


# A covariance that moves by less in a step, relative to its largest entry, has settled: less than 1e-12 is left where
# what a step leaves is no more than 0.99 of what was there.
_SETTLED = 1e-14


# Single entries only, in memory that is handed in: slices and new arrays take seconds to compile.
@njit(cache=True)
def _filter(x, transition, loading, predicted, cov, innovation, scale, mean, gain, half, last):
    size, settled = loading.size, False
    for t in range(x.size):
        for i in range(size):
            mean[i] = predicted[t, i]
        scale[t] = cov[0, 0]
        seen = not np.isnan(x[t])
        if settled and seen:
            # Without gaps the covariance has a limit: from there on neither it nor the gain moves.
            innovation[t] = x[t] - mean[0]
            for i in range(size):
                mean[i] += gain[i] * innovation[t]
            first = mean[0]
            for i in range(size):
                predicted[t + 1, i] = transition[i, 0] * first + (mean[i + 1] if i + 1 < size else 0.0)
            continue
        largest, moved = 0.0, 0.0
        for i in range(size):
            for j in range(size):
                last[i, j] = cov[i, j]
        if seen:
            innovation[t] = x[t] - mean[0]
            for i in range(size):
                gain[i] = cov[i, 0] / scale[t]
            for i in range(size):
                mean[i] += gain[i] * innovation[t]
                for j in range(size):
                    cov[i, j] -= gain[i] * gain[j] * scale[t]
        # F is a companion matrix: F s = phi s[0] + (s[1], s[2], ..., 0).
        first = mean[0]
        for i in range(size):
            predicted[t + 1, i] = transition[i, 0] * first + (mean[i + 1] if i + 1 < size else 0.0)
            for j in range(size):
                half[i, j] = transition[i, 0] * cov[0, j] + (cov[i + 1, j] if i + 1 < size else 0.0)
        for i in range(size):
            for j in range(size):
                cov[i, j] = half[i, 0] * transition[j, 0] + (half[i, j + 1] if j + 1 < size else 0.0)
                cov[i, j] += loading[i] * loading[j]
                largest = max(largest, abs(cov[i, j]))
                moved = max(moved, abs(cov[i, j] - last[i, j]))
        settled = seen and moved <= _SETTLED * largest


def predicted_covariances(system: ArmaSystem, seen: np.ndarray, origins: np.ndarray) -> np.ndarray:
    """Return the covariance of the state at every origin given the readings before it, (n, r, r) in innovation
    variances.

    The covariance half of the Kalman filter behind (57); it does not depend on the readings, only on which of them
    were ``seen`` (T,), so one pass serves every origin of a household, slots 0..T.
    """
    origins = np.asarray(origins, dtype=np.int64)
    order = np.argsort(origins, kind="stable")
    size = system.loading.size
    ordered, found = np.empty((2, origins.size, size, size))
    _pass(
        np.ascontiguousarray(seen, dtype=np.bool_),
        origins[order],
        system.transition,
        system.loading,
        system.stationary.copy(),
        ordered,
        np.empty(size),
        np.empty((size, size)),
    )
    found[order] = ordered
    return found


# Single entries only, in memory that is handed in: slices and new arrays take seconds to compile.
@njit(cache=True)
def _pass(seen, origins, transition, loading, cov, found, gain, half):
    size = loading.size
    slot = 0
    for n in range(origins.size):
        while slot < origins[n]:
            if seen[slot]:
                scale = cov[0, 0]
                for i in range(size):
                    gain[i] = cov[i, 0]
                for i in range(size):
                    for j in range(size):
                        cov[i, j] -= gain[i] * gain[j] / scale
            # F is a companion matrix: F s = phi s[0] + (s[1], s[2], ..., 0).
            for i in range(size):
                for j in range(size):
                    half[i, j] = transition[i, 0] * cov[0, j] + (cov[i + 1, j] if i + 1 < size else 0.0)
            for i in range(size):
                for j in range(size):
                    cov[i, j] = half[i, 0] * transition[j, 0] + (half[i, j + 1] if j + 1 < size else 0.0)
                    cov[i, j] += loading[i] * loading[j]
            slot += 1
        for i in range(size):
            for j in range(size):
                found[n, i, j] = cov[i, j]
