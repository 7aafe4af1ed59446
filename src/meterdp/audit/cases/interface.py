"""One audited pair of data sets, and a spy on the noise of a mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from meterdp.audit.judge import Claim, Seen
from meterdp.privacy.noise import NoiseSource

DELTA = 1e-5
OUTPUT, TRANSCRIPT = "output", "transcript"

# A claim is expected to hold, a mutant's to be refuted, and so that of a published mechanism with a hole.
Expected = Literal["holds", "caught", "hole"]


@dataclass(frozen=True)
class Case:
    """A mechanism on one pair of neighbouring data sets.

    Parameters
    ----------
    mechanism, family, adjacency : str
    neighbours : str
        What the pair differs in.
    claim : Claim
        That of the unbroken mechanism.
    views : tuple of str
        What is attacked, such as the output or the transcript; one row of the audit each.
    observe : callable (noise, on_d, runs) -> mapping of view to Seen
        Runs the mechanism on D or on its neighbour.
    expected : {"holds", "caught", "hole"}
    mutant : str, optional
        What is broken.
    share : float
        Share of the configured trials it takes.
    """

    mechanism: str
    family: str
    adjacency: str
    neighbours: str
    claim: Claim
    views: tuple[str, ...]
    observe: Callable[[NoiseSource, bool, int], Mapping[str, Seen]]
    expected: Expected = "holds"
    mutant: str | None = None
    share: float = 1.0

    @property
    def key(self) -> str:
        """Name of its stream of noise."""
        return f"{self.mechanism}, {self.adjacency}, {self.claim.epsilon:g}, {self.mutant}, {self.neighbours}"


class Spy:
    """A noise source that remembers what it was asked and what it answered; mutants break it.

    Parameters
    ----------
    noise : NoiseSource
    std_factor : callable (number of the measurement, from 0) -> factor on its noise, optional
    keep : bool
        Whether every label is kept.
    """

    def __init__(
        self, noise: NoiseSource, std_factor: Callable[[int], float | np.ndarray] = lambda i: 1.0, keep: bool = False
    ):
        self._noise, self._std_factor, self._keep = noise, std_factor, keep
        self.grid = noise.grid
        self.exact: list[np.ndarray] = []
        self.answers: list[np.ndarray] = []
        self.std: list[float | np.ndarray] = []

    def add_gaussian(self, exact: np.ndarray, std: float) -> np.ndarray:
        """Return ``exact`` with noise of the standard deviation asked for, or of a broken one."""
        std = std * self._std_factor(len(self.std))
        answer = self._noise.add_gaussian(exact, std)
        self.exact.append(np.array(exact))
        self.answers.append(answer)
        self.std.append(std)
        return answer

    def randomise(self, label: np.ndarray, groups: int, assignment_epsilon: float) -> np.ndarray:
        """Return labels after randomised response, or as they are."""
        return label if self._keep else self._noise.randomise(label, groups, assignment_epsilon)

    def uniform(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return uniform numbers."""
        return self._noise.uniform(shape)


class _Enough(Exception):
    """The last recorded answer was asked for; what follows is post-processing."""


def replayed(
    run: Callable[[Callable[[np.ndarray], np.ndarray]], object], answers: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Return the exact values a run asks noise for when it is handed recorded answers instead.

    Parameters
    ----------
    run : callable (take) -> anything
        Runs the mechanism with ``take`` (exact -> answer) in the place of noise.
    answers : sequence of array
        In order; the run is ended at the last.

    Raises
    ------
    ValueError
        If the run ends before.
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
    """Return ln p(answer | own) - ln p(answer | other) per run, (R,) float64.

    Parameters
    ----------
    answer, own, other : (R, ...) float64
        Noisy and exact values.
    std : float or array
        Of the noise; where it is 0 an answer that differs is impossible.
    """
    axes = tuple(range(1, answer.ndim))
    # The difference of two squares, without their loss of digits.
    terms = (own - other) * (answer - (own + other) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(own == other, 0.0, terms / np.asarray(std) ** 2)
    return terms.sum(axis=axes)
