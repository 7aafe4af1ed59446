"""The one list of reproduced papers: figures, printed tables and the table of verdicts of each.

Defects are listed in :mod:`meterdp_papers.errata`, so that a change of a figure does not measure them again.
"""

from __future__ import annotations

from dataclasses import dataclass

from meterdp.core.tables import Table
from meterdp.figures.entry import Figure
from meterdp_papers.common.printed import Printed
from meterdp_papers.common.tables import SCORECARD
from meterdp_papers.li import figures as li_figures
from meterdp_papers.li import printed as li_printed
from meterdp_papers.liu import figures as liu_figures
from meterdp_papers.liu import printed as liu_printed
from meterdp_papers.park import figures as park_figures
from meterdp_papers.park import printed as park_printed
from meterdp_papers.ramakrishna import figures as ramakrishna_figures
from meterdp_papers.ramakrishna import printed as ramakrishna_printed


@dataclass(frozen=True)
class Paper:
    """What the reproduction of a paper shows."""

    figures: tuple[Figure, ...]
    printed: tuple[Printed, ...]
    scorecard: Table = SCORECARD

    def figure(self, name: str) -> Figure:
        """Return the figure called ``name``."""
        return next(figure for figure in self.figures if figure.name == name)


# By the name of the paper's folder, here and among the results.
PAPERS: dict[str, Paper] = {
    "liu": Paper(liu_figures.FIGURES, liu_printed.PRINTED),
    "ramakrishna": Paper(ramakrishna_figures.FIGURES, ramakrishna_printed.PRINTED),
    "park": Paper(park_figures.FIGURES, park_printed.PRINTED),
    "li": Paper(li_figures.FIGURES, li_printed.PRINTED),
}
