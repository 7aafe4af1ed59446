"""Describe the fitted classes: Table I, how Gaussian they are, and marginal densities (Fig. 8 of Liu et al.).

Everything here is computed from private records for the analyst; nothing of it may be released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import gammaincinv

from meterdp.core.log_scale import PLAIN, LogScale
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import Fit, class_statistics
from meterdp.mixture.tables import NORMALITY

CHUNK_ROWS = 4096
ELLIPSOID_PROBABILITY = 0.9
LEAST_HEIGHT = 0.05  # a release lower than this share of the fit is as good as flat
LEAST_SHARE = 0.01  # a record that belongs less to a class is not drawn with it


def class_table(x: np.ndarray, fit: Fit, hours_local: np.ndarray, scale: LogScale = PLAIN) -> dict[str, np.ndarray]:
    """Return the columns of ``CLASS_TABLE``: who the households of each class are (Table I)."""
    k = fit.mixture.classes
    counts, means, scatter = class_statistics(x, fit.labels, k)
    safe = np.maximum(counts, 1)
    energy_kwh = np.bincount(fit.labels - 1, weights=scale.kwh(x).mean(axis=1), minlength=k) / safe
    variance = np.diagonal(scatter, axis1=1, axis2=2) / np.maximum(counts - 1, 1)[:, None]
    return {
        "component": np.arange(1, k + 1),
        "household_count": counts,
        "share": counts / len(x),
        "mean_energy_kwh": energy_kwh,
        "peak_hour_local": np.asarray(hours_local)[means.argmax(axis=1)],
        "spread_log_kwh": np.sqrt(variance.mean(axis=1)),
        "floored": fit.floored,
    }


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
    """Return the columns of ``NORMALITY``: how Gaussian the classes are (claim liu-12).

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
        column.name: list(values) for column, values in zip(NORMALITY.columns, zip(*rows, strict=True), strict=True)
    }


def _reach(fit: Mixture, released: Sequence[Mixture], k: int) -> tuple[float, float]:
    """Return between which energies class ``k`` of the releases has its mass, log kWh; a flat one has no ends."""
    low, high = np.inf, -np.inf
    tallest = 1 / np.sqrt(np.diagonal(fit.covariances[k]))
    for mixture in released:
        deviation = np.sqrt(np.diagonal(mixture.covariances[k]))
        seen = 1 / deviation > LEAST_HEIGHT * tallest
        low = min(low, (mixture.means[k] - 3 * deviation)[seen].min(initial=np.inf))
        high = max(high, (mixture.means[k] + 3 * deviation)[seen].max(initial=-np.inf))
    return low, high


def _extended(grid: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return ``grid`` with points added until it reaches ``low`` and ``high``, at most to three times its length."""
    step, most = grid[1] - grid[0], len(grid) - 1
    before, after = (
        int(np.clip(np.ceil(max(beyond, 0.0) / step), 0, most)) for beyond in (grid[0] - low, high - grid[-1])
    )
    return np.concatenate(
        [grid[0] - step * np.arange(before, 0, -1), grid, grid[-1] + step * np.arange(1, after + 1)]
    )


def marginals(
    x: np.ndarray,
    shares: np.ndarray,
    fit: Mixture,
    released: Mapping[str, Mixture],
    max_bins: int = 30,
    points: int = 121,
) -> dict[str, np.ndarray]:
    """Return the columns of ``MARGINALS``: per class and hour a histogram, the fit and the releases (Fig. 8).

    ``shares`` (N, K) say how much of each record belongs to each class, rows summing to one; of ``released``, a draw
    of each mechanism to show, classes are numbered as in the fit.

    A histogram has at most ``max_bins`` bins over the range of the class's records in that hour; a class of N_k
    records, the sum of its shares, gets 2 N_k^(1/3) (Rice's rule), so that a small class is not drawn as single
    spikes. A density has ``points`` abscissae over the range of the class in all hours widened by a quarter on both
    sides. Where a release lies further out or is wider, more at the same distance, at most three times as many.
    """
    blocks: list[tuple] = []
    curves = {"fit": fit, **released}
    for k in range(fit.classes):
        belongs = shares[:, k] > LEAST_SHARE
        members, weights = x[belongs], shares[belongs, k]
        bins = int(np.clip(np.ceil(2 * np.cbrt(weights.sum())), 1, max_bins))
        ends = np.array([members.min(), members.max()]) if len(members) else fit.means[k, [0, 0]]
        margin = 0.25 * (ends[1] - ends[0]) or 1.0
        grid = np.linspace(ends[0] - margin, ends[1] + margin, points)
        grid = _extended(grid, *_reach(fit, list(released.values()), k))
        for j in range(x.shape[1]):
            values = members[:, j] if len(members) else fit.means[k, [j]]
            density, edges = np.histogram(values, bins=bins, weights=weights if len(members) else None, density=True)
            if not len(members):
                density = np.zeros(bins)
            blocks.append((k, j, "histogram", edges[:-1], density))
            for name, mixture in curves.items():
                variance = mixture.covariances[k, j, j]
                height = np.exp(-0.5 * (grid - mixture.means[k, j]) ** 2 / variance)
                blocks.append((k, j, name, grid, height / np.sqrt(2 * np.pi * variance)))
    sizes = [len(b[3]) for b in blocks]
    return {
        "component": np.repeat([b[0] + 1 for b in blocks], sizes),
        "entry": np.repeat([b[1] for b in blocks], sizes),
        "curve": np.repeat([b[2] for b in blocks], sizes),
        "log_kwh": np.concatenate([b[3] for b in blocks]),
        "density": np.concatenate([b[4] for b in blocks]),
    }
