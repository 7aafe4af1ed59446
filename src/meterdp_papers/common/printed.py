"""A table that the page of a paper prints beside its figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from meterdp.core.tables import Table
from meterdp.figures.report.grid import Grid


@dataclass(frozen=True)
class Printed:
    """One printed table.

    Parameters
    ----------
    name : str
        Name of its file in the folder of the paper.
    table : Table
        What the file is an instance of.
    write : callable (path) -> Grid
        The table as text.
    """

    name: str
    table: Table
    write: Callable[..., Grid]
