"""The sound forecast with one group, public circuits and assigned groups, and what breaks it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from meterdp.audit.cases.interface import DELTA, OUTPUT, TRANSCRIPT, Case, Spy, gaussian_log_ratio, replayed
from meterdp.audit.judge import Claim, Seen
from meterdp.core.noise import fixed_normals
from meterdp.groupforecast.mechanism import ForecastRecords, GroupForecast, GroupRelease
from meterdp.groupforecast.plan import GroupPublic
from meterdp.privacy.noise import NoiseSource

STEPS, CIRCUITS = 4, 2
# So many that the public rule assigns more than one group at epsilon 1.
HOUSEHOLDS = {"one": 40, "circuit": 40, "assigned": 300}
# A run takes up to a millisecond.
SHARE = {"one": 0.5, "circuit": 0.3, "assigned": 0.25}
WORDS = "the lowest or the highest forecast"


class Spied(GroupForecast):
    """The mechanism, which also keeps what its last run handed to ``measure`` and ``assign``, and their answers."""

    def run(self, x, measure, assign) -> GroupRelease:
        """Run the steps and keep (exact, answer, ln of the odds of a label that is kept) of each."""
        log = []

        def spy_measure(step, stack):
            log.append((stack.copy(), measure(step, stack), None))
            return log[-1][1]

        def spy_assign(label, groups, assignment_epsilon):
            log.append((label.copy(), assign(label, groups, assignment_epsilon), assignment_epsilon))
            return log[-1][1]

        released = super().run(x, spy_measure, spy_assign)
        object.__setattr__(self, "log", log)
        return released


@dataclass(frozen=True)
class Pair:
    """A calibrated mechanism, the forecasts of two neighbouring data sets, and what is broken.

    Parameters
    ----------
    mechanism : Spied
    std_factor : float
        On all noise.
    keep : bool
        Whether every label is kept.
    """

    mechanism: Spied
    std_factor: float = 1.0
    keep: bool = False

    def observe(self, noise: NoiseSource, on_d: bool, runs: int) -> Mapping[str, Seen]:
        """Release ``runs`` times and replay every run's answers on the neighbour."""
        own, other = (forecasts(side, self.mechanism.public.records) for side in (on_d, not on_d))
        ratio, numbers = np.empty(runs), []
        for r in range(runs):
            spy = Spy(noise, lambda i: self.std_factor, self.keep)
            released = self.mechanism.release(ForecastRecords(own), spy)
            ratio[r] = self._log_ratio(self.mechanism.log, other, iter(spy.std))
            file = released.released_log_kwh[0]
            is_in = released.group[0] == np.arange(len(released.group_log_kwh))
            numbers.append([*file, *released.group_log_kwh.ravel(), *is_in])
        return {OUTPUT: Seen(numbers=np.array(numbers)), TRANSCRIPT: Seen(ratio if on_d else -ratio)}

    def _log_ratio(self, log: list, other: np.ndarray, std: Iterator) -> float:
        """Return ln p(answers | own) - ln p(answers | other) of one run."""

        def run(take):
            GroupForecast.run(self.mechanism, other, lambda step, sums: take(sums), lambda label, *_: take(label))

        total = 0.0
        for (own, answer, odds), there in zip(log, replayed(run, [answer for _, answer, _ in log]), strict=True):
            if odds is None:
                total += float(gaussian_log_ratio(answer[None], own[None], there[None], next(std))[0])
            else:
                # What a mutant never reports is impossible, but a finite ratio orders answers as well.
                total += odds * float((answer == own).sum() - (answer == there).sum())
        return total


def forecasts(on_d: bool, count: int) -> np.ndarray:
    """Return the forecasts (N, k) in log kWh; the first household's is far below or above all others."""
    level, rest = fixed_normals("audited levels", (count, 1)), fixed_normals("audited steps", (count, STEPS))
    x = np.log(0.5) + 1.2 * level + 0.3 * rest
    x[0] = -30.0 if on_d else 30.0
    return x


def calibrated(epsilon: float, groups: str) -> Spied:
    """Return the mechanism for one origin of a small list."""
    count = HOUSEHOLDS[groups]
    circuit = tuple((np.arange(count) % CIRCUITS).tolist())
    return Spied.calibrate(GroupPublic(epsilon, DELTA, count, STEPS, 1.0, groups=groups, circuit=circuit))


def case(
    epsilon: float, groups: str, pair: Pair | None = None, mutant: str | None = None, share: float | None = None
) -> Case:
    """Return the audit of the sound forecast, or of a broken one with the claim of the unbroken one."""
    mechanism = calibrated(epsilon, groups)
    # With several assigned groups the claim is no Gaussian one.
    mu = mechanism.plan.mu if groups != "assigned" or mechanism.plan.groups == 1 else None
    return Case(
        f"group_forecast ({groups})",
        "sound",
        "replace_one",
        WORDS,
        Claim(epsilon, DELTA, mu),
        (TRANSCRIPT,) if mutant else (OUTPUT, TRANSCRIPT),
        (pair or Pair(mechanism)).observe,
        "caught" if mutant else "holds",
        mutant,
        share or SHARE[groups],
    )


def cases(epsilons: list[float]) -> Iterator[Case]:
    """Yield the audits of all kinds of groups, and of mutants at the largest epsilon."""
    for epsilon in epsilons:
        for groups in ("one", "circuit", "assigned"):
            yield case(epsilon, groups)
    epsilon = max(epsilons)
    one, assigned = calibrated(epsilon, "one"), calibrated(epsilon, "assigned")
    plan = one.plan
    wide = replace(one, plan=replace(plan, common_radius=3 * plan.common_radius))
    yield case(epsilon, "one", Pair(wide), "clipped at three times the radius the noise is for")
    yield case(epsilon, "one", Pair(one, std_factor=0.5), "noise of half the scale")
    odds = replace(assigned, plan=replace(assigned.plan, assignment_epsilon=assigned.plan.assignment_epsilon + 1.5))
    yield case(epsilon, "assigned", Pair(odds), "groups kept more often than charged for", 0.3)
    yield case(epsilon, "assigned", Pair(assigned, keep=True), "groups released as they are", 0.1)
