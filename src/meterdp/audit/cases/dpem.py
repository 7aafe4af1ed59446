"""DP-EM of Park et al. on one replaced record: where its claim has a hole (P2), and that it holds as mended.

The paper divides class sums by their own counts, and noise by noisy ones. Of a class that noise makes look large and
that holds hardly any record, one record moves the mean by far more than is charged for. Divided by the noisy counts,
what is claimed is proven (docs/proofs/dpem_zcdp.md). Both run as the study runs them, with a spy on the noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from meterdp.audit.cases.interface import DELTA, TRANSCRIPT, Case, gaussian_log_ratio
from meterdp.audit.judge import Claim, Seen
from meterdp.core.noise import fixed_normals
from meterdp.mechanisms.dpem.mechanism import (
    Distribution,
    DpEmZcdp,
    Iterate,
    MixtureModel,
    Perturbation,
    ball_radius,
    mirrored,
    moment_em,
    to_unit_ball,
)
from meterdp.mechanisms.interface import PublicSettings
from meterdp.privacy.noise import NoiseSource

# All but one record lie close together, so that classes which noise moves elsewhere hold hardly any.
RECORDS, HOURS, CLASSES, SPREAD = 1000, 2, 3, 0.3
LOW_LOG_KWH, HIGH_LOG_KWH = np.log([1e-3, 100.0])
FLOOR = 1e-6
# Of the claim: with less noise few classes are left empty, and it takes more runs to see the hole.
EPSILON = 1.0
WORDS = "a household with both hours at the upper bound or at the lower one, all others alike"


@dataclass(frozen=True)
class Recorded(Perturbation):
    """Keeps what every answer of a run was made of: exact values, noisy ones, standard deviation."""

    exact: list = field(default_factory=list)
    answers: list = field(default_factory=list)
    std: list = field(default_factory=list)

    def vector(self, exact: np.ndarray, sensitivity: np.ndarray | float, distribution: Distribution) -> np.ndarray:
        """Return a noisy answer."""
        return self._kept(exact, super().vector(exact, sensitivity, distribution), self.gaussian_std(sensitivity))

    def symmetric(self, exact: np.ndarray, sensitivity: np.ndarray | float) -> np.ndarray:
        """Return noisy matrices; the upper triangles are the answer."""
        noisy, upper = super().symmetric(exact, sensitivity), (..., *np.triu_indices(exact.shape[-1]))
        self._kept(exact[upper], noisy[upper], np.asarray(self.gaussian_std(sensitivity))[..., None])
        return noisy

    def _kept(self, exact: np.ndarray, answer: np.ndarray, std) -> np.ndarray:
        self.exact.append(exact)
        self.answers.append(answer)
        self.std.append(std)
        return answer


@dataclass(frozen=True)
class Replayed(Perturbation):
    """Hands back the answers of another run, and keeps the exact values of this one."""

    given: Sequence[np.ndarray] = ()
    exact: list = field(default_factory=list)

    def vector(self, exact: np.ndarray, sensitivity: np.ndarray | float, distribution: Distribution) -> np.ndarray:
        """Return the recorded answer."""
        self.exact.append(exact)
        return self.given[len(self.exact) - 1]

    def symmetric(self, exact: np.ndarray, sensitivity: np.ndarray | float) -> np.ndarray:
        """Return the recorded matrices."""
        rows, columns = np.triu_indices(exact.shape[-1])
        self.exact.append(exact[..., rows, columns])
        noisy = np.zeros(exact.shape)
        noisy[..., rows, columns] = self.given[len(self.exact) - 1]
        return mirrored(noisy)


def calibrated(divisor: str) -> DpEmZcdp:
    """Return the mechanism of a study; class sums are divided by their "own" counts, as there, or by "noisy" ones."""
    public = PublicSettings(EPSILON, DELTA, CLASSES, HOURS, RECORDS, LOW_LOG_KWH, HIGH_LOG_KWH, FLOOR)
    mechanism = DpEmZcdp.calibrate(public)
    return replace(mechanism, settings=replace(mechanism.settings, divisor=divisor))


def records(mechanism: DpEmZcdp, first: float) -> np.ndarray:
    """Return records (N, d) in the unit ball, the first of which has all hours at one log reading."""
    level = mechanism.public.sound.level_log_kwh
    x = level + SPREAD * fixed_normals("audited households", (RECORDS, HOURS))
    x[0] = first
    return to_unit_ball(x, ball_radius(mechanism.public), level)


def losses(mechanism: DpEmZcdp, noise: NoiseSource, on_d: bool, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ln p(answers | D) - ln p(answers | D') of runs on one data set, and mu^2 that they spend, (R,) each."""
    settings, start = mechanism.settings, Iterate(mechanism.start)
    data = [records(mechanism, first) for first in (HIGH_LOG_KWH, LOW_LOG_KWH)]
    own, other = data if on_d else data[::-1]
    model, ratios, spent = MixtureModel(RECORDS, settings), np.zeros(runs), np.zeros(runs)
    budget = (settings.step_epsilon, settings.step_delta)
    for run in range(runs):
        seen = Recorded(noise, *budget)
        moment_em(model, own, start, settings.iterations, seen)
        there = Replayed(noise, *budget, given=seen.answers)
        moment_em(model, other, start, settings.iterations, there)
        for answer, one, two, std in zip(seen.answers, seen.exact, there.exact, seen.std, strict=True):
            ratios[run] += gaussian_log_ratio(answer[None], one[None], two[None], std)[0]
            spent[run] += (((one - two) / std) ** 2).sum()
    return (ratios if on_d else -ratios), spent


def release_case(divisor: str) -> Case:
    """Return the audit of all iterations."""
    mechanism = calibrated(divisor)

    def observe(noise: NoiseSource, on_d: bool, runs: int) -> Mapping[str, Seen]:
        return {TRANSCRIPT: Seen(losses(mechanism, noise, on_d, runs)[0])}

    printed = divisor == "own"
    name = mechanism.name if printed else f"{mechanism.name}, divided by noisy counts"
    claim, family = Claim(EPSILON, DELTA), mechanism.family
    return Case(name, WORDS, claim, (TRANSCRIPT,), observe, family=family, hole=printed, share=0.06)


def cases(epsilons: list[float]) -> Iterator[Case]:
    """Yield the audits of DP-EM as printed and as mended, at their own epsilon."""
    yield from map(release_case, ("own", "noisy"))
