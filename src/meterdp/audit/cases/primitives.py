"""Gaussian noise on its own, where the truth is known: it shows how sharp the audit is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from meterdp.audit.cases.interface import DELTA, OUTPUT, Case, Spy
from meterdp.audit.judge import Claim, Seen
from meterdp.privacy import gaussian
from meterdp.privacy.noise import NoiseSource

_AT_ONCE = 1_000_000


def gaussian_noise(epsilon: float, std_factor: float = 1.0, mutant: str | None = None) -> Case:
    """Return the audit of one number of sensitivity 1 with Gaussian noise for (epsilon, 1e-5)."""
    mu = gaussian.mu_for(epsilon, DELTA)

    def observe(noise: NoiseSource, on_d: bool, runs: int) -> Mapping[str, Seen]:
        spy = Spy(noise, lambda i: std_factor)
        parts = [min(_AT_ONCE, runs - first) for first in range(0, runs, _AT_ONCE)]
        return {OUTPUT: Seen(np.concatenate([spy.add_gaussian(np.full(n, float(on_d)), 1 / mu) for n in parts]))}

    return Case("scalar Gaussian", "a number 1 or 0", Claim(epsilon, DELTA, mu), (OUTPUT,), observe, mutant=mutant)


def cases(epsilons: list[float]) -> Iterator[Case]:
    """Yield all audits of one number."""
    for epsilon in epsilons:
        yield gaussian_noise(epsilon)
    for factor in (0.5, 0.9):
        yield gaussian_noise(max(epsilons), factor, f"noise of {factor:g} times the scale")
