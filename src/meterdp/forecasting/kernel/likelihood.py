"""The ARMA log-likelihood and its gradient as a function of unconstrained partial autocorrelations, compiled.

Both parts are written by their partial autocorrelations, the bounded tanh of a free vector z, and term i of each
polynomial is then multiplied by shrink^i: every z gives reciprocal roots of modulus below ``shrink``, so the AR part
is stationary and the MA part invertible by construction.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import cfunc, njit, types

from meterdp.forecasting.kernel.complete import PAD, complete_likelihood
from meterdp.forecasting.kernel.gaps import gappy_likelihood

MAX_ORDER = 24
COEFFICIENT_SLOTS = 28  # of phi and theta: the order and a block of four

_VECTOR, _MATRIX = types.float64[::1], types.float64[:, ::1]
_SERIES_TYPE = types.float64(
    _VECTOR, _VECTOR, _VECTOR, types.int64, types.int64, _MATRIX, _MATRIX, _VECTOR, _VECTOR, _MATRIX
)
_OBJECTIVE_TYPE = types.float64(
    _VECTOR,
    _VECTOR,
    types.int64,
    types.int64,
    types.FunctionType(_SERIES_TYPE),
    types.float64,
    types.float64,
    _VECTOR,
    _MATRIX,
    _VECTOR,
)


@cache
def compiled(gaps: bool):
    """Return the pair (objective, likelihood of a series with or without gaps) as compiled function pointers.

    Numba's cache looks at the file of a function only, not at those of the functions it calls. A function that gets
    another one as a pointer holds no copy of it, so a change of one file never leaves a stale copy in another.
    """
    series = cfunc(_SERIES_TYPE, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
    return (
        cfunc(_OBJECTIVE_TYPE, cache=True, error_model="numpy")(objective),
        series(gappy_likelihood if gaps else complete_likelihood),
    )


def padded(x: np.ndarray) -> np.ndarray:
    """Return ``x`` (n,) between the margins of zeros the likelihoods ask for."""
    out = np.zeros(x.size + 2 * PAD)
    out[PAD : PAD + x.size] = x
    return out


def workspace(n: int, p: int, q: int) -> np.ndarray:
    """Array :func:`objective` overwrites, for a series of ``n`` readings."""
    return np.zeros((5 + max(p, q), n + 2 * PAD))


def objective(z, x, p, q, series_likelihood, bound, shrink, precision, work, gradient):
    """Return minus the log-likelihood at the best variance, up to a constant, plus half the sum of precision z^2:
    nats.

    Infinity where arithmetic fails.

    Parameters
    ----------
    z : (p + q,) float64 array
        Artanh of the partial autocorrelations over their bound, AR part first; not empty, p and q at most 24.
    x : (n + 2 PAD,) float64 array
        From :func:`padded`; NaN in gaps.
    series_likelihood : function pointer
        Second of :func:`compiled`.
    bound, shrink : float
        Bound of the partial autocorrelations before the shrinking, and of the reciprocal roots.
    precision : (p + q,) float64 array
        Of the Gaussian prior on z; zeros for none.
    work : array
        From :func:`workspace`.
    gradient : (p + q,) float64 array
        Overwritten.
    """
    r = max(p, q)
    partial = bound * np.tanh(z)
    slots = np.zeros((4, COEFFICIENT_SLOTS))
    phi, theta, g_phi, g_theta = slots[0], slots[1], slots[2], slots[3]
    ar_levels = _step_up(partial[:p], shrink, phi)
    ma_levels = _step_up(partial[p:], shrink, theta)
    for j in range(q):
        theta[j] = -theta[j]
    omega, weight = np.zeros((r + 1, r + 1)), np.empty((r, r))
    if not presample(phi, theta, omega):
        return np.inf
    value = series_likelihood(x, phi, theta, p, q, omega, work, g_phi, g_theta, weight)
    if not (value < np.inf and _presample_adjoint(phi, theta, omega, weight, g_phi, g_theta)):
        return np.inf
    _step_up_adjoint(partial[:p], shrink, g_phi, ar_levels, gradient[:p])
    _step_up_adjoint(partial[p:], shrink, -g_theta, ma_levels, gradient[p:])
    for i in range(z.size):
        gradient[i] = gradient[i] * (bound - partial[i] ** 2 / bound) + precision[i] * z[i]
        value += 0.5 * precision[i] * z[i] ** 2
        if not np.isfinite(gradient[i]):
            return np.inf
    return value


def coefficients(partial: np.ndarray, shrink: float) -> np.ndarray:
    """Return c of 1 - c_1 B - ... whose partial autocorrelations are ``partial`` (k,), c_i times shrink^i; (k,)."""
    out = np.zeros(max(1, partial.size))
    _step_up(np.asarray(partial, dtype=float), shrink, out)
    return out[: partial.size]


@njit(cache=True, nogil=True, error_model="numpy")
def _step_up(partial, shrink, out):
    """Durbin-Levinson recursion; keeps the coefficients of every order for the adjoint."""
    size = partial.size
    levels = np.empty((size, size))
    factor = 1.0
    for k in range(size):
        levels[k, k] = partial[k]
        for j in range(k):
            levels[k, j] = levels[k - 1, j] - partial[k] * levels[k - 1, k - 1 - j]
    for j in range(size):
        factor *= shrink
        out[j] = levels[size - 1, j] * factor
    return levels


@njit(cache=True, nogil=True, error_model="numpy")
def _step_up_adjoint(partial, shrink, gradient, levels, out):
    """Gradient by the partial autocorrelations from that by the coefficients."""
    size, factor = partial.size, 1.0
    back, lower = np.zeros(size), np.zeros(size)
    for j in range(size):
        factor *= shrink
        back[j] = gradient[j] * factor
    for k in range(size - 1, -1, -1):
        out[k] = back[k]
        for j in range(k):
            out[k] -= back[j] * levels[k - 1, k - 1 - j]
            lower[j] = back[j] - partial[k] * back[k - 1 - j]
        for j in range(k):
            back[j] = lower[j]


@njit(cache=True, nogil=True, error_model="numpy")
def presample(phi, theta, omega):
    """Fill Omega = F Omega F' + g g', g = phi + theta, F the companion matrix of phi; False if there is none.

    ``omega`` (r + 1, r + 1) ends in zeros. Its first row solves r equations, the others follow down the diagonals.
    """
    r = omega.shape[0] - 1
    matrix, row = np.eye(r), np.zeros(r + 1)
    for i in range(r):
        for m in range(r - i):
            matrix[i, 0] -= phi[m] * phi[i + m]
            if i + m + 1 < r:
                matrix[i, i + m + 1] -= phi[m]
            if m + 1 < r:
                matrix[i, m + 1] -= phi[i + m]
            row[i] += (phi[m] + theta[m]) * (phi[i + m] + theta[i + m])
    if not _solve(matrix, row):
        return False
    for i in range(r - 1, -1, -1):
        for j in range(r - 1, i - 1, -1):
            value = omega[i + 1, j + 1] + (phi[i] + theta[i]) * (phi[j] + theta[j])
            value += phi[i] * phi[j] * row[0] + phi[i] * row[j + 1] + phi[j] * row[i + 1]
            omega[i, j] = omega[j, i] = value
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _presample_adjoint(phi, theta, omega, weight, g_phi, g_theta):
    """Add the gradient of tr(weight Omega); False if there is none.

    Lambda = F' Lambda F + weight is Toeplitz except for the sums of ``weight`` down the diagonals: r equations again.
    """
    r = weight.shape[0]
    sums, matrix, first = np.zeros((r, r)), np.eye(r), np.zeros(r)
    for i in range(1, r):
        for j in range(1, r):
            sums[i, j] = weight[i, j] + sums[i - 1, j - 1]
    for j in range(r):
        first[j] = weight[0, j]
        for k in range(r):
            if j > 0:
                matrix[j, abs(k - j + 1)] -= phi[k]
                first[j] += phi[k] * sums[k, j - 1]
            else:
                for m in range(r):
                    matrix[0, abs(k - m)] -= phi[k] * phi[m]
                    first[0] += phi[k] * phi[m] * sums[k, m]
    if not _solve(matrix, first):
        return False
    for i in range(r):
        for j in range(r):
            dual = 2.0 * (first[abs(i - j)] + sums[i, j])
            loading = phi[j] + theta[j]
            g_phi[i] += dual * (phi[j] * omega[0, 0] + omega[j + 1, 0] + loading)
            g_theta[i] += dual * loading
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _solve(matrix, rhs):
    """Gaussian elimination with partial pivoting, in place; False if singular."""
    size = matrix.shape[0]
    for c in range(size):
        pivot = c
        for i in range(c + 1, size):
            if abs(matrix[i, c]) > abs(matrix[pivot, c]):
                pivot = i
        if not abs(matrix[pivot, c]) > 0.0:
            return False
        if pivot != c:
            for j in range(c, size):
                matrix[c, j], matrix[pivot, j] = matrix[pivot, j], matrix[c, j]
            rhs[c], rhs[pivot] = rhs[pivot], rhs[c]
        for i in range(c + 1, size):
            factor = matrix[i, c] / matrix[c, c]
            for j in range(c + 1, size):
                matrix[i, j] -= factor * matrix[c, j]
            rhs[i] -= factor * rhs[c]
    for i in range(size - 1, -1, -1):
        for j in range(i + 1, size):
            rhs[i] -= matrix[i, j] * rhs[j]
        rhs[i] /= matrix[i, i]
    return True
