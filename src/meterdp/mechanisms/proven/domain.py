"""Public domains of a record: load profiles or a ball.

``Loads`` are log profiles of households: a box, neighbouring hours alike, classes that differ in level. A ``Ball``
holds records within a public radius, of which nothing else is known. Each clips a record by itself, and all else here
works on public or released numbers (docs/proofs/sound.md, 1).

Where private EM starts: public rules that make K classes of a released pooled mean and covariance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

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

# Mean energy of an hour above which a household counts with so much in a prior mixture's fit.
MOST_KWH = 4.0
# Share of the weight before that a class keeps whatever is measured.
LEAST_WEIGHT = 0.1
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

    Classes differ in level, along the response of every hour to the household's mean, and in scale: a wide class for
    restless households beside narrow ones. About three scales to a level.
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
    """Return the same where nothing is known about the records.

    Means are normal numbers, the same for everybody, along the K - 1 largest axes of the pooled covariance; what they
    explain is taken out of it, and the classes differ in scale.
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


@dataclass(frozen=True)
class Loads:
    """Log profiles of households."""

    low_log_kwh: float  # bounds of a log reading
    high_log_kwh: float
    level_log_kwh: float  # of a typical household
    hour_correlation: float  # of neighbouring hours
    log_scale: LogScale = PLAIN
    # Of a round of EM.
    round_weights: ClassVar[StackWeights] = StackWeights(count=0.3, mean=0.5, moment=1.0)
    starts: ClassVar[Callable] = staticmethod(start_classes)
    # What is made of the pooled covariance.
    covariance_of: ClassVar[CovarianceRule] = staticmethod(household_covariance)
    # Whether variances along the axes of a class are distinguished from noise separately from the rest of its shape.
    diagonal_apart: ClassVar[bool] = False
    # What is protected under each adjacency.
    units: ClassVar[dict[str, str]] = {
        "replace_one": "the whole profile of one household",
        "add_remove": "one household, present or not",
    }

    @classmethod
    def of(cls, public: PublicSettings, level_log_kwh: float = 0.0, hour_correlation: float = 0.0) -> Loads:
        """Return loads within the public bounds."""
        low, high = public.low_log_kwh, public.high_log_kwh
        return cls(low, high, level_log_kwh, hour_correlation, public.log_scale)

    def clip(self, x: np.ndarray) -> np.ndarray:
        """Clip every reading of records or means (..., d) to the bounds."""
        return np.clip(x, self.low_log_kwh, self.high_log_kwh)

    def whitening(self, dimension: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the centre (d,) of the first clipping, the matrix (d, d) that whitens for it, and its inverse.

        They are the level and an AR(1) shape of unit variance.
        """
        hours = np.arange(dimension)
        colour = np.linalg.cholesky(self.hour_correlation ** np.abs(hours[:, None] - hours))
        return np.full(dimension, self.level_log_kwh), np.linalg.inv(colour), colour


@dataclass(frozen=True)
class Ball:
    """Records within a ball."""

    radius: float  # public, in the unit of the records
    centre: tuple[float, ...] | None = None  # public, d numbers; the origin by default
    round_weights: ClassVar[StackWeights] = StackWeights(count=0.3, mean=0.8, moment=1.0)
    starts: ClassVar[Callable] = staticmethod(spread_classes)
    covariance_of: ClassVar[CovarianceRule] = staticmethod(diagonal_covariance)
    diagonal_apart: ClassVar[bool] = True
    units: ClassVar[dict[str, str]] = {"replace_one": "one whole record", "add_remove": "one record, present or not"}

    def __post_init__(self):
        check(self, {"radius": POSITIVE})
        if self.centre is not None and not np.isfinite(self.centre).all():
            raise InputError("is not a point", field="centre", hint="use a finite number for each entry of a record")

    def clip(self, x: np.ndarray) -> np.ndarray:
        """Move records or means (..., d) that lie outside to the surface, towards the centre."""
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


Domain = Loads | Ball
