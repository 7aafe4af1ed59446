"""Exact Gaussian likelihood of an ARMA series with missing readings, its gradient, and the innovations, compiled.

A Kalman filter on h of :mod:`meterdp.forecasting.kernel.complete`, the part of the next readings that the past
decides: its covariance P falls to zero geometrically where no reading is missing, and the filter is then the
recursion of the residuals. The gradient is the adjoint of the filter and needs only the first column of each P.
"""

from __future__ import annotations

import numpy as np
from numba import njit

PAD = 32  # as in the likelihood without gaps
_STEADY = 1e-10  # trace of P, in innovation variances, below which the past counts as complete
# As in the likelihood without gaps, so that there is one compiled copy.
_FAST = {"reassoc", "contract", "nsz"}
_ROW = 32  # slots of a row of a matrix: whole vectors of the processor at distances it knows; zeros beyond r
_GAP, _READING, _KNOWN = 0.0, 1.0, 2.0


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy", inline="always")
def kalman(x, phi, theta, r, omega, kind, level, innovation, scale, column):
    """Filter ``x`` (n,), NaN in its gaps; what the adjoint needs is left in the last five arrays.

    ``phi`` and ``theta`` (28,) are coefficients, then zeros, r = max(p, q), ``omega`` (r + 1, r + 1) the covariance
    of the first h, then zeros. ``kind`` (n,) is 0 in a gap, 1 at a reading, 2 at a reading whose past counts as
    complete: the innovation is then e. ``level``, ``innovation`` and ``scale`` (n,) are the forecast, reading minus
    forecast, and the variance of that in innovation variances; ``column`` (n, r) the first column of P.
    """
    width = (r + 7) // 8 * 8
    mean, cov, col = np.zeros(r + 1), np.zeros((r + 1) * _ROW), np.zeros(_ROW)
    for i in range(r):
        for j in range(r):
            cov[i * _ROW + j] = omega[i, j]
    steady = False
    for t in range(x.size):
        level[t] = mean[0]
        for i in range(r):
            col[i] = cov[i]
            column[t, i] = col[i]
        scale[t] = f = 1.0 + col[0]
        innovation[t] = x[t] - mean[0]
        if np.isnan(x[t]):  # P becomes F P F' + g g', F the companion of phi, g = phi + theta
            kind[t] = _GAP
            steady = False
            first = mean[0]
            for i in range(r):
                mean[i] = phi[i] * first + mean[i + 1]
                by_first, by_next, loading = phi[i] * col[0] + col[i + 1], phi[i], phi[i] + theta[i]
                for start in range(0, width, 8):
                    for j in range(start, start + 8):
                        value = by_first * phi[j] + by_next * col[j + 1] + loading * (phi[j] + theta[j])
                        cov[i * _ROW + j] = cov[i * _ROW + _ROW + 1 + j] + value
        elif steady:
            kind[t] = _KNOWN
            for i in range(r):
                mean[i] = mean[i + 1] + phi[i] * x[t] + theta[i] * innovation[t]
        else:  # P becomes A (P - P e1 e1' P / f) A', A the companion of -theta
            kind[t] = _READING
            inverse, trace = 1.0 / f, 0.0
            e = innovation[t] * inverse
            for i in range(r):
                mean[i] = mean[i + 1] + col[i + 1] * e + phi[i] * x[t] + theta[i] * e
                by_theta, by_next = (theta[i] * col[0] - col[i + 1]) * inverse, (theta[i] + col[i + 1]) * inverse
                for start in range(0, width, 8):
                    for j in range(start, start + 8):
                        value = by_theta * theta[j] - by_next * col[j + 1]
                        cov[i * _ROW + j] = cov[i * _ROW + _ROW + 1 + j] + value
                trace += cov[i * _ROW + i]
            if trace < _STEADY:
                steady = True
                cov[:] = 0.0


def gappy_likelihood(x, phi, theta, p, q, omega, work, g_phi, g_theta, weight):
    """Return half of n log S + log determinant and its gradient, arguments as of ``complete_likelihood``.

    ``x`` has NaN in its gaps and ``work`` at least 5 + r rows, whose margins are overwritten.
    """
    n, r = x.size - 2 * PAD, max(p, q)
    x = x[PAD : PAD + n]
    flat = work.reshape(-1)
    kind, level, innovation, scale = flat[:n], flat[n : 2 * n], flat[2 * n : 3 * n], flat[3 * n : 4 * n]
    column = flat[4 * n : (4 + r) * n].reshape((n, r))
    kalman(x, phi, theta, r, omega, kind, level, innovation, scale, column)
    square, logdet, count, product = 0.0, 0.0, 0, 1.0
    for t in range(n):
        if kind[t] != _GAP:
            if not scale[t] > 0.0:
                return np.inf
            square += innovation[t] ** 2 / scale[t]
            product *= scale[t]  # one logarithm for many
            if product > 1e100:
                logdet += np.log(product)
                product = 1.0
            count += 1
    logdet += np.log(product)
    if not 0.0 < square < np.inf:
        return np.inf
    _adjoint(x, phi, theta, r, count / square, kind, level, innovation, scale, column, g_phi, g_theta, weight)
    return 0.5 * (count * np.log(square) + logdet)


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy", inline="always")
def _adjoint(x, phi, theta, r, rate, kind, level, innovation, scale, column, g_phi, g_theta, weight):
    """Gradient of half of ``rate`` S + log determinant, backwards; d_mean and d_cov are those by mean and P."""
    g_phi[:] = 0.0
    g_theta[:] = 0.0
    width = (r + 7) // 8 * 8
    d_mean, d_cov, first = np.zeros(r), np.zeros(r * _ROW), np.zeros(_ROW)
    col, later, d_col = np.zeros(_ROW), np.zeros(_ROW), np.zeros(r)
    moved, turned = np.zeros(r), np.zeros(r)
    for t in range(x.size - 1, -1, -1):
        nu, inverse = innovation[t], 1.0 / scale[t]
        gap = kind[t] == _GAP
        reweighting = 0.0
        for i in range(r):
            first[i] = phi[i] if gap else -theta[i]  # first column of the companion matrix B
            reweighting += first[i] * d_mean[i]
        if kind[t] == _KNOWN:
            for i in range(r):
                g_theta[i] += d_mean[i] * nu
                g_phi[i] += d_mean[i] * x[t]
            for i in range(r - 1, 0, -1):
                d_mean[i] = d_mean[i - 1]
            d_mean[0] = reweighting - rate * nu
            d_cov[:] = 0.0
            continue
        for i in range(r):
            col[i] = column[t, i]
        for i in range(r):
            later[i] = first[i] * col[0] + col[i + 1]
        corner, edge = 0.0, 0.0
        for i in range(r):
            by_later, by_first = 0.0, 0.0
            for start in range(0, width, 8):
                for j in range(start, start + 8):
                    by_later += d_cov[i * _ROW + j] * later[j]
                    by_first += d_cov[i * _ROW + j] * first[j]
            moved[i], turned[i] = by_later, by_first
            corner += first[i] * by_first
            edge += first[i] * by_later
        if gap:
            for i in range(r):
                by_loading = moved[i]
                for j in range(r):
                    by_loading += d_cov[i * _ROW + j] * (phi[j] + theta[j])
                g_phi[i] += d_mean[i] * level[t] + 2.0 * by_loading
                g_theta[i] += 2.0 * (by_loading - moved[i])
        else:
            for i in range(r):
                g_phi[i] += d_mean[i] * x[t]
                g_theta[i] += (d_mean[i] * nu - 2.0 * moved[i]) * inverse
        for i in range(r - 1, 0, -1):  # B' d_cov B and B' d_mean
            d_mean[i] = d_mean[i - 1]
            for start in range(0, width, 8):
                for j in range(start, start + 8):
                    d_cov[i * _ROW + j + 1] = d_cov[i * _ROW - _ROW + j]
            d_cov[i * _ROW] = turned[i - 1]
        for i in range(1, r):
            d_cov[i] = turned[i - 1]
        d_mean[0], d_cov[0] = reweighting, corner
        if not gap:
            d_col[0] = edge
            for i in range(1, r):
                d_col[i] = moved[i - 1]
            along, bent = 0.0, 0.0
            for i in range(r):
                bent += d_col[i] * col[i]
                along += d_mean[i] * col[i]
            for i in range(r):
                d_col[i] = (0.5 * d_mean[i] * nu - d_col[i]) * inverse
            d_col[0] += 0.5 * ((bent - along * nu - 0.5 * rate * nu**2) * inverse + 0.5) * inverse
            for i in range(r):
                d_cov[i * _ROW] += d_col[i]
                d_cov[i] += d_col[i]
            d_mean[0] -= (along + rate * nu) * inverse
    for i in range(r):
        for j in range(r):
            weight[i, j] = d_cov[i * _ROW + j]
