"""The sound release fitted by nodes that share its noise: what the colluding ones see of a household of another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from meterdp.audit.cases import sound
from meterdp.audit.cases.interface import DELTA, OUTPUT, TRANSCRIPT, Case, Spy, gaussian_log_ratio, replayed
from meterdp.audit.judge import Claim, Seen
from meterdp.core.noise import StudyNoise, keyed_generator
from meterdp.federated.graph import complete
from meterdp.federated.shared_noise import SharedSums, release_together
from meterdp.mechanisms.proven.mechanism import Proven
from meterdp.privacy.noise import NoiseSource

NODES, COLLUDING = 5, 3
HONEST = NODES - COLLUDING
REPLACED = sound.PAIRS["loads"]["replace_one"]
WORDS = f"{sound.WORDS['loads', 'replace_one']}, at one of {NODES} nodes, to {COLLUDING} others"
_AT_ONCE = 1000


def shared(epsilon: float, colluding: int) -> tuple[Proven, SharedSums]:
    """Return the sound release, its noise in shares for so many colluding nodes, and how nodes add up."""
    public = sound.calibrated("loads", epsilon, "replace_one").public
    sums = SharedSums("edge_masks", complete(NODES), colluding)
    return Proven.calibrate(replace(public, sound=replace(public.sound, shares=sums.shares))), sums


def colluders_see(
    mechanism: Proven, sums: SharedSums, noise: NoiseSource, on_d: bool, runs: int, silent: bool = False
) -> Mapping[str, Seen]:
    """Run all nodes and return the loss of the sums the colluding ones, the last, learn, and what is released.

    ``silent`` is a mutant: the household's own node adds no noise.
    """
    own, other = (np.array_split(one.x, NODES) for one in (REPLACED if on_d else REPLACED[::-1]))
    ratios, numbers = [], []
    for first in range(0, runs, _AT_ONCE):
        n = min(_AT_ONCE, runs - first)
        # A stream for each node, as they draw at the same time; all follow from the case's.
        seed = int(noise.uniform((1,))[0] * 2**52)
        spies = [Spy(StudyNoise(seed, i), lambda _, i=i: 1e-12 if silent and i == 0 else 1.0) for i in range(NODES)]
        released = release_together(mechanism, sums, own, spies, keyed_generator(seed, "masks"), n)
        numbers.append(sound.released_numbers(released[0]))
        honest = spies[:HONEST]
        totals = [sum(answers) for answers in zip(*(spy.answers for spy in spies), strict=True)]

        def run(take, totals=totals, n=n):
            mechanism.run(other[0], lambda step, stack: take(stack), n)

        # Of the honest only the first node holds another record on the other data set.
        there = replayed(run, totals)
        ratio = np.zeros(n)
        for step, elsewhere in enumerate(there):
            answer = sum(spy.answers[step] for spy in honest)
            exact = sum(spy.exact[step] for spy in honest)
            std = np.sqrt(sum(np.square(spy.std[step]) for spy in honest))
            ratio += gaussian_log_ratio(answer, exact, exact - spies[0].exact[step] + elsewhere, std)
        ratios.append(ratio if on_d else -ratio)
    return {OUTPUT: Seen(numbers=np.concatenate(numbers)), TRANSCRIPT: Seen(np.concatenate(ratios))}


def case(epsilon: float) -> Case:
    """Return the audit of the unbroken release."""
    mechanism, sums = shared(epsilon, COLLUDING)

    def observe(noise: NoiseSource, on_d: bool, runs: int) -> Mapping[str, Seen]:
        return colluders_see(mechanism, sums, noise, on_d, runs)

    claim, views = Claim(epsilon, DELTA, mechanism.mu), (OUTPUT, TRANSCRIPT)
    return Case("sound, shared noise", WORDS, claim, views, observe, share=0.3)


def cases(epsilons: list[float]) -> Iterator[Case]:
    """Yield the audits at every epsilon, and of mutants at the largest."""
    for epsilon in epsilons:
        yield case(epsilon)
    epsilon = max(epsilons)
    unbroken = replace(case(epsilon), views=(TRANSCRIPT,))
    for_nobody, right = shared(epsilon, 0), shared(epsilon, COLLUDING)
    yield replace(
        unbroken,
        mutant="noise in shares as if nobody colluded",
        observe=lambda noise, on_d, runs: colluders_see(*for_nobody, noise, on_d, runs),
    )
    yield replace(
        unbroken,
        mutant="a node that leaves its noise to the others",
        observe=lambda noise, on_d, runs: colluders_see(*right, noise, on_d, runs, silent=True),
    )
