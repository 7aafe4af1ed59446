"""One interface for every release mechanism: calibrate(public) -> mechanism, release(private, noise) -> mixtures.

Public settings and private records are separate types, so a mechanism cannot calibrate to the data unless it is
handed them; the published family does so inside ``release``, as the paper does (defect L4). Randomness comes from
outside through :class:`meterdp.privacy.noise.NoiseSource`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from meterdp.core.constraints import ONE_OR_MORE, POSITIVE, PROBABILITY, Fits, Number, check
from meterdp.core.log_scale import PLAIN, LogScale
from meterdp.mixture.draws import MixtureDraws
from meterdp.privacy.guarantee import Family, Guarantee
from meterdp.privacy.noise import NoiseSource

# Whether a mechanism is handed records alone or labelled records with the mixture fitted to them.
Sees = Literal["records", "labels"]


@dataclass(frozen=True)
class PublicSettings:
    """Everything a mechanism may know before it sees a record. From configuration, never from the data."""

    epsilon: float  # of the whole release, positive
    delta: float  # in (0, 1)
    classes: int  # K
    dimension: int  # d
    # N, all households of the export, valid or not; public under replace_one. Under add_remove a public guess.
    records: int
    low_log_kwh: float  # bounds every reading is clipped to
    high_log_kwh: float
    eigenvalue_floor: float = 1e-3  # of a released covariance, (log kWh)^2
    # ProvenSettings of meterdp.mechanisms.proven.plan; its own defaults if left out.
    sound: object | None = None
    log_scale: LogScale = PLAIN  # what takes log kWh to the energy of an hour

    def __post_init__(self):
        constraints = {
            "epsilon": POSITIVE,
            "delta": PROBABILITY,
            "classes": ONE_OR_MORE,
            "dimension": ONE_OR_MORE,
            "records": Fits(self.records >= self.classes, "fewer classes or more households"),
            "high_log_kwh": Number(),
            "low_log_kwh": Number(high=self.high_log_kwh),
            "eigenvalue_floor": POSITIVE,
        }
        check(self, constraints)


@dataclass(frozen=True)
class PrivateRecords:
    """All a sound mechanism sees of the data: one log profile per household of the export, nothing derived from them.

    (N, d) float64, log kWh; invalid households hold the public default record.
    """

    x: np.ndarray

    def __post_init__(self):
        if self.x.ndim != 2:
            raise ValueError("x is not a matrix of records")
        # Any NaN is the smallest, any infinity one of the two; nothing as large as the records is made.
        if self.x.size and not np.isfinite([self.x.min(), self.x.max()]).all():
            raise ValueError("x holds a value that is not finite")


@dataclass(frozen=True)
class Released:
    """What one call of ``release`` returns."""

    mixtures: MixtureDraws  # R independent releases
    projected: np.ndarray  # (R,) bool, whether a weight or a covariance had to be projected to the feasible set
    # Released mixtures under whose responsibilities the last statistics were taken. None where the mechanism uses the
    # labels of the fit.
    responsibilities_model: MixtureDraws | None = None
    records: np.ndarray | None = None  # (R,), number of records, public or released, where it is needed
    # Marginals of meterdp.mechanisms.proven.marginals, released beside the first mixture if at all.
    marginals: object | None = None


@dataclass(frozen=True)
class Mechanism:
    """A calibrated release mechanism: frozen, public, and without randomness of its own."""

    public: PublicSettings
    name: ClassVar[str]  # as in the registry
    sees: ClassVar[Sees]
    family: ClassVar[Family]
    most_draws: ClassVar[int | None] = None  # releases that a study averages over at most, where one takes long
    # Of the guarantee.
    unit: ClassVar[str]
    adjacency: ClassVar[str]
    accountant: ClassVar[str]
    proof: ClassVar[str]

    @classmethod
    def calibrate(cls, public: PublicSettings) -> Self:
        """Fix everything that does not depend on a record."""
        raise NotImplementedError

    @property
    def guarantee(self) -> Guarantee:
        """What the release claims; the proof note says under which conditions, or why it does not hold."""
        public = self.public
        return Guarantee(
            self.unit, self.adjacency, public.epsilon, public.delta, self.accountant, self.proof, self.family
        )

    def release(self, private: PrivateRecords, noise: NoiseSource, draws: int) -> Released:
        """Run the mechanism ``draws`` times, independently."""
        raise NotImplementedError
