"""How a figure and a printed table of a paper are declared: from one table of the reproduction, on one frame."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from meterdp.core.tables import Table
from meterdp.report.pages import Figure, Grid
from meterdp.report.style import WIDTH_IN, Look, canvas, legend_below, line_key, load

if TYPE_CHECKING:
    import pandas as pd

NOTE_LETTERS = 125


@dataclass(frozen=True)
class Printed:
    """A table that the page of a paper prints: the name of its file in the folder of the paper, and its text."""

    name: str
    table: Table
    write: Callable[..., Grid]


class Exhibits:
    """The figures and printed tables of one paper, in the order in which they are declared."""

    def __init__(self, paper: str):
        self._paper = paper
        self.figures: list[Figure] = []
        self.printed: list[Printed] = []

    def named(self, name: str) -> Figure:
        """Return the figure called ``name``."""
        return next(figure for figure in self.figures if figure.name == name)

    def figure(self, table: Table, look_for: str, alternative: str, may_be_empty: bool = False) -> Callable:
        """Declare the function below a figure: it takes rows of ``table`` and where to write."""

        def declare(plot):
            self.figures.append(Figure(plot, (table,), self._paper, look_for, alternative, may_be_empty))
            return plot

        return declare

    def table(self, table: Table, *names: str, may_be_empty: bool = False) -> Callable:
        """Declare what is printed of the files called ``names``: the function below makes it of rows of ``table``."""

        def declare(write):
            self.printed += [Printed(n, table, lambda path: write(load(path, table, may_be_empty))) for n in names]
            return write

        return declare


@contextmanager
def sheet(
    output, title: str, height_in: float, wider_in: float, rows: int = 1, columns: int = 1, **sharing
) -> Iterator[tuple]:
    """Yield figure, body and panels (rows, columns) of an empty figure, written to ``output`` when the block ends.

    Legends belong to the figure, common labels to the body. ``wider_in`` is what it is wider than a text column.
    """
    with canvas(output, title, height_in, WIDTH_IN + wider_in) as figure:
        body = figure.subfigures()
        yield figure, body, body.subplots(rows, columns, squeeze=False, **sharing)


def ellipse(place, covariance, radius: float, **style):
    """Return the ellipse of so many standard deviations around a place, of a covariance (4,) by rows."""
    from matplotlib.patches import Ellipse

    values, vectors = np.linalg.eigh(np.reshape(covariance, (2, 2)))
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    height, width = 2 * radius * np.sqrt(np.maximum(values, 0))
    return Ellipse(place, width, height, angle=angle, fill=False, **style)


def source_of(data: pd.DataFrame) -> str:
    """Name the data, and what they stand for."""
    return "; ".join(data[["data", "substitute"]].iloc[0].dropna())


def note_below(body, words: str, unit: str | None = None) -> None:
    """Write a sentence under the panels, after the common label of their abscissa if they have one."""
    sentence = f"{words[0].upper()}{words[1:]}.".replace(" = ", "\u00a0=\u00a0")
    sentence = textwrap.fill(sentence, NOTE_LETTERS)
    if unit is None:
        body.supxlabel(sentence, fontsize=9, x=0.01, ha="left")
    else:
        body.supxlabel(f"{unit}\n{sentence}", fontsize=9)


def looks_below(figure, looks: Iterable[Look], columns: int = 4, **style) -> None:
    """Put one legend of lines under all panels."""
    looks = list(looks)
    handles = [line_key(color=look.colour, marker=look.marker, **style) for look in looks]
    legend_below(figure, handles, [look.label for look in looks], columns)
