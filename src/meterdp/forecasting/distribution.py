"""The Gaussian distributions of a forecast: of the future given the past (57), and of the forecast itself.

Section V of Ramakrishna et al. (57) is the distribution of the *future* given the past. The query that is released
is the conditional mean (55); over all pasts a household may have it is N(mu^f, Sigma^fo (Sigma^o)^-1 Sigma^of), and a
privacy statement about a random query needs that distribution (defect R9).
"""

from __future__ import annotations

import numpy as np

from meterdp.forecasting.arma import ArmaFit
from meterdp.forecasting.state_space import ArmaSystem, arma_system, kalman_pass, predicted_covariances

ROUNDING = 1e-13  # relative error of a state covariance after a pass


def forecast_means(fit: ArmaFit, residual_log_kwh: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
    """Forecast the residual from every origin, given all readings before it (first line of (57)); (n, h) log kWh.

    ``residual_log_kwh`` (T,) has NaN in its gaps; its entries from ``origins[i]`` on, slots 0..T, do not enter
    forecast i. The mean of the fit is included, the seasonal part not.
    """
    system = arma_system(fit.ar, fit.ma)
    predicted = kalman_pass(system, np.asarray(residual_log_kwh, dtype=float) - fit.mean).predicted
    return fit.mean + predicted[np.asarray(origins)] @ _observation_rows(system, horizon).T


def forecast_std(fit: ArmaFit, residual_log_kwh: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
    """Return the standard deviation of every future reading given the past, (n, h) log kWh: the root of the diagonal
    of (57).

    Arguments are those of :func:`forecast_means`; only which readings are missing matters.
    """
    system = arma_system(fit.ar, fit.ma)
    state = predicted_covariances(system, np.isfinite(residual_log_kwh), origins)
    rows = _observation_rows(system, horizon)
    # The innovation of the first step is part of the predicted state; step i adds those of i - 1 later ones.
    later = np.concatenate([[0.0], np.cumsum((rows @ system.loading) ** 2)[:-1]])
    variance = np.einsum("hi,nij,hj->nh", rows, state, rows) + later
    return np.sqrt(fit.innovation_variance * np.maximum(variance, 0.0))


def forecast_covariance(fit: ArmaFit, horizon: int, residual_log_kwh: np.ndarray | None = None) -> np.ndarray:
    """Return the covariance (57) of the next h readings given the past, (h, h) in (log kWh)^2: Sigma^f - Sigma^fo
    (Sigma^o)^-1 Sigma^of.

    Of the past ``residual_log_kwh`` (T,) only which readings are missing matters. Without it the past is infinite and
    complete: entry (i, j) is the innovation variance times the sum over l <= min(i, j) of psi[i - l] psi[j - l].
    """
    system = arma_system(fit.ar, fit.ma)
    rows = _observation_rows(system, horizon)
    later = _impulse_matrix(system, horizon)[:, 1:]  # the innovation of the first step is part of the state
    return fit.innovation_variance * (rows @ _state_given_past(system, residual_log_kwh) @ rows.T + later @ later.T)


def autocovariance(fit: ArmaFit, lags: int) -> np.ndarray:
    """Autocovariances of lags 0..lags-1, the entries of the Toeplitz matrix (60), in (log kWh)^2."""
    system = arma_system(fit.ar, fit.ma)
    return fit.innovation_variance * (_observation_rows(system, lags) @ system.stationary[:, 0])


def query_covariance(fit: ArmaFit, horizon: int, residual_log_kwh: np.ndarray | None = None) -> np.ndarray:
    """Covariance Sigma^fo (Sigma^o)^-1 Sigma^of of the query (55) over all pasts.

    Parameters are those of :func:`forecast_covariance`.

    Returns
    -------
    (h, h) float64 array
        In (log kWh)^2; its rank is at most max(p, q), so for h > max(p, q) the query has no density.

    Notes
    -----
    The forecast is a linear map of the predicted state, whose covariance over all pasts is the stationary one less
    the one that is left given the past. Zero where nothing was seen: the forecast is then the mean for certain.
    """
    system = arma_system(fit.ar, fit.ma)
    rows = _observation_rows(system, horizon)
    known = system.stationary - _state_given_past(system, residual_log_kwh)
    values, vectors = np.linalg.eigh(known)
    # What rounding leaves of a difference is not knowledge: below it count nothing, and never a negative variance.
    values[values <= ROUNDING * np.trace(system.stationary)] = 0.0
    root = rows @ (vectors * np.sqrt(values))
    return fit.innovation_variance * (root @ root.T)


def _state_given_past(system: ArmaSystem, residual_log_kwh: np.ndarray | None) -> np.ndarray:
    """Covariance of the state at the first step given the past, in units of the innovation variance; (r, r)."""
    if residual_log_kwh is None:
        return np.outer(system.loading, system.loading)
    seen = np.isfinite(residual_log_kwh)
    return predicted_covariances(system, seen, np.array([seen.size]))[0]


def _observation_rows(system: ArmaSystem, steps: int) -> np.ndarray:
    """Rows e_1' F^i, i = 0..steps-1: they turn the state into means of the next readings; (steps, r)."""
    rows = np.zeros((steps, system.loading.size))
    row = np.eye(system.loading.size)[0]
    for i in range(steps):
        rows[i] = row
        row = row @ system.transition
    return rows


def _impulse_matrix(system: ArmaSystem, steps: int) -> np.ndarray:
    """Lower triangular Toeplitz matrix of psi weights; (steps, steps)."""
    psi = _observation_rows(system, steps) @ system.loading
    lag = np.subtract.outer(np.arange(steps), np.arange(steps))
    return np.where(lag >= 0, psi[np.abs(lag)], 0.0)
