"""How Gaussian the classes of log profiles are (claim liu-12)."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincinv

from meterdp.mixture.gmm import Fit
from meterdp_papers.liu.tables import LIU_NORMALITY

CHUNK_ROWS = 4096
ELLIPSOID_PROBABILITY = 0.9


def mardia(x: np.ndarray) -> tuple[float, float]:
    """Return Mardia's skewness and the z-score of his kurtosis of records (N, d), N > d, in general position.

    The skewness (1/N^2) sum_ij m_ij^3, m_ij = z_i'z_j with whitened z, equals the squared norm of the mean of z x z x
    z: linear in N instead of quadratic.
    """
    n, d = x.shape
    residual = x - x.mean(axis=0)
    lower = np.linalg.cholesky(residual.T @ residual / n)
    z = np.linalg.solve(lower, residual.T).T
    third = np.zeros((d * d, d))
    for start in range(0, n, CHUNK_ROWS):
        part = z[start : start + CHUNK_ROWS]
        third += (part[:, :, None] * part[:, None, :]).reshape(len(part), -1).T @ part
    kurtosis = np.mean((z**2).sum(axis=1) ** 2)
    return float(((third / n) ** 2).sum()), float((kurtosis - d * (d + 2)) / np.sqrt(8 * d * (d + 2) / n))


def normality(x: np.ndarray, fit: Fit) -> dict[str, list]:
    """Return the columns of ``LIU_NORMALITY``.

    Mardia's statistics are null where the class has no more than d records or a singular covariance.
    """
    mixture, d = fit.mixture, x.shape[1]
    # The quantile of chi^2_d; scipy.stats takes a second to import.
    radius = 2 * gammaincinv(d / 2, ELLIPSOID_PROBABILITY)
    rows = []
    for k in range(mixture.classes):
        members = x[fit.labels == k + 1]
        z = np.linalg.solve(np.linalg.cholesky(mixture.covariances[k]), (members - mixture.means[k]).T)
        regular = len(members) > d and not fit.floored[k]
        skewness, kurtosis_z = mardia(members) if regular else (None, None)
        within = float(((z**2).sum(axis=0) <= radius).mean()) if len(members) else None
        rows.append((k + 1, len(members), skewness, kurtosis_z, within))
    return {
        column.name: list(values)
        for column, values in zip(LIU_NORMALITY.columns, zip(*rows, strict=True), strict=True)
    }
