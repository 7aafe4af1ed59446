"""The one list of reproduced papers: figures, printed tables and declared tables of each.

Defects are listed in :mod:`meterdp_papers.errata`, so that a change of a figure does not measure them again.
"""

from __future__ import annotations

from meterdp import catalogue as product
from meterdp.core.tables import Table
from meterdp_papers.common import tables as common
from meterdp_papers.common.figures import Exhibits
from meterdp_papers.li import figures as li_figures
from meterdp_papers.li import tables as li
from meterdp_papers.liu import figures as liu_figures
from meterdp_papers.liu import tables as liu
from meterdp_papers.park import figures as park_figures
from meterdp_papers.park import tables as park
from meterdp_papers.ramakrishna import figures as ramakrishna_figures
from meterdp_papers.ramakrishna import tables as ramakrishna

# By the name of the paper's folder, here and among the results.
PAPERS: dict[str, Exhibits] = {
    "liu": liu_figures.EXHIBITS,
    "ramakrishna": ramakrishna_figures.EXHIBITS,
    "park": park_figures.EXHIBITS,
    "li": li_figures.EXHIBITS,
}


def catalogue() -> dict[str, Table]:
    """Return every declared table by name: those of the product, then those of the papers."""
    papers = product.tables_of((common, liu, ramakrishna, park, li))
    if twice := papers.keys() & product.catalogue().keys():
        raise ValueError(f"two tables are called {', '.join(sorted(twice))}")
    return product.catalogue() | papers
