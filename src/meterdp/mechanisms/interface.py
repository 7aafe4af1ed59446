"""One interface for every release mechanism: calibrate(public) -> mechanism, release(private, noise) -> mixtures.

Public settings and private records are separate types, so a mechanism cannot calibrate to the data unless it is
handed them; the published family does so inside ``release``, as the paper does (defect L4). Randomness comes from
outside through :class:`meterdp.privacy.noise.NoiseSource`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

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
    """Everything a mechanism may know before it sees a record. From configuration, never from the data.

    Parameters
    ----------
    epsilon, delta : float
        Privacy parameters of the whole release, epsilon > 0 and 0 < delta < 1.
    classes, dimension : int
        K and d.
    records : int
        N, all households of the export, valid or not; public under ``replace_one``. Under ``add_remove`` a public
        guess stands here.
    low_log_kwh, high_log_kwh : float
        Bounds every reading is clipped to, log kWh.
    eigenvalue_floor : float
        Smallest eigenvalue of a released covariance, (log kWh)^2.
    sound : meterdp.mechanisms.proven.plan.ProvenSettings, optional
        Further choices of the sound release; its own defaults if left out.
    sdp_solver : {"own", "cvxpy"}
        Who solves (23).
    log_scale : LogScale
        What takes log kWh to the energy of an hour.
    """

    epsilon: float
    delta: float
    classes: int
    dimension: int
    records: int
    low_log_kwh: float
    high_log_kwh: float
    eigenvalue_floor: float = 1e-3
    sound: object | None = None
    sdp_solver: str = "own"
    log_scale: LogScale = PLAIN

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
    """All a sound mechanism sees of the data: one record per household, nothing derived from them.

    Parameters
    ----------
    x : (N, d) float64
        One log profile per household of the export, log kWh; invalid households hold the public default record.
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
    """What one call of ``release`` returns.

    Parameters
    ----------
    mixtures : MixtureDraws
        R independent releases.
    projected : (R,) bool
        Whether a weight or a covariance of the draw had to be projected to the feasible set.
    responsibilities_model : MixtureDraws or None
        Released mixtures under whose responsibilities the last statistics were taken. None where the mechanism
        uses the labels of the fit.
    records : (R,) float64 or None
        Number of records, public or released. None where nothing needs it.
    marginals : meterdp.mechanisms.proven.marginals.Marginals or None
        What was released beside the first mixture, None where a mechanism releases mixtures alone.
    """

    mixtures: MixtureDraws
    projected: np.ndarray
    responsibilities_model: MixtureDraws | None = None
    records: np.ndarray | None = None
    marginals: object | None = None


class Mechanism(Protocol):
    """A calibrated release mechanism: frozen, public, and without randomness of its own.

    Attributes
    ----------
    name : str
        As in the registry.
    sees : {"records", "labels"}
    family : Family
    most_draws : int or None
        Releases that a study averages over at most, where one takes long; None for no limit.
    public : PublicSettings
    """

    name: ClassVar[str]
    sees: ClassVar[Sees]
    family: ClassVar[Family]
    most_draws: ClassVar[int | None]
    public: PublicSettings

    @classmethod
    def calibrate(cls, public: PublicSettings) -> Mechanism:
        """Fix everything that does not depend on a record."""

    @property
    def guarantee(self) -> Guarantee:
        """What the release claims."""

    def release(self, private: PrivateRecords, noise: NoiseSource, draws: int) -> Released:
        """Run the mechanism ``draws`` times, independently."""
