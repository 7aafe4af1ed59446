"""Mixtures of vectors in two public strata, and a stratum that is not public."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from meterdp.audit.cases.interface import DELTA, OUTPUT, TRANSCRIPT, Case, Spy, log_ratio_of_run, replayed
from meterdp.audit.judge import Claim, Seen
from meterdp.core.noise import fixed_normals
from meterdp.households.mechanism import HouseholdRecords, Households, HouseholdsPublic, Population
from meterdp.mechanisms.proven.mechanism import Box
from meterdp.privacy.noise import NoiseSource

ENTRIES, HOUSEHOLDS, STRATA = 2, 200, 2
SPREAD = 0.2
# A run takes some milliseconds; a mutant that spends the square root of two times as much is seen with more of them.
SHARE, MUTANT_SHARE = 0.05, 0.25
FAR, ELSEWHERE = (1.0, 1.0), (1.0, -1.0)


def vectors(first: tuple[float, float]) -> np.ndarray:
    """Return vectors that begin with the given one; all others are fixed and inside the box."""
    others = np.clip(SPREAD * fixed_normals("audited vectors", (HOUSEHOLDS - 1, ENTRIES)), -1, 1)
    return np.vstack([first, others])


def calibrated(epsilon: float) -> Households:
    """Return the mechanism for two strata of the same size, the first household in the first."""
    stratum = tuple((np.arange(HOUSEHOLDS) % STRATA).tolist())
    return Households.calibrate(HouseholdsPublic(epsilon, DELTA, Box((-1.0,) * ENTRIES, (1.0,) * ENTRIES), stratum))


def observed(mechanism: Households, moving: bool = False):
    """Return what observes releases; of a mutant, the household also changes strata with the next one."""

    def observe(noise: NoiseSource, on_d: bool, runs: int) -> Mapping[str, Seen]:
        d, neighbour = vectors(FAR), vectors(ELSEWHERE)
        if moving:
            d[1] = ELSEWHERE
            neighbour = np.vstack([d[[1, 0]], d[2:]])
        own, other = (d, neighbour) if on_d else (neighbour, d)
        ratio, numbers = np.zeros(runs), []
        for r in range(runs):
            spy = Spy(noise)
            numbers.append(_numbers(mechanism.release(HouseholdRecords.of(own), spy)[0]))
            there = replayed(
                lambda take: mechanism.run(other, [lambda _, exact: take(exact)] * STRATA),
                spy.answers,
            )
            ratio[r] = log_ratio_of_run(spy, there)
        return {OUTPUT: Seen(numbers=np.array(numbers)), TRANSCRIPT: Seen(ratio if on_d else -ratio)}

    return observe


def _numbers(populations: tuple[Population, ...]) -> np.ndarray:
    rows, columns = np.triu_indices(ENTRIES)
    mixtures = (one.mixture for one in populations)
    parts = ((one.weights, one.means, one.covariances[:, rows, columns]) for one in mixtures)
    return np.concatenate([part.ravel() for of_one in parts for part in of_one])


def cases(epsilons: list[float]) -> Iterator[Case]:
    """Yield the audits of the release, and of a stratum that follows from readings at the largest epsilon."""
    for epsilon in epsilons:
        mechanism = calibrated(epsilon)
        yield Case(
            "households",
            "a household at one corner of the box or at another, in the same public stratum",
            Claim(epsilon, DELTA, mechanism.mu),
            (OUTPUT, TRANSCRIPT),
            observed(mechanism),
            share=SHARE,
        )
    epsilon = max(epsilons)
    mechanism = calibrated(epsilon)
    yield replace(
        Case("households", "", Claim(epsilon, DELTA, mechanism.mu), (TRANSCRIPT,), observed(mechanism, moving=True)),
        neighbours="a household at one corner of the box, in one stratum or in the other",
        mutant="strata that follow from readings",
        share=MUTANT_SHARE,
    )
