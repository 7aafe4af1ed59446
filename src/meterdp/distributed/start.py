"""A start for EM that no single node has to know the records for: from their pooled mean and covariance."""

from __future__ import annotations

import numpy as np

from meterdp.core.errors import InputError
from meterdp.core.noise import fixed_normals
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import raise_eigenvalues
from meterdp.solvers.svec import smat, svec


def moment_statistics(x: np.ndarray) -> np.ndarray:
    """Return the number of records, their sum and svec of their second moments.

    Parameters
    ----------
    x : (n_i, d) float64

    Returns
    -------
    (1 + d + d (d + 1)/2,) float64
    """
    return np.concatenate([[len(x)], x.sum(axis=0), svec(x.T @ x)])


def start_from_moments(total: np.ndarray, classes: int, dimension: int, eigenvalue_floor: float) -> Mixture:
    """Return classes of equal weight and covariance, spread around the mean in directions that are public constants.

    Parameters
    ----------
    total : (1 + d + d (d + 1)/2,) float64
        Sum of :func:`moment_statistics` over all nodes.
    classes, dimension : int
    eigenvalue_floor : float

    Raises
    ------
    InputError
        If there are no more records than classes.
    """
    count = total[0]
    if not count > classes:
        raise InputError(
            "asks for as many classes as all nodes have records", field="classes", remedy="agree on fewer"
        )
    mean = total[1 : 1 + dimension] / count
    covariance = smat(total[1 + dimension :] / count, dimension) - np.outer(mean, mean)
    covariance = raise_eigenvalues(covariance, eigenvalue_floor)[0]
    directions = fixed_normals("start of a joint mixture", (classes, dimension))
    means = mean + directions @ np.linalg.cholesky(covariance).T
    return Mixture(np.full(classes, 1 / classes), means, np.tile(covariance, (classes, 1, 1)))
