"""The Gaussian law of a forecast: mean for many origins from one filter pass, and covariance (57).

Section V of Ramakrishna et al. (57) is the law of the *future* given the past. The query, the conditional mean
(55), has another covariance; :func:`query_covariance` gives it, because a privacy statement about the query needs
that one (defect R9).
"""

from __future__ import annotations

import numpy as np

from meterdp.forecasting.arma import ArmaFit
from meterdp.forecasting.state_space import ArmaSystem, arma_system, kalman_pass


def forecast_means(fit: ArmaFit, residual_log_kwh: np.ndarray, origins: np.ndarray, horizon: int) -> np.ndarray:
    """Forecast the residual from every origin, given all readings before it (first line of (57)).

    Parameters
    ----------
    fit : ArmaFit
        Process.
    residual_log_kwh : (T,) float64 array
        Series with NaN in its gaps; entries from ``origins[i]`` on do not enter forecast i.
    origins : (n,) int array
        First slot of each forecast, 0..T.
    horizon : int
        Steps h.

    Returns
    -------
    (n, h) float64 array
        Conditional means in log kWh, the mean of the fit included, the seasonal part not.
    """
    system = arma_system(fit.ar, fit.ma)
    predicted = kalman_pass(system, np.asarray(residual_log_kwh, dtype=float) - fit.mean).predicted
    return fit.mean + predicted[np.asarray(origins)] @ _observation_rows(system, horizon).T


def forecast_covariance(fit: ArmaFit, horizon: int, residual_log_kwh: np.ndarray | None = None) -> np.ndarray:
    """Covariance (57) of the next h readings given the past.

    Parameters
    ----------
    fit : ArmaFit
        Process.
    horizon : int
        Steps h.
    residual_log_kwh : (T,) float64 array, optional
        The past with its gaps; only which readings are missing matters. Without it the past is infinite and complete.

    Returns
    -------
    (h, h) float64 array
        Sigma^f - Sigma^fo (Sigma^o)^-1 Sigma^of in (log kWh)^2. Infinite past: entry (i, j) is the innovation
        variance times the sum over l <= min(i, j) of psi[i - l] psi[j - l].
    """
    system = arma_system(fit.ar, fit.ma)
    response = _impulse_matrix(system, horizon)
    if residual_log_kwh is None:
        return fit.innovation_variance * (response @ response.T)
    past = kalman_pass(system, np.asarray(residual_log_kwh, dtype=float) - fit.mean)
    rows = _observation_rows(system, horizon)
    later = response[:, 1:]  # the innovation of the first step is part of the predicted state
    return fit.innovation_variance * (rows @ past.predicted_covariance @ rows.T + later @ later.T)


def autocovariance(fit: ArmaFit, lags: int) -> np.ndarray:
    """Autocovariances of lags 0..lags-1, the entries of the Toeplitz matrix (60), in (log kWh)^2."""
    system = arma_system(fit.ar, fit.ma)
    return fit.innovation_variance * (_observation_rows(system, lags) @ system.stationary[:, 0])


def query_covariance(fit: ArmaFit, horizon: int) -> np.ndarray:
    """Covariance Sigma^fo (Sigma^o)^-1 Sigma^of of the query (55) itself, infinite past.

    Returns
    -------
    (h, h) float64 array
        In (log kWh)^2; its rank is at most max(p, q), so for h > max(p, q) the query has no density.
    """
    lags = np.abs(np.subtract.outer(np.arange(horizon), np.arange(horizon)))
    return autocovariance(fit, horizon)[lags] - forecast_covariance(fit, horizon)


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
