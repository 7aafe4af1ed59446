"""Public domains of a record: load profiles or a ball.

``Loads`` are log profiles of households: a box, neighbouring hours alike, classes that differ in level. A ``Ball``
holds records within a public radius, of which nothing else is known. Each clips a record by itself, and all else here
works on public or released numbers (docs/proofs/sound.md, 1).

Where private EM starts: public rules that make K classes of a released pooled mean and covariance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import ndtri

from meterdp.core.constraints import POSITIVE, check
from meterdp.core.log_scale import PLAIN, LogScale
from meterdp.core.noise import fixed_normals
from meterdp.errors import InputError
from meterdp.mechanisms.interface import PublicSettings
from meterdp.mechanisms.proven.posterior import CovarianceRule, diagonal_covariance, household_covariance
from meterdp.mechanisms.proven.stack import RADIUS_EDGES, StackWeights
from meterdp.mixture.study import Prior

# Share of the variance of household levels that start classes differ by.
LEVEL_SHARE = 0.85
# Start classes of one level differ in scale between these factors of the pooled covariance.
START_SCALES = (0.15, 2.0)
CLASSES_PER_LEVEL = 3
# Of records in a ball: share of the variance along each of the K - 1 largest axes, and the range of scales.
SPREAD = 0.3
SPREAD_SCALES = (0.5, 1.2)


def start_classes(mean: np.ndarray, covariance: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return start means (R, K, d) and covariances (R, K, d, d) from a released pooled mean and covariance.

    Classes differ in level, along the response of every hour to the household's mean, and in scale: a wide class
    for restless households beside narrow ones. About three scales to a level.

    Parameters
    ----------
    mean : (R, d) float64
    covariance : (R, d, d) float64
    classes : int
        K.
    """
    levels = max(1, classes // CLASSES_PER_LEVEL)
    per_level = np.full(levels, classes // levels)
    per_level[: classes % levels] += 1
    quantiles = ndtri((np.arange(levels) + 0.5) / levels)
    total = covariance.sum(axis=(-1, -2))
    direction = covariance.sum(axis=-1) / np.sqrt(total)[:, None]
    within = covariance - LEVEL_SHARE * quantiles.var() * direction[:, :, None] * direction[:, None, :]
    means, covariances = [], []
    for quantile, count in zip(quantiles, per_level, strict=True):
        scales = [1.0] if classes == 1 else np.geomspace(*START_SCALES, count) if count > 1 else [0.5]
        for scale in scales:
            means.append(mean + math.sqrt(LEVEL_SHARE) * quantile * direction)
            covariances.append(scale * within)
    return np.stack(means, axis=1), np.stack(covariances, axis=1)


def spread_classes(mean: np.ndarray, covariance: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return start means (R, K, d) and covariances (R, K, d, d) where nothing is known about the records.

    Means are normal numbers, the same for everybody, along the K - 1 largest axes of the pooled covariance; what
    they explain is taken out of it, and the classes differ in scale.

    Parameters
    ----------
    mean : (R, d) float64
    covariance : (R, d, d) float64
    classes : int
        K.
    """
    if classes == 1:
        return mean[:, None], covariance[:, None]
    axes = min(covariance.shape[-1], classes - 1)
    values, vectors = np.linalg.eigh(covariance)
    top = (vectors * np.sqrt(values)[:, None, :])[..., ::-1][..., :axes]
    at = fixed_normals(f"start classes in a ball, {classes} along {axes}", (classes, axes))
    means = mean[:, None] + math.sqrt(SPREAD) * np.einsum("rda,ka->rkd", top, at - at.mean(axis=0))
    within = covariance - SPREAD * top @ np.swapaxes(top, -1, -2)
    return means, np.geomspace(*SPREAD_SCALES, classes)[:, None, None] * within[:, None]


class Domain(Protocol):
    """What the mechanism asks of either.

    Attributes
    ----------
    round_weights : StackWeights
        Of a round of EM.
    covariance_of : callable
        What is made of the pooled covariance.
    diagonal_apart : bool
        Whether variances along the axes of a class are distinguished from noise separately from the rest of its
        shape.
    units : dict
        What is protected under each adjacency.
    """

    round_weights: ClassVar[StackWeights]
    covariance_of: ClassVar[CovarianceRule]
    diagonal_apart: ClassVar[bool]
    units: ClassVar[dict[str, str]]

    def clip(self, x: np.ndarray) -> np.ndarray:
        """Return records or means (..., d), each within the public bounds."""

    def whitening(self, dimension: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the centre (d,) of the first clipping, the matrix (d, d) that whitens for it, and its inverse."""

    def starts(self, mean: np.ndarray, covariance: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
        """Return start means (R, K, d) and covariances (R, K, d, d) from the pooled mean and covariance."""


def ar1_whitening(dimension: int, correlation: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the public matrix (d, d) that whitens an AR(1) shape of unit variance, and its inverse."""
    hours = np.arange(dimension)
    colour = np.linalg.cholesky(correlation ** np.abs(hours[:, None] - hours))
    return np.linalg.inv(colour), colour


@dataclass(frozen=True)
class Loads:
    """Log profiles of households.

    Parameters
    ----------
    low_log_kwh, high_log_kwh : float
        Bounds of a log reading.
    level_log_kwh : float
        Typical household level.
    hour_correlation : float
        Of neighbouring hours.
    log_scale : LogScale
        What takes log kWh to energy.
    """

    low_log_kwh: float
    high_log_kwh: float
    level_log_kwh: float
    hour_correlation: float
    log_scale: LogScale = PLAIN
    round_weights: ClassVar[StackWeights] = StackWeights(count=0.3, mean=0.5, moment=1.0)
    covariance_of: ClassVar[CovarianceRule] = staticmethod(household_covariance)
    diagonal_apart: ClassVar[bool] = False
    units: ClassVar[dict[str, str]] = {
        "replace_one": "the whole profile of one household",
        "add_remove": "one household, present or not",
    }

    @classmethod
    def of(cls, public: PublicSettings, level_log_kwh: float = 0.0, hour_correlation: float = 0.0) -> Loads:
        """Return loads within the public bounds."""
        return cls(public.low_log_kwh, public.high_log_kwh, level_log_kwh, hour_correlation, public.log_scale)

    def energy_kwh(self, x: np.ndarray) -> np.ndarray:
        """Return the energies of readings."""
        return self.log_scale.kwh(x)

    def clip(self, x: np.ndarray) -> np.ndarray:
        """Clip every reading to the bounds."""
        return np.clip(x, self.low_log_kwh, self.high_log_kwh)

    def whitening(self, dimension: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the level and the AR(1) shape."""
        return np.full(dimension, self.level_log_kwh), *ar1_whitening(dimension, self.hour_correlation)

    def starts(self, mean: np.ndarray, covariance: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
        """Start from levels and scales."""
        return start_classes(mean, covariance, classes)


@dataclass(frozen=True)
class Ball:
    """Records within a ball.

    Parameters
    ----------
    radius : float
        Public, in the unit of the records.
    centre : tuple of float, optional
        Public, d numbers; the origin by default.
    """

    radius: float
    centre: tuple[float, ...] | None = None
    round_weights: ClassVar[StackWeights] = StackWeights(count=0.3, mean=0.8, moment=1.0)
    covariance_of: ClassVar[CovarianceRule] = staticmethod(diagonal_covariance)
    diagonal_apart: ClassVar[bool] = True
    units: ClassVar[dict[str, str]] = {"replace_one": "one whole record", "add_remove": "one record, present or not"}

    def __post_init__(self):
        check(self, {"radius": POSITIVE})
        if self.centre is not None and not np.isfinite(self.centre).all():
            raise InputError("is not a point", field="centre", hint="use a finite number for each entry of a record")

    def clip(self, x: np.ndarray) -> np.ndarray:
        """Move what lies outside to the surface, towards the centre."""
        centre = self._centre(x.shape[-1])
        factor = self.radius / np.maximum(np.linalg.norm(x - centre, axis=-1, keepdims=True), self.radius)
        # What lies inside stays as it is, to the bit.
        return np.where(factor < 1, centre + factor * (x - centre), x) if (factor < 1).any() else x

    def outside(self, x: np.ndarray) -> np.ndarray:
        """Return which records (N,) lie outside: private, as the records are."""
        return np.linalg.norm(x - self._centre(x.shape[-1]), axis=-1) > self.radius

    def whitening(self, dimension: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the centre, and the scale at which the surface lies on the upper edge of the public bins."""
        scale = np.sqrt(dimension * 2.0 ** RADIUS_EDGES[-1]) / self.radius
        return self._centre(dimension), scale * np.eye(dimension), np.eye(dimension) / scale

    def starts(self, mean: np.ndarray, covariance: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
        """Start along the largest axes."""
        return spread_classes(mean, covariance, classes)

    def with_prior(
        self, prior: Prior, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray, records: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return maximum a posteriori estimates, for a prior on the unit ball; see :meth:`Prior.parameters`."""
        centre = self._centre(means.shape[-1])
        weights, means, covariances = prior.parameters(
            weights, (means - centre) / self.radius, covariances / self.radius**2, records
        )
        return weights, centre + self.radius * means, self.radius**2 * covariances

    def _centre(self, dimension: int) -> np.ndarray:
        return np.zeros(dimension) if self.centre is None else np.array(self.centre)
