"""Figs 1 to 4 of Ramakrishna et al. from the tables of the reproduction, one function a figure.

Delta is exact and, where one curve has to be chosen, two-sided: Pr(|L| > eps) is the paper's Definition 1 (defect
R10). Captions are in ``REPRODUCTION_CAPTIONS``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse
from scipy.stats import chi2

from meterdp.figures import numbers
from meterdp.figures.forecasts import QUERY_MODELS, forecast_examples
from meterdp.figures.style import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    WIDTH_IN,
    canvas,
    in_order,
    legend_below,
    load,
    look,
)

_CLASS_COLOURS = (BLUE, ORANGE, GREEN, PURPLE)
_CONTOURS = (0.3, 0.6, 0.9)  # shares of the probability inside
_SIDES = "two"


def fig1(table, output) -> None:
    """Draw contours of the synthetic classes."""
    data = load(table, "ramakrishna_classes")
    with canvas(output, "Fig. 1: four classes of synthetic queries", 4.6, 6.4) as figure:
        axes = figure.subfigures().subplots()
        for row, colour in zip(data.itertuples(), _CLASS_COLOURS, strict=True):
            values, vectors = np.linalg.eigh(np.reshape(row.covariance, (2, 2)))
            angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
            for share in _CONTOURS:
                size = 2 * np.sqrt(chi2.ppf(share, 2) * np.maximum(values, 0))
                axes.add_patch(Ellipse(row.mean, size[1], size[0], angle=angle, fill=False, color=colour))
            axes.plot(*row.mean, "o", color=colour, label=f"class {row.label}")
        axes.autoscale_view()
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_xlabel("first entry of the query")
        axes.set_ylabel("second entry of the query")
        legend_below(figure, *axes.get_legend_handles_labels())


def fig2(table, output) -> None:
    """Draw delta over epsilon on synthetic classes, a column per rho: one set, and the mean over sets."""
    data = load(table, "ramakrishna_fig2")
    data = data[(data["sides"] == _SIDES) & (data["accuracy_convention"] == "total")]
    title = "Fig. 2: exact privacy curves of synthetic classes, two-sided"
    rhos = np.sort(data["rho"].unique())
    with canvas(output, title, 6.4, WIDTH_IN + 1.4) as figure:
        body = figure.subfigures()
        grid = body.subplots(2, len(rhos), sharex=True, sharey=True, squeeze=False)
        for column, rho in zip(grid.T, rhos, strict=True):
            column[0].set_title(f"ρ = {numbers.plain(rho)}, the set shown", fontsize=9.5)
            column[1].set_title("mean over sets", fontsize=9.5)
            for axes, value in zip(column, ("delta_shown", "delta_mean"), strict=True):
                _curves(axes, data[data["rho"] == rho], value)
        body.supxlabel("ε", fontsize=10)
        body.supylabel("δ, worst ordered pair", fontsize=10)
        legend_below(figure, *_handles(data), columns=5)


def fig3(table, output) -> None:
    """Draw history, truth, forecast and released forecast of three houses."""
    forecast_examples(table, output)


def fig4(table, output) -> None:
    """Draw delta over epsilon on household forecasts: a column per rho, a row per query model."""
    data = load(table, "ramakrishna_fig4", may_be_empty=True)
    data = data[(data["sides"] == _SIDES) & (data["accuracy_convention"] == "total")]
    title = "Fig. 4: exact privacy curves of household forecasts, two-sided"
    rhos, models = np.sort(data["rho"].unique()), [m for m in QUERY_MODELS if m in set(data["query_model"])]
    if data.empty:
        with canvas(output, title, 1.6) as figure:
            figure.text(0.5, 0.4, "no household has a neighbour, so there is no pair to tell apart", ha="center")
        return
    with canvas(output, title, 1.0 + 2.5 * len(models), WIDTH_IN + 1.4) as figure:
        bodies = np.atleast_1d(figure.subfigures(len(models), 1))
        for body, model in zip(bodies, models, strict=True):
            words = f"Query model {model}: {QUERY_MODELS[model]}"
            body.suptitle(words, x=0.01, ha="left", fontsize=10, weight="normal")
            for axes, rho in zip(body.subplots(1, len(rhos), sharey=True, squeeze=False)[0], rhos, strict=True):
                rows = data[(data["rho"] == rho) & (data["query_model"] == model)]
                _curves(axes, rows, "delta")
                axes.set_title(f"ρ = {numbers.plain(rho)} (log kWh)²", fontsize=9.5)
                if rows["delta"].min() > 0.99:
                    words = "all curves lie on top of\neach other, above 0.99"
                    axes.text(0.5, 0.5, words, ha="center", va="center", transform=axes.transAxes, fontsize=9)
            body.supxlabel("ε", fontsize=10)
            body.supylabel("δ, worst ordered pair", fontsize=10)
        legend_below(figure, *_handles(data), columns=5)


RAMAKRISHNA_FIGURES = {draw.__name__: draw for draw in (fig1, fig2, fig3, fig4)}


def _curves(axes: Axes, rows: pd.DataFrame, value: str) -> None:
    for design in in_order(rows["design"]):
        curve, style = rows[rows["design"] == design].sort_values("epsilon"), look(design)
        axes.plot(
            curve["epsilon"], curve[value], color=style.colour, marker=style.marker, markersize=4, linewidth=1.4
        )
    axes.set_ylim(-0.03, 1.05)


def _handles(data: pd.DataFrame) -> tuple[list, list]:
    designs = [look(design) for design in in_order(data["design"])]
    handles = [Line2D([], [], color=d.colour, marker=d.marker, markersize=4) for d in designs]
    return handles, [d.label for d in designs]
