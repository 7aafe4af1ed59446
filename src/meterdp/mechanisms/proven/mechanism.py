"""The proven release: a Gaussian mixture under (epsilon, delta)-DP for one household's whole record.

Clipped records, a private pooled moment, then private EM from public start components, with exact Gaussian-DP
accounting (Liu et al.'s problem, Park et al.'s EM, and a proof from record to released parameters:
docs/proofs/sound.md). With a public prior mixture its components are adapted instead, and rounds of EM follow where
households are many. All N records enter, invalid ones as the public default record. In study mode the noise is seeded
floating point: the proof then covers the algorithm, not the files.

The same mechanism releases a mixture of any records within a public radius (:func:`fit_ball`): another
:mod:`~meterdp.mechanisms.proven.domain` without levels or hours, with any number of components and entries. A public
box around records (:class:`Box`) is mapped to the cube [-1, 1]^d by its bounds, and the cube lies in the ball of
radius sqrt(d) around the origin; either map is one of a single record and of public numbers (docs/proofs/sound.md,
10).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from meterdp.errors import InputError
from meterdp.mechanisms.interface import Mechanism, PrivateRecords, PublicSettings, Released, Sees
from meterdp.mechanisms.proven.adapt import adapt
from meterdp.mechanisms.proven.domain import Ball, Domain, Loads
from meterdp.mechanisms.proven.marginals import (
    ADAPTED_TAIL,
    TAIL,
    Directions,
    LinearFunction,
    LinearReference,
    Marginals,
    Reference,
    feature_sum,
)
from meterdp.mechanisms.proven.plan import (
    POOLED_WEIGHTS,
    Plan,
    ProvenSettings,
    make_plan,
    noise_entries,
    step_entries,
)
from meterdp.mechanisms.proven.posterior import pooled_parameters, radius_from
from meterdp.mechanisms.proven.prior_mixture import PriorMixture
from meterdp.mechanisms.proven.rounds import release_in_chunks, run_rounds
from meterdp.mechanisms.proven.stack import RECORDS_AT_ONCE, moment_stack, radius_stack
from meterdp.mixture.draws import Mixture, MixtureDraws
from meterdp.mixture.study import Prior
from meterdp.privacy import gaussian
from meterdp.privacy.gaussian import FEWEST_NOISE_STEPS, total_variation
from meterdp.privacy.guarantee import DrawnGuarantee, Family
from meterdp.privacy.mechanism import Measure, clip_to_unit_ball, delta_beside_the_grid, measure_with, noise_too_small
from meterdp.privacy.noise import GaussianSource


@dataclass(frozen=True)
class Proven(Mechanism):
    """A Gaussian mixture under replace-one or add-remove DP, calibrated."""

    # Of the whole release, the largest that is (epsilon, delta)-DP. Where nodes share the noise: of what the
    # colluding ones see.
    mu: float
    # The Gaussian measurements in order, with the noise of all nodes together; their mu^2 add up to mu^2, or, where
    # nodes share the noise, to h/n of it.
    plan: Plan
    name: ClassVar[str] = "sound"
    sees: ClassVar[Sees] = "records"
    family: ClassVar[Family] = "sound"
    accountant: ClassVar[str] = gaussian.STEPS
    proof: ClassVar[str] = "docs/proofs/sound.md"

    @classmethod
    def calibrate(cls, public: PublicSettings) -> Proven:
        """Turn (epsilon, delta) into mu and split it over the steps by the public rules of ``plan``."""
        public = public if public.sound is not None else replace(public, sound=ProvenSettings())
        settings, delta = public.sound, public.delta
        if settings.grid > 0:
            entries = noise_entries(public.classes, public.dimension, settings)
            delta = delta_beside_the_grid(public.epsilon, delta, entries, public.records)
        mu, shares = gaussian.mu_for(public.epsilon, delta), settings.shares
        plan = make_plan(shares.seen_by_colluding * mu, public.records, public.dimension, public.classes, settings)
        if min(step.noise_std for step in plan.steps) * shares.of_node < FEWEST_NOISE_STEPS * settings.grid:
            raise noise_too_small("decrease epsilon")
        return cls(public, mu, plan)

    @property
    def domain(self) -> Domain:
        """What is publicly known about the records."""
        settings = self.public.sound
        return settings.ball or Loads.of(self.public, settings.level_log_kwh, settings.hour_correlation)

    @property
    def unit(self) -> str:
        """What is protected, by domain and adjacency."""
        return self.domain.units[self.adjacency]

    @property
    def adjacency(self) -> str:
        return self.public.sound.adjacency

    @property
    def total_variation(self) -> float:
        """Distance of one release on its grid from a mu-GDP one (docs/proofs/safe_noise.md); 0 without a grid."""
        grid, size = self.public.sound.grid, (self.plan.classes, self.public.dimension, self.public.sound.directions)
        if grid == 0:
            return 0.0
        seen = self.public.sound.shares.seen_by_colluding / grid
        return sum(step_entries(s, *size) * total_variation(seen * s.noise_std) for s in self.plan.steps)

    def release(self, private: PrivateRecords, noise: GaussianSource, draws: int) -> Released:
        """Run the mechanism; marginals are measured for the first draw only: the others tell what a mixture costs."""
        measure = measure_with(noise, self.public.sound.grid)
        released = release_in_chunks(self.run, private.x, measure, draws, self.plan.classes)
        if self.plan.step("marginals") is None:
            return released
        first = replace(released, mixtures=released.mixtures.slice(0, 1), records=released.records[:1])
        return replace(released, marginals=self.run_marginals(private.x, first, measure)[0])

    def run(self, x: np.ndarray, measure: Measure, draws: int) -> Released:
        """Run the steps on all records, letting ``measure`` turn each exact stack (draws, ...) into a noisy one.

        Records are touched in the arguments of ``measure`` only; every other line works on its results. The privacy
        test replays a run on neighbouring records by handing back recorded answers.
        """
        public = self.public
        self._check(x)
        domain = self.domain
        records = np.full(draws, float(public.records))
        if counted := self.plan.step("records"):
            records = np.maximum(measure(counted, np.full((draws, 1), float(len(x))))[:, 0], public.classes)
        grid = public.sound.grid
        if prior_mixture := public.sound.prior_mixture:
            steps = self.plan.steps_of("adapt")
            released = adapt(steps, prior_mixture, x, measure, records, domain, public.eigenvalue_floor, grid)
        else:
            released = Released(self._start(x, measure, records), np.zeros(draws, dtype=bool))
        if self.plan.rounds:
            released = run_rounds(
                self.plan.rounds,
                x,
                measure,
                released.mixtures,
                records,
                domain,
                public.eigenvalue_floor,
                grid=grid,
                # A prior is for records in a ball; settings refuse it otherwise.
                with_prior=public.sound.prior and partial(public.sound.ball.with_prior, public.sound.prior),
            )
        order = np.argsort(-released.mixtures.weights, axis=1, kind="stable")
        return Released(
            released.mixtures.take(order), released.projected, released.responsibilities_model.take(order), records
        )

    def run_whole(self, x: np.ndarray, measure: Measure, draws: int) -> tuple[Released, list[Marginals]]:
        """Run all steps as :meth:`run`, the marginals beside every mixture if there are any."""
        released = self.run(x, measure, draws)
        return released, self.run_marginals(x, released, measure) if self.plan.step("marginals") else []

    def run_marginals(self, x: np.ndarray, released: Released, measure: Measure) -> list[Marginals]:
        """Take the last step, the marginals beside every mixture that :meth:`run` released, of a stack (R, q)."""
        self._check(x)
        x, step = self.domain.clip(x), self.plan.step("marginals")
        references = [self.reference(released.mixtures.draw(r)) for r in range(len(released.mixtures))]
        noisy = measure(step, np.stack([feature_sum(x, of, self.public.sound.grid) for of in references]))
        return [
            Marginals(of, one / n, step.noise_std / n)
            for of, one, n in zip(references, noisy, released.records, strict=True)
        ]

    def published(self, released: Released) -> Mixture:
        """Return the mixture of the first draw, fitted to the marginals if they were measured: what a release has."""
        if released.marginals is None:
            return released.mixtures.draw(0)
        return released.marginals.fitted(self.public.eigenvalue_floor)

    def reference(self, mixture: Mixture) -> Reference | LinearReference:
        """Return a released mixture as what marginals are measured beside."""
        public = self.public
        if public.sound.directions:
            return LinearReference(mixture, public.sound.directions)
        tail = TAIL if public.sound.prior_mixture is None else ADAPTED_TAIL
        return Reference(mixture, public.low_log_kwh, public.high_log_kwh, public.log_scale, tail)

    def _start(self, x: np.ndarray, measure: Measure, records: np.ndarray) -> MixtureDraws:
        means, covariances = self.domain.starts(*self._pooled(x, measure, records), self.plan.classes)
        return MixtureDraws(np.full(means.shape[:2], 1 / self.plan.classes), means, covariances)

    def _pooled(self, x: np.ndarray, measure: Measure, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Measure a clip radius, then the mean (R, d) and covariance (R, d, d) of all records."""
        d, settings, draws = self.public.dimension, self.public.sound, len(records)
        centre, whiten, colour = self.domain.whitening(d)

        def whitened() -> Iterator[np.ndarray]:
            for first in range(0, max(len(x), 1), RECORDS_AT_ONCE):
                yield (self.domain.clip(x[first : first + RECORDS_AT_ONCE]) - centre) @ whiten.T

        histogram = sum(radius_stack(z) for z in whitened())
        noisy = measure(self.plan.step("radius"), np.broadcast_to(histogram, (draws, len(histogram))))
        radius = radius_from(noisy, records, d)
        # Few radii are possible, so the stack is made once for each.
        possible, which = np.unique(radius, return_inverse=True)
        stacks = sum(
            moment_stack(clip_to_unit_ball(z / possible[:, None, None]), POOLED_WEIGHTS, grid=settings.grid)
            for z in whitened()
        )
        step = self.plan.step("pooled")
        noisy = measure(step, stacks[which])
        mean, covariance = pooled_parameters(
            noisy, step.noise_std, POOLED_WEIGHTS, records, radius, colour, self.domain.covariance_of
        )
        return centre + mean, covariance

    def _check(self, x: np.ndarray) -> None:
        public = self.public
        known = public.sound.adjacency == "replace_one"
        # A node among others holds a part of the records.
        wrong = len(x) > public.records if public.sound.shares.nodes > 1 else len(x) != public.records
        if x.shape[1] != public.dimension or (known and wrong):
            raise InputError(
                "the records do not have the public number of households and hours",
                field="records",
                hint="set records and dimension to the size of the export",
            )


# Smallest eigenvalue of a released covariance, relative to the squared radius, if none is given.
EIGENVALUE_FLOOR_RATIO = 1e-6


@dataclass(frozen=True)
class BallRelease:
    """What :func:`fit_ball` returns."""

    mixture: Mixture
    guarantee: DrawnGuarantee
    clipped_count: int  # records outside the ball: private, not covered by the guarantee


def calibrate_ball(
    classes: int | None,
    dimension: int,
    records: int,
    epsilon: float,
    delta: float,
    ball: Ball,
    *,
    grid: float = 0.0,
    adjacency: Literal["replace_one", "add_remove"] = "replace_one",
    rounds: int | None = None,
    eigenvalue_floor: float | None = None,
    prior: Prior | None = None,
    prior_mixture: PriorMixture | None = None,
    directions: Directions = (),
    marginal_share: float = 0.0,
) -> Proven:
    """Return the calibrated mechanism, from public numbers alone.

    ``records`` is N under ``replace_one``, a public guess of it under ``add_remove``. The rounds of private EM follow
    a rule by default; the eigenvalue floor, in the squared unit of the records, is a millionth of the squared radius.
    A prior, for maximum a posteriori estimates, is of records in the unit ball around the origin. A prior mixture, of
    records in the ball, brings the number of classes. Linear functions of a record, ``directions``, have their
    distributions measured beside the mixture with a share of mu^2.
    """
    settings = ProvenSettings(
        adjacency,
        records if adjacency == "add_remove" else None,
        classes,
        rounds,
        grid=grid,
        ball=ball,
        prior=prior,
        prior_mixture=prior_mixture,
        directions=directions,
        marginal_share=marginal_share,
    )
    classes = prior_mixture.classes if prior_mixture else classes
    floor = EIGENVALUE_FLOOR_RATIO * ball.radius**2 if eigenvalue_floor is None else eigenvalue_floor
    # Bounds of an entry are for loads: the ball is what records are clipped to, and any two in order will do here.
    public = PublicSettings(
        epsilon, delta, classes, dimension, records, -ball.radius, ball.radius, floor, sound=settings
    )
    return Proven.calibrate(public)


def fit_ball(
    x: np.ndarray,
    classes: int,
    epsilon: float,
    delta: float,
    noise: GaussianSource,
    radius: float = 1.0,
    centre: tuple[float, ...] | None = None,
    *,
    records_guess: int | None = None,
    **choices,
) -> BallRelease:
    """Release a Gaussian mixture of finite records (N, d) under (epsilon, delta)-DP for one whole record.

    What lies outside the public ball, radius and centre in the unit of the records, is clipped to it. The grid of the
    noise decides whether this is a study or safe, and the guarantee says which. ``add_remove`` needs a public guess
    of N, since N itself is then private; further ``choices`` are those of :func:`calibrate_ball`.
    """
    records = records_guess if choices.get("adjacency") == "add_remove" else len(x)
    if records is None:
        raise InputError(
            "is not set", field="records_guess", hint="give a public guess of the number of records, for add_remove"
        )
    x = np.asarray(x, dtype=float)
    if x.ndim != 2 or not x.size or not np.isfinite([x.min(), x.max()]).all():
        raise InputError(
            "are not rows of finite numbers",
            field="records",
            hint="leave out or fill in records with missing entries, by a rule that looks at one record alone",
        )
    ball = Ball(radius, centre)
    mechanism = calibrate_ball(classes, x.shape[1], records, epsilon, delta, ball, grid=noise.grid, **choices)
    released = mechanism.release(PrivateRecords(x), noise, 1)
    return BallRelease(
        released.mixtures.draw(0),
        DrawnGuarantee.of(mechanism.guarantee, noise.grid),
        sum(int(ball.outside(x[i : i + RECORDS_AT_ONCE]).sum()) for i in range(0, len(x), RECORDS_AT_ONCE)),
    )


# Half widths of a box whose squares, those of covariances, a float64 holds with room.
LEAST_HALF_WIDTH, MOST_HALF_WIDTH = 1e-100, 1e100


@dataclass(frozen=True)
class Box:
    """Public bounds of every entry of a record, d numbers each in the unit of the records."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self):
        half = self.half
        if not (np.isfinite(half) & (half >= LEAST_HALF_WIDTH) & (half <= MOST_HALF_WIDTH)).all():
            raise InputError(
                "are not finite numbers with the lower one first, from 1e-100 to 1e100 apart",
                field="bounds",
                hint="give (low, high) from public knowledge, numbers or one for each entry of a record",
            )

    @property
    def dimension(self) -> int:
        """Entries d of a record."""
        return len(self.low)

    @property
    def ball(self) -> Ball:
        """The ball around the cube."""
        return Ball(float(np.sqrt(self.dimension)))

    @property
    def half(self) -> np.ndarray:
        """Half of the widths, (d,)."""
        return np.array(self.high, dtype=float) / 2 - np.array(self.low, dtype=float) / 2

    @property
    def _middle(self) -> np.ndarray:
        return np.array(self.low, dtype=float) / 2 + np.array(self.high, dtype=float) / 2

    def scaled(self, x: np.ndarray) -> np.ndarray:
        """Clip finite records (N, d) to the box and map them to the cube, each by itself."""
        z = np.clip(x, self.low, self.high)
        z -= self._middle
        z /= self.half
        return np.clip(z, -1.0, 1.0, out=z)

    def scaled_function(self, function: LinearFunction) -> LinearFunction:
        """Return a function of records in the box, less a constant, as one of records in the cube."""
        along = np.array(function.coefficients)
        return LinearFunction(tuple((along * self.half).tolist()), function.least - float(along @ self._middle))

    def scaled_mixture(self, mixture: Mixture) -> Mixture:
        """Return a public mixture of records in the box as one of records in the cube."""
        half = self.half
        means = np.clip((mixture.means - self._middle) / half, -1.0, 1.0)
        return Mixture(mixture.weights, means, mixture.covariances / half[:, None] / half)

    def unscaled(self, mixture: Mixture) -> Mixture:
        """Return a mixture of records in the cube as one of records in the box.

        Means are moved into the box, where those of its records lie; that takes released and public numbers alone.
        """
        half = self.half
        means = np.clip(self._middle + half * mixture.means, self.low, self.high)
        return Mixture(mixture.weights, means, mixture.covariances * half[:, None] * half)
