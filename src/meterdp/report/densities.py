"""A grid of densities, hours down and classes across, and the marginal densities of Liu et al., Fig. 8, on one.

All panels of a column are drawn in one pair of axes, one above the other, each on its own scale, ten times faster
than in axes for each. The marginals lay one released mixture over the fit of (2a)-(2c), as densities of log energy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from meterdp.core.config import figure_epsilon
from meterdp.errors import InputError
from meterdp.mixture.tables import MARGINALS
from meterdp.profiles.tables import PROFILE_HOURS
from meterdp.report.numbers import plain
from meterdp.report.pages import COSTS, figure
from meterdp.report.style import LIGHT_GREY, VERMILION, WIDTH_IN, area_key, canvas, legend_below, line_key, look

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

HEADROOM = 2.0  # what is taller than this multiple of the fit is cut off
_MOST_ROWS = 12
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


_VISIBLE = 0.005  # a density below this share of its peak is taken as zero when the axes are chosen
_SEEN_BESIDE = 0.02  # and a release below this share of the fit's peak
_CUT = 0.05  # a release above this share of its panel at the edge of it goes on beyond
_ON_AXIS = 1e-3  # of its peak: no one sees a curve above the axis there


def _each_mechanism(settings: Mapping) -> dict[str, Mapping]:
    chosen = settings["mechanisms"]
    return {name: {"mechanism": name, "epsilon": figure_epsilon(chosen)} for name in chosen["variants"]}


@figure(
    MARGINALS,
    PROFILE_HOURS,
    category=COSTS,
    look_for=(
        "Histogram (grey), fit without privacy (red) and one released mixture for every hour and class (Fig. 8 of "
        "Liu et al.), of a longer record for every second hour or fewer; what is taller than twice the fit is cut "
        "off, and a release that goes on beyond its panel is marked. Look for classes in which the release departs "
        "from the fit: small classes do so first. The sound release, which may have fewer classes, and DP-EM find "
        "their own: their histograms and fits show all households, each divided among the released classes by how "
        "likely it belongs to them."
    ),
    alternative=(
        "A grid of small panels, hours down and classes across: histogram, fitted density and released density."
    ),
    variants=_each_mechanism,
)
def marginal_densities(
    data: pd.DataFrame, profile_hours: pd.DataFrame, output, mechanism: str, epsilon: float | None = None
) -> None:
    """Draw histogram, fit and one release for at most twelve hours (rows) and every class: Liu et al., Fig. 8."""
    if mechanism not in set(data["curve"]):
        raise InputError(
            f"has no curve of mechanism '{mechanism}'",
            file=MARGINALS.file,
            hint="draw a mechanism it holds or add this one to mechanisms.variants",
        )
    # A mechanism that found its own classes is shown beside the households of these, not of the fit's classes.
    own = mechanism in set(data["classes"])
    data = data[data["classes"] == (mechanism if own else "fit")]
    hours = profile_hours.set_index("entry")["label"]
    components, entries = (np.sort(data[c].unique()) for c in ("component", "entry"))
    entries = entries[:: -(-len(entries) // _MOST_ROWS)]
    data = data[data["curve"].isin(["histogram", "fit", mechanism])]
    curves = dict(list(data.sort_values("log_kwh").groupby(["component", "entry", "curve"])))
    title = f"Released marginal densities against the fit: {look(mechanism).label}"
    title += "" if epsilon is None else f", ε = {plain(epsilon)}"
    width = max(WIDTH_IN, 1.2 + 1.15 * len(components))
    with canvas(output, title, 1.4 + 0.92 * len(entries), width) as drawing:
        body = drawing.subfigures()
        columns = []
        for component in components:
            cells = [{c: curves.get((component, e, c)) for c in ("histogram", "fit", mechanism)} for e in entries]
            low, high = _abscissae(cells, mechanism)
            panels_of = [_panel(cell, mechanism, low, high) for cell in cells]
            columns.append(Column(f"{'Own class' if own else 'Class'} {component}", low, high, panels_of))
        labels = [hours.get(entry, f"entry {entry}").replace("-", "–\n") for entry in entries]
        draw_grid(body, labels, columns)
        body.supxlabel("energy in the hour (log kWh)", fontsize=10)
        body.supylabel("density (1 / log kWh), each panel on its own scale", fontsize=10)
        released = look(mechanism)
        handles = [area_key(color=LIGHT_GREY), *(line_key(color=c) for c in (VERMILION, released.colour))]
        labels = ["histogram of the households", "fit without privacy", f"released: {released.label}"]
        legend_below(drawing, handles, labels)


def _abscissae(cells: list[dict], mechanism: str) -> tuple[float, float]:
    """Range of log energy in which histogram and fit of a class have visible mass, and the release not far off."""
    ends, of_release = [], []
    for cell in cells:
        fitted = 0.0 if cell["fit"] is None else cell["fit"]["density"].max()
        for name in ("histogram", "fit", mechanism):
            if cell[name] is not None:
                density = cell[name]["density"].to_numpy()
                x = _edges(cell[name]) if name == "histogram" else cell[name]["log_kwh"].to_numpy()
                least = max(_VISIBLE * density.max(), _SEEN_BESIDE * fitted if name == mechanism else 0.0)
                seen = np.flatnonzero(density > least)
                if seen.size:
                    found = x[seen[0]], x[min(seen[-1] + (name == "histogram"), len(x) - 1)]
                    (of_release if name == mechanism else ends).append(found)
    low, high = (np.min(ends), np.max(ends)) if ends else (-1.0, 1.0)
    width = (high - low) or 1.0
    limits = low - width, high + width
    near = np.clip([(a, b) for a, b in of_release if a < limits[1] and b > limits[0]], *limits)
    low, high = near.min(initial=low), near.max(initial=high)
    margin = 0.15 * width
    return low - margin, high + margin


def _edges(histogram: pd.DataFrame) -> np.ndarray:
    return histogram_edges(histogram["log_kwh"], histogram["density"])


def _panel(cell: dict, mechanism: str, low: float, high: float) -> Panel:
    """Return one hour of one class on its own density scale."""
    histogram, fit, released = (cell[name] for name in ("histogram", "fit", mechanism))
    panel, peaks, colour = Panel(top=1.0), [1e-12], look(mechanism).colour
    if histogram is not None:
        panel.edges, panel.density = _edges(histogram), histogram["density"].to_numpy()
        peaks.append(histogram["density"].max())
    if fit is not None:
        panel.curves.append(_curve(fit, VERMILION))
    if released is not None:
        panel.curves.append(_curve(released, colour))
        inside = released.loc[released["log_kwh"].between(low, high), "density"]
        seen = np.nan_to_num(inside.max())
        peaks.append(seen)
    fitted = 0.0 if fit is None else fit["density"].max()
    top = max(fitted, min(max(peaks), HEADROOM * fitted)) if fitted > 0 else max(peaks)
    if released is not None and seen < 0.02 * top:
        flat = seen > 0 and inside.min() > 0.5 * seen
        panel.note = ("release is\nalmost flat" if flat else "release lies\noutside", colour)
    elif released is not None and max(inside.iloc[0], inside.iloc[-1]) > _CUT * top:
        panel.note = ("release\ngoes on", colour)
    panel.top = 1.08 * top
    return panel


def _curve(rows: pd.DataFrame, colour: str) -> tuple[np.ndarray, np.ndarray, dict]:
    """Return a curve without the stretches in which it lies on the axis."""
    density = rows["density"].to_numpy()
    above = np.flatnonzero(density > _ON_AXIS * density.max())
    part = slice(max(above[0] - 1, 0), above[-1] + 2) if above.size else slice(None)
    return rows["log_kwh"].to_numpy()[part], density[part], {"color": colour, "linewidth": 1.3}
