"""The privacy loss between two labels: its law (Proposition 1), Lemma 1 minimised, and Monte Carlo.

Section IV of Ramakrishna et al. For released laws N(m_X, S_X) the loss L = ln f(q|X) - ln f(q|X') under X is a
quadratic form in a standard normal vector (29). :func:`chernoff` gives an upper bound for every pair and epsilon;
:func:`monte_carlo` an unbiased estimate for the pair it finds worst.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meterdp.classnoise.interface import ClassQueries

BLOCK_ENTRIES = 4_000_000  # pairs are worked on in blocks of about this many numbers (32 MB)
NEWTON_STEPS = 60


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
        True where the two laws have no common density; the loss is infinite, gamma is 1 and nu 0 there.
    """

    gamma: np.ndarray
    nu: np.ndarray
    singular: np.ndarray

    @property
    def constant(self) -> np.ndarray:
        """Value of (29) at xi = 0; (P,)."""
        return 0.5 * np.sum(self.nu**2 - np.log(self.gamma), axis=1)


def pair_losses(laws: ClassQueries) -> PairLosses:
    """Return the loss of every pair of the graph.

    Parameters
    ----------
    laws : ClassQueries
        Laws of what is released, from :meth:`meterdp.classnoise.interface.Noise.released`.

    Notes
    -----
    With Cholesky factors K of S_X and K' of S_X', and the singular value decomposition K'^-1 K = V G U', gamma is
    the diagonal of G^2 and nu = V' K'^-1 (m_X' - m_X). A pair in which one law is singular counts as told apart for
    certain, unless the two laws are the same; if both live in one common subspace that is an upper bound.
    """
    covariance = laws.covariance
    # The unit of the readings must not decide what is singular: compare with the largest eigenvalue.
    values = np.linalg.eigvalsh(covariance)
    degenerate = values[:, 0] <= values[:, -1] * laws.entries * np.finfo(float).eps
    regular = np.where(degenerate[:, None, None], np.eye(laws.entries), covariance)
    factor = np.linalg.cholesky(regular)
    inverse = np.linalg.inv(factor)
    label, other = laws.pairs.T
    involved = degenerate[label] | degenerate[other]
    same = np.all(laws.mean_log_kwh[label] == laws.mean_log_kwh[other], axis=1)
    same &= np.all(covariance[label] == covariance[other], axis=(1, 2))
    gamma, nu = np.ones((label.size, laws.entries)), np.zeros((label.size, laws.entries))
    for block in _blocks(np.flatnonzero(~involved), laws.entries**2):
        x, y = label[block], other[block]
        v, root, _ = np.linalg.svd(inverse[y] @ factor[x])
        difference = laws.mean_log_kwh[y] - laws.mean_log_kwh[x]
        gamma[block] = root**2
        nu[block] = np.einsum("pji,pjl,pl->pi", v, inverse[y], difference)
    return PairLosses(gamma, nu, involved & ~same)


def chernoff(losses: PairLosses, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lemma 1 minimised over s, for both tails of the loss.

    With u = 1/(s - 1) and K(u) = ln E e^(uL) the bound (34) is exp(K(u) - u eps), log-convex in u. For the lower
    tail the same argument with -u in place of u gives Pr(L < -eps) <= exp(K(-u) - u eps): (34) with s = 1 - 1/u,
    negative below u = 1. Both under X.

    Parameters
    ----------
    losses : PairLosses
        P pairs.
    epsilon : (E,) float64 array
        Non-negative privacy parameters.

    Returns
    -------
    one_sided, two_sided : (P, E) float64 arrays
        Upper bounds on Pr(L > eps) and on Pr(|L| > eps), at most 1.
    """
    epsilon = np.asarray(epsilon, dtype=float)
    upper = np.ones((losses.singular.size, epsilon.size))
    lower = np.zeros_like(upper)
    for block in _blocks(np.flatnonzero(~losses.singular), losses.gamma.shape[1] * epsilon.size * 4):
        gamma, nu = losses.gamma[block][:, None, :], losses.nu[block][:, None, :]
        upper[block] = _smallest_bound(gamma, nu, epsilon, +1.0)
        lower[block] = _smallest_bound(gamma, nu, epsilon, -1.0)
    return upper, np.minimum(upper + lower, 1.0)


def _smallest_bound(gamma, nu, epsilon, sign: float) -> np.ndarray:
    """Minimise exp(K(sign u) - u eps) over u >= 0; gamma, nu (P, 1, k), result (P, E).

    Newton steps on the derivative, kept inside a bracket that bisection shrinks. Every u gives a valid bound, so an
    early end costs tightness, never correctness.
    """
    # E e^(uL) is finite while 1 - u (gamma - 1) > 0 (upper tail) or 1 - u (1 - gamma) > 0 (lower tail).
    rate = np.max(sign * (gamma - 1.0), axis=-1)
    high = np.where(rate > 0, (1 - 1e-12) / np.maximum(rate, 1e-300), 1e12)
    high = np.minimum(high, 1e12) * np.ones_like(epsilon)
    low = np.zeros_like(high)
    u = np.minimum(0.5, 0.5 * high)
    for _ in range(NEWTON_STEPS):
        _, slope, curvature = _cumulant(gamma, nu, sign * u)
        slope = sign * slope - epsilon
        low, high = np.where(slope < 0, u, low), np.where(slope >= 0, u, high)
        newton = u - slope / np.maximum(curvature, 1e-300)
        # The bracket may span many powers of ten: halve it on the log scale once its lower end has left zero.
        middle = np.where(low > 0, np.sqrt(low * high), np.minimum(0.5 * high, 1.0))
        moved = np.where((newton > low) & (newton < high), newton, middle)
        if np.all(np.abs(moved - u) <= 1e-10 * u):
            break
        u = moved
    value = _cumulant(gamma, nu, sign * u)[0] - u * epsilon
    return np.exp(np.minimum(value, 0.0))


def _cumulant(gamma, nu, u) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """K(u) = ln E e^(uL) under X with its first two derivatives; gamma, nu (P, 1, k), u (P, E).

    K(u) = 1/2 sum_i [ -u ln gamma_i - ln D_i + u (1 + u) nu_i^2 / D_i ], D_i = 1 - u (gamma_i - 1).
    """
    u = u[..., None]
    excess = gamma - 1.0
    d = 1.0 - u * excess
    value = 0.5 * np.sum(-u * np.log(gamma) - np.log(d) + u * (1 + u) * nu**2 / d, axis=-1)
    quadratic = gamma * nu**2
    slope = 0.5 * np.sum(-np.log(gamma) + excess / d + nu**2 + quadratic * u * (1 + d) / d**2, axis=-1)
    curvature = np.sum(0.5 * excess**2 / d**2 + quadratic / d**3, axis=-1)
    return value, slope, curvature


@dataclass(frozen=True)
class MonteCarlo:
    """Monte Carlo estimate for the worst pair; arrays (E,), one-sided and two-sided.

    Parameters
    ----------
    one_sided, two_sided : (E,) float64 arrays
        Pr(L > eps) and Pr(|L| > eps).
    one_sided_se, two_sided_se : (E,) float64 arrays
        Binomial standard errors.
    """

    one_sided: np.ndarray
    one_sided_se: np.ndarray
    two_sided: np.ndarray
    two_sided_se: np.ndarray


def monte_carlo(losses: PairLosses, epsilon: np.ndarray, draws: np.ndarray) -> MonteCarlo:
    """Estimate the largest Pr(L > eps) and Pr(|L| > eps) over the pairs.

    The first half of the draws picks the worst pair for each epsilon and side, the second half estimates its
    probability: unbiased for that pair, hence not above the largest probability in expectation.

    Parameters
    ----------
    losses : PairLosses
        P pairs.
    epsilon : (E,) float64 array
        Privacy parameters.
    draws : (n, k) float64 array
        Independent standard normal numbers, n even; the caller owns the randomness.
    """
    epsilon = np.asarray(epsilon, dtype=float)
    half = len(draws) // 2
    if losses.singular.any():
        one, zero = np.ones(epsilon.size), np.zeros(epsilon.size)
        return MonteCarlo(one, zero, one, zero)
    counts = np.zeros((2, losses.singular.size, epsilon.size), dtype=np.int64)
    for block in _blocks(np.arange(losses.singular.size), half):
        loss = sample_losses(losses, block, draws[:half])
        for column, eps in enumerate(epsilon):
            above = np.count_nonzero(loss > eps, axis=1)
            counts[0, block, column] = above
            counts[1, block, column] = above + np.count_nonzero(loss < -eps, axis=1)
    worst = counts.argmax(axis=1)
    second = draws[half : 2 * half]
    one = [np.mean(sample_losses(losses, [p], second) > eps) for p, eps in zip(worst[0], epsilon, strict=True)]
    two = [
        np.mean(np.abs(sample_losses(losses, [p], second)) > eps) for p, eps in zip(worst[1], epsilon, strict=True)
    ]
    one, two = np.array(one), np.array(two)
    return MonteCarlo(one, np.sqrt(one * (1 - one) / half), two, np.sqrt(two * (1 - two) / half))


def sample_losses(losses: PairLosses, pairs, draws: np.ndarray) -> np.ndarray:
    """Losses (29) of chosen pairs at given standard normal vectors, by one matrix product; (len(pairs), n)."""
    gamma, nu = losses.gamma[pairs], losses.nu[pairs]
    coefficients = np.concatenate([0.5 * (gamma - 1.0), -np.sqrt(gamma) * nu], axis=1)
    features = np.concatenate([draws**2, draws], axis=1)
    return coefficients @ features.T + losses.constant[pairs][:, None]


def _blocks(positions: np.ndarray, entries_each: int):
    size = max(1, BLOCK_ENTRIES // max(entries_each, 1))
    for start in range(0, len(positions), size):
        yield positions[start : start + size]
