"""Maximum of the ARMA likelihood from several starts, compiled: start points, descent by BFGS, coefficients,
innovations.

Ramakrishna et al., section V-A, by the exact Gaussian likelihood, with or without a prior. Every fit is stationary
and invertible by construction. The likelihood comes as a pair of function pointers, see
:func:`meterdp.forecasting.kernel.likelihood.compiled`. Every household is searched on its own in a fixed order, so
nothing depends on the number of threads.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numba import njit

from meterdp.core.noise import fixed_normals
from meterdp.forecasting.kernel.gaps import kalman
from meterdp.forecasting.kernel.likelihood import (
    COEFFICIENT_SLOTS,
    coefficients,
    compiled,
    padded,
    presample,
    workspace,
)

# Every reciprocal root of the AR and MA polynomials has modulus at most one less this. Closer to one the likelihood
# of the state space form is not to be trusted, and forecasts do not improve.
ROOT_MARGIN = 1e-4
# A step that gains less log-likelihood than this ends a descent; the best of them go on to a hundredth of it.
TOLERANCE_NATS = 1e-3
_SHORTEST_STEP = 1e-10  # of a line search, relative to the quasi-Newton step
_LONGEST_STEP = 2.0  # in any coordinate


@njit(cache=True, nogil=True, error_model="numpy")
def descents(objective, series, z, inverse, x, p, q, count, bound, shrink, precision, tolerance, limit, work):
    """Descend from every row of ``z`` (k, p + q) by BFGS; rows are overwritten by the ends.

    ``objective`` and ``series`` are from :func:`meterdp.forecasting.kernel.likelihood.compiled`, whose objective
    explains the arguments that are not named here. ``inverse`` (k, p + q, p + q) are inverse Hessians to start from,
    or zeros, overwritten by those of the ends; ``count`` the readings that are not missing; ``tolerance``, in nats,
    ends a descent when its last step gained less, and the next is expected to; ``limit`` bounds its iterations.

    Returns the objective at the ends, infinity where the start had none, iterations, evaluations and whether it
    converged, (k,) each.
    """
    size = z.shape[0]
    value, converged = np.empty(size), np.empty(size, np.bool_)
    iterations, evaluations = np.empty(size, np.int64), np.empty(size, np.int64)
    for s in range(size):
        value[s], iterations[s], evaluations[s], converged[s] = _descend(
            objective, series, z[s], inverse[s], x, p, q, count, bound, shrink, precision, tolerance, limit, work
        )
    return value, iterations, evaluations, converged


@njit(cache=True, nogil=True, error_model="numpy")
def _descend(objective, series, z, inverse, x, p, q, count, bound, shrink, precision, tolerance, limit, work):
    """BFGS from ``z``, and from an inverse Hessian unless it is zero, both overwritten by those of the end.

    Returns the value there, iterations, evaluations, and whether it converged.
    """
    size, gradient = z.size, np.zeros(z.size)
    value = objective(z, x, p, q, series, bound, shrink, precision, work, gradient)
    evaluations, fresh = 1, inverse[0, 0] == 0.0
    kept_z, kept_gradient = z.copy(), gradient
    if fresh:
        _set_identity(inverse, 1.0 / count)  # the information on a partial autocorrelation grows with the readings
    for iteration in range(limit):
        if not value < np.inf:
            return np.inf, iteration, evaluations, False
        direction = _times(inverse, -gradient)
        slope = _dot(gradient, direction)
        if slope >= 0.0:
            _set_identity(inverse, 1.0 / count)
            fresh, direction = True, -gradient / count
            slope = _dot(gradient, direction)
        predicted = -0.5 * slope
        if predicted < 1e-9 * tolerance:
            return value, iteration, evaluations, True
        longest = 0.0
        for i in range(size):
            longest = max(longest, abs(direction[i]))
        if longest > _LONGEST_STEP:
            direction *= _LONGEST_STEP / longest
            slope *= _LONGEST_STEP / longest
        # Weak Wolfe conditions by bracketing: low satisfies the decrease, high does not.
        step, low, high, low_value, low_slope, found = 1.0, 0.0, np.inf, value, slope, False
        for _ in range(30):
            new_z, new_gradient = z + step * direction, np.zeros(size)
            new_value = objective(new_z, x, p, q, series, bound, shrink, precision, work, new_gradient)
            evaluations += 1
            new_slope = _dot(new_gradient, direction)
            if not new_value <= value + 1e-4 * step * slope:
                high, share = step, 0.1
                if new_value < np.inf:
                    bend = (new_value - low_value) / (high - low) - low_slope
                    share = min(0.5, max(0.1, -0.5 * low_slope / bend)) if bend > 0.0 else 0.5
                step = low + share * (high - low)
            else:
                found, low, low_value, low_slope, kept_z, kept_gradient = (
                    True,
                    step,
                    new_value,
                    new_slope,
                    new_z,
                    new_gradient,
                )
                if new_slope >= 0.9 * slope:
                    break
                step = 2.5 * step if high == np.inf else 0.5 * (low + high)
            if high - low < _SHORTEST_STEP or low > 40.0:
                break
        if not found:
            if fresh:
                return value, iteration, evaluations, predicted < tolerance
            _set_identity(inverse, 1.0 / count)
            fresh = True
            continue
        moved, bent, gain = kept_z - z, kept_gradient - gradient, value - low_value
        for i in range(size):
            z[i] = kept_z[i]
        value, gradient = low_value, kept_gradient
        if gain < tolerance and predicted < tolerance:
            return value, iteration + 1, evaluations, True
        curvature = _dot(moved, bent)
        if curvature > 1e-12 * np.sqrt(_dot(moved, moved) * _dot(bent, bent)):
            if fresh:
                _set_identity(inverse, curvature / _dot(bent, bent))
                fresh = False
            turned = _times(inverse, bent)
            ratio = (1.0 + _dot(bent, turned) / curvature) / curvature
            for i in range(size):
                along, across = ratio * moved[i] - turned[i] / curvature, moved[i] / curvature
                for j in range(size):
                    inverse[i, j] += along * moved[j] - across * turned[j]
    return value, limit, evaluations, False


@njit(cache=True, nogil=True, error_model="numpy")
def _set_identity(out, scale):
    """Fill with ``scale`` times the identity, by loops: a slice that is assigned takes 2 s to compile."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = scale if i == j else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _dot(a, b):
    """Scalar product; a call of BLAS costs more at this size."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _times(matrix, a):
    out = np.empty(a.size)
    for i in range(a.size):
        out[i] = _dot(matrix[i], a)
    return out


_LONG = 30  # lags of the autoregression whose residuals stand for the innovations
_LARGEST = 0.97  # modulus of a partial autocorrelation of a start
_SPREAD = 0.5  # standard deviation of z around Hannan-Rissanen's


def start_points(x: np.ndarray, p: int, q: int, count: int, bound: float) -> np.ndarray:
    """Return the first ``count`` start points (count, p + q), values of z, for one zero-mean series x (n,) with gaps
    filled.

    First Hannan-Rissanen, then AR(p) by Yule-Walker, then fixed random steps from the first. A start needs to be
    admissible and cheap, not good.
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


_NEAR_BOUND = 0.999  # a partial autocorrelation from this share of its bound on counts as at the bound


class Found(NamedTuple):
    """End of a search: phi, theta, whether its descent converged, whether at the bound, and what it took."""

    ar: np.ndarray
    ma: np.ndarray
    converged: bool
    at_bound: bool
    start: int
    iterations: int
    evaluations: int


def maximise(x: np.ndarray, settings) -> Found | None:
    """Return the best end of all starts for a zero-mean series x (T,) of unit spread, None if no start had a finite
    likelihood.

    Descents from all starts end early; the better half goes on to a hundredth of the tolerance, since likelihoods
    have flat ridges. With gaps, the first round fills them with the mean, which is ten times faster, and the third of
    its ends whose exact likelihood is highest goes on.
    """
    seen = np.flatnonzero(np.isfinite(x))
    x = x[seen[0] : seen[-1] + 1]  # what is missing at the ends says nothing
    p, q = settings.order
    bound, shrink = settings.pacf_bound, 1.0 - ROOT_MARGIN
    gaps, work = seen.size < x.size, workspace(x.size, p, q)
    filled = np.where(np.isnan(x), 0.0, x)
    z = start_points(filled, p, q, settings.starts, bound)
    inverse = np.zeros((*z.shape, z.shape[1]))

    def descend(rows, series, with_gaps, tolerance, limit):
        ends, hessians = z[rows], inverse[rows]
        public = (p, q, seen.size, bound, shrink, settings.prior_precision(), tolerance, limit)
        found = descents(*compiled(with_gaps), ends, hessians, padded(series), *public, work)
        z[rows], inverse[rows] = ends, hessians
        return found

    everything = np.arange(settings.starts)
    limit, tolerance = settings.iteration_limit, TOLERANCE_NATS
    value, iterations, evaluations, converged = descend(everything, filled, False, tolerance, limit)
    total = int(evaluations.sum())
    if gaps:
        value = descend(everything, x, True, tolerance, 0)[0]
    best = np.argsort(value, kind="stable")[: -(-settings.starts // 3) if gaps else settings.starts // 2]
    best = best[np.isfinite(value[best])]
    if best.size:
        left = max(1, limit - int(iterations[best].max()))
        value[best], more, evaluations, converged[best] = descend(best, x, gaps, 0.01 * tolerance, left)
        iterations[best] += more
        total += int(evaluations.sum())
    end = int(np.argmin(value))
    if not np.isfinite(value[end]):
        return None
    partial = bound * np.tanh(z[end])
    ar, ma = coefficients(partial[:p], shrink), -coefficients(partial[p:], shrink)
    at_bound = bool(np.abs(partial).max() >= _NEAR_BOUND * bound)
    return Found(ar, ma, bool(converged[end]), at_bound, end, int(iterations[end]), total)


def innovations(ar: np.ndarray, ma: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return innovations of a zero-mean series x (T,) and their variances in units of the innovation variance.

    NaN and anything in gaps; all NaN if the process has no stationary start.
    """
    r = max(ar.size, ma.size)
    if r == 0:
        return np.array(x, dtype=float), np.ones(x.size)
    phi, theta = np.zeros((2, COEFFICIENT_SLOTS))
    phi[: ar.size], theta[: ma.size] = ar, ma
    omega = np.zeros((r + 1, r + 1))
    if not presample(phi, theta, omega):
        return np.full(x.size, np.nan), np.ones(x.size)
    kind, level, innovation, scale = np.empty((4, x.size))
    kalman(
        np.ascontiguousarray(x, dtype=float),
        phi,
        theta,
        r,
        omega,
        kind,
        level,
        innovation,
        scale,
        np.empty((x.size, r)),
    )
    return innovation, scale
