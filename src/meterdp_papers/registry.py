"""The one list of reproduced papers: figures, printed tables and declared tables of each.

Defects are listed in :mod:`meterdp_papers.errata`, so that a change of a figure does not measure them again.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

from meterdp import catalogue as product
from meterdp.core.tables import Table
from meterdp.figures.entry import Figure
from meterdp_papers.common import tables as common
from meterdp_papers.common.printed import Printed
from meterdp_papers.li import figures as li_figures
from meterdp_papers.li import tables as li
from meterdp_papers.liu import figures as liu_figures
from meterdp_papers.liu import tables as liu
from meterdp_papers.park import figures as park_figures
from meterdp_papers.park import tables as park
from meterdp_papers.ramakrishna import figures as ramakrishna_figures
from meterdp_papers.ramakrishna import tables as ramakrishna


@dataclass(frozen=True)
class Paper:
    """What the reproduction of a paper shows."""

    tables: ModuleType
    figures: tuple[Figure, ...]
    printed: tuple[Printed, ...]

    def figure(self, name: str) -> Figure:
        """Return the figure called ``name``."""
        return next(figure for figure in self.figures if figure.name == name)


# By the name of the paper's folder, here and among the results.
PAPERS: dict[str, Paper] = {
    "liu": Paper(liu, liu_figures.FIGURES, liu_figures.PRINTED),
    "ramakrishna": Paper(ramakrishna, ramakrishna_figures.FIGURES, ramakrishna_figures.PRINTED),
    "park": Paper(park, park_figures.FIGURES, park_figures.PRINTED),
    "li": Paper(li, li_figures.FIGURES, li_figures.PRINTED),
}


def catalogue() -> dict[str, Table]:
    """Return every declared table by name: those of the product, then those of the papers."""
    papers = product.tables_of((common, *(paper.tables for paper in PAPERS.values())))
    if twice := papers.keys() & product.catalogue().keys():
        raise ValueError(f"two tables are called {', '.join(sorted(twice))}")
    return product.catalogue() | papers
