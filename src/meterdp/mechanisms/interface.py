"""One interface for every release mechanism: calibrate(public) -> mechanism, release(private, noise) -> mixtures.

Public settings and private records are separate types, so a mechanism cannot calibrate to the data unless it is
handed them; the published family does so inside ``release``, as the paper does (defect L4). Randomness comes from
outside through :class:`meterdp.core.noise.NoiseSource`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal, Protocol

import numpy as np

from meterdp.core.errors import InputError
from meterdp.core.noise import NoiseSource
from meterdp.mechanisms import sdp
from meterdp.mechanisms.sensitivities import FlipSensitivities, flip_sensitivities, mean_changes
from meterdp.mechanisms.sound_plan import SoundSettings
from meterdp.mechanisms.wishart_cost import CovarianceCosts, covariance_costs
from meterdp.mixture.draws import MixtureDraws
from meterdp.mixture.gmm import Fit

Family = Literal["published", "exact", "sound"]
Adjacency = Literal["label_flip", "replace_one", "add_remove"]


@dataclass(frozen=True)
class Guarantee:
    """What a release claims, in the words that go on its label.

    Parameters
    ----------
    unit : str
        What one neighbour changes.
    adjacency : {"label_flip", "replace_one", "add_remove"}
    epsilon, delta : float
    accountant : str
        How the steps were added up.
    proof : str
        Proof note, relative to the repository.
    family : {"published", "exact", "sound"}
        Only what is of family "sound" and was drawn with release noise may leave the building.
    """

    unit: str
    adjacency: Adjacency
    epsilon: float
    delta: float
    accountant: str
    proof: str
    family: Family


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
    sound : SoundSettings
        Further choices of the sound release.
    sdp_solver : {"own", "cvxpy"}
        Who solves (23).
    """

    epsilon: float
    delta: float
    classes: int
    dimension: int
    records: int
    low_log_kwh: float
    high_log_kwh: float
    eigenvalue_floor: float = 1e-3
    sound: SoundSettings = field(default_factory=SoundSettings)
    sdp_solver: str = "own"

    def __post_init__(self):
        checks = {
            "epsilon": (0 < self.epsilon < np.inf, "use a positive number"),
            "delta": (0 < self.delta < 1, "use a number between 0 and 1, such as 1e-5"),
            "classes": (self.classes >= 1 and self.classes == int(self.classes), "use a whole number, one or more"),
            "dimension": (self.dimension >= 1, "use one entry or more"),
            "records": (self.records >= self.classes, "lower the number of classes or supply more households"),
            "low_log_kwh": (
                np.isfinite(self.low_log_kwh) and self.low_log_kwh < self.high_log_kwh < np.inf,
                "use finite bounds, the lower one first",
            ),
            "eigenvalue_floor": (0 < self.eigenvalue_floor < np.inf, "use a small positive variance"),
        }
        for name, (holds, remedy) in checks.items():
            if not holds:
                raise InputError("is outside its allowed range", field=name, remedy=remedy)


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
        if not np.isfinite(self.x).all():
            raise ValueError("x holds a value that is not finite")


@dataclass(frozen=True)
class LabelledRecords(PrivateRecords):
    """Records with class labels and the mixture fitted to them: what the published and exact families see.

    Parameters
    ----------
    x : (N, d) float64
        Valid records only.
    fit : Fit
        Mixture fitted without privacy to ``x``, and the labels it was fitted to.
    """

    fit: Fit

    def __post_init__(self):
        super().__post_init__()
        if len(self.fit.labels) != len(self.x):
            raise ValueError("the records and the labels of the fit do not belong together")

    @property
    def labels(self) -> np.ndarray:
        """(N,) classes 1..K."""
        return self.fit.labels

    @cached_property
    def sensitivities(self) -> FlipSensitivities:
        """Largest changes under one label flip."""
        fit = self.fit
        return flip_sensitivities(self.x, fit.labels, fit.mixture.means, fit.sample_covariances)

    @cached_property
    def differences(self) -> tuple[np.ndarray, ...]:
        """Per class the difference vectors (M, d) of (10) and (19), log kWh."""
        return tuple(
            mean_changes(self.x, self.labels, self.fit.mixture.means, k + 1) for k in range(len(self.fit.counts))
        )

    @cached_property
    def covariance_costs(self) -> CovarianceCosts:
        """Per class the divergence that Wishart noise costs, as a function of its gamma."""
        return covariance_costs(self.fit.mixture.covariances)

    def shapes(self, solver: str = "own") -> tuple[sdp.SdpSolution, ...]:
        """Return per class the solution of (23) at right-hand side one, whitened by the Cholesky factor of Sigma_k.

        Solved once per solver: Gamma_k^-1 scales as 1/epsilon_k^2.
        """
        return self._solved(solver, whiten=True)

    def plain_shapes(self, solver: str = "own") -> tuple[sdp.SdpSolution, ...]:
        """Return per class the minimum-trace Gamma_k^-1 at right-hand side one, weight I in place of Sigma_k^-1."""
        return self._solved(solver, whiten=False)

    @cached_property
    def _solutions(self) -> dict[tuple[str, bool], tuple[sdp.SdpSolution, ...]]:
        return {}

    def _solved(self, solver: str, whiten: bool) -> tuple[sdp.SdpSolution, ...]:
        if (solver, whiten) not in self._solutions:
            points = self.differences
            if whiten:
                lower = np.linalg.cholesky(self.fit.mixture.covariances)
                points = [np.linalg.solve(root, v.T).T for root, v in zip(lower, points, strict=True)]
            self._solutions[solver, whiten] = tuple(sdp.solve(z, solver) for z in points)
        return self._solutions[solver, whiten]


@dataclass(frozen=True)
class Released:
    """What one call of ``release`` returns.

    Parameters
    ----------
    mixtures : MixtureDraws
        R independent releases.
    projected : (R,) bool
        Whether a weight or a covariance of the draw had to be projected to the feasible set.
    labeller : MixtureDraws or None
        Released mixtures under whose responsibilities the last statistics were taken. None where the mechanism
        uses the labels of the fit.
    """

    mixtures: MixtureDraws
    projected: np.ndarray
    labeller: MixtureDraws | None = None


class Mechanism(Protocol):
    """A calibrated release mechanism: frozen, public, and without randomness of its own."""

    name: ClassVar[str]
    family: ClassVar[Family]
    public: PublicSettings

    @classmethod
    def calibrate(cls, public: PublicSettings) -> Mechanism:
        """Fix everything that does not depend on a record."""

    @property
    def guarantee(self) -> Guarantee:
        """What the release claims."""

    def release(self, private: PrivateRecords, noise: NoiseSource, draws: int) -> Released:
        """Run the mechanism ``draws`` times, independently."""
