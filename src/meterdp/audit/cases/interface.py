"""One audited pair of data sets, and a spy on the noise of a mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from meterdp.audit.judge import Claim, Seen
from meterdp.privacy.noise import NoiseSource

DELTA = 1e-5
OUTPUT, TRANSCRIPT = "output", "transcript"


@dataclass(frozen=True)
class Case:
    """A mechanism on one pair of neighbouring data sets.

    Parameters
    ----------
    neighbours : str
        What the pair differs in.
    claim : Claim
        That of the unbroken mechanism.
    views : tuple of str
        What is attacked, such as the output or the transcript; one row of the audit each.
    observe : callable (noise, on_d, runs) -> mapping of view to Seen
        Runs the mechanism on D or on its neighbour.
    mutant : str, optional
        What is broken.
    hole : bool
        Whether the claim of the unbroken mechanism is known to be wrong.
    share : float
        Share of the configured trials it takes.
    """

    mechanism: str
    neighbours: str
    claim: Claim
    views: tuple[str, ...]
    observe: Callable[[NoiseSource, bool, int], Mapping[str, Seen]]
    family: str = "sound"
    adjacency: str = "replace_one"
    mutant: str | None = None
    hole: bool = False
    share: float = 1.0

    @property
    def key(self) -> str:
        """Name of its stream of noise."""
        return f"{self.mechanism}, {self.adjacency}, {self.claim.epsilon:g}, {self.mutant}, {self.neighbours}"

    @property
    def expected(self) -> str:
        """What becomes of the claim: that of a mutant is "caught", one with a hole is one, others hold."""
        return "caught" if self.mutant else "hole" if self.hole else "holds"


class Spy:
    """A noise source that remembers what it was asked and what it answered; mutants break it.

    ``std_factor`` is the factor on the noise of a measurement, by its number from 0.
    """

    def __init__(self, noise: NoiseSource, std_factor: Callable[[int], float | np.ndarray] = lambda i: 1.0):
        self._noise, self._std_factor = noise, std_factor
        self.grid = noise.grid
        self.exact: list[np.ndarray] = []
        self.answers: list[np.ndarray] = []
        self.std: list[float | np.ndarray] = []

    def add_gaussian(self, exact: np.ndarray, std: float) -> np.ndarray:
        std = std * self._std_factor(len(self.std))
        answer = self._noise.add_gaussian(exact, std)
        self.exact.append(np.array(exact))
        self.answers.append(answer)
        self.std.append(std)
        return answer

    def uniform(self, shape: tuple[int, ...]) -> np.ndarray:
        return self._noise.uniform(shape)


class _Enough(Exception):
    """The last recorded answer was asked for; what follows is post-processing."""


def replayed(
    run: Callable[[Callable[[np.ndarray], np.ndarray]], object], answers: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Return the exact values a run asks noise for when it is handed recorded answers instead, until the last.

    ``run`` runs the mechanism with a function of the exact values in the place of noise.
    """
    exact: list[np.ndarray] = []

    def take(value: np.ndarray) -> np.ndarray:
        exact.append(np.array(value))
        if len(exact) == len(answers):
            raise _Enough
        return answers[len(exact) - 1]

    try:
        run(take)
    except _Enough:
        return exact
    raise ValueError("the run took fewer steps than were recorded")


def gaussian_log_ratio(answer: np.ndarray, own: np.ndarray, other: np.ndarray, std: float | np.ndarray) -> np.ndarray:
    """Return ln p(answer | own) - ln p(answer | other) of noisy and exact values (R, ...) per run, (R,) float64.

    Where the standard deviation of the noise is 0 an answer that differs is impossible.
    """
    axes = tuple(range(1, answer.ndim))
    # The difference of two squares, without their loss of digits.
    terms = (own - other) * (answer - (own + other) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(own == other, 0.0, terms / np.asarray(std) ** 2)
    return terms.sum(axis=axes)


def log_ratio_of_run(spy: Spy, there: Sequence[np.ndarray]) -> float:
    """Return ln p(answers | own) - ln p(answers | other) of all that a spy heard in one run."""
    heard = zip(spy.answers, spy.exact, there, spy.std, strict=True)
    return sum(float(gaussian_log_ratio(a[None], own[None], other[None], std)[0]) for a, own, other, std in heard)
