"""DP-EM of Park et al. on load profiles: what the literature would give an analyst. Published family, for comparison.

Gaussian noise on weights, means and covariances in every iteration (GGG), added up by zCDP as the paper recommends.
Records are log profiles in a public ball. Proof note: docs/proofs/dpem_zcdp.md.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from meterdp.accounting.registry import CURVES
from meterdp.core.noise import fixed_normals
from meterdp.mechanisms.dpem.mixture import EmSettings, fit_iterates, start_mixture
from meterdp.mechanisms.dpem.records import to_unit_ball
from meterdp.mechanisms.interface import PrivateRecords, PublicSettings, Released, Sees
from meterdp.mechanisms.sound.plan import SoundSettings
from meterdp.mixture.draws import Mixture, MixtureDraws
from meterdp.privacy.guarantee import Family, Guarantee
from meterdp.privacy.noise import NoiseSource

ITERATIONS = 10  # of the paper's smaller experiment, Fig. 3
STEP_DELTA = 1e-6  # scales step_epsilon only: zCDP asks for the noise multiplier, not for what it is called
# Of eigenvalues in the ball: "some value near zero", below (19). A tenth of it costs up to ten times as many nats;
# ten times as much hides the classes of a large export (docs/proofs/dpem_zcdp.md).
EIGENVALUE_FLOOR = 1e-3


@dataclass(frozen=True)
class DpEmZcdp:
    """DP-EM under zCDP, calibrated.

    Parameters
    ----------
    public : PublicSettings
    settings : EmSettings
        In the units of the ball.
    """

    public: PublicSettings
    settings: EmSettings
    name: ClassVar[str] = "dpem_zcdp"
    sees: ClassVar[Sees] = "records"
    # A run reads all records ten times, and is so far off that a hundred runs tell by how much.
    most_draws: ClassVar[int | None] = 100
    family: ClassVar[Family] = "published"

    @classmethod
    def calibrate(cls, public: PublicSettings) -> DpEmZcdp:
        """Turn (epsilon, delta) into the budget of every noisy answer."""
        public = public if public.sound is not None else replace(public, sound=SoundSettings())
        floor = max(EIGENVALUE_FLOOR, public.eigenvalue_floor / ball_radius(public) ** 2)
        settings = EmSettings(ITERATIONS, "GGG", step_delta=STEP_DELTA, eigenvalue_floor=floor)
        budget = CURVES["zcdp"].calibrated(settings.sequence(public.classes), public.epsilon, public.delta)
        return cls(public, replace(settings, step_epsilon=budget))

    @property
    def guarantee(self) -> Guarantee:
        """What the paper claims; docs/proofs/dpem_zcdp.md says why it does not hold."""
        return Guarantee(
            unit="the whole profile of one household",
            adjacency="replace_one",
            epsilon=self.public.epsilon,
            delta=self.public.delta,
            accountant=CURVES["zcdp"].title,
            proof="docs/proofs/dpem_zcdp.md",
            family=self.family,
        )

    @property
    def start(self) -> Mixture:
        """Public start classes in the ball."""
        return start_mixture(fixed_normals("dpem_zcdp, start", (self.public.classes, self.public.dimension)))

    def release(self, private: PrivateRecords, noise: NoiseSource, draws: int) -> Released:
        """Run the mechanism ``draws`` times; see :class:`~meterdp.mechanisms.interface.Mechanism`."""
        public, radius, centre = self.public, ball_radius(self.public), self.public.sound.level_log_kwh
        x, _ = to_unit_ball(np.clip(private.x, public.low_log_kwh, public.high_log_kwh), radius, centre)
        last, responsibilities_models = [], []
        for _ in range(draws):
            # The last two: the responsibilities of the last iteration are those of the mixture before.
            responsibilities_model, end = deque(fit_iterates(x, self.start, self.settings, noise), maxlen=2)
            responsibilities_models.append(responsibilities_model.mixture)
            last.append(end)
        return Released(
            _in_log_kwh([one.mixture for one in last], radius, centre),
            np.array([one.projected for one in last]),
            _in_log_kwh(responsibilities_models, radius, centre),
        )


def ball_radius(public: PublicSettings) -> float:
    """Return the public radius: half the width of the public bounds in every hour, log kWh.

    About the public level of ``sound`` hardly a household lies beyond it. The paper takes the largest norm of the
    data, which is private (defect P1).
    """
    return (public.high_log_kwh - public.low_log_kwh) / 2 * np.sqrt(public.dimension)


def _in_log_kwh(mixtures: list[Mixture], radius: float, centre: float) -> MixtureDraws:
    """Return mixtures of the ball in the units of the records."""
    draws = MixtureDraws.join([MixtureDraws.single(one) for one in mixtures])
    return MixtureDraws(draws.weights, centre + radius * draws.means, radius**2 * draws.covariances)
