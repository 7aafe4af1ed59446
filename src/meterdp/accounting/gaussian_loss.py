"""The distribution of the privacy loss between two Gaussian distributions (Ramakrishna et al., section IV,
Proposition 1).

For released distributions N(m_X, S_X) the loss L = ln f(q|X) - ln f(q|X') under X is a quadratic form in a standard
normal vector (29). :mod:`meterdp.accounting.exact_curve` computes its tails.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, log_ndtr

from meterdp.core.compiled import njit
from meterdp.privacy.gaussian import ERFCX_FROM, NOTHING_FROM, SMALL_MU, SQRT2, mills_drop

_SWEEPS = 40


@dataclass(frozen=True)
class PairLosses:
    """Proposition 1 for P ordered pairs: L = sum_i (gamma_i - 1)/2 xi_i^2 - sqrt(gamma_i) nu_i xi_i + constant.

    Parameters
    ----------
    gamma : (P, k) float64 array
        Eigenvalues (31) of S_X^1/2 S_X'^-1 S_X^1/2.
    nu : (P, k) float64 array
        sqrt(gamma_i) mu_i with mu of (30). Unlike mu it stays finite when S_X is nearly singular.
    singular : (P,) bool array
        True where the two distributions have no common density; the loss is infinite, gamma is 1 and nu 0 there.
    rounding : (P, 2) float64 array, optional
        gamma and nu are those of two distributions near the ones that are meant: covariances off by the first number
        relative to the distributions themselves, means by the second in standard deviations; infinite where computed
        ones may be anything. They depend on the condition of the covariances. Zero by default.
    """

    gamma: np.ndarray
    nu: np.ndarray
    singular: np.ndarray
    rounding: np.ndarray | float = 0.0

    @property
    def constant(self) -> np.ndarray:
        """Value of (29) at xi = 0; (P,)."""
        return 0.5 * np.sum(self.nu**2 - np.log(self.gamma), axis=1)

    def take(self, positions) -> PairLosses:
        return PairLosses(self.gamma[positions], self.nu[positions], self.singular[positions], self.off[positions])

    @property
    def off(self) -> np.ndarray:
        """``rounding`` of every pair, (P, 2)."""
        return np.broadcast_to(self.rounding, (len(self.singular), 2))


def pair_losses(mean: np.ndarray, covariance: np.ndarray, pairs: np.ndarray) -> PairLosses:
    """Return the loss of every ordered pair.

    Parameters
    ----------
    mean : (H, k) float64 array
    covariance : (H, k, k) float64 array
        Positive semidefinite; what may be singular is compared with the distribution's own largest variance, so
        units do not matter.
    pairs : (P, 2) int array
        Ordered pairs (X, X') of positions.

    Notes
    -----
    With Cholesky factors K of S_X and K' of S_X', and the singular value decomposition K'^-1 K = V G U', gamma is
    the diagonal of G^2 and nu = V' K'^-1 (m_X' - m_X). The reverse pair has 1/gamma and nu/sqrt(gamma), so each
    unordered pair is decomposed once, by one-sided Jacobi rotations, which keep small singular values accurate.
    A pair in which one distribution is singular counts as distinguished for certain, unless the two distributions are
    the same; if both live in one common subspace that is an upper bound.
    """
    mean, covariance = np.asarray(mean, dtype=float), np.asarray(covariance, dtype=float)
    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    labels, k = mean.shape
    values = np.linalg.eigvalsh(covariance)
    degenerate = values[:, 0] <= values[:, -1] * k * np.finfo(float).eps
    factor = np.linalg.cholesky(np.where(degenerate[:, None, None], np.eye(k), covariance))
    inverse = np.linalg.inv(factor)
    # Distributions with the same covariance get gamma = 1 to the last bit.
    known: dict[bytes, int] = {}
    shape = np.array([known.setdefault(one.tobytes(), len(known)) for one in covariance + 0.0], dtype=np.int64)
    label, other = pairs.T
    involved = degenerate[label] | degenerate[other]
    same = np.all(mean[label] == mean[other], axis=1) & (shape[label] == shape[other])
    gamma, nu = np.ones((len(pairs), k)), np.zeros((len(pairs), k))
    wanted = np.flatnonzero(~involved)
    keys = np.sort(pairs[wanted], axis=1)
    unordered, where = np.unique(keys[:, 0] * labels + keys[:, 1], return_inverse=True)
    first, second = unordered // labels, unordered % labels
    g, v = np.empty((unordered.size, k)), np.empty((unordered.size, k))
    _decompose(factor, inverse, mean, shape, first, second, g, v)
    gamma[wanted], nu[wanted] = g[where], v[where]
    turned = wanted[label[wanted] > other[wanted]]
    nu[turned] /= np.sqrt(gamma[turned])
    gamma[turned] = 1 / gamma[turned]
    return PairLosses(gamma, nu, involved & ~same, _rounding(covariance, degenerate, nu, pairs, same))


def _rounding(
    covariance: np.ndarray, degenerate: np.ndarray, nu: np.ndarray, pairs: np.ndarray, same: np.ndarray
) -> np.ndarray:
    """Bound how far the distributions of the computed gamma and nu are from the ones that are meant, (P, 2).

    A computed Cholesky factor is exact for a covariance that differs by at most a small multiple of k u in every
    entry, relative to the diagonal (Demmel 1989; Higham 2002, Theorem 10.5): by 8 k u kappa relative to the
    distribution itself, kappa the condition of the correlations. nu is off by 8 k u sqrt(kappa) |nu| in the same way.
    The factor 8 is empirical: tests hold the delta that follows, not gamma, against 60 digits. Where scales differ by
    orders of magnitude the product of the two factors adds more to gamma, and delta is one there.
    """
    labels, k = len(covariance), covariance.shape[1]
    condition = np.full(labels, np.inf)
    scale = np.sqrt(np.maximum(np.diagonal(covariance, axis1=1, axis2=2), np.finfo(float).tiny))
    values = np.linalg.eigvalsh(covariance / (scale[:, :, None] * scale[:, None, :]))
    fine = ~degenerate & (values[:, 0] > 0)
    condition[fine] = values[fine, -1] / values[fine, 0]
    worst = condition[pairs].max(axis=1)
    unit = 4 * k * np.finfo(float).eps
    shift = np.full(len(pairs), np.inf)
    finite = np.isfinite(worst)
    shift[finite] = unit * np.sqrt(worst[finite]) * np.linalg.norm(nu[finite], axis=1)
    return np.where(same[:, None], 0.0, np.stack([unit * worst, shift], axis=1))


def swap_losses(losses: PairLosses) -> PairLosses:
    """Return the losses of releasing both households of each pair at once: L_XX'(q1) + L_X'X(q2), defect R4.

    Two households that swap places change both files; their losses are independent and add, so gamma and nu of the
    pair and of its reverse, 1/gamma and nu/sqrt(gamma), stand side by side, (P, 2k). A pair and its reverse have the
    same distribution.
    """
    return PairLosses(
        np.concatenate([losses.gamma, 1 / losses.gamma], axis=1),
        np.concatenate([losses.nu, losses.nu / np.sqrt(losses.gamma)], axis=1),
        losses.singular,
        2 * losses.off,
    )


@njit(cache=True)
def _decompose(factor, inverse, mean, shape, first, second, gamma, nu):
    """Fill gamma, nu (P, k) for the pairs (first, second); factors and inverses (H, k, k) are lower triangles."""
    k = mean.shape[1]
    # Columns of K'^-1 K are rows here: they are what the rotations work on.
    rows, z, norm = np.empty((k, k)), np.empty(k), np.empty(k)
    for pair in range(first.size):
        x, y = first[pair], second[pair]
        for i in range(k):
            z[i] = 0.0
            for m in range(i + 1):
                z[i] += inverse[y, i, m] * (mean[y, m] - mean[x, m])
        if shape[x] == shape[y]:
            for i in range(k):  # single entries: a slice that is assigned takes seconds to compile
                gamma[pair, i], nu[pair, i] = 1.0, z[i]
            continue
        for j in range(k):
            for i in range(k):
                total = 0.0
                for m in range(j, i + 1):
                    total += inverse[y, i, m] * factor[x, m, j]
                rows[j, i] = total
        _orthogonalise(rows, norm)
        for j in range(k):
            total = 0.0
            for i in range(k):
                total += rows[j, i] * z[i]
            gamma[pair, j] = norm[j]
            nu[pair, j] = total / np.sqrt(norm[j])


@njit(cache=True)
def _orthogonalise(rows, norm):
    """Rotate pairs of rows (k, k) until all are orthogonal; ``norm`` (k,) gets their squared lengths."""
    k = rows.shape[0]
    for _ in range(_SWEEPS):
        for i in range(k):
            norm[i] = 0.0
            for m in range(k):
                norm[i] += rows[i, m] * rows[i, m]
        turned = False
        for i in range(k - 1):
            for j in range(i + 1, k):
                dot = 0.0
                for m in range(k):
                    dot += rows[i, m] * rows[j, m]
                if abs(dot) <= 1e-15 * np.sqrt(norm[i] * norm[j]):
                    continue
                turned = True
                zeta = (norm[j] - norm[i]) / (2.0 * dot)
                t = 1.0 / (abs(zeta) + np.sqrt(1.0 + zeta * zeta))
                if zeta < 0:
                    t = -t
                c = 1.0 / np.sqrt(1.0 + t * t)
                s = c * t
                for m in range(k):
                    one, two = rows[i, m], rows[j, m]
                    rows[i, m] = c * one - s * two
                    rows[j, m] = s * one + c * two
                norm[i] -= t * dot
                norm[j] += t * dot
        if not turned:
            break
    for i in range(k):
        norm[i] = 0.0
        for m in range(k):
            norm[i] += rows[i, m] * rows[i, m]


def log_deltas(mu: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Return what :func:`meterdp.privacy.gaussian.log_delta` does, for arrays (n,): one number takes a tenth of the
    time there.
    """
    out = np.where(mu == np.inf, 0.0, -np.inf)
    ends = (mu == 0) | (epsilon == np.inf)
    out[ends] = -np.inf
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    inside = ~ends & (mu < np.inf) & (near <= NOTHING_FROM)
    small = np.flatnonzero(inside & (mu <= SMALL_MU))
    if small.size:
        out[small] = (
            -0.5 * near[small] ** 2 - 0.5 * math.log(2 * math.pi) + np.log(mills_drop(near[small], mu[small]))
        )
    large = np.flatnonzero(inside & (mu > SMALL_MU))
    if large.size:
        near, far = near[large], far[large]
        first = log_ndtr(-near)
        scaled = near > ERFCX_FROM
        ratio = np.empty_like(near)
        ratio[scaled] = erfcx(far[scaled] / SQRT2) / erfcx(near[scaled] / SQRT2)
        ratio[~scaled] = np.exp(epsilon[large][~scaled] + log_ndtr(-far[~scaled]) - first[~scaled])
        out[large] = first + np.log1p(-ratio)
    return out
