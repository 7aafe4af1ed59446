"""Figs 1 to 10 of Liu et al. from the tables of the reproduction, one function a figure.

Divergences are drawn twice, because a mean over trials is ruled by the smallest classes: mean with its standard error
on the left, median with the middle half of the trials on the right. Captions are in ``REPRODUCTION_CAPTIONS``.
"""

from __future__ import annotations

import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from meterdp.figures import numbers
from meterdp.figures.style import (
    BLACK,
    LIGHT_GREY,
    WIDTH_IN,
    canvas,
    in_order,
    legend_below,
    load,
    look,
    plain_log_ticks,
)

_X_LABELS = {
    "epsilon": "ε (log scale)",
    "records": "records N (log scale)",
    "classes": "classes K",
    "dimension": "dimension d",
}
_LOG_X = ("epsilon", "records")
_BAND = 0.11  # opacity
_HEADROOM = 2.0  # densities taller than this multiple of the fit are cut off
_PROPOSED = "kl_published"


def fig1(table, output) -> None:
    """Draw KL divergence over epsilon on synthetic mixtures."""
    _kl_figure(table, output, "Fig. 1: KL divergence against ε, synthetic data")


def fig2(table, output) -> None:
    """Draw KL divergence over the number of records."""
    _kl_figure(table, output, "Fig. 2: KL divergence against the number of records, ε = 1")


def fig3(table, output) -> None:
    """Draw KL divergence over the number of classes."""
    _kl_figure(table, output, "Fig. 3: KL divergence against the number of classes, ε = 1")


def fig4(table, output) -> None:
    """Draw KL divergence over the dimension."""
    _kl_figure(table, output, "Fig. 4: KL divergence against the dimension, ε = 1")


def fig5(table, output) -> None:
    """Draw KL divergence over epsilon on Iris."""
    _kl_figure(table, output, "Fig. 5: KL divergence against ε, Iris")


def fig6(table, output) -> None:
    """Draw marginals of Iris' first feature, a row per mechanism and a column per class."""
    data = load(table, "liu_densities")
    mechanisms = in_order(set(data["curve"]) - {"histogram", "fit"})
    rows = [(look(m).label, m, 0) for m in mechanisms]
    _density_figure(data, output, "Fig. 6: released marginals of Iris, sepal length, ε = 2", rows, "sepal length (z)")


def fig7(table, output) -> None:
    """Draw KL divergence over epsilon on load profiles."""
    _kl_figure(table, output, "Fig. 7: KL divergence against ε, load profiles")


def fig8(table, output) -> None:
    """Draw marginals of load profiles released by the published mechanism, a row per hour and a column per class."""
    data = load(table, "liu_densities")
    rows = [(f"hour {entry + 1}", _PROPOSED, entry) for entry in np.sort(data["entry"].unique())]
    title = f"Fig. 8: released marginals of load profiles, {look(_PROPOSED).label}, ε = 2"
    _density_figure(data, output, title, rows, "energy in the hour (log kWh)")


def fig9(table, output) -> None:
    """Draw KL divergence over epsilon on digits."""
    _kl_figure(table, output, "Fig. 9: KL divergence against ε, handwritten digits")


def fig10(table, output) -> None:
    """Draw the test accuracy of released classifiers over epsilon."""
    data = load(table, "liu_accuracy")
    with canvas(output, "Fig. 10: test accuracy against ε, handwritten digits", 4.9, WIDTH_IN + 1.4) as figure:
        body = figure.subfigures()
        axes = body.subplots()
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
        releases = numbers.count(data["trials"].max())
        _below(body, f"{_source(data)}; {releases} releases a point")
        legend_below(figure, *axes.get_legend_handles_labels())


LIU_FIGURES = {draw.__name__: draw for draw in (fig1, fig2, fig3, fig4, fig5, fig6, fig7, fig8, fig9, fig10)}


# --- divergences ----------------------------------------------------------------------------------------------------


def _line(name: str) -> dict:
    """Return the style of a mechanism's line: dashed and hollow where the l2 sensitivity is bounded by l1."""
    style = look(name)
    line = {"label": style.label, "color": style.colour, "marker": style.marker, "linewidth": 1.5}
    return line | ({"linestyle": "--", "markerfacecolor": "white"} if name.endswith("_l1") else {"linestyle": "-"})


def _kl_figure(table, output, title: str) -> None:
    data = load(table, "liu_curve")
    with canvas(output, title, 4.9, WIDTH_IN + 1.4) as figure:
        body = figure.subfigures()
        left, right = body.subplots(1, 2, sharey=True)
        for name in in_order(data["mechanism"]):
            rows = data[data["mechanism"] == name].sort_values("x")
            line = _line(name)
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
        _below(body, _note(data))
        legend_below(figure, *left.get_legend_handles_labels(), columns=4)


def _x_axis(axes: Axes, data: pd.DataFrame) -> None:
    name = data["x_name"].iloc[0]
    values = np.sort(data["x"].unique())
    axes.set_xlabel(_X_LABELS[name])
    if name in _LOG_X:
        axes.set_xscale("log")
        plain_log_ticks(axes.xaxis, values)
    else:
        axes.set_xticks(values)


def _source(data: pd.DataFrame) -> str:
    """Name the data, and what they stand for."""
    return "; ".join(data[["data", "substitute"]].iloc[0].dropna())


def _note(data: pd.DataFrame) -> str:
    """Say what was measured on, over how many trials, and how many data sets were redrawn."""
    first = data.iloc[0]
    words = f"{_source(data)}; {numbers.count(data['trials'].max())} trials a point"
    redrawn = data[data["mechanism"] == first["mechanism"]].sort_values("x")
    if redrawn["redrawn_count"].any() and first["x_name"] != "epsilon":
        counts = ", ".join(f"{numbers.count(r.redrawn_count)} at {numbers.plain(r.x)}" for r in redrawn.itertuples())
        words += f"; data sets redrawn for a class of at most d records: {counts}"
    elif redrawn["redrawn_count"].any():
        count = numbers.count(redrawn["redrawn_count"].iloc[0])
        words += f"; {count} data sets redrawn for a class of at most d records"
    return words


def _below(body, words: str) -> None:
    """Write a sentence under the panels."""
    sentence = textwrap.fill(f"{words[0].upper()}{words[1:]}.", 125)
    body.supxlabel(sentence, fontsize=9, x=0.01, ha="left")


# --- densities ------------------------------------------------------------------------------------------------------


def _density_figure(data: pd.DataFrame, output, title: str, rows: list[tuple[str, str, int]], unit: str) -> None:
    """Draw a grid: rows (label, mechanism, entry), a column per class."""
    components = np.sort(data["component"].unique())
    cells = dict(list(data.sort_values("value").groupby(["component", "entry", "curve", "kind"])))
    with canvas(output, title, 1.7 + 0.98 * len(rows), max(WIDTH_IN, 1.6 + 1.25 * len(components))) as figure:
        body = figure.subfigures()
        grid = body.subplots(len(rows), len(components), squeeze=False, sharex="col")
        for j, component in enumerate(components):
            grid[0, j].set_title(f"Class {component}", loc="center")
            for axes, (label, mechanism, entry) in zip(grid[:, j], rows, strict=True):
                _cell(
                    axes,
                    {kind[2:]: cell for kind, cell in cells.items() if kind[:2] == (component, entry)},
                    mechanism,
                )
                if j == 0:
                    words = textwrap.fill(label, 16)
                    axes.set_ylabel(words, rotation=0, ha="right", va="center", fontsize=9)
        body.supxlabel(f"{unit}\n{textwrap.fill(_source(data), 110)}", fontsize=9.5)
        colours = {mechanism: look(mechanism).colour for _, mechanism, _ in rows}
        colour = next(iter(colours.values())) if len(colours) == 1 else "#555555"
        handles = [
            Patch(color=LIGHT_GREY),
            Line2D([], [], color=BLACK, linestyle="--", linewidth=1.2),
            Line2D([], [], color=colour, linewidth=0.9),
            Line2D([], [], color=colour, linewidth=2.2),
        ]
        words = ["histogram of the records", "fit without privacy", "one release", "mean over all releases"]
        legend_below(figure, handles, words)


def _cell(axes: Axes, curves: dict, mechanism: str) -> None:
    histogram, fit = curves["histogram", "data"], curves["fit", "fit"]
    left = histogram["value"].to_numpy()
    # The table holds left edges; the last bin is as wide as the others, a single one has area one.
    width = left[1] - left[0] if len(left) > 1 else 1 / histogram["density"].iloc[0]
    axes.stairs(histogram["density"], np.append(left, left[-1] + width), fill=True, color=LIGHT_GREY)
    axes.plot(fit["value"], fit["density"], color=BLACK, linestyle="--", linewidth=1.1)
    colour = look(mechanism).colour
    peaks = [histogram["density"].max(), fit["density"].max()]
    for kind, width_pt in (("draw", 0.9), ("mean", 2.2)):
        released = curves[mechanism, kind]
        axes.plot(released["value"], released["density"], color=colour, linewidth=width_pt)
        peaks.append(released["density"].max())
    axes.set_xlim(fit["value"].min(), fit["value"].max())
    axes.set_ylim(0, 1.06 * min(max(peaks), _HEADROOM * max(peaks[:2])))
    axes.set_yticks([])
    axes.grid(False)
    axes.tick_params(axis="x", labelsize=8)
    axes.xaxis.get_major_locator().set_params(nbins=3, integer=True)
