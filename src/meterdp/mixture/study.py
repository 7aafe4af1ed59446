"""The mixture of a study: records from the profile table, labels and fit by configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.optimize import linear_sum_assignment

from meterdp.core.errors import InputError
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import FITS, Fit
from meterdp.mixture.kmeans import kmeans_labels


@dataclass(frozen=True)
class Records:
    """Profile vectors of all households of an export.

    Parameters
    ----------
    household : (N,) int32
    log_kwh : (N, d) float64
        The public default record where not valid.
    valid : (N,) bool
    """

    household: np.ndarray
    log_kwh: np.ndarray
    valid: np.ndarray

    @classmethod
    def from_table(cls, profiles: pa.Table) -> Records:
        """Take the columns of the table ``profiles``."""
        household = profiles["household"].to_numpy()
        log_kwh = profiles["log_kwh"].combine_chunks().flatten().to_numpy().reshape(len(household), -1)
        return cls(household, log_kwh, profiles["valid"].to_numpy(zero_copy_only=False))


def start_labels(records: Records, classes: int, seed: int) -> np.ndarray:
    """Return the K-means class of every valid record, (n,) int32 in 1..K.

    Raises
    ------
    InputError
        If there are fewer valid records than classes.
    """
    x = records.log_kwh[records.valid]
    if len(x) < max(classes, 2):
        raise InputError(
            f"asks for {classes} classes and too few households have a valid profile",
            file="config",
            field="mixture.classes",
            remedy="lower it or give more households, and check export.interval_minutes and export.unit",
        )
    return kmeans_labels(x, classes, seed)


def fit_from(records: Records, labels: np.ndarray, mixture: Mapping) -> Fit:
    """Fit the valid records, (2a)-(2c) or EM started at ``labels``; the same labels give the same fit.

    Parameters
    ----------
    records : Records
    labels : (n,) int32
        :func:`start_labels`, or the column ``start_component`` of the stored table ``labels``.
    mixture : mapping
        Section ``mixture`` of the configuration.
    """
    return FITS[mixture["fit"]](records.log_kwh[records.valid], labels, mixture["eigenvalue_floor"])


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


def match_components(released: Mixture, reference: Mixture) -> Mixture:
    """Renumber released components by the fitted class each is nearest to, for display only.

    A mechanism that finds its own classes numbers them in its own order. The assignment minimises the sum of squared
    distances between means.
    """
    shift = released.means[None, :, :] - reference.means[:, None, :]  # (K fitted, K released, d)
    _, order = linear_sum_assignment((shift**2).sum(axis=2))
    return Mixture(released.weights[order], released.means[order], released.covariances[order])


def mixtures_by_mechanism(variants: pa.Table, epsilon: float, reference: Mixture) -> dict[str, Mixture]:
    """Return the perturbed mixture of every mechanism at one epsilon from the table ``variant``.

    Components of a sound release are matched to the classes of ``reference``; the others keep their numbers.
    """
    frame = variants.to_pandas()
    frame = frame[frame["epsilon"] == epsilon].sort_values(["mechanism", "component"])
    out = {}
    for (name, family), rows in frame.groupby(["mechanism", "family"], sort=False):
        means = np.stack(rows["mean_log_kwh"].to_numpy())
        covariances = np.stack(rows["covariance"].to_numpy()).reshape(*means.shape, -1)
        mixture = Mixture(rows["weight"].to_numpy(), means, covariances)
        out[str(name)] = match_components(mixture, reference) if family == "sound" else mixture
    return out
