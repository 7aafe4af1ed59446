"""A grid of densities, hours down and classes across.

All panels of a column are drawn in one pair of axes, one above the other, each on its own scale, ten times faster
than in axes for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from meterdp.report.style import LIGHT_GREY

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

HEADROOM = 2.0  # what is taller than this multiple of the fit is cut off
_PANEL = 0.86  # share of a row that its panel takes, the rest is the gap above it
_LINE = {"color": "black", "linewidth": 0.8}


@dataclass
class Panel:
    """One panel: what is drawn in it, on a scale from 0 to ``top``."""

    top: float  # density at the upper edge
    edges: np.ndarray | None = None  # (n + 1,), of a histogram
    density: np.ndarray | None = None  # (n,)
    # (x, density, style of the line), drawn in this order; x ascends
    curves: list[tuple[np.ndarray, np.ndarray, Mapping]] = field(default_factory=list)
    note: tuple[str, str] | None = None  # words and colour, in the upper corner further from the first curve's peak


@dataclass(frozen=True)
class Column:
    """One class: its heading, the range of the abscissa, and a panel per row."""

    title: str
    low: float
    high: float
    panels: Sequence[Panel]


def histogram_edges(left: pd.Series, density: pd.Series) -> np.ndarray:
    """Return (n + 1,) bin edges from n left ones: the last bin is as wide as that before, a single one has area 1."""
    left = left.to_numpy()
    last = left[-1] - left[-2] if len(left) > 1 else 1 / max(density.iloc[0], 1e-12)
    return np.append(left, left[-1] + last)


def draw_grid(body: Figure | SubFigure, rows: Sequence[str], columns: Sequence[Column]) -> None:
    """Draw the panels of ``columns``, labelled by ``rows`` at the left and by their titles above."""
    grid = body.subplots(1, len(columns), squeeze=False)[0]
    for axes, column in zip(grid, columns, strict=True):
        _frame(axes, column, len(rows))
        bases = np.arange(len(rows))[::-1]
        for base, panel in zip(bases, column.panels, strict=True):
            if panel.note:
                words, colour = panel.note
                side = "left" if _peaks_right(panel, column) else "right"
                place = {"ha": side, "va": "top", "transform": axes.get_yaxis_transform()}
                x = 0.03 if side == "left" else 0.97
                axes.text(x, base + 0.95 * _PANEL, words, color=colour, fontsize=7, **place)
        _histograms(axes, bases, column.panels)
        for style, curves in _by_style(bases, column.panels):
            axes.plot(*curves, **style)
    grid[0].set_yticks(np.arange(len(rows))[::-1] + _PANEL / 2, rows, fontsize=9)


def _peaks_right(panel: Panel, column: Column) -> bool:
    """Whether the first curve has its peak in the right half of the panel."""
    if not panel.curves:
        return False
    x, density, _ = panel.curves[0]
    return bool(2 * x[np.argmax(density)] > column.low + column.high)


def _frame(axes: Axes, column: Column, rows: int) -> None:
    """Give every panel its two edges and the marks of the abscissa."""
    from matplotlib.lines import TICKDOWN

    axes.set_title(column.title, loc="center")
    axes.set_xlim(column.low, column.high)
    axes.set_ylim(0, rows - 1 + _PANEL)
    axes.grid(False)
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_yticks([])
    axes.xaxis.get_major_locator().set_params(nbins=3, integer=True)
    axes.spines["left"].set_visible(False)
    base = np.repeat(np.arange(rows), 4)
    height = np.tile([_PANEL, 0, 0, np.nan], rows)
    along = {"transform": axes.get_yaxis_transform(), "clip_on": False, "zorder": 2.5}
    axes.plot(np.tile([0, 0, 1, np.nan], rows), base + height, **_LINE, **along)
    ticks = [tick for tick in axes.get_xticks() if column.low <= tick <= column.high]
    marks = {"linestyle": "", "marker": TICKDOWN, "markersize": 3.5, "markeredgewidth": 0.8, "zorder": 2.5}
    axes.plot(np.tile(ticks, rows), np.repeat(np.arange(rows), len(ticks)), color="black", clip_on=False, **marks)


def _histograms(axes: Axes, bases: np.ndarray, panels: Sequence[Panel]) -> None:
    from matplotlib.collections import PolyCollection

    outlines = []
    for base, panel in zip(bases, panels, strict=True):
        if panel.edges is not None:
            heights = base + _PANEL * np.minimum(panel.density / panel.top, 1)
            x = np.repeat(panel.edges, 2)
            y = np.concatenate([[base], np.repeat(heights, 2), [base]])
            outlines.append(np.column_stack([x, y]))
    axes.add_collection(PolyCollection(outlines, facecolors=LIGHT_GREY, linewidths=0, zorder=1), autolim=False)


def _by_style(bases: np.ndarray, panels: Sequence[Panel]) -> list[tuple[Mapping, tuple[np.ndarray, np.ndarray]]]:
    """Join the curves of one style to one line with gaps."""
    joined: dict[tuple, list[tuple[np.ndarray, np.ndarray]]] = {}
    for base, panel in zip(bases, panels, strict=True):
        for x, density, style in panel.curves:
            x, height = _cut(x, density / panel.top)
            parts = joined.setdefault(tuple(style.items()), [])
            parts.append((np.append(x, np.nan), np.append(base + _PANEL * height, np.nan)))
    return [(dict(style), tuple(map(np.concatenate, zip(*parts, strict=True)))) for style, parts in joined.items()]


def _cut(x: np.ndarray, height: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leave out what of a curve is above 1, up to the place where it crosses."""
    above = height > 1
    before = np.flatnonzero(above[1:] != above[:-1])
    share = (1 - height[before]) / (height[before + 1] - height[before])
    crossing = x[before] + share * (x[before + 1] - x[before])
    return np.insert(x, before + 1, crossing), np.insert(np.where(above, np.nan, height), before + 1, 1.0)
