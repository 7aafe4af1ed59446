"""Dirichlet and normal-inverse-Wishart priors of a mixture, for maximum a posteriori estimates (Park et al., 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meterdp.errors import InputError


@dataclass(frozen=True)
class Prior:
    """Hyperparameters by what they add, for means around the origin.

    Parameters
    ----------
    concentration : float
        alpha of the Dirichlet prior, one or more; 1 adds nothing.
    mean_records : float
        kappa_0.
    covariance_records : float
        nu_0 + d + 2.
    scatter : float
        S_0 is this times the identity, in the squared unit of the records.
    """

    concentration: float
    mean_records: float
    covariance_records: float
    scatter: float

    def __post_init__(self):
        added = (self.concentration - 1, self.mean_records, self.covariance_records, self.scatter)
        if not all(0 <= number < np.inf for number in added):
            raise InputError(
                "is outside its allowed range",
                field="prior",
                hint="use a concentration of one or more, and no negative number of records or scatter",
            )

    @classmethod
    def conventional(cls, dimension: int) -> Prior:
        """Return the paper's, for records in the unit ball: alpha = 2, kappa_0 = 1, nu_0 = d + 2, S_0 = 0.1 I."""
        return cls(2.0, 1.0, 2.0 * dimension + 4.0, 0.1)

    def weights(self, weights: np.ndarray, records: np.ndarray | float) -> np.ndarray:
        """Return MAP weights (..., K) from those of maximum likelihood and the number of records (...)."""
        records, extra = np.asarray(records)[..., None], self.concentration - 1
        return (records * weights + extra) / (records + weights.shape[-1] * extra)

    def parameters(
        self, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray, records: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return MAP estimates from those of maximum likelihood.

        Parameters
        ----------
        weights : (..., K) float64
        means : (..., K, d) float64
        covariances : (..., K, d, d) float64
        records : (...) float64
            Number of records N.
        """
        counts = (np.asarray(records)[..., None] * weights)[..., None]
        kappa, d = self.mean_records, means.shape[-1]
        outer = (kappa * counts / (kappa + counts))[..., None] * means[..., :, None] * means[..., None, :]
        scatter = self.scatter * np.eye(d) + counts[..., None] * covariances + outer
        covariances = scatter / (counts + self.covariance_records)[..., None]
        return self.weights(weights, records), counts * means / (counts + kappa), covariances


NO_PRIOR = Prior(1.0, 0.0, 0.0, 0.0)
