"""The two records of an errata table: what is wrong in a paper, and the numbers that show it.

A finding is computed, never typed in; where an independent closed form exists it stands beside the value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from meterdp.core.noise import NoiseSource


@dataclass(frozen=True)
class Finding:
    """One number that shows a defect.

    Parameters
    ----------
    id : str
        Defect it belongs to, such as "L1".
    where : str
        Place in the paper.
    statement : str
        What the number says, one sentence.
    quantity : str
        What was computed.
    unit : str
        "1" where dimensionless.
    value : float
    settings : str
        Public synthetic setting it was computed in.
    closed_form : float, optional
        The same number by a formula or quadrature that shares nothing with ``value``.
    claimed : float, optional
        What the paper's text implies for it.
    standard_error : float, optional
        Monte Carlo standard error of ``value``; None where nothing is random.
    """

    id: str
    where: str
    statement: str
    quantity: str
    unit: str
    value: float
    settings: str
    closed_form: float | None = None
    claimed: float | None = None
    standard_error: float | None = None


@dataclass(frozen=True)
class Defect:
    """One row of the errata.

    Parameters
    ----------
    id, where : str
    wrong : str
        What is wrong, one sentence.
    consequence : str
        What follows from it.
    instead : str
        What the sound release of this project does.
    test : str
        Name of the test that shows it.
    measure : callable (NoiseSource) -> tuple of Finding
        Computes the findings; the first is the one of the overview.
    note : str
        Anything a reader has to know about the numbers.
    """

    id: str
    where: str
    wrong: str
    consequence: str
    instead: str
    test: str
    measure: Callable[[NoiseSource], tuple[Finding, ...]]
    note: str = ""
