"""Forecast files that hide whom they belong to: two orders of the same files, and what breaks the claim.

An adversary knows every forecast, so the distribution of all files under either order is known, and the likelihood
ratio is the best attack on what is released. Noise is drawn in floating point and rounded to the grid of a release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from meterdp.audit.cases.interface import DELTA, OUTPUT, Case, Spy, gaussian_log_ratio
from meterdp.audit.judge import Claim, Seen
from meterdp.class_noise.towards_centre import LabelPublic, TowardsCentre
from meterdp.privacy.noise import GRID, NoiseSource

STD = 0.2
# Pairs opposite to one another, which exchange their files: no order is distinguished better.
FORECASTS = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
EXCHANGED = [1, 0, 3, 2]
WORDS = "the files of four households, or each with that of its opposite"


class _OnGrid(Spy):
    """A study's noise, rounded to the grid of a release."""

    def __init__(self, noise: NoiseSource, std_factor: float):
        super().__init__(noise, lambda i: std_factor)
        self.grid = GRID

    def add_gaussian(self, exact: np.ndarray, std: float) -> np.ndarray:
        """Return ``exact`` with noise, on the grid."""
        return np.rint(super().add_gaussian(exact, std) / GRID) * GRID


def case(epsilon: float, std_factor: float = 1.0, mutant: str | None = None, forgets: bool = False) -> Case:
    """Return the audit of one neighbourhood, or of a broken release with the claim of the unbroken one."""
    public = LabelPublic(epsilon, DELTA, (0,) * len(FORECASTS), FORECASTS.shape[1], STD, 0.0, GRID)
    mechanism = TowardsCentre.calibrate(public)
    # One pair alone would be allowed to stay so far apart.
    factor = np.sqrt(len(FORECASTS) / 2) if forgets else 1.0

    def observe(noise: NoiseSource, on_d: bool, runs: int) -> Mapping[str, Seen]:
        moved = factor * mechanism.moved(FORECASTS)
        own, other = (moved, moved[EXCHANGED]) if on_d else (moved[EXCHANGED], moved)
        spy = _OnGrid(noise, std_factor)
        answer = spy.add_gaussian(np.broadcast_to(own, (runs, *own.shape)), STD)
        ratio = gaussian_log_ratio(answer, own, other, STD * std_factor)
        return {OUTPUT: Seen(ratio if on_d else -ratio)}

    return Case(
        mechanism.name,
        mechanism.family,
        "class_label",
        WORDS,
        Claim(epsilon, DELTA, mechanism.mu),
        (OUTPUT,),
        observe,
        "caught" if mutant else "holds",
        mutant,
        4.0,
    )


def cases(epsilons: list[float]) -> Iterator[Case]:
    """Yield the audits at every epsilon, and of mutants at the largest."""
    for epsilon in epsilons:
        yield case(epsilon)
    epsilon = max(epsilons)
    yield case(epsilon, 0.5, "noise of half the scale")
    yield case(epsilon, mutant="one exchanged pair is charged, not the order of all", forgets=True)
