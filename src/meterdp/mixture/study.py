"""The mixture of a study: records from the profile table, labels and fit by configuration.

Dirichlet and normal-inverse-Wishart priors of a mixture, for maximum a posteriori estimates (Park et al., 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from meterdp.core.constraints import Number, check
from meterdp.errors import InputError
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import (
    EIGENVALUE_FLOOR,
    Fit,
    fit_given,
    fit_labels,
    kmeans_labels,
    most_probable,
)
from meterdp.profiles.vector import Records


def start_labels(records: Records, classes: int, seed: int, elsewhere: Mixture | None = None) -> np.ndarray:
    """Return the class of every valid record, (n,) int32: of K-means, or the most probable one from elsewhere."""
    require_records(records, classes)
    x = records.log_kwh[records.valid]
    return kmeans_labels(x, classes, seed) if elsewhere is None else most_probable(x, elsewhere)


def require_records(records: Records, classes: int) -> None:
    """Refuse fewer valid records than classes."""
    if records.valid.sum() < max(classes, 2):
        raise InputError(
            f"asks for {classes} classes, but too few households have a valid profile",
            file="config",
            field="mixture.classes",
            hint="lower it or give more households, and check export.interval_minutes and export.unit",
        )


def fit_from(records: Records, labels: np.ndarray, elsewhere: Mixture | None = None) -> Fit:
    """Fit the valid records to labels, (2a)-(2c) of Liu et al.

    ``labels`` (n,) are those of :func:`start_labels`, or the column ``start_component`` of the table ``labels``. A
    mixture that was fitted to the same records elsewhere (:mod:`meterdp.federated`) stands in the place of a fit.
    """
    if elsewhere is not None:
        return fit_given(records.log_kwh[records.valid], elsewhere, EIGENVALUE_FLOOR)
    return fit_labels(records.log_kwh[records.valid], labels, EIGENVALUE_FLOOR)


def label_rows(records: Records, start: np.ndarray, fit: Fit) -> dict[str, np.ndarray]:
    """Columns of the table ``labels``."""
    return {"household": records.household[records.valid], "start_component": start, "component": fit.labels}


def mixture_rows(fit: Fit) -> dict[str, object]:
    """Columns of the table ``mixture``."""
    return {
        "component": np.arange(1, fit.mixture.classes + 1),
        "weight": fit.mixture.weights,
        "mean_log_kwh": list(fit.mixture.means),
        "covariance": [c.ravel() for c in fit.mixture.covariances],
        "floored": fit.floored,
    }


def mixture_of(classes: pd.DataFrame) -> Mixture:
    """Return the mixture whose classes are rows of the table ``mixture`` or ``variant``, in any order."""
    classes = classes.sort_values("component")
    means = np.stack(classes["mean_log_kwh"].to_list())
    covariances = np.stack(classes["covariance"].to_list()).reshape(*means.shape, -1)
    return Mixture(classes["weight"].to_numpy(), means, covariances)


@dataclass(frozen=True)
class Prior:
    """Hyperparameters by what they add, for means around the origin."""

    concentration: float  # alpha of the Dirichlet prior, one or more; 1 adds nothing
    mean_records: float  # kappa_0
    covariance_records: float  # nu_0 + d + 2
    scatter: float  # S_0 is this times the identity, in the squared unit of the records

    def __post_init__(self):
        none_or_more = Number(0, closed="low")
        constraints = dict.fromkeys(("mean_records", "covariance_records", "scatter"), none_or_more)
        check(self, {"concentration": Number(1, closed="low"), **constraints})

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
        """Return MAP weights (..., K), means and covariances from those of maximum likelihood of N (...)."""
        counts = (np.asarray(records)[..., None] * weights)[..., None]
        kappa, d = self.mean_records, means.shape[-1]
        outer = (kappa * counts / (kappa + counts))[..., None] * means[..., :, None] * means[..., None, :]
        scatter = self.scatter * np.eye(d) + counts[..., None] * covariances + outer
        covariances = scatter / (counts + self.covariance_records)[..., None]
        return self.weights(weights, records), counts * means / (counts + kappa), covariances


NO_PRIOR = Prior(1.0, 0.0, 0.0, 0.0)
