"""The release of records in a ball, :func:`meterdp.mechanisms.proven.mechanism.fit_ball`, on pairs at its surface."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from meterdp.audit.cases.interface import DELTA, OUTPUT, TRANSCRIPT, Case
from meterdp.audit.cases.sound import Pair, broken
from meterdp.audit.judge import Claim
from meterdp.core.noise import fixed_normals
from meterdp.mechanisms.interface import PrivateRecords
from meterdp.mechanisms.proven.domain import Ball
from meterdp.mechanisms.proven.mechanism import Proven, calibrate_ball

# As few records, entries and rounds as for loads.
RECORDS, DIMENSION, CLASSES, ROUNDS = 200, 2, 3, 1
CENTRE, RADIUS = (3.0, -1.0), 2.0
SPREAD = 0.2


def records(*first: tuple[float, float]) -> PrivateRecords:
    """Return records that begin with the given ones, in units of the ball; all others are fixed and inside."""
    others = SPREAD * fixed_normals("audited records in a ball", (RECORDS - 1, DIMENSION))
    unit = np.concatenate([np.reshape(first, (-1, DIMENSION)), others])
    return PrivateRecords(np.array(CENTRE) + RADIUS * unit)


# Of points beyond the surface, at its centre and between those whose pair moved the transcript most: 95 % of mu.
PAIRS = {
    "replace_one": (records((0.0, 2.0)), records((2.0, 0.0))),
    "add_remove": (records((0.0, 2.0)), records()),
}
WORDS = {
    "replace_one": "a record beyond the surface of the ball, on one axis or on the other",
    "add_remove": "a record beyond the surface of the ball, present or not",
}


def calibrated(epsilon: float, adjacency: str) -> Proven:
    """Return the release with one round."""
    ball = Ball(RADIUS, CENTRE)
    return calibrate_ball(CLASSES, DIMENSION, RECORDS, epsilon, DELTA, ball, adjacency=adjacency, rounds=ROUNDS)


def pair(epsilon: float, adjacency: str) -> Pair:
    """Return the release on the pair that is audited."""
    return Pair(calibrated(epsilon, adjacency), *PAIRS[adjacency])


def release_case(epsilon: float, adjacency: str) -> Case:
    """Return the audit of the unbroken release."""
    audited = pair(epsilon, adjacency)
    claim, views = Claim(epsilon, DELTA, audited.mechanism.mu), (OUTPUT, TRANSCRIPT)
    return Case("sound, ball", "sound", adjacency, WORDS[adjacency], claim, views, audited.observe, share=0.3)


def cases(epsilons: list[float]) -> Iterator[Case]:
    """Yield the audits at every epsilon, and of mutants at the largest."""
    for epsilon in epsilons:
        for adjacency in PAIRS:
            yield release_case(epsilon, adjacency)
    epsilon = max(epsilons)
    unbroken = release_case(epsilon, "replace_one")
    yield broken(unbroken, "noise of half the scale", pair(epsilon, "replace_one"), lambda i: 0.5)
    accounted = Pair(calibrated(epsilon, "add_remove"), *PAIRS["replace_one"])
    yield broken(unbroken, "replacing accounted for as adding", accounted, share=0.8)
