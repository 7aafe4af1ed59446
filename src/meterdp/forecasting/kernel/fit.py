"""One ARMA fit by the compiled search: start points, descent, coefficients, innovations.

Ramakrishna et al., section V-A, by the exact Gaussian likelihood, with or without a prior. Every fit is stationary
and invertible by construction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meterdp.forecasting.kernel.gaps import kalman
from meterdp.forecasting.kernel.likelihood import (
    COEFFICIENT_SLOTS,
    coefficients,
    compiled,
    padded,
    presample,
    workspace,
)
from meterdp.forecasting.kernel.search import descents
from meterdp.forecasting.kernel.starts import start_points

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
    """Return the best end of all starts, None if no start had a finite likelihood.

    Descents from all starts end early; the better half goes on to a hundredth of the tolerance, since likelihoods
    have flat ridges. With gaps, the first round fills them with the mean, which is ten times faster, and the third of
    its ends whose exact likelihood is highest goes on.

    Parameters
    ----------
    x : (T,) float64 array
        Zero-mean series of unit spread, NaN where a reading is missing.
    settings : ArmaSettings
        Of :mod:`meterdp.forecasting.arma`.
    """
    seen = np.flatnonzero(np.isfinite(x))
    x = x[seen[0] : seen[-1] + 1]  # what is missing at the ends says nothing
    p, q = settings.order
    bound, shrink = settings.pacf_bound, 1.0 - settings.root_margin
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
    limit, tolerance = settings.iteration_limit, settings.tolerance_nats
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
    """Innovations of a zero-mean series and their variances in units of the innovation variance.

    Parameters
    ----------
    ar, ma : (p,), (q,) float64 arrays
        Coefficients of a stationary process.
    x : (T,) float64 array
        Readings minus their mean, NaN where one is missing.

    Returns
    -------
    innovation, scale : (T,) float64 arrays
        NaN in gaps; anything there. All NaN if the process has no stationary start.
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
