"""All errata: papers, their defects, and the findings of every defect."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict

from meterdp.core.noise import NoiseSource
from meterdp_papers.common.finding import Defect, Finding
from meterdp_papers.common.tables import ERRATA
from meterdp_papers.li import errata as li
from meterdp_papers.liu import errata as liu
from meterdp_papers.park import errata as park
from meterdp_papers.ramakrishna import errata as ramakrishna

# Title of the paper -> its defects, in the order of the documentation. A new paper is one line.
PAPERS: dict[str, tuple[Defect, ...]] = {
    liu.PAPER: liu.DEFECTS,
    ramakrishna.PAPER: ramakrishna.DEFECTS,
    park.PAPER: park.DEFECTS,
    li.PAPER: li.DEFECTS,
}


def measure(source: Callable[[str], NoiseSource]) -> dict[str, tuple[Finding, ...]]:
    """Return the findings of every defect by id.

    Parameters
    ----------
    source : callable (id) -> NoiseSource
        A stream per defect, so that a change in one leaves the numbers of the others alone.
    """
    return {defect.id: defect.measure(source(defect.id)) for defects in PAPERS.values() for defect in defects}


def as_columns(findings: Iterable[Finding]) -> dict[str, list]:
    """Return findings as the columns of table ``ERRATA``."""
    rows = [asdict(f) for f in findings]
    return {c.name: [row[c.name] for row in rows] for c in ERRATA.columns}
