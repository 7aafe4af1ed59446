"""Start points of the ARMA search, as values of z: Hannan-Rissanen, Yule-Walker, and points around the first.

A start needs to be admissible and cheap, not good.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import njit

from meterdp.core.noise import fixed_normals

_LONG = 30  # lags of the autoregression whose residuals stand for the innovations
_LARGEST = 0.97  # modulus of a partial autocorrelation of a start
_SPREAD = 0.5  # standard deviation of z around Hannan-Rissanen's


def start_points(x: np.ndarray, p: int, q: int, count: int, bound: float) -> np.ndarray:
    """Return the first ``count`` start points for one series.

    Parameters
    ----------
    x : (n,) float64 array
        Zero-mean series, gaps filled.
    p, q : int
        Orders, not both zero.
    count : int
        At least one. First Hannan-Rissanen, then AR(p) by Yule-Walker, then fixed random steps from the first.
    bound : float
        Of the partial autocorrelations, as of :func:`meterdp.forecasting.kernel.likelihood.objective`.

    Returns
    -------
    (count, p + q) float64 array
        Values of z.
    """
    partial = np.zeros((2, p + q))
    _estimates(x, p, q, min(_LONG, x.size // 4), partial)
    first, second = np.arctanh(np.clip(partial / bound, -_LARGEST, _LARGEST))
    return np.vstack([first, second, first + _steps(p + q, max(0, count - 2))])[:count]


@cache
def _steps(size, count):
    # The same for every household and everybody.
    return _SPREAD * fixed_normals("arma starts", (count, size))


@njit(cache=True, nogil=True, error_model="numpy")
def _estimates(x, p, q, long, partial):
    """Partial autocorrelations of the two estimates, one a row."""
    autocov = _autocovariances(x, max(long, p))
    _hannan_rissanen(x, autocov, p, q, long, partial[0])
    yule_walker = _levinson(autocov, p)[0]
    for i in range(p):
        partial[1, i] = yule_walker[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _autocovariances(x, lags):
    out = np.zeros(lags + 1)
    for k in range(lags + 1):
        left, right = x[k:], x[: x.size - k]
        total = 0.0
        for t in range(left.size):
            total += left[t] * right[t]
        out[k] = total / x.size
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _levinson(autocov, order):
    """Partial autocorrelations and coefficients of the autoregression with these autocovariances."""
    partial, coefs, before = np.zeros(order), np.zeros(order), np.zeros(order)
    variance = autocov[0]
    for k in range(order):
        value = autocov[k + 1]
        for j in range(k):
            value -= coefs[j] * autocov[k - j]
        partial[k] = value / variance if variance > 0.0 else 0.0
        for j in range(k):
            before[j] = coefs[j]
        for j in range(k):
            coefs[j] = before[j] - partial[k] * before[k - 1 - j]
        coefs[k] = partial[k]
        variance *= 1.0 - partial[k] ** 2
    return partial, coefs


@njit(cache=True, nogil=True, error_model="numpy")
def _hannan_rissanen(x, autocov, p, q, long, partial):
    """Regress x on its past and on that of the residuals of a long autoregression; partial autocorrelations."""
    n, size = x.size, p + q
    coefs = _levinson(autocov, long)[1]
    e = x.copy()
    for k in range(long):
        left, right = e[k + 1 :], x[: n - k - 1]
        for t in range(left.size):
            left[t] -= coefs[k] * right[t]
    first = long + max(p, q)
    normal, rhs = np.zeros((size, size)), np.zeros(size)
    target = x[first:]
    for i in range(size):
        one = x[first - i - 1 :] if i < p else e[first - (i - p) - 1 :]
        total = 0.0
        for t in range(target.size):
            total += one[t] * target[t]
        rhs[i] = total
        for j in range(i + 1):
            other = x[first - j - 1 :] if j < p else e[first - (j - p) - 1 :]
            total = 0.0
            for t in range(target.size):
                total += one[t] * other[t]
            normal[i, j] = normal[j, i] = total
    for i in range(size):
        normal[i, i] *= 1.0 + 1e-9
    solution = _ridge_solve(normal, rhs)
    _step_down(solution[:p], partial[:p])
    _step_down(-solution[p:], partial[p:])


@njit(cache=True, nogil=True, error_model="numpy")
def _ridge_solve(normal, rhs):
    """Solve by elimination without pivoting (positive definite); zeros where a pivot vanishes."""
    size = rhs.size
    for c in range(size):
        if not normal[c, c] > 0.0:
            return np.zeros(size)
        for i in range(c + 1, size):
            factor = normal[i, c] / normal[c, c]
            for j in range(c, size):
                normal[i, j] -= factor * normal[c, j]
            rhs[i] -= factor * rhs[c]
    out = np.zeros(size)
    for i in range(size - 1, -1, -1):
        value = rhs[i]
        for j in range(i + 1, size):
            value -= normal[i, j] * out[j]
        out[i] = value / normal[i, i]
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _step_down(coefs, partial):
    """Partial autocorrelations of 1 - c_1 B - ..., after moving its roots outwards until they are admissible."""
    size = coefs.size
    shrink = 1.0
    while shrink > 0.01:
        a, before, good = np.zeros(size), np.zeros(size), True
        factor = 1.0
        for j in range(size):
            factor *= shrink
            a[j] = coefs[j] * factor
        for k in range(size - 1, -1, -1):
            partial[k] = a[k]
            if not abs(a[k]) < _LARGEST:
                good = False
                break
            for j in range(k):
                before[j] = a[j]
            for j in range(k):
                a[j] = (before[j] + a[k] * before[k - 1 - j]) / (1.0 - a[k] ** 2)
        if good:
            return
        shrink *= 0.97
    partial[:] = 0.0
