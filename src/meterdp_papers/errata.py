"""All errata: papers, their defects, and the findings of every defect."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from types import ModuleType

from meterdp.privacy.noise import NoiseSource
from meterdp_papers.common.tables import ERRATA, Defect, Finding
from meterdp_papers.li import errata as li
from meterdp_papers.liu import errata_inputs, errata_moments
from meterdp_papers.park import errata as park
from meterdp_papers.ramakrishna import errata_bounds, errata_descent, errata_forecasts, errata_guarantees


def defects_of(*modules: ModuleType) -> tuple[Defect, ...]:
    """Return the defects that modules declare, by number."""
    found = [value for module in modules for value in vars(module).values() if isinstance(value, Defect)]
    return tuple(sorted(found, key=lambda defect: int(defect.id[1:])))


# Title of the paper -> its defects.
PAPERS: dict[str, tuple[Defect, ...]] = {
    "Liu, Scaglione, Peisert: release of Gaussian mixtures by KL minimisation": defects_of(
        errata_inputs, errata_moments
    ),
    "Ramakrishna, Scaglione, Wu, Ravi, Peisert: a Gaussian mechanism for class-based data": defects_of(
        errata_bounds, errata_descent, errata_forecasts, errata_guarantees
    ),
    "Park, Foulds, Chaudhuri, Welling: differentially private EM": defects_of(park),
    "Li, Gundersen, Tjell, Wisniewski, Christensen: distributed EM": defects_of(li),
}


def measure(source: Callable[[str], NoiseSource]) -> dict[str, tuple[Finding, ...]]:
    """Return the findings of every defect by id.

    ``source`` gives a stream per defect, so that a change in one leaves the numbers of the others alone.
    """
    return {defect.id: defect.measure(source(defect.id)) for defects in PAPERS.values() for defect in defects}


def as_columns(findings: Iterable[Finding]) -> dict[str, list]:
    """Return findings as the columns of table ``ERRATA``."""
    rows = [asdict(f) for f in findings]
    return {c.name: [row[c.name] for row in rows] for c in ERRATA.columns}
