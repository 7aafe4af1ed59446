"""The two records of an errata table: what is wrong in a paper, and the numbers that show it.

A finding is computed, never typed in; where an independent closed form exists it stands beside the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from meterdp.privacy.noise import NoiseSource


@dataclass(frozen=True)
class Finding:
    """One number that shows a defect."""

    settings: str  # public synthetic setting it was computed in
    where: str  # place in the paper
    statement: str  # what the number says, one sentence
    quantity: str  # what was computed
    value: float
    unit: str = "1"  # "1" where dimensionless
    closed_form: float | None = None  # the same number by a formula or quadrature that shares nothing with ``value``
    claimed: float | None = None  # what the paper's text implies for it
    standard_error: float | None = None  # Monte Carlo standard error of ``value``; None where nothing is random
    id: str = ""  # of the defect it belongs to, which fills it in


@dataclass(frozen=True)
class Defect:
    """One row of the errata."""

    id: str
    where: str
    wrong: str  # what is wrong, one sentence
    consequence: str  # what follows from it
    instead: str  # what the sound release of this project does
    compute: Callable[[NoiseSource], tuple[Finding, ...]]  # the first is the one of the overview
    note: str = ""  # anything a reader has to know about the numbers

    @property
    def test(self) -> str:
        """How the name of the test that shows it begins."""
        return f"test_{self.id}_"

    def measure(self, noise: NoiseSource) -> tuple[Finding, ...]:
        """Compute the findings."""
        return tuple(replace(finding, id=self.id) for finding in self.compute(noise))


def defect(
    id: str, where: str, wrong: str, consequence: str, instead: str, note: str = ""
) -> Callable[[Callable[[NoiseSource], tuple[Finding, ...]]], Defect]:
    """Make a :class:`Defect` of the function below, which computes its findings."""
    return lambda compute: Defect(id, where, wrong, consequence, instead, compute, note)


def averaged(values: Sequence[float] | np.ndarray) -> dict[str, float]:
    """Return ``value`` and ``standard_error`` of a finding that is a mean of independent values."""
    return {"value": float(np.mean(values)), "standard_error": float(np.std(values, ddof=1) / np.sqrt(len(values)))}
