"""Figs 1 to 10 of Liu et al. and Table I from the tables of the reproduction, one function each.

Divergences are drawn twice, because a mean over trials is ruled by the smallest classes: mean with its standard error
on the left, median with the middle half of the trials on the right. One variant of the text is drawn in full, and the
proposed mechanism under the other variant of (10) beside it; tables hold all of them.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from meterdp.pages import numbers
from meterdp.report.pages import Grid
from meterdp.report.style import (
    BLACK,
    LIGHT_GREY,
    WIDTH_IN,
    area_key,
    canvas,
    in_order,
    legend_below,
    line_key,
    look,
    plain_log_ticks,
)
from meterdp_papers.common.figures import Exhibits, note_below, sheet, source_of
from meterdp_papers.liu import tables as liu
from meterdp_papers.liu.panels import HEADROOM, Column, Panel, draw_grid, histogram_edges

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


EXHIBITS = Exhibits("Liu et al.")

_CURVE = (
    "On the left the mean with its standard error, on the right the median with the middle half of the trials; log "
    "scales. Dotted: the proposed mechanism where (10) is read as covering the leaving members of a class only."
)
_CURVES = "Two panels of curves on log scales, one curve per mechanism: mean, and median with a band."

_X_LABELS = {
    "epsilon": "ε (log scale)",
    "records": "records N (log scale)",
    "classes": "classes K",
    "dimension": "dimension d",
}
_LOG_X = ("epsilon", "records")
_BAND = 0.11  # opacity
_PROPOSED = "kl_published"
_OTHER = liu.Variant("leaving", liu.SHOWN.over_classes)


def _line(name: str) -> dict:
    """Return the style of a mechanism's line: dashed and hollow where the l2 sensitivity is bounded by l1."""
    style = look(name)
    line = {"label": style.label, "color": style.colour, "marker": style.marker, "linewidth": 1.5}
    return line | ({"linestyle": "--", "markerfacecolor": "white"} if name.endswith("_l1") else {"linestyle": "-"})


def _kl_figure(name: str, title: str, look_for: str) -> None:
    """Declare a figure of divergences."""

    def draw(data: pd.DataFrame, output) -> None:
        _draw_divergences(data, output, title)

    draw.__name__ = name
    EXHIBITS.figure(liu.LIU_CURVE, look_for, _CURVES)(draw)


def _draw_divergences(whole: pd.DataFrame, output, title: str) -> None:
    data = whole[whole["reading"] == liu.SHOWN.name]
    lines = [(data[data["mechanism"] == name], _line(name)) for name in in_order(data["mechanism"])]
    other = whole[(whole["reading"] == _OTHER.name) & (whole["mechanism"] == _PROPOSED)]
    if not other.empty:
        words = {"label": "KL-minimising, members only", "linestyle": ":"}
        lines.append((other, _line(_PROPOSED) | words | {"markerfacecolor": "white"}))
    with sheet(output, title, 4.9, 1.4, 1, 2, sharey=True) as (figure, body, panels):
        left, right = panels[0]
        for rows, line in lines:
            rows = rows.sort_values("x")
            se = rows["kl_se"].fillna(0)
            left.errorbar(rows["x"], rows["kl_mean"], yerr=(np.minimum(se, 0.999 * rows["kl_mean"]), se), **line)
            band = rows["kl_q25"], rows["kl_q75"]
            right.fill_between(rows["x"], *band, color=line["color"], alpha=_BAND, linewidth=0)
            right.plot(rows["x"], rows["kl_median"], **line)
        for axes in (left, right):
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(lambda value, _: numbers.plain(value))
            _x_axis(axes, data)
        right.tick_params(axis="y", labelleft=True)
        left.set_ylabel("KL divergence from the fit (nats, log scale)")
        left.set_title("mean ± standard error")
        right.set_title("median; band: middle half of the trials")
        note_below(body, _note(data))
        legend_below(figure, *left.get_legend_handles_labels())


def _x_axis(axes: Axes, data: pd.DataFrame) -> None:
    name = data["x_name"].iloc[0]
    values = np.sort(data["x"].unique())
    axes.set_xlabel(_X_LABELS[name])
    if name in _LOG_X:
        axes.set_xscale("log")
        plain_log_ticks(axes.xaxis, values)
    else:
        axes.set_xticks(values)


def _note(data: pd.DataFrame) -> str:
    """Say what was measured on, over how many trials, and how many data sets were redrawn."""
    first = data.iloc[0]
    words = (
        f"{source_of(data)}; {numbers.counted(data['trials'].max(), 'trial')} per point; read as: {liu.SHOWN.name}"
    )
    redrawn = data[data["mechanism"] == first["mechanism"]].sort_values("x")
    if redrawn["redrawn_count"].any() and first["x_name"] != "epsilon":
        counts = ", ".join(f"{numbers.count(r.redrawn_count)} at {numbers.plain(r.x)}" for r in redrawn.itertuples())
        words += f"; data sets redrawn for a class of at most d records: {counts}"
    elif redrawn["redrawn_count"].any():
        sets = numbers.counted(redrawn["redrawn_count"].iloc[0], "data set")
        words += f"; {sets} redrawn for a class of at most d records"
    return words


_kl_figure(
    "fig1",
    "Fig. 1: KL divergence against ε, synthetic data",
    "KL divergence of the released mixture against ε, a fresh mixture and data set in every trial, the same "
    f"for all mechanisms. {_CURVE} Look for how far the mean lies above the median: data sets with a very small "
    "class dominate it.",
)


_kl_figure(
    "fig2",
    "Fig. 2: KL divergence against the number of records, ε = 1",
    f"The same against the number of records, ε = 1. {_CURVE} Look for whether a curve flattens: what is "
    "left then is noise that does not depend on N.",
)


_kl_figure(
    "fig3",
    "Fig. 3: KL divergence against the number of classes, ε = 1",
    f"The same against the number of classes, N = 1000 and ε = 1. {_CURVE} Data sets with a class of at most "
    "d records were drawn again, more often the more classes there are, so large K shows the milder cases.",
)


_kl_figure(
    "fig4",
    "Fig. 4: KL divergence against the dimension, ε = 1",
    f"The same against the dimension, N = 1000, K = 5 and ε = 1. {_CURVE} Look for mechanisms that overtake "
    "each other as d grows.",
)


_kl_figure(
    "fig5",
    "Fig. 5: KL divergence against ε, Iris",
    f"KL divergence against ε on Iris, 50 records per class. {_CURVE}",
)


@EXHIBITS.figure(
    liu.LIU_DENSITIES,
    "Marginal density of Iris' first feature per class: histogram, fit, the first release (thick, as the "
    "paper shows one) and the pointwise mean over all releases (thin); what is taller than twice the "
    "fit is cut off. Look for how little one release says about the mechanism.",
    "A grid of densities, a row per mechanism and a column per class of Iris.",
)
def fig6(data: pd.DataFrame, output) -> None:
    mechanisms = in_order(set(data["curve"]) - {"histogram", "fit"})
    rows = [(look(m).label, m, 0) for m in mechanisms]
    _density_figure(data, output, "Fig. 6: released marginals of Iris, sepal length, ε = 2", rows, "sepal length (z)")


_kl_figure(
    "fig7",
    "Fig. 7: KL divergence against ε, load profiles",
    f"KL divergence against ε on load profiles, K-means classes. {_CURVE} The paper's houses are private; "
    "the data drawn are named in the figure.",
)


@EXHIBITS.figure(
    liu.LIU_DENSITIES,
    "Marginal densities of load profiles per class and hour: histogram, fit, one release of the published "
    "mechanism (thick, as in the paper) and the mean over all releases (thin). Look for the classes in which a "
    "thick curve departs from the dashed one, and where the thin one does, too: noise that does not average out, "
    "above all in small classes.",
    "A grid of densities, a row per hour and a column per class.",
)
def fig8(data: pd.DataFrame, output) -> None:
    rows = [(f"hour {entry + 1}", _PROPOSED, entry) for entry in np.sort(data["entry"].unique())]
    title = f"Fig. 8: released marginals of load profiles, {look(_PROPOSED).label}, ε = 2"
    _density_figure(data, output, title, rows, "energy in the hour (log kWh)")


_kl_figure(
    "fig9",
    "Fig. 9: KL divergence against ε, handwritten digits",
    f"KL divergence against ε on handwritten digits. {_CURVE} Look for a curve that does not fall with ε: "
    "the published Wishart noise stops shrinking once (22) is at its first value.",
)


@EXHIBITS.figure(
    liu.LIU_ACCURACY,
    "Share of test images classified correctly by maximum likelihood under the released mixture; the dotted "
    "line is the fit without privacy.",
    "Curves of accuracy over epsilon, one per mechanism, with a dotted line for the fit.",
)
def fig10(data: pd.DataFrame, output) -> None:
    data = data[data["reading"] == liu.SHOWN.name]
    title = "Fig. 10: test accuracy against ε, handwritten digits"
    with sheet(output, title, 4.9, 1.4) as (figure, body, panels):
        axes = panels[0, 0]
        fit = data[data["mechanism"] == "fit"].sort_values("x")
        axes.plot(fit["x"], fit["accuracy_mean"], color=BLACK, linestyle=":", label="fit without privacy")
        for name in in_order(set(data["mechanism"]) - {"fit"}):
            rows = data[data["mechanism"] == name].sort_values("x")
            line = _line(name)
            axes.plot(rows["x"], rows["accuracy_mean"], **line)
            band = rows["accuracy_q25"], rows["accuracy_q75"]
            axes.fill_between(rows["x"], *band, color=line["color"], alpha=_BAND, linewidth=0)
        axes.set_ylim(0, 1)
        axes.set_ylabel("share of test images classified correctly")
        axes.set_title("mean; band: middle half of the releases")
        _x_axis(axes, data)
        note_below(body, f"{source_of(data)}; {numbers.counted(data['trials'].max(), 'release')} per point")
        legend_below(figure, *axes.get_legend_handles_labels())


def _density_figure(data: pd.DataFrame, output, title: str, rows: list[tuple[str, str, int]], unit: str) -> None:
    """Draw a grid: rows (label, mechanism, entry), a column per class."""
    components = np.sort(data["component"].unique())
    cells = dict(list(data.sort_values("value").groupby(["component", "entry", "curve", "kind"])))
    with canvas(output, title, 1.7 + 0.98 * len(rows), max(WIDTH_IN, 1.6 + 1.25 * len(components))) as figure:
        body = figure.subfigures()
        columns = []
        for component in components:
            fits = [cells[component, entry, "fit", "fit"]["value"] for *_, entry in rows]
            panels = [
                _panel({kind[2:]: cell for kind, cell in cells.items() if kind[:2] == (component, entry)}, mechanism)
                for _, mechanism, entry in rows
            ]
            low, high = min(fit.min() for fit in fits), max(fit.max() for fit in fits)
            columns.append(Column(f"Class {component}", low, high, panels))
        draw_grid(body, [textwrap.fill(label, 16) for label, *_ in rows], columns)
        body.supxlabel(f"{unit}\n{textwrap.fill(source_of(data), 110)}", fontsize=9.5)
        colours = {mechanism: look(mechanism).colour for _, mechanism, _ in rows}
        colour = next(iter(colours.values())) if len(colours) == 1 else "#555555"
        handles = [
            area_key(color=LIGHT_GREY),
            line_key(color=BLACK, linestyle="--", linewidth=1.2),
            line_key(color=colour, linewidth=2.2),
            line_key(color=colour, linewidth=0.9),
        ]
        words = ["histogram of the records", "fit without privacy", "one release", "mean over all releases"]
        legend_below(figure, handles, words)


def _panel(curves: dict, mechanism: str) -> Panel:
    histogram, fit = curves["histogram", "data"], curves["fit", "fit"]
    colour = look(mechanism).colour
    lines = [(fit, {"color": BLACK, "linestyle": "--", "linewidth": 1.1})]
    lines += [
        (curves[mechanism, kind], {"color": colour, "linewidth": w}) for kind, w in (("draw", 2.2), ("mean", 0.9))
    ]
    tallest = max(histogram["density"].max(), fit["density"].max())
    tallest = min(max(tallest, *(line["density"].max() for line, _ in lines)), HEADROOM * tallest)
    return Panel(
        1.06 * tallest,
        histogram_edges(histogram["value"], histogram["density"]),
        histogram["density"].to_numpy(),
        [(line["value"].to_numpy(), line["density"].to_numpy(), style) for line, style in lines],
    )


@EXHIBITS.table(liu.LIU_TABLE1, "table1")
def table1(table: pd.DataFrame) -> Grid:
    rows = []
    for row in table.sort_values("rank").itertuples():
        ours = [_whole(row.component), _whole(row.household_count), numbers.percent(row.share)]
        theirs = [_whole(row.paper_class), _whole(row.paper_household_count), numbers.percent(row.paper_share)]
        rows.append([numbers.count(row.rank), *ours, *theirs])
    first = table.iloc[0]
    caption = f"Table I: households per class, from the largest class ({first['data']}) beside the paper's"
    header = ("rank", "class", "households", "share", "paper's class", "paper's households", "share")
    return Grid(caption, header, rows, words=0)


def _whole(value) -> str:
    return numbers.MISSING if value is None or value != value else numbers.count(value)
