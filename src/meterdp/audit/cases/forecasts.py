"""Forecasts: the sound one by groups, and files that hide whom they belong to; what breaks either claim.

Of files that hide whom they belong to an adversary knows every forecast, so the distribution of all files under
either order is known, and the likelihood ratio is the best attack on what is released. Noise is drawn in floating
point and rounded to the grid of a release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from meterdp.audit.cases.interface import (
    DELTA,
    OUTPUT,
    TRANSCRIPT,
    Case,
    Spy,
    gaussian_log_ratio,
    log_ratio_of_run,
    replayed,
)
from meterdp.audit.judge import Claim, Seen
from meterdp.class_noise.towards_centre import LabelPublic, TowardsCentre
from meterdp.core.noise import fixed_normals
from meterdp.groupforecast.mechanism import ForecastRecords, GroupForecast
from meterdp.groupforecast.plan import GroupPublic
from meterdp.privacy.noise import GRID, NoiseSource

STEPS, CIRCUITS = 4, 2
# So many that the public rule assigns more than one group at epsilon 1.
HOUSEHOLDS = {"one": 40, "circuit": 40, "assigned": 300}
# A run takes up to a millisecond.
SHARE = {"one": 0.5, "circuit": 0.3, "assigned": 0.25}
WORDS = "the lowest or the highest forecast"


@dataclass(frozen=True)
class Pair:
    """A calibrated mechanism, a factor on all its noise, and whether every label is kept."""

    mechanism: GroupForecast
    std_factor: float = 1.0
    keep: bool = False

    def observe(self, noise: NoiseSource, on_d: bool, runs: int) -> Mapping[str, Seen]:
        """Release ``runs`` times and replay every run's answers on the neighbour."""
        own, other = (forecasts(side, self.mechanism.public.records) for side in (on_d, not on_d))
        ratio, numbers = np.empty(runs), []

        def on_neighbour(take):
            self.mechanism.run(other, lambda step, sums: take(sums), lambda label, *_: take(label))

        for r in range(runs):
            spy = Spy(noise, lambda i: self.std_factor, self.keep)
            released = self.mechanism.release(ForecastRecords(own), spy)
            ratio[r] = log_ratio_of_run(spy, replayed(on_neighbour, spy.answers))
            file = released.released_log_kwh[0]
            is_in = released.group[0] == np.arange(len(released.group_log_kwh))
            numbers.append([*file, *released.group_log_kwh.ravel(), *is_in])
        return {OUTPUT: Seen(numbers=np.array(numbers)), TRANSCRIPT: Seen(ratio if on_d else -ratio)}


def forecasts(on_d: bool, count: int) -> np.ndarray:
    """Return the forecasts (N, k) in log kWh; the first household's is far below or above all others."""
    level, rest = fixed_normals("audited levels", (count, 1)), fixed_normals("audited steps", (count, STEPS))
    x = np.log(0.5) + 1.2 * level + 0.3 * rest
    x[0] = -30.0 if on_d else 30.0
    return x


def calibrated(epsilon: float, groups: str) -> GroupForecast:
    """Return the mechanism for one origin of a small list."""
    count = HOUSEHOLDS[groups]
    circuit = tuple((np.arange(count) % CIRCUITS).tolist())
    return GroupForecast.calibrate(GroupPublic(epsilon, DELTA, count, STEPS, 1.0, groups=groups, circuit=circuit))


def group_case(
    epsilon: float, groups: str, pair: Pair | None = None, mutant: str | None = None, share: float | None = None
) -> Case:
    """Return the audit of the sound forecast, or of a broken one with the claim of the unbroken one."""
    mechanism = calibrated(epsilon, groups)
    # With several assigned groups the claim is no Gaussian one.
    mu = mechanism.plan.mu if groups != "assigned" or mechanism.plan.groups == 1 else None
    return Case(
        f"group_forecast ({groups})",
        WORDS,
        Claim(epsilon, DELTA, mu),
        (TRANSCRIPT,) if mutant else (OUTPUT, TRANSCRIPT),
        (pair or Pair(mechanism)).observe,
        mutant=mutant,
        share=share or SHARE[groups],
    )


def group_cases(epsilons: list[float]) -> Iterator[Case]:
    """Yield the audits of all kinds of groups, and of mutants at the largest epsilon."""
    for epsilon in epsilons:
        for groups in ("one", "circuit", "assigned"):
            yield group_case(epsilon, groups)
    epsilon = max(epsilons)
    one, assigned = calibrated(epsilon, "one"), calibrated(epsilon, "assigned")
    plan = one.plan
    wide = replace(one, plan=replace(plan, common_radius=3 * plan.common_radius))
    yield group_case(epsilon, "one", Pair(wide), "clipped at three times the radius the noise is for")
    yield group_case(epsilon, "one", Pair(one, std_factor=0.5), "noise of half the scale")
    odds = replace(assigned, plan=replace(assigned.plan, assignment_epsilon=assigned.plan.assignment_epsilon + 1.5))
    yield group_case(epsilon, "assigned", Pair(odds), "groups kept more often than charged for", 0.3)
    yield group_case(epsilon, "assigned", Pair(assigned, keep=True), "groups released as they are", 0.1)


# -- files that hide whom they belong to -----------------------------------------------------------------------------

ORDER_STD = 0.2
# Pairs opposite to one another, which exchange their files: no order is distinguished better.
ORDERED_FORECASTS = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
EXCHANGED = [1, 0, 3, 2]
ORDER_WORDS = "the files of four households, or each with that of its opposite"


class _OnGrid(Spy):
    """A study's noise, rounded to the grid of a release."""

    def __init__(self, noise: NoiseSource, std_factor: float):
        super().__init__(noise, lambda i: std_factor)
        self.grid = GRID

    def add_gaussian(self, exact: np.ndarray, std: float) -> np.ndarray:
        """Return ``exact`` with noise, on the grid."""
        return np.rint(super().add_gaussian(exact, std) / GRID) * GRID


def order_case(epsilon: float, std_factor: float = 1.0, mutant: str | None = None, forgets: bool = False) -> Case:
    """Return the audit of one neighbourhood, or of a broken release with the claim of the unbroken one."""
    files, steps = ORDERED_FORECASTS.shape
    public = LabelPublic(epsilon, DELTA, (0,) * files, steps, ORDER_STD, 0.0, GRID)
    mechanism = TowardsCentre.calibrate(public)
    # One pair alone would be allowed to stay so far apart.
    factor = np.sqrt(files / 2) if forgets else 1.0

    def observe(noise: NoiseSource, on_d: bool, runs: int) -> Mapping[str, Seen]:
        moved = factor * mechanism.moved(ORDERED_FORECASTS)
        own, other = (moved, moved[EXCHANGED]) if on_d else (moved[EXCHANGED], moved)
        spy = _OnGrid(noise, std_factor)
        answer = spy.add_gaussian(np.broadcast_to(own, (runs, *own.shape)), ORDER_STD)
        ratio = gaussian_log_ratio(answer, own, other, ORDER_STD * std_factor)
        return {OUTPUT: Seen(ratio if on_d else -ratio)}

    whose = {"family": mechanism.family, "adjacency": "class_label"}
    claim = Claim(epsilon, DELTA, mechanism.mu)
    return Case(mechanism.name, ORDER_WORDS, claim, (OUTPUT,), observe, **whose, mutant=mutant, share=4.0)


def order_cases(epsilons: list[float]) -> Iterator[Case]:
    """Yield the audits at every epsilon, and of mutants at the largest."""
    yield from map(order_case, epsilons)
    epsilon = max(epsilons)
    yield order_case(epsilon, 0.5, "noise of half the scale")
    yield order_case(epsilon, mutant="one exchanged pair is charged, not the order of all", forgets=True)
