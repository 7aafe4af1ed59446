"""Every declared table by name: those of the product and those of the reproduced papers."""

from __future__ import annotations

from meterdp import catalogue as product
from meterdp.core.tables import Table
from meterdp_papers.common import tables as common
from meterdp_papers.li import tables as li
from meterdp_papers.liu import tables as liu
from meterdp_papers.park import tables as park
from meterdp_papers.ramakrishna import tables as ramakrishna


def catalogue() -> dict[str, Table]:
    """Return every declared table by name, those of the product first."""
    papers = product.tables_of((common, liu, ramakrishna, park, li))
    if twice := papers.keys() & product.catalogue().keys():
        raise ValueError(f"two tables are called {', '.join(sorted(twice))}")
    return product.catalogue() | papers
