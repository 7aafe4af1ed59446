"""Forecasts: the sound one by groups, and files that hide whom they belong to; what breaks either claim.

Of files that hide whom they belong to an adversary knows every forecast, so the distribution of all files under
either order is known, and the likelihood ratio is the best attack on what is released. Noise is drawn in floating
point and rounded to the grid of a release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

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
from meterdp.core.weekend import SATURDAY_SUNDAY
from meterdp.groupforecast.mechanism import ForecastRecords, GroupForecast
from meterdp.groupforecast.plan import CELL_SHARE, HOURS, GroupPublic, cells_of
from meterdp.groupforecast.records import household_records
from meterdp.privacy.noise import GRID, NoiseSource

CIRCUITS, HOUSEHOLDS = 2, 40
GROUPED = ("one", "circuit")
# A run takes some milliseconds.
SHARE = 0.2
WORDS = "a household that is always on at the highest level, or one of short peaks at night"


@dataclass(frozen=True)
class Pair:
    """A calibrated mechanism and a factor on all its noise."""

    mechanism: GroupForecast
    std_factor: float = 1.0

    def observe(self, noise: NoiseSource, on_d: bool, runs: int) -> Mapping[str, Seen]:
        """Release ``runs`` times and replay every run's answers on the neighbour."""
        own, other = (records(side, self.mechanism.public) for side in (on_d, not on_d))
        ratio, numbers = np.empty(runs), []

        def on_neighbour(take):
            self.mechanism.run(other.x, lambda query, sums: take(sums))

        for r in range(runs):
            spy = Spy(noise, lambda i: self.std_factor)
            released = self.mechanism.release(own, spy)
            ratio[r] = log_ratio_of_run(spy, replayed(on_neighbour, spy.answers))
            week = released.expected_kwh @ CELL_SHARE
            numbers.append(
                [*week, *released.quantile_kwh[0, 20], *released.expected_ratio, *released.quantile_ratio[3]]
            )
        return {OUTPUT: Seen(numbers=np.array(numbers)), TRANSCRIPT: Seen(ratio if on_d else -ratio)}


def records(on_d: bool, public: GroupPublic) -> ForecastRecords:
    """Return the records of a week; the first household's is as far as can be from what it is on the other side."""
    count, cell = public.records, cells_of(4, 7, SATURDAY_SUNDAY)
    level, rest = fixed_normals("audited levels", (count, 1)), fixed_normals("audited hours", (count, len(cell)))
    kwh = 0.5 * np.exp(0.9 * level + 0.6 * rest)
    kwh[0] = public.high_kwh if on_d else 0.001
    kwh[0, 3::24] = public.high_kwh if on_d else 0.5
    return household_records(kwh, cell, public.cell_shape)


def calibrated(epsilon: float, groups: str) -> GroupForecast:
    """Return the mechanism for a small list."""
    circuit = tuple((np.arange(HOUSEHOLDS) % CIRCUITS).tolist()) if groups == "circuit" else None
    shape = tuple((1 + 0.5 * np.sin(np.arange(HOURS) / 4)).tolist())
    return GroupForecast.calibrate(GroupPublic(epsilon, DELTA, HOUSEHOLDS, 0.5, 20.0, shape, groups, circuit))


def group_case(
    epsilon: float, groups: str, pair: Pair | None = None, mutant: str | None = None, share: float = SHARE
) -> Case:
    """Return the audit of the group forecast, or of a broken one with the claim of the unbroken one."""
    mechanism = calibrated(epsilon, groups)
    return Case(
        f"group_forecast ({groups})",
        WORDS,
        Claim(epsilon, DELTA, mechanism.mu),
        (TRANSCRIPT,) if mutant else (OUTPUT, TRANSCRIPT),
        (pair or Pair(mechanism)).observe,
        mutant=mutant,
        share=share,
    )


class _Wide(GroupForecast):
    """Households that count three times as much as the noise is for."""

    def profile_vectors(self, x, median_kwh, bound):
        return 3 * super().profile_vectors(x, median_kwh, bound)


def group_cases(epsilons: list[float]) -> Iterator[Case]:
    """Yield the audits of both kinds of groups, and of mutants at the largest epsilon."""
    for epsilon in epsilons:
        for groups in GROUPED:
            yield group_case(epsilon, groups)
    epsilon = max(epsilons)
    one = calibrated(epsilon, "one")
    wide = Pair(_Wide(one.public, one.plan))
    yield group_case(epsilon, "one", wide, "households count three times as much as the noise is for")
    yield group_case(epsilon, "one", Pair(one, std_factor=0.5), "noise of half the scale")


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
