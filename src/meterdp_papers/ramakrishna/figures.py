"""Figs 1 to 4 of Ramakrishna et al. and printed tables from the tables of the reproduction, one function each.

Delta is exact. Fig. 2 draws the two-sided one, Pr(|L| > eps) of Definition 1 (defect R10); Fig. 4 the one-sided one,
as the text has it, under the variant whose curves leave 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meterdp.class_noise.query_models import RANDOMNESS
from meterdp.class_noise.tables import DESIGN_COMPARISON
from meterdp.pages import numbers
from meterdp.publish.tables import FORECAST_EXAMPLES
from meterdp.report.pages import Grid
from meterdp.report.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    VERMILION,
    WIDTH_IN,
    canvas,
    in_order,
    legend_below,
    line_key,
    look,
)
from meterdp_papers.common.figures import Exhibits, ellipse, sheet
from meterdp_papers.ramakrishna import tables as ram

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


EXHIBITS = Exhibits("Ramakrishna et al.")

_CLASS_COLOURS = (BLUE, ORANGE, GREEN, PURPLE)
_CONTOURS = (0.3, 0.6, 0.9)  # shares of the probability inside
_SIDES = "two"
_PARTS = {"history": GREY, "truth": VERMILION, "forecast": ORANGE, "released": BLUE}
_NO_PROTECTION = 0.99  # a delta beyond which the households of a pair are nearly always distinguished
_CONVENTION_LINES = {"total": "-", "per_entry": "--"}


@EXHIBITS.figure(
    ram.RAMAKRISHNA_CLASSES,
    "Contours around 30, 60 and 90 % of the probability of four synthetic classes: means on a line, "
    "covariances Wishart with two degrees of freedom. Look for needles: a class that is thin in one "
    "direction can nearly always be distinguished from the others unless noise fills it out.",
    "Ellipses of four classes in a plane, their centres on a line.",
)
def fig1(data: pd.DataFrame, output) -> None:
    with sheet(output, "Fig. 1: four classes of synthetic queries", 4.6, 6.4 - WIDTH_IN) as (figure, _, panels):
        axes = panels[0, 0]
        for row, colour in zip(data.itertuples(), _CLASS_COLOURS, strict=True):
            for share in _CONTOURS:
                radius = np.sqrt(-2 * np.log(1 - share))  # of a circle that holds this share of a standard normal
                axes.add_patch(ellipse(row.mean, row.covariance, radius, color=colour))
            axes.plot(*row.mean, "o", color=colour, label=f"class {row.label}")
        axes.autoscale_view()
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_xlabel("first entry of the query")
        axes.set_ylabel("second entry of the query")
        legend_below(figure, *axes.get_legend_handles_labels())


@EXHIBITS.figure(
    ram.RAMAKRISHNA_FIG2,
    "Exact δ against ε on the set of Fig. 1 (above) and averaged over many sets (below), with ρ as the "
    "squared error of both entries together. The paper has no noise, white noise and its own design; the "
    "joint and transport designs are ours, at the same ρ, run on the first sets only: compare their means with "
    "the others’ with care. Transport adds no noise and protects no one whose query can be predicted.",
    "A grid of curves of delta over epsilon, a column per accuracy budget, one colour per design.",
)
def fig2(data: pd.DataFrame, output) -> None:
    data = data[(data["sides"] == _SIDES) & data["rho"].isin(ram.SHOWN_RHOS)]
    title = "Fig. 2: exact privacy curves of synthetic classes, two-sided"
    rhos = np.sort(data["rho"].unique())
    sets = data.groupby("design")["trials"].max()
    ours = sets[sets.index.isin(ram.OUR_DESIGNS)]
    words = f"mean over {numbers.counted(sets.max(), 'set')}"
    if not ours.empty and ours.max() < sets.max():
        words += f" (ours: first {ours.max()})"
    with sheet(output, title, 6.4, 1.4, 2, len(rhos), sharex=True, sharey=True) as (figure, body, grid):
        for column, rho in zip(grid.T, rhos, strict=True):
            column[0].set_title(f"ρ = {numbers.plain(rho)}, the set shown", fontsize=9.5)
            column[1].set_title(words, fontsize=9.5)
            for axes, value in zip(column, ("delta_shown", "delta_mean"), strict=True):
                _curves(axes, data[data["rho"] == rho], value)
        body.supxlabel("ε", fontsize=10)
        body.supylabel("δ, worst ordered pair", fontsize=10)
        legend_below(figure, *_handles(data), columns=5)


@EXHIBITS.figure(
    FORECAST_EXAMPLES,
    "Houses before and after the paper’s noise, ρ = 0.45 in total: the day before, what happened, the "
    "forecast and its released version. Look for how little that noise moves a forecast; Fig. 4 says what "
    "it hides.",
    "Line plots in kWh, a row per house: history, truth, forecast and released forecast.",
)
def fig3(data: pd.DataFrame, output) -> None:
    """Draw the whole window left, and only the forecast on its own scale right."""
    from matplotlib.ticker import MultipleLocator

    data = data.sort_values(["example", "hours_from_origin"])
    examples = data["example"].unique()
    design, rho = data[["design", "rho"]].iloc[0]
    title = f"Fig. 3: three houses before and after noise ({look(design).label}, ρ = {numbers.plain(rho)})"
    with canvas(output, title, 1.2 + 2.1 * len(examples)) as drawing:
        body = drawing.subfigures()
        grid = body.subplots(len(examples), 2, squeeze=False, sharex="col", width_ratios=(3, 2))
        for number, (row, example) in enumerate(zip(grid, examples, strict=True), start=1):
            rows = data[data["example"] == example]
            _traces(row[0], rows, markersize=0)
            _traces(row[1], rows[rows["part"] != "history"], markersize=5)
            row[0].axvline(0, color="black", linewidth=0.8, linestyle=":")
            row[0].set_title(f"Household {number} of {len(examples)}")
            row[1].set_title("its forecast window")
            row[0].set_ylabel("energy in the interval (kWh)", fontsize=9)
        span = data["hours_from_origin"].max() - data["hours_from_origin"].min()
        step = next(s for s in (1, 2, 3, 6, 12, 24, 168) if span < 8 * s)
        grid[0, 0].xaxis.set_major_locator(MultipleLocator(step))
        body.supxlabel("hours from the origin of the forecast", fontsize=10)
        present = [part for part in _PARTS if part in set(data["part"])]
        legend_below(drawing, [line_key(color=_PARTS[part]) for part in present], present)


def _traces(axes: Axes, rows: pd.DataFrame, markersize: float) -> None:
    for part, colour in _PARTS.items():
        trace = rows[rows["part"] == part]
        line = {"linewidth": 1.2 if part == "history" else 1.6, "marker": ".", "markersize": markersize}
        axes.plot(trace["hours_from_origin"], trace["energy_kwh"], color=colour, **line)
    axes.margins(x=0.02)
    if not (rows["energy_kwh"] < 0).any():
        axes.set_ylim(bottom=0)


@EXHIBITS.figure(
    ram.RAMAKRISHNA_FIG4,
    "Exact one-sided δ against ε for the worst pair of neighbours: no noise, white noise and the paper’s design, "
    "if the seasonal mean of every household counts as public. It is the household’s own, so these curves "
    "guarantee nothing; the line below the panels says what is left with the mean in the query.",
    "A grid of curves of delta over epsilon, a column per accuracy budget and a row per query model.",
    may_be_empty=True,
)
def fig4(data: pd.DataFrame, output) -> None:
    data = data[data["sides"] == "one"]
    title = "Fig. 4: exact privacy curves of household forecasts, one-sided, seasonal means public"
    if data.empty:
        with canvas(output, title, 1.6) as figure:
            figure.text(0.5, 0.4, "no household has a neighbour, so there is no pair to tell apart", ha="center")
        return
    whole, data = data[data["query_mean"] == "forecast"], data[data["query_mean"] == "zero"]
    rhos, models = np.sort(data["rho"].unique()), [m for m in RANDOMNESS if m in set(data["query_model"])]
    with canvas(output, title, 1.4 + 2.5 * len(models), WIDTH_IN + 1.4) as figure:
        bodies = np.atleast_1d(figure.subfigures(len(models), 1))
        for body, model in zip(bodies, models, strict=True):
            words = f"Query model {model}: {RANDOMNESS[model]}"
            body.suptitle(words, x=0.01, ha="left", fontsize=10, weight="normal")
            for axes, rho in zip(body.subplots(1, len(rhos), sharey=True, squeeze=False)[0], rhos, strict=True):
                rows = data[(data["rho"] == rho) & (data["query_model"] == model)]
                for convention, line in _CONVENTION_LINES.items():
                    _curves(axes, rows[rows["accuracy_convention"] == convention], "delta", line)
                axes.set_title(f"ρ = {numbers.plain(rho)} (log kWh)²", fontsize=9.5)
            body.supxlabel("ε", fontsize=10)
            body.supylabel("δ, worst ordered pair", fontsize=10)
        handles, labels = _handles(data)
        handles += [line_key(color=BLACK, linestyle=line) for line in _CONVENTION_LINES.values()]
        labels += ["ρ in total", "ρ per entry"]
        least = np.floor(1000 * whole["delta"].min()) / 1000
        note = (
            f"With the seasonal means in the query, δ is at least {least:.3f} at every point, whatever else is read."
        )
        bodies[-1].supxlabel(f"ε\n{note}", fontsize=10)
        legend_below(figure, handles, labels, columns=5)


def _curves(axes: Axes, rows: pd.DataFrame, value: str, line: str = "-") -> None:
    for design in in_order(rows["design"]):
        curve, style = rows[rows["design"] == design].sort_values("epsilon"), look(design)
        axes.plot(
            curve["epsilon"],
            curve[value],
            color=style.colour,
            marker=style.marker,
            markersize=4,
            linewidth=1.4,
            linestyle=line,
        )
    axes.set_ylim(-0.03, 1.05)


def _handles(data: pd.DataFrame) -> tuple[list, list]:
    designs = [look(design) for design in in_order(data["design"])]
    handles = [line_key(color=d.colour, marker=d.marker, markersize=4) for d in designs]
    return handles, [d.label for d in designs]


@EXHIBITS.table(ram.RAMAKRISHNA_NUMBERS, "numbers")
def printed_numbers(table: pd.DataFrame) -> Grid:
    table = table[table["sides"].isna() | (table["sides"] == "one")]
    variant_columns = ["query_model", "query_mean", "accuracy_convention"]
    designs, asked, ours = [], [], []
    for (design, *asked_of), at in table.groupby(["design", "rho", "epsilon", "delta_printed"], sort=False):
        designs.append(look(design).label)
        asked.append([numbers.plain(value) for value in asked_of])
        ours.append(at.dropna(subset=variant_columns).set_index(variant_columns)["delta"])
    rows = [list(row) for row in zip(("ρ", "ε", "printed δ"), *asked, strict=True)]
    for variant in dict.fromkeys(variant for deltas in ours for variant in deltas.index):
        model, mean, convention = variant
        words = f"{model}{', zero mean' * (mean == 'zero')}, {convention.replace('_', ' ')}"
        rows.append([words, *(numbers.probability(deltas[variant]) for deltas in ours)])
    header = ("variant of query and ρ", *designs)
    caption = "Printed δ, and ours under every variant of query and ρ: exact, one-sided, worst pair"
    return Grid(caption, header, rows)


@EXHIBITS.table(DESIGN_COMPARISON, "comparison", may_be_empty=True)
def comparison(table: pd.DataFrame) -> Grid:
    """Every design that protects beside the published one at equal budgets, at the largest epsilon."""
    epsilon = table["epsilon"].max()
    table = table[(table["epsilon"] == epsilon) & (table["design"] != "none")]
    rows, hidden = [], []
    for (model, rho), at in table.groupby(["query_model", "rho"], sort=False):
        at = at.set_index("design")
        for design in in_order(at.index):
            row = at.loc[design]
            if row["delta"] > _NO_PROTECTION:
                hidden.append(f"{look(design).label} at ρ = {numbers.plain(rho)} ({model})")
                continue
            delta, ratio = numbers.probability(row["delta"]), row["ratio_to_published"]
            small = ratio < numbers.LEAST_PROBABILITY
            against = numbers.probability(ratio) if small else numbers.significant(ratio)
            share = numbers.significant(row["share_of_limit"])
            rows.append((look(design).label, model, numbers.plain(rho), share, delta, against))
    header = ("design", "query model", "ρ", "ρ / limit", f"δ at ε = {numbers.plain(epsilon)}", "δ / published δ")
    caption = (
        "Designs at equal budgets, hockey-stick δ of the worst pair; from ρ = limit on, all households of a "
        "neighbourhood can get the same released forecast"
    )
    notes = [f"Left out, as δ is above {_NO_PROTECTION}: {'; '.join(hidden)}."] if hidden else []
    return Grid(caption, header, rows, words=2, notes=notes)
