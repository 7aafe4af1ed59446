"""The mixture of a study: records from the profile table, labels and fit by configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from meterdp.core.errors import InputError
from meterdp.mixture.describe import marginals
from meterdp.mixture.draws import Mixture
from meterdp.mixture.gmm import FITS, Fit, class_statistics, raise_eigenvalues
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


def fit_of_own_classes(x: np.ndarray, released: Mixture, eigenvalue_floor: float) -> Fit:
    """Fit the records grouped by the released component they most likely come from, for display only.

    A mechanism that finds its own classes must be shown beside these, not beside the classes of the fit. A component
    nobody comes from keeps its released mean and covariance.

    Parameters
    ----------
    x : (n, d) float64
        Valid records, log kWh.
    released : Mixture
    eigenvalue_floor : float
        Public floor, (log kWh)^2.
    """
    k, d = released.classes, released.dimension
    inverse = np.linalg.inv(np.linalg.cholesky(released.covariances))
    z = np.einsum("kij,nkj->nki", inverse, x[:, None, :] - released.means)
    log_scale = np.log(np.diagonal(inverse, axis1=1, axis2=2)).sum(axis=1)
    with np.errstate(divide="ignore"):  # a component may have weight zero
        score = np.log(released.weights) + log_scale - 0.5 * (z**2).sum(axis=2)
    labels = score.argmax(axis=1).astype(np.int32) + 1
    counts, means, scatter = class_statistics(x, labels, k)
    empty = counts == 0
    sample = scatter / np.maximum(counts - 1, 1)[:, None, None]
    sample[empty] = released.covariances[empty]
    means[empty] = released.means[empty]
    covariances, floored = raise_eigenvalues(sample, eigenvalue_floor)
    mixture = Mixture(counts / len(x), means.reshape(k, d), covariances)
    return Fit(mixture, labels, counts, sample, floored)


def marginal_columns(
    x: np.ndarray, fit: Fit, variants: pa.Table, epsilon: float, eigenvalue_floor: float
) -> dict[str, np.ndarray]:
    """Return the columns of the table ``marginals`` for every mechanism of the table ``variant`` at one epsilon.

    Parameters
    ----------
    x : (n, d) float64
        Valid records, log kWh.
    fit : Fit
        Mixture fitted without privacy.
    variants : pyarrow.Table
        Parts of the table ``variant``.
    epsilon, eigenvalue_floor : float
    """
    frame = variants.to_pandas()
    frame = frame[frame["epsilon"] == epsilon].sort_values(["mechanism", "component"])
    of_fit: dict[str, Mixture] = {}
    blocks = []
    for (name, family), rows in frame.groupby(["mechanism", "family"], sort=False):
        means = np.stack(rows["mean_log_kwh"].to_numpy())
        covariances = np.stack(rows["covariance"].to_numpy()).reshape(*means.shape, -1)
        mixture = Mixture(rows["weight"].to_numpy(), means, covariances)
        if family == "sound":
            own = fit_of_own_classes(x, mixture, eigenvalue_floor)
            blocks.append((str(name), marginals(x, own, {str(name): mixture})))
        else:
            of_fit[str(name)] = mixture
    blocks.append(("fit", marginals(x, fit, of_fit)))
    columns = {n: np.concatenate([block[n] for _, block in blocks]) for n in blocks[0][1]}
    return {"classes": np.repeat([c for c, _ in blocks], [len(b["entry"]) for _, b in blocks]), **columns}
