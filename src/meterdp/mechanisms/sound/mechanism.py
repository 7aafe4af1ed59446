"""The sound release: a Gaussian mixture under (epsilon, delta)-DP for one household's whole record.

Clipped records, a private pooled moment, then private EM from public start classes, with exact Gaussian-DP accounting
(Liu et al.'s problem, Park et al.'s EM, and a proof from record to released parameters: docs/proofs/sound.md). With a
public library its classes are adapted instead, and rounds of EM follow where households are many.
All N records enter, invalid ones as the public default record. In study mode the noise is seeded floating point: the
proof then covers the algorithm, not the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from meterdp.errors import InputError
from meterdp.mechanisms.interface import PrivateRecords, PublicSettings, Released, Sees
from meterdp.mechanisms.sound.adapt import adapt
from meterdp.mechanisms.sound.domain import Domain, Loads
from meterdp.mechanisms.sound.marginals import Reference, feature_sum
from meterdp.mechanisms.sound.plan import (
    POOLED_WEIGHTS,
    Plan,
    SoundSettings,
    make_plan,
    noise_entries,
    step_entries,
)
from meterdp.mechanisms.sound.posterior import pooled_parameters, radius_from
from meterdp.mechanisms.sound.reweighting import Marginals
from meterdp.mechanisms.sound.rounds import release_in_chunks, run_rounds
from meterdp.mechanisms.sound.stack import RECORDS_AT_ONCE, moment_stack, radius_stack
from meterdp.mixture.draws import MixtureDraws
from meterdp.privacy import gaussian
from meterdp.privacy.gaussian import FEWEST_NOISE_STEPS, delta_margin, total_variation
from meterdp.privacy.guarantee import Family, Guarantee
from meterdp.privacy.mechanism import Measure, clip_to_unit_ball, measure_with
from meterdp.privacy.noise import GaussianSource


@dataclass(frozen=True)
class Sound:
    """A Gaussian mixture under replace-one or add-remove DP, calibrated.

    Parameters
    ----------
    public : PublicSettings
    mu : float
        GDP parameter of the whole release, the largest that is (epsilon, delta)-DP. Where nodes share the noise: of
        what the colluding ones see.
    plan : Plan
        The Gaussian measurements in order, with the noise of all nodes together; their mu^2 add up to mu^2, or, where
        nodes share the noise, to h/n of it.
    """

    public: PublicSettings
    mu: float
    plan: Plan
    name: ClassVar[str] = "sound"
    sees: ClassVar[Sees] = "records"
    most_draws: ClassVar[int | None] = None
    family: ClassVar[Family] = "sound"

    @classmethod
    def calibrate(cls, public: PublicSettings) -> Sound:
        """Turn (epsilon, delta) into mu and split it over the steps by the public rules of ``plan``."""
        public = public if public.sound is not None else replace(public, sound=SoundSettings())
        settings, delta = public.sound, public.delta
        if settings.grid > 0:
            entries = noise_entries(public.classes, public.dimension, settings)
            margin = delta_margin(public.epsilon, entries, FEWEST_NOISE_STEPS)
            delta -= margin
            if delta <= 0:
                possible = margin < 1 / public.records  # delta is at most that
                raise _noise_too_small(f"increase delta above {margin:.2g}" if possible else "decrease epsilon")
        mu, shares = gaussian.mu_for(public.epsilon, delta), settings.shares
        plan = make_plan(shares.seen_by_colluding * mu, public.records, public.dimension, public.classes, settings)
        if min(step.noise_std for step in plan.steps) * shares.of_node < FEWEST_NOISE_STEPS * settings.grid:
            raise _noise_too_small("decrease epsilon")
        return cls(public, mu, plan)

    @property
    def domain(self) -> Domain:
        """What is publicly known about the records."""
        settings = self.public.sound
        return settings.ball or Loads.of(self.public, settings.level_log_kwh, settings.hour_correlation)

    @property
    def guarantee(self) -> Guarantee:
        """What docs/proofs/sound.md proves, for noise that is truly Gaussian."""
        adjacency = self.public.sound.adjacency
        return Guarantee(
            unit=self.domain.units[adjacency],
            adjacency=adjacency,
            epsilon=self.public.epsilon,
            delta=self.public.delta,
            accountant=gaussian.STEPS,
            proof="docs/proofs/sound.md",
            family=self.family,
        )

    @property
    def total_variation(self) -> float:
        """Distance of one release on its grid from a mu-GDP one (docs/proofs/safe_noise.md); 0 without a grid."""
        grid, classes, d = self.public.sound.grid, self.plan.classes, self.public.dimension
        if grid == 0:
            return 0.0
        seen = self.public.sound.shares.seen_by_colluding / grid
        return sum(step_entries(s, classes, d) * total_variation(seen * s.noise_std) for s in self.plan.steps)

    def release(self, private: PrivateRecords, noise: GaussianSource, draws: int) -> Released:
        """Run the mechanism ``draws`` times; see :class:`~meterdp.mechanisms.interface.Mechanism`.

        Marginals, if any, are measured for the first draw only: the others tell what a mixture costs.

        Raises
        ------
        InputError
            If the records do not have the public shape (N, d).
        ValueError
            If the noise lives on another grid than the one the mechanism was calibrated for.
        """
        if noise.grid != self.public.sound.grid:
            raise ValueError("the mechanism was calibrated for another grid than that of the noise")
        released = release_in_chunks(self.run, private.x, noise, draws, self.plan.classes)
        if self.plan.step("marginals") is None:
            return released
        first = replace(released, mixtures=released.mixtures.slice(0, 1), records=released.records[:1])
        return replace(released, marginals=self.run_marginals(private.x, first, measure_with(noise, noise.grid))[0])

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
        self._check(x)
        domain = self.domain
        records = np.full(draws, float(public.records))
        if counted := self.plan.step("records"):
            records = np.maximum(measure(counted, np.full((draws, 1), float(len(x))))[:, 0], public.classes)
        grid = public.sound.grid
        if library := public.sound.library:
            step = self.plan.step("adapt")
            released = adapt(step, library, x, measure, records, domain, public.eigenvalue_floor, grid)
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
        """Run all steps, the marginals beside every mixture if there are any; parameters as in :meth:`run`."""
        released = self.run(x, measure, draws)
        return released, self.run_marginals(x, released, measure) if self.plan.step("marginals") else []

    def run_marginals(self, x: np.ndarray, released: Released, measure: Measure) -> list[Marginals]:
        """Take the last step, the marginals beside every mixture that :meth:`run` released.

        Parameters
        ----------
        x : (N, d) float64
            All records, log kWh.
        released : Released
            R mixtures.
        measure : callable
            As in :meth:`run`; takes a stack (R, q).
        """
        self._check(x)
        low, high, scale = self.public.low_log_kwh, self.public.high_log_kwh, self.public.log_scale
        x, step = self.domain.clip(x), self.plan.step("marginals")
        references = [Reference(released.mixtures.draw(r), low, high, scale) for r in range(len(released.mixtures))]
        noisy = measure(step, np.stack([feature_sum(x, of, self.public.sound.grid) for of in references]))
        return [
            Marginals(of, one / n, step.noise_std / n)
            for of, one, n in zip(references, noisy, released.records, strict=True)
        ]

    def _start(self, x: np.ndarray, measure: Measure, records: np.ndarray) -> MixtureDraws:
        """Return start classes that follow from private pooled moments."""
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


def _noise_too_small(hint: str) -> InputError:
    return InputError("noise is too small for the discretisation grid", field="epsilon", hint=hint)
