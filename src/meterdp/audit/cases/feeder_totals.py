"""The sound feeder totals, of listed and of measured meters, and what breaks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from meterdp.audit.cases.interface import DELTA, OUTPUT, TRANSCRIPT, Case, Spy, log_ratio_of_run, replayed
from meterdp.audit.judge import Claim, Seen
from meterdp.core.noise import fixed_normals
from meterdp.feeders.mechanism import FeederRecords, FeederTotals
from meterdp.feeders.plan import FeederPlan, FeederPublic, Measurement
from meterdp.privacy.noise import NoiseSource

METERS, FEEDERS, PER_DAY = 24, 3, 6
# A run takes some milliseconds, most of them for what follows the noise.
SHARE, MUTANT_SHARE = 0.1, 0.2
CHANGES = {
    "listed": "little energy, late, or as much as counts, early",
    "measured": "no reading, or as much energy as counts, early",
}


class Unprocessed(FeederTotals):
    """The mechanism up to its noise: all that an attack on the transcript needs."""

    def _totals(self, common: np.ndarray, own: np.ndarray) -> None:
        return None


@dataclass(frozen=True)
class Pair:
    """A calibrated mechanism, and a factor on all its noise."""

    mechanism: FeederTotals
    std_factor: float = 1.0

    def observe(self, noise: NoiseSource, on_d: bool, runs: int) -> Mapping[str, Seen]:
        """Release ``runs`` times and compare every run's answers with the sums of the neighbour."""
        own, other = (records(side, self.mechanism.public.count) for side in (on_d, not on_d))
        other = self.mechanism.sums(FeederRecords(other))
        ratio, numbers, there = np.zeros(runs), [], None
        for r in range(runs):
            spy = Spy(noise, lambda i: self.std_factor)
            released = self.mechanism.release(FeederRecords(own), spy)
            # The sums follow from records alone, so the neighbour's are those of any answers.
            there = there or replayed(
                lambda take: self.mechanism.run(other, lambda _, exact: take(exact)), spy.answers
            )
            ratio[r] = log_ratio_of_run(spy, there)
            if released is not None:
                numbers.append([*released.total_kwh[:2].ravel(), *released.devices[:2], *released.error_kwh[:2]])
        seen = {TRANSCRIPT: Seen(ratio if on_d else -ratio)}
        return seen | ({OUTPUT: Seen(numbers=np.array(numbers))} if numbers else {})


def records(on_d: bool, count: str) -> np.ndarray:
    """Return records (N, T) in kWh; the first meter's is as far from its neighbour's as it gets."""
    level, rest = fixed_normals("audited meters", (METERS, 1)), fixed_normals("audited intervals", (METERS, PER_DAY))
    x = 2.0 * np.exp(0.5 * level + 0.3 * rest)
    little = np.array([0.0] * (PER_DAY - 1) + [6.0])
    if on_d:
        x[0] = np.nan if count == "measured" else little
    else:
        x[0] = 1e6 * np.isin(np.arange(PER_DAY), [1, 2])
    return x


def calibrated(epsilon: float, count: str, kind: type[FeederTotals] = FeederTotals) -> FeederTotals:
    """Return the mechanism for a few small feeders and one day."""
    feeder = tuple((np.arange(METERS) % FEEDERS).tolist())
    return kind.calibrate(FeederPublic(epsilon, DELTA, feeder, FEEDERS, PER_DAY, 1, count=count))


def case(epsilon: float, count: str, pair: Pair | None = None, mutant: str | None = None) -> Case:
    """Return the audit of the feeder totals, or of broken ones with the claim of the unbroken."""
    mechanism = calibrated(epsilon, count)
    return Case(
        f"feeder_totals ({count})",
        CHANGES[count],
        Claim(epsilon, DELTA, mechanism.mu),
        (TRANSCRIPT,) if mutant else (OUTPUT, TRANSCRIPT),
        (pair or Pair(mechanism)).observe,
        mutant=mutant,
        share=MUTANT_SHARE if mutant else SHARE,
    )


def cases(epsilons: list[float]) -> Iterator[Case]:
    """Yield the audits of both counts, and of mutants at the largest epsilon."""
    for epsilon in epsilons:
        for count in CHANGES:
            yield case(epsilon, count)
    epsilon = max(epsilons)
    listed = calibrated(epsilon, "listed", Unprocessed)
    plan = listed.plan
    yield case(epsilon, "listed", Pair(listed, std_factor=0.5), "noise of half the scale")
    high = replace(listed, plan=replace(plan, level_limit=3 * plan.level_limit))
    yield case(epsilon, "listed", Pair(high), "levels limited at three times what the noise is for")
    wide = replace(listed, plan=_both(plan, lambda part: replace(part, radius=5 * part.radius)))
    yield case(epsilon, "listed", Pair(wide), "shapes clipped at five times the radius the noise is for")
    measured = calibrated(epsilon, "measured", Unprocessed)
    heavy = replace(
        measured, plan=_both(measured.plan, lambda part: replace(part, count_weight=2 * part.count_weight))
    )
    yield case(epsilon, "measured", Pair(heavy), "meters counted at twice the weight that costs nothing")


def _both(plan: FeederPlan, broken: Callable[[Measurement], Measurement]) -> FeederPlan:
    return replace(plan, common=broken(plan.common), own=broken(plan.own))
