"""The sound release: a Gaussian mixture under (epsilon, delta)-DP for replacing one household's whole record.

Clipped records, public start points, private K-means, one noisy stack of class statistics, exact Gaussian-DP
accounting (after Liu et al.'s problem, with a proof from record to released parameters: docs/proofs/sound.md). All N
records enter, invalid ones as the public default record. In study mode the noise is seeded floating point: the
proof then covers the algorithm, not the files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from meterdp.accounting import gdp
from meterdp.core.errors import InputError
from meterdp.core.noise import NoiseSource
from meterdp.mechanisms.interface import Family, Guarantee, PrivateRecords, PublicSettings, Released
from meterdp.mechanisms.projection import project_covariances
from meterdp.mechanisms.sound_posterior import centroid_update, mixture_parameters, radius_from
from meterdp.mechanisms.sound_stack import (
    RADIUS_EDGES,
    StackWeights,
    Step,
    class_stack,
    clipped_residuals,
    nearest,
    radius_stack,
)
from meterdp.mixture.draws import MixtureDraws

Measure = Callable[[Step, np.ndarray], np.ndarray]

# Public constants of the design, tuned on simulated households only.
ROUND_WEIGHTS = StackWeights(count=0.3, mean=1.0, moment=0.0)
FINAL_WEIGHTS = StackWeights(count=0.2, mean=0.5, moment=0.8)
FEW_ROUNDS, MANY_ROUNDS = 3, 5
MANY_ROUNDS_FROM = 500.0
CHUNK_BYTES = 256e6


def default_rounds(records: int, classes: int, mu: float) -> int:
    """Return the public number of K-means rounds: five where a class has about 500/mu records, else three."""
    return MANY_ROUNDS if records * mu / classes >= MANY_ROUNDS_FROM else FEW_ROUNDS


def start_points(public: PublicSettings) -> np.ndarray:
    """Return the public start points (K, d), log kWh: those of the settings, or flat profiles at normal quantiles."""
    if public.start_points is not None:
        return np.asarray(public.start_points, dtype=float)
    levels = ndtri((np.arange(public.classes) + 0.5) / public.classes)
    flat = public.level_log_kwh + public.level_spread_log_kwh * levels
    return np.repeat(np.clip(flat, public.low_log_kwh, public.high_log_kwh)[:, None], public.dimension, axis=1)


def whitening(public: PublicSettings) -> tuple[np.ndarray, np.ndarray]:
    """Return the public matrix (d, d) that whitens an AR(1) shape of unit variance, and its inverse."""
    hours = np.arange(public.dimension)
    colour = np.linalg.cholesky(public.hour_correlation ** np.abs(hours[:, None] - hours))
    return np.linalg.inv(colour), colour


@dataclass(frozen=True)
class Sound:
    """A Gaussian mixture under replace-one DP, calibrated.

    Parameters
    ----------
    public : PublicSettings
    mu : float
        GDP parameter of the whole release, the largest that is (epsilon, delta)-DP.
    steps : tuple of Step
        The Gaussian measurements in order: radius, rounds of K-means, final statistics. Their mu^2 add to mu^2.
    """

    public: PublicSettings
    mu: float
    steps: tuple[Step, ...]
    name: ClassVar[str] = "sound"
    family: ClassVar[Family] = "sound"

    @classmethod
    def calibrate(cls, public: PublicSettings) -> Sound:
        """Split mu(epsilon, delta) over the steps by the public shares and set the noise of each."""
        mu = gdp.mu_for(public.epsilon, public.delta)
        rounds = default_rounds(public.records, public.classes, mu) if public.rounds is None else public.rounds
        label_share = public.label_share if rounds else 0.0
        plan = [("radius", math.sqrt(2), public.radius_share)]
        plan += [(f"round {i + 1}", ROUND_WEIGHTS.sensitivity, label_share / rounds) for i in range(rounds)]
        plan += [("final", FINAL_WEIGHTS.sensitivity, 1 - public.radius_share - label_share)]
        return cls(
            public, mu, tuple(Step(name, reach, reach / (mu * math.sqrt(share))) for name, reach, share in plan)
        )

    @property
    def guarantee(self) -> Guarantee:
        """What docs/proofs/sound.md proves, for noise that is truly Gaussian."""
        return Guarantee(
            unit="the whole profile of one household",
            adjacency="replace_one",
            epsilon=self.public.epsilon,
            delta=self.public.delta,
            accountant="Gaussian DP, exact conversion",
            proof="docs/proofs/sound.md",
            family=self.family,
        )

    def release(self, private: PrivateRecords, noise: NoiseSource, draws: int) -> Released:
        """Run the mechanism ``draws`` times; see :class:`~meterdp.mechanisms.interface.Mechanism`.

        Raises
        ------
        InputError
            If the records do not have the public shape (N, d).
        """

        def measure(step: Step, stack: np.ndarray) -> np.ndarray:
            return stack + step.noise_std * noise.normal(stack.shape)

        parts = [self.run(private.x, measure, size) for size in _chunks(self.public, draws)]
        mixtures = MixtureDraws(
            *(np.concatenate([getattr(p.mixtures, f) for p in parts]) for f in ("weights", "means", "covariances"))
        )
        return Released(
            mixtures,
            np.concatenate([p.projected for p in parts]),
            np.concatenate([p.centroids for p in parts]),
        )

    def run(self, x: np.ndarray, measure: Measure, draws: int) -> Released:
        """Run the steps, letting ``measure`` turn each exact stack into a noisy one.

        Records are touched in the arguments of ``measure`` only; every other line works on its results. The
        privacy test replays a run on neighbouring records by handing back recorded answers.

        Parameters
        ----------
        x : (N, d) float64
            All records, log kWh.
        measure : callable
            (step, stack (draws, ...)) -> noisy stack of the same shape.
        draws : int
            Number R of independent runs.
        """
        public = self.public
        if x.shape != (public.records, public.dimension):
            raise InputError(
                "the records do not have the public number of households and hours",
                field="records",
                remedy="set records and dimension to the size of the export",
            )
        x = np.clip(x, public.low_log_kwh, public.high_log_kwh)
        whiten, colour = whitening(public)
        y, k, d = x @ whiten.T, public.classes, public.dimension
        radius_step, *round_steps, final_step = self.steps

        centroids = np.broadcast_to(start_points(public), (draws, k, d))
        start = centroids[:1]
        histogram = radius_stack(y - (start @ whiten.T)[0, nearest(x, start)[0]])
        noisy = measure(radius_step, np.broadcast_to(histogram, (draws, len(RADIUS_EDGES) - 1)))
        radius = radius_from(noisy, public.records, d)

        for step in round_steps:
            noisy = measure(step, self._stack(x, y, whiten, centroids, radius, ROUND_WEIGHTS))
            shift = centroid_update(noisy, step.noise_std, ROUND_WEIGHTS)
            centroids = np.clip(
                centroids + radius[:, None, None] * shift @ colour.T, public.low_log_kwh, public.high_log_kwh
            )

        noisy = measure(final_step, self._stack(x, y, whiten, centroids, radius, FINAL_WEIGHTS))
        weights, shift, shape = mixture_parameters(noisy, final_step.noise_std, FINAL_WEIGHTS, public.records, d)
        means = centroids + radius[:, None, None] * shift @ colour.T
        covariances = (radius**2)[:, None, None, None] * (colour @ shape @ colour.T)
        covariances, projected = project_covariances(covariances, public.eigenvalue_floor)
        order = np.argsort(-weights, axis=1, kind="stable")
        weights, means, covariances, centroids = (
            np.take_along_axis(a, order.reshape(order.shape + (1,) * (a.ndim - 2)), axis=1)
            for a in (weights, means, covariances, centroids)
        )
        return Released(MixtureDraws(weights, means, covariances), projected, centroids)

    def _stack(self, x, y, whiten, centroids, radius, weights: StackWeights) -> np.ndarray:
        """Return the exact class stacks (R, K, q) of records labelled by their nearest released centroid."""
        labels = nearest(x, centroids)
        u = clipped_residuals(y, centroids @ whiten.T, labels, radius)
        return class_stack(u, labels, self.public.classes, weights)


def _chunks(public: PublicSettings, draws: int) -> Iterator[int]:
    """Yield chunk sizes that keep the residuals of all records in bounded memory."""
    per_draw = 8 * public.records * (4 * public.dimension + public.classes)
    size = max(1, int(CHUNK_BYTES / per_draw))
    for start in range(0, draws, size):
        yield min(size, draws - start)
