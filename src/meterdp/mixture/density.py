"""The log-density of a Gaussian mixture, for every caller."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from meterdp.mixture.draws import Mixture


def class_log_densities(x: np.ndarray, mixture: Mixture) -> np.ndarray:
    """Return ln(pi_k N(x; mu_k, Sigma_k)) for every record and class.

    Parameters
    ----------
    x : (n, d) float64
        Log profiles, log kWh.
    mixture : Mixture

    Returns
    -------
    (n, K) float64
        -inf for a class of weight zero.
    """
    n, d = x.shape
    out = np.empty((n, mixture.classes))
    with np.errstate(divide="ignore"):
        log_weight = np.log(mixture.weights)
    for k, lower in enumerate(np.linalg.cholesky(mixture.covariances)):
        z = solve_triangular(lower, (x - mixture.means[k]).T, lower=True)
        log_scale = np.log(np.diagonal(lower)).sum() + 0.5 * d * np.log(2 * np.pi)
        out[:, k] = log_weight[k] - log_scale - 0.5 * (z**2).sum(axis=0)
    return out
