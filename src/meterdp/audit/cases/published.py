"""The published release and the exact one on one label flip: where their claims have holes.

The distribution of an output is known, so the attack is its likelihood ratio, infinite where the neighbour cannot
give the
output: covariances below the neighbour's (defect L1) and frequencies that are not among the neighbour's (L5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from meterdp.audit.cases.interface import DELTA, OUTPUT, Case
from meterdp.audit.judge import Claim, Seen
from meterdp.core.noise import fixed_normals
from meterdp.mechanisms.interface import PublicSettings
from meterdp.mechanisms.reference.kl import Design, KlPublished, KlRelease
from meterdp.mechanisms.reference.kl_exact import KlExact
from meterdp.mechanisms.reference.label_flip import LabelledRecords, lemma_1_multiplier
from meterdp.mixture.draws import MixtureDraws
from meterdp.mixture.gmm import fit_labels
from meterdp.privacy.noise import NoiseSource

CLASSES, EACH, HOURS = 5, 20, 2
SPREAD, FLOOR = 4.0, 1e-9
FREQUENCIES, COVARIANCES = "output: frequencies", "output: covariances"
LEMMA_2_RECORDS, LEMMA_2_DIMENSION = 50, 3


@dataclass(frozen=True)
class OutputDistribution:
    """The distribution of the output of one data set: (5), (6) and the normalised column of (26).

    ``precision`` (K, d, d) is Gamma_k, the inverse covariances of the noise on means.
    """

    private: LabelledRecords
    design: Design
    precision: np.ndarray

    @classmethod
    def of(cls, mechanism: KlRelease, private: LabelledRecords) -> OutputDistribution:
        """Return the distribution of what ``mechanism`` releases of these records."""
        design, sigma = mechanism.design(private), private.fit.mixture.covariances
        shapes = np.stack([s.matrix for s in private.shapes])
        scale = lemma_1_multiplier(design.epsilon_k, mechanism.public.delta)
        root = np.linalg.cholesky(sigma)
        return cls(private, design, np.linalg.inv(scale[:, None, None] ** 2 * root @ shapes @ root.swapaxes(1, 2)))

    def frequencies(self, draws: MixtureDraws) -> np.ndarray:
        """Return ln of the probability of the drawn frequencies, (R,), minus infinity where there is none."""
        counts = np.rint(self.design.frequencies * len(self.private.x)).astype(int)
        chance = self.design.mapping / self.design.mapping.sum()
        known = {tuple(row): float(np.log(c)) for row, c in zip(counts, chance, strict=True)}
        seen = np.rint(draws.weights * len(self.private.x)).astype(int)
        return np.array([known.get(tuple(row), -np.inf) for row in seen])

    def means(self, draws: MixtureDraws) -> np.ndarray:
        """Return ln of the density of the drawn means, (R,), up to what is the same for all distributions."""
        moved = draws.means - self.private.fit.mixture.means
        squares = np.einsum("rki,kij,rkj->r", moved, self.precision, moved)
        return 0.5 * (np.linalg.slogdet(self.precision)[1].sum() - squares)

    def covariances(self, draws: MixtureDraws) -> np.ndarray:
        """Return ln of the density of the drawn covariances, (R,), minus infinity outside its support."""
        noise = draws.covariances - self.private.fit.mixture.covariances
        return wishart_log_density(noise, self.design.gamma).sum(axis=1)


def wishart_log_density(noise: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """Return ln of the density of Wishart_d(I / gamma, d + 1) at (..., d, d), (...), up to a constant.

    Minus infinity outside its support.
    """
    d = noise.shape[-1]
    density = 0.5 * d * (d + 1) * np.log(gamma) - 0.5 * gamma * np.trace(noise, axis1=-2, axis2=-1)
    # Rounding must not make an output of the true data impossible.
    slack = 1e-9 * np.abs(noise).max(axis=(-2, -1))
    return np.where(np.linalg.eigvalsh(noise)[..., 0] >= -slack, density, -np.inf)


def records(first_label: int) -> LabelledRecords:
    """Return five classes of twenty records, of which one between two classes has the given label."""
    label = np.repeat(np.arange(1, CLASSES + 1), EACH)
    angle = 2 * np.pi * label / CLASSES
    x = SPREAD * np.column_stack([np.cos(angle), np.sin(angle)]) + fixed_normals(
        "published audit", (len(label), HOURS)
    )
    x[0] = (x[label == 1].mean(axis=0) + x[label == 2].mean(axis=0)) / 2
    label[0] = first_label
    return LabelledRecords(x, fit_labels(x, label, FLOOR))


def flip_case(kind: type[KlRelease], epsilon: float) -> Case:
    """Return the audit of the published or the exact release on one label flip."""
    d, neighbour = records(1), records(2)
    bound = float(np.abs(d.x).max()) + 1
    mechanism = kind.calibrate(PublicSettings(epsilon, DELTA, CLASSES, HOURS, len(d.x), -bound, bound, FLOOR))
    distributions = OutputDistribution.of(mechanism, d), OutputDistribution.of(mechanism, neighbour)

    def observe(noise: NoiseSource, on_d: bool, runs: int) -> Mapping[str, Seen]:
        draws = mechanism.release(d if on_d else neighbour, noise, runs).mixtures
        one, two = (
            {part: getattr(distribution, part)(draws) for part in ("frequencies", "means", "covariances")}
            for distribution in distributions
        )
        with np.errstate(invalid="ignore"):
            frequencies, covariances = (
                one["frequencies"] - two["frequencies"],
                one["covariances"] - two["covariances"],
            )
            whole = sum(one.values()) - sum(two.values())
        return {FREQUENCIES: Seen(frequencies), COVARIANCES: Seen(covariances), OUTPUT: Seen(whole)}

    views, words = (FREQUENCIES, COVARIANCES, OUTPUT), "the label of a record between two classes"
    whose = {"family": mechanism.family, "adjacency": "label_flip"}
    return Case(mechanism.name, words, Claim(epsilon, DELTA), views, observe, **whose, hole=True)


def lemma_2_case(epsilon: float) -> Case:
    """Return the audit of Lemma 2 in its own setting: second moments of unit-ball records, gamma at its bound."""
    x = fixed_normals("lemma 2", (LEMMA_2_RECORDS, LEMMA_2_DIMENSION))
    x /= np.linalg.norm(x, axis=1).max()
    moments = []
    for first in (np.zeros(LEMMA_2_DIMENSION), x[0] / np.linalg.norm(x[0])):
        x[0] = first
        moments.append(x.T @ x / LEMMA_2_RECORDS)
    gamma = np.asarray(2 * LEMMA_2_RECORDS * epsilon / 3)

    def observe(noise: NoiseSource, on_d: bool, runs: int) -> Mapping[str, Seen]:
        columns = noise.normal((runs, LEMMA_2_DIMENSION, LEMMA_2_DIMENSION + 1))
        drawn = moments[0 if on_d else 1] + columns @ columns.swapaxes(1, 2) / gamma
        one, two = (wishart_log_density(drawn - moment, gamma) for moment in moments)
        return {COVARIANCES: Seen(one - two)}

    name, words = "Wishart noise (Lemma 2)", "a zero record or a unit one"
    return Case(name, words, Claim(epsilon, 0.0), (COVARIANCES,), observe, family="published", hole=True)


def cases(epsilons: list[float]) -> Iterator[Case]:
    """Yield the audits of what Liu et al. publish, and of our exact solution under the same constraint."""
    for epsilon in epsilons:
        yield lemma_2_case(epsilon)
        for kind in (KlPublished, KlExact):
            yield flip_case(kind, epsilon)
