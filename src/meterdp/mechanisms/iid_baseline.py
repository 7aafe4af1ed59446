"""What the two i.i.d. baselines of Liu et al. (Section V-A) share: which numbers get noise, and the way back.

The budget is split into three equal parts for weights, means and covariances; over classes the baselines compose in
parallel like the paper's own method (Lemma 3), so that the comparison is like for like, hole L3 included.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meterdp.mechanisms.interface import LabelledRecords, Released
from meterdp.mechanisms.projection import project_covariances, project_simplex, symmetric
from meterdp.mixture.draws import MixtureDraws

PARTS = 3


def perturb(
    private: LabelledRecords,
    scales: tuple[float, np.ndarray, np.ndarray],
    draw: Callable[[tuple[int, ...]], np.ndarray],
    draws: int,
    eigenvalue_floor: float,
) -> Released:
    """Add independent noise to every entry of (2a)-(2c) and project back.

    Parameters
    ----------
    private : LabelledRecords
    scales : (float, (K,) float64, (K,) float64)
        Noise scale of weights, of each class's mean and of each class's covariance (upper triangle).
    draw : callable
        Noise of scale one for a shape: a method of a NoiseSource.
    draws : int
        Number of independent releases R.
    eigenvalue_floor : float
        Public floor of released covariances, (log kWh)^2.
    """
    fit = private.fit
    k, d = fit.mixture.means.shape
    rows, columns = np.triu_indices(d)
    upper = fit.sample_covariances[:, rows, columns]
    weights = fit.mixture.weights + scales[0] * draw((draws, k))
    means = fit.mixture.means + scales[1][:, None] * draw((draws, k, d))
    noisy = symmetric(upper + scales[2][:, None] * draw((draws, *upper.shape)), d)
    weights, cut = project_simplex(weights)
    covariances, raised = project_covariances(noisy, eigenvalue_floor)
    return Released(MixtureDraws(weights, means, covariances), cut | raised)
