"""Maximum of the ARMA likelihood by BFGS from several starts, compiled.

The likelihood comes as a pair of function pointers, see :func:`meterdp.forecasting.kernel.likelihood.compiled`. Every
household is searched on its own in a fixed order, so nothing depends on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_SHORTEST_STEP = 1e-10  # of a line search, relative to the quasi-Newton step
_LONGEST_STEP = 2.0  # in any coordinate


@njit(cache=True, nogil=True, error_model="numpy")
def descents(objective, series, z, inverse, x, p, q, count, bound, shrink, precision, tolerance, limit, work):
    """Descend from every row of ``z`` by BFGS.

    Parameters
    ----------
    objective, series : function pointers
        From :func:`meterdp.forecasting.kernel.likelihood.compiled`.
    z : (k, p + q) float64 array
        Starts, overwritten by the ends.
    inverse : (k, p + q, p + q) float64 array
        Inverse Hessians to start from, or zeros; overwritten by those of the ends.
    x, p, q, bound, shrink, precision, work
        As of :func:`meterdp.forecasting.kernel.likelihood.objective`.
    count : int
        Readings that are not missing.
    tolerance : float
        Nats: a descent ends when its last step gained less, and the next is expected to.
    limit : int
        Iterations of a descent.

    Returns
    -------
    value : (k,) float64 array
        Objective at the ends, infinity where the start had none.
    iterations, evaluations : (k,) int64 arrays
    converged : (k,) bool array
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
