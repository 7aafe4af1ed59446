"""Exact Gaussian likelihood of an ARMA series without gaps, and its gradient, compiled.

From zero initial values phi(B) x = theta(B) e + [h; 0], where h ~ N(0, s^2 Omega) carries the presample (Ramakrishna
et al., (59)). With u = phi(B) x / theta(B), Z the shifted impulse responses of 1/theta(B), G = Z'Z and b = Z'u,
-2 log L = n log(2 pi S/n) + n + logdet(I + Omega G) and S = u'u - b'(I + Omega G)^-1 Omega b. The gradient is the
adjoint of that.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

PAD = 32  # zeros before and after every series: no lag runs over an end
# The order of summation is free; NaN and infinity keep their meaning. So two compiled copies of a function may round
# differently. Numba puts a copy into every caller, and which one runs depends on what its cache holds. Therefore what
# is compiled like this is inlined or called by pointer, and all else does its arithmetic as written.
_FAST = {"reassoc", "contract", "nsz"}
_NEGLIGIBLE = 1e-15  # of an impulse response that starts at one; denormal numbers would be slow, too


def complete_likelihood(x, phi, theta, p, q, omega, work, g_phi, g_theta, weight):
    """Return half of n log S + logdet(I + Omega G), nats, and its gradient in the last three arrays; infinity where
    arithmetic fails.

    Parameters
    ----------
    x : (n + 2 PAD,) float64 array
        Zero-mean series between zeros.
    phi, theta : (28,) float64 arrays
        Coefficients, zero from p and q on; r = max(p, q) > 0.
    omega : (r + 1, r + 1) float64 array
        Covariance of h in units of s^2, then a row and a column of zeros.
    work : (5 or more, n + 2 PAD) float64 array
        Overwritten between the margins, which hold zeros.
    g_phi, g_theta : (28,) float64 arrays
        Gradient by phi and theta at fixed Omega; overwritten.
    weight : (r, r) float64 array
        Gradient by Omega, symmetric; overwritten.
    """
    n, r = x.size - 2 * PAD, max(p, q)
    u, v, a, pi, spare = work[0], work[1], work[2], work[3], work[4]
    for t in range(PAD, PAD + n):
        spare[t] = x[t]
    for i in range(0, p, 4):
        _add_four(spare, x, n, i + 1, -phi[i], -phi[i + 1], -phi[i + 2], -phi[i + 3])
    _divide(spare, theta, q, u, n, False, -1.0)
    spare[PAD : PAD + n] = 0.0
    spare[PAD] = 1.0
    m = _divide(spare, theta, q, pi, n, False, _NEGLIGIBLE)
    pi[PAD + m : PAD + n] = 0.0
    reach = min(n, m + r)
    low, by_lag, sums = np.zeros((r, r)), np.zeros(r + 3), np.zeros(r + 3)
    for k in range(0, r, 4):
        by_lag[k], by_lag[k + 1], by_lag[k + 2], by_lag[k + 3] = _four_sums(u, pi, reach, k)
        sums[k], sums[k + 1], sums[k + 2], sums[k + 3] = _four_sums(pi, pi, m, k)
    for k in range(r):  # G is Toeplitz except for the terms that leave at the end of the series
        low[k, 0] = sums[k]
        for j in range(1, k + 1):
            low[k, j] = low[k - 1, j - 1] - pi[PAD + n - k] * pi[PAD + n - j]
    if not _cholesky(low):
        return np.inf
    core = _product(low.T, _product(omega[:r, :r], low))
    for i in range(r):
        core[i, i] += 1.0
    if not _cholesky(core):
        return np.inf
    logdet, square = 0.0, 0.0
    for i in range(r):
        logdet += 2.0 * np.log(core[i, i])
    half, low_inverse = _invert_lower(core), _invert_lower(low)
    inverse = _product(half.T, half)
    w = _times(low_inverse, by_lag[:r])
    solved = _times(inverse, w)
    mean, presample = _times(low_inverse.T, w - solved), np.zeros(r + 3)  # mean of h given the series
    for i in range(r):
        presample[i] = mean[i]
    for t in range(PAD, PAD + n):
        v[t] = u[t]
    for k in range(0, r, 4):
        h = presample[k : k + 4]
        _add_four(v, pi, reach, k, -h[0], -h[1], -h[2], -h[3])
    for t in range(PAD, PAD + n):
        square += u[t] * u[t]
    for i in range(r):
        square += w[i] * (solved[i] - w[i])
    if not 0.0 < square < np.inf:
        return np.inf
    _divide(v, theta, q, a, n, True, -1.0)
    scale = n / square
    for i in range(0, p, 4):
        g_phi[i], g_phi[i + 1], g_phi[i + 2], g_phi[i + 3] = _four_sums(a, x, n, i + 1)
    for i in range(0, q, 4):
        g_theta[i], g_theta[i + 1], g_theta[i + 2], g_theta[i + 3] = _four_sums(a, v, n, i + 1)
    for i in range(r):
        g_phi[i] = -scale * g_phi[i] if i < p else 0.0
        g_theta[i] = -scale * g_theta[i] if i < q else 0.0
    d = _times(low, solved)
    by_half = _product(low, _product(inverse, low.T))
    for i in range(r):
        inverse[i, i] -= 1.0
        for j in range(r):
            weight[i, j] = 0.5 * (by_half[i, j] - scale * d[i] * d[j])
    by_gram = _product(low_inverse.T, _product(inverse, low_inverse))
    _impulse_adjoint(pi, by_gram, theta, q, m, n, spare, a, g_theta)
    return 0.5 * (n * np.log(square) + logdet)


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy", inline="always")
def _impulse_adjoint(pi, by_gram, theta, q, m, n, spare, a, g_theta):
    """Subtract half the gradient of tr(by_gram Z'Z) by theta from ``g_theta``; Z has ``m`` terms."""
    r = by_gram.shape[0]
    spare[PAD : PAD + m] = 0.0
    lags = np.zeros(2 * r + 3)
    for j in range(r):
        for k in range(r):
            lags[r - 1 + k - j] += by_gram[j, k]
    for i in range(0, 2 * r - 1, 4):
        _add_four(spare, pi, m, i - r + 1, lags[i], lags[i + 1], lags[i + 2], lags[i + 3])
    for s in range(max(0, n - r + 1), m):  # the last rows of Z are shorter
        spare[PAD + s] = 0.0
        for j in range(n - s):
            for k in range(r):
                spare[PAD + s] += by_gram[j, k] * pi[PAD + s + j - k]
    _divide(spare, theta, q, a, m, True, -1.0)
    for j in range(0, q, 4):
        sums = _four_sums(a, pi, m, j + 1)
        for k in range(min(4, q - j)):
            g_theta[j + k] += sums[k]


@intrinsic
def _less(typing, value, factor, other):
    """Give value - factor * other, rounded once: as fast as a product alone, and the same in every compiled copy."""

    def code(context, builder, signature, arguments):
        value, factor, other = arguments
        return builder.fma(builder.fneg(factor), other, value)

    return types.float64(types.float64, types.float64, types.float64), code


@njit(cache=True, nogil=True, error_model="numpy")
def _divide(source, theta, q, out, n, backward, cut):
    """Solve theta(B) out = source, or theta(B^-1) if ``backward``; return the length, less than n once below ``cut``.

    The newest value enters last and the order of the sum is kept: one multiplication waits for the value before.
    """
    first, step = (PAD + n - 1, -1) if backward else (PAD, 1)
    if q <= 6:
        c1, c2, c3, c4, c5, c6 = theta[0], theta[1], theta[2], theta[3], theta[4], theta[5]
        y1 = y2 = y3 = y4 = y5 = y6 = 0.0
        for i in range(n):
            at = np.uint64(first + i * step)
            y = _less(_less(_less(source[at], c6, y6), c5, y5), c4, y4)
            y = _less(_less(_less(y, c3, y3), c2, y2), c1, y1)
            y6, y5, y4, y3, y2, y1 = y5, y4, y3, y2, y1, y
            out[at] = y
            if (i & 7) == 7 and abs(y1) + abs(y2) + abs(y3) + abs(y4) + abs(y5) + abs(y6) < cut:
                return i + 1
        return n
    state = np.zeros(q + 1)
    for i in range(n):
        at = np.uint64(first + i * step)
        y = source[at] + state[0]
        for k in range(q):
            state[k] = state[k + 1] - theta[k] * y
        out[at] = y
        if (i & 7) == 7 and abs(y) + np.abs(state).sum() < cut:
            return i + 1
    return n


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy", inline="always")
def _four_sums(a, b, n, lag):
    """Sums over t < n of a[t] b[t - lag - k], k = 0..3."""
    left = a[PAD : PAD + n]
    b0, b1, b2, b3 = b[PAD - lag :], b[PAD - lag - 1 :], b[PAD - lag - 2 :], b[PAD - lag - 3 :]
    s0 = s1 = s2 = s3 = 0.0
    for t in range(left.size):
        s0 += left[t] * b0[t]
        s1 += left[t] * b1[t]
        s2 += left[t] * b2[t]
        s3 += left[t] * b3[t]
    return s0, s1, s2, s3


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy", inline="always")
def _add_four(out, b, n, lag, w0, w1, w2, w3):
    """out[t] += sum over k of w_k b[t - lag - k], t < n."""
    left = out[PAD : PAD + n]
    b0, b1, b2, b3 = b[PAD - lag :], b[PAD - lag - 1 :], b[PAD - lag - 2 :], b[PAD - lag - 3 :]
    for t in range(left.size):
        left[t] += w0 * b0[t] + w1 * b1[t] + w2 * b2[t] + w3 * b3[t]


@njit(cache=True, nogil=True, error_model="numpy")
def _cholesky(matrix):
    """Lower factor of a matrix given by its lower half, in place, zeros above; False if not positive definite."""
    size = matrix.shape[0]
    for j in range(size):
        for i in range(j, size):
            value = matrix[i, j]
            for k in range(j):
                value -= matrix[i, k] * matrix[j, k]
            if i == j:
                if not 0.0 < value < np.inf:
                    return False
                matrix[j, j] = np.sqrt(value)
            else:
                matrix[i, j] = value / matrix[j, j]
                matrix[j, i] = 0.0
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _invert_lower(matrix):
    size = matrix.shape[0]
    inverse = np.zeros((size, size))
    for j in range(size):
        inverse[j, j] = 1.0 / matrix[j, j]
        for i in range(j + 1, size):
            value = 0.0
            for k in range(j, i):
                value -= matrix[i, k] * inverse[k, j]
            inverse[i, j] = value / matrix[i, i]
    return inverse


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy", inline="always")
def _product(a, b):
    """Matrix product; a call of BLAS costs more at this size."""
    size = a.shape[0]
    out = np.zeros((size, size))
    for i in range(size):
        for k in range(size):
            for j in range(size):
                out[i, j] += a[i, k] * b[k, j]
    return out


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy", inline="always")
def _times(a, b):
    out = np.zeros(b.size)
    for i in range(b.size):
        for k in range(b.size):
            out[i] += a[i, k] * b[k]
    return out
