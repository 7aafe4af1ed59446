"""DP-EM of Park et al. on load profiles: what the literature would give an analyst. Published family, for comparison.

The general scheme (Section 3) is EM whose expected moments are perturbed in every iteration. A model with bounded
records says what its expected moments are under the parameters of the iteration before, (7), and how they become
parameters: every moment goes through :class:`Perturbation` with its sensitivity, (10), and what comes back is mapped
by a function g that sees no record. Records are touched in ``expected`` only.

For mixtures of Gaussians (Section 4) weights, means and covariances are perturbed one by one (GGG) and added up by
zCDP as the paper recommends. It follows the paper formula by formula, except that records are clipped to a public
radius, where the paper divides by the largest norm of the data, which is private (defect P1), and that the noisy
counts N~_k that noise is scaled by have a floor (defect P2). Where the text allows two variants both are here. Proof
note: docs/proofs/dpem_zcdp.md.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from meterdp.accounting.registry import CURVES
from meterdp.accounting.sequence import Sequence
from meterdp.core.noise import fixed_normals
from meterdp.errors import InputError
from meterdp.mechanisms.interface import Mechanism, PrivateRecords, PublicSettings, Released, Sees
from meterdp.mechanisms.proven.plan import ProvenSettings
from meterdp.mixture.draws import Mixture, MixtureDraws
from meterdp.mixture.gmm import ClassSums, class_sums, raise_eigenvalues
from meterdp.mixture.study import NO_PRIOR, Prior
from meterdp.privacy.guarantee import Family
from meterdp.privacy.noise import NoiseSource

# Room for rounding of a norm that is one.
_ROUNDING = 1e-6
_ROWS_AT_ONCE = 4096


def to_unit_ball(x: np.ndarray, radius: float, centre: np.ndarray | float = 0.0) -> np.ndarray:
    """Return (x - centre)/radius, (N, d), with what lies beyond the unit ball drawn back to it.

    Radius and centre are public. Refuses an entry that is not a finite number.
    """
    if not 0 < radius < np.inf:
        raise InputError(
            "the radius of the ball is not a positive number", field="radius", hint="use a public bound of a norm"
        )
    u = (x - centre) / radius
    _refuse_missing(u)
    norm = np.sqrt(np.einsum("nd,nd->n", u, u))
    clipped = norm > 1
    u[clipped] /= norm[clipped, None]
    return u


def check_records(x: np.ndarray, classes: int) -> None:
    """Refuse fewer records than classes, missing entries and, as a ValueError, records outside the unit ball."""
    if len(x) < classes:
        raise InputError(
            "there are fewer records than classes",
            field="classes",
            hint="lower the number of classes or supply more records",
        )
    for start in range(0, len(x), _ROWS_AT_ONCE):
        part = x[start : start + _ROWS_AT_ONCE]
        _refuse_missing(part)
        if (np.einsum("nd,nd->n", part, part) > 1 + _ROUNDING).any():
            raise ValueError("a record lies outside the unit ball")


def _refuse_missing(x: np.ndarray) -> None:
    if not np.isfinite(x).all():
        raise InputError(
            "a record holds an entry that is not a finite number", field="records", hint="fill or drop such records"
        )


Distribution = Literal["laplace", "gaussian"]


@dataclass(frozen=True)
class Perturbation:
    """Noise of one budget on every moment: Laplace of l1 sensitivity/epsilon, or Gaussian below (14)."""

    noise: NoiseSource
    step_epsilon: float  # of each noisy answer; infinite for none of the noise
    step_delta: float = 0.0  # of each Gaussian answer; means nothing without one

    def gaussian_std(self, sensitivity: np.ndarray | float) -> np.ndarray | float:
        """Return the standard deviation for an l2 sensitivity."""
        return Sequence(0, 1, self.step_delta).noise_multiplier(self.step_epsilon) * sensitivity

    def vector(self, exact: np.ndarray, sensitivity: np.ndarray | float, distribution: Distribution) -> np.ndarray:
        """Return ``exact`` with independent noise on every entry; the sensitivity broadcasts to its shape."""
        if distribution == "gaussian":
            return exact + self.gaussian_std(sensitivity) * self.noise.normal(exact.shape)
        return exact + sensitivity / self.step_epsilon * self.noise.laplace(exact.shape)

    def symmetric(self, exact: np.ndarray, sensitivity: np.ndarray | float) -> np.ndarray:
        """Return symmetric matrices (..., d, d) with Gaussian noise on the upper triangle, copied to the lower, (17).

        ``sensitivity`` is that of the Frobenius norm, one number or (...).
        """
        std = np.asarray(self.gaussian_std(sensitivity))[..., None, None]
        return mirrored(exact + std * self.noise.normal(exact.shape))


def mirrored(matrices: np.ndarray) -> np.ndarray:
    """Return matrices (..., d, d) with upper triangles copied to the lower ones, so that nothing else is revealed."""
    below = np.tri(*matrices.shape[-2:], -1, dtype=bool)
    return np.where(below, np.swapaxes(matrices, -1, -2), matrices)


# What the l1 norm of the responsibilities, or a norm of a record's part of a class sum, can change by.
CHANGE = 2.0
# Eigenvalues below this share of the largest are lost in rounding, and with them the Cholesky root.
_LEAST_EIGENVALUE_SHARE = 1e-12


@dataclass(frozen=True)
class EmSettings:
    """Public settings of DP-EM."""

    iterations: int  # J
    scheme: Literal["GGG", "LLG"]  # noise on weights, means and covariances: Gaussian or Laplace
    # Maximum likelihood, (12), or maximum a posteriori with the paper's prior.
    estimate: Literal["mle", "map"] = "mle"
    step_epsilon: float = math.inf  # of each of the J (2K + 1) answers; infinite for EM without noise
    step_delta: float = 1e-6  # delta_i of each Gaussian answer
    eigenvalue_floor: float = 1e-4  # public, of covariances: "some value near zero", below (19)
    count_floor: float = 1.0  # public, of the noisy counts N~_k
    # What class sums are divided by. "own": N_k, as (12), (16), (19) print, though then the change of one record
    # exceeds (15), (18) wherever N_k < N~_k. "noisy": N~_k, which (15), (18) are derived for.
    divisor: Literal["own", "noisy"] = "own"
    # What a covariance is centred by: the noisy mean, whose N~_k mu~ mu~' cancels in (18), or the class's own mean,
    # as (12) prints.
    centre: Literal["noisy", "own"] = "noisy"
    dtype: Literal["float64", "float32"] = "float64"  # arithmetic of class_sums

    def sequence(self, classes: int) -> Sequence:
        """Return the answers an accountant has to add up, Section 4.2, last paragraph."""
        laplace = self.iterations * (classes + 1) if self.scheme == "LLG" else 0
        return Sequence(laplace, self.iterations * (2 * classes + 1) - laplace, self.step_delta)


@dataclass(frozen=True)
class Iterate:
    """Parameters after an iteration, and whether a weight or a covariance had to be brought back to be one."""

    mixture: Mixture
    projected: bool = False


@dataclass(frozen=True)
class MixtureModel:
    """Mixture of Gaussians whose class sums over N records are the moments."""

    records: int
    settings: EmSettings

    def expected(self, x: np.ndarray, iterate: Iterate) -> ClassSums:
        """Return the class sums under the responsibilities (11)."""
        return class_sums(x, iterate.mixture, np.dtype(self.settings.dtype).type)

    def perturbed(self, sums: ClassSums, perturbation: Perturbation) -> Iterate:
        """Perturb weights (14), means (16) and covariances (19), in this order."""
        settings, n = self.settings, self.records
        d = sums.sums.shape[1]
        believed = NO_PRIOR if settings.estimate == "mle" else Prior.conventional(d)
        distribution: Distribution = "laplace" if settings.scheme == "LLG" else "gaussian"
        weights, cut = clipped_weights(perturbation.vector(sums.counts / n, CHANGE / n, distribution))
        noisy_counts = np.maximum(n * weights, settings.count_floor)
        # A class of no record has sums of zero, whatever they are divided by.
        own_counts = np.maximum(sums.counts, np.finfo(float).tiny)
        counts = own_counts if settings.divisor == "own" else noisy_counts

        # (15), for Laplace noise in the l1 norm.
        change = CHANGE * (math.sqrt(d) if distribution == "laplace" else 1.0)
        sensitivity = change / (noisy_counts + believed.mean_records)
        divisor = (counts + believed.mean_records)[:, None]
        exact = sums.sums / divisor
        means = perturbation.vector(exact, sensitivity[:, None], distribution)

        # With an exact mean m = A/(N_k + kappa_0) of the posterior, N_k Sigma^MLE + kappa_0 N_k/(kappa_0 + N_k) m^MLE
        # m^MLE' is B - (N_k + kappa_0) m m'; for the MLE kappa_0 is zero.
        centre = means if settings.centre == "noisy" else exact
        scatter = sums.second_moments - divisor[..., None] * centre[:, :, None] * centre[:, None, :]
        scatter += believed.scatter * np.eye(d)
        exact = scatter / (counts + believed.covariance_records)[:, None, None]
        sensitivity = CHANGE / (noisy_counts + believed.covariance_records)
        covariances = perturbation.symmetric(exact, sensitivity)
        floor = max(settings.eigenvalue_floor, _LEAST_EIGENVALUE_SHARE * np.abs(covariances).max() * d)
        covariances, raised = raise_eigenvalues(covariances, floor)

        weights = believed.weights(weights, n)
        return Iterate(Mixture(weights, means, covariances), bool(cut or raised.any()))


def iterates(
    model: MixtureModel, x: np.ndarray, start: Iterate, iterations: int, perturbation: Perturbation
) -> Iterator[Iterate]:
    """Yield the parameters after each iteration."""
    parameters = start
    for _ in range(iterations):
        parameters = model.perturbed(model.expected(x, parameters), perturbation)
        yield parameters


def moment_em(
    model: MixtureModel, x: np.ndarray, start: Iterate, iterations: int, perturbation: Perturbation
) -> Iterate:
    """Return the parameters after the last iteration."""
    last = deque(iterates(model, x, start, iterations, perturbation), maxlen=1)
    return last[0] if last else start


def clipped_weights(noisy: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return weights (K,) clipped to [0, 1] and renormalised, footnote 5, and whether one was clipped.

    Equal weights if nothing is left of any.
    """
    weights = np.clip(noisy, 0.0, 1.0)
    total = weights.sum()
    weights = weights / total if total > 0 else np.full_like(weights, 1 / len(weights))
    return weights, bool((noisy < 0).any() or (noisy > 1).any())


def start_mixture(normals: np.ndarray, spread: float = 0.5) -> Mixture:
    """Return start classes in the unit ball, from public normal numbers (K, d); the paper does not print its own.

    Equal weights, every covariance I/d, which fills the ball, and means from N(0, spread^2 I/d), shortened to the
    ball: about ``spread`` from its centre in any dimension.
    """
    classes, dimension = normals.shape
    means = normals * (spread / math.sqrt(dimension))
    means /= np.maximum(np.linalg.norm(means, axis=1), 1.0)[:, None]
    covariances = np.tile(np.eye(dimension) / dimension, (classes, 1, 1))
    return Mixture(np.full(classes, 1 / classes), means, covariances)


def fit(x: np.ndarray, start: Mixture, settings: EmSettings, noise: NoiseSource) -> Mixture:
    """Run DP-EM on records (N, d) in the unit ball, as from :func:`to_unit_ball`; the start is public."""
    check_records(x, start.classes)
    model = MixtureModel(len(x), settings)
    perturbation = Perturbation(noise, settings.step_epsilon, settings.step_delta)
    return moment_em(model, x, Iterate(start), settings.iterations, perturbation).mixture


ITERATIONS = 10  # of the paper's smaller experiment, Fig. 3
STEP_DELTA = 1e-6  # scales step_epsilon only: zCDP asks for the noise multiplier, not for what it is called
# Of eigenvalues in the ball: "some value near zero", below (19). A tenth of it costs up to ten times as many nats;
# ten times as much hides the classes of a large export (docs/proofs/dpem_zcdp.md).
EIGENVALUE_FLOOR = 1e-3


@dataclass(frozen=True)
class DpEmZcdp(Mechanism):
    """DP-EM under zCDP, calibrated."""

    settings: EmSettings  # in the units of the ball
    name: ClassVar[str] = "dpem_zcdp"
    sees: ClassVar[Sees] = "records"
    # A run reads all records ten times, and is so far off that a hundred runs tell by how much.
    most_draws: ClassVar[int | None] = 100
    family: ClassVar[Family] = "published"
    unit: ClassVar[str] = "the whole profile of one household"
    adjacency: ClassVar[str] = "replace_one"
    accountant: ClassVar[str] = CURVES["zcdp"].title
    proof: ClassVar[str] = "docs/proofs/dpem_zcdp.md"

    @classmethod
    def calibrate(cls, public: PublicSettings) -> DpEmZcdp:
        """Turn (epsilon, delta) into the budget of every noisy answer."""
        public = public if public.sound is not None else replace(public, sound=ProvenSettings())
        floor = max(EIGENVALUE_FLOOR, public.eigenvalue_floor / ball_radius(public) ** 2)
        settings = EmSettings(ITERATIONS, "GGG", step_delta=STEP_DELTA, eigenvalue_floor=floor)
        budget = CURVES["zcdp"].calibrated(settings.sequence(public.classes), public.epsilon, public.delta)
        return cls(public, replace(settings, step_epsilon=budget))

    @property
    def start(self) -> Mixture:
        """Public start classes in the ball."""
        return start_mixture(fixed_normals("dpem_zcdp, start", (self.public.classes, self.public.dimension)))

    def release(self, private: PrivateRecords, noise: NoiseSource, draws: int) -> Released:
        public, radius, centre = self.public, ball_radius(self.public), self.public.sound.level_log_kwh
        x = to_unit_ball(np.clip(private.x, public.low_log_kwh, public.high_log_kwh), radius, centre)
        check_records(x, public.classes)
        settings, start = self.settings, Iterate(self.start)
        model = MixtureModel(len(x), settings)
        perturbation = Perturbation(noise, settings.step_epsilon, settings.step_delta)
        last, responsibilities_models = [], []
        for _ in range(draws):
            # The last two: the responsibilities of the last iteration are those of the mixture before.
            before, end = deque(iterates(model, x, start, settings.iterations, perturbation), maxlen=2)
            responsibilities_models.append(before.mixture)
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
