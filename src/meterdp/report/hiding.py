"""What it costs to hide a household among k: a picture and a sentence for a reader in a hurry, and the numbers."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from meterdp.evaluation.tables import GROUP_MEAN, HIDE_AMONG, HIDE_AMONG_YARDSTICKS
from meterdp.report.numbers import count, percent, plain, significant
from meterdp.report.pages import FORECASTS, Grid, Tables, count_range, figure, printed
from meterdp.report.style import GREY, canvas, in_order, look, one_three_ticks, plain_log_ticks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ERROR = "error_kwh_median"
# Curves closer than this are one on paper.
_SAME = 0.01
# Height of a line of a label, as a share of that of the panel.
_LINE = 0.06
_YARDSTICKS = {
    "energy": "what a typical\nhousehold uses: {} kWh",
    "forecast_error": "error of its\nown forecast: {} kWh",
}
_INTERVALS = {15: "quarter of an hour", 30: "half hour", 60: "hour"}


def interval_words(minutes: int) -> str:
    """Return how an interval is called: ``quarter of an hour``, ``5 minutes``."""
    return _INTERVALS.get(minutes, f"{plain(minutes)} minutes")


@figure(
    HIDE_AMONG,
    HIDE_AMONG_YARDSTICKS,
    category=FORECASTS,
    look_for=(
        "A forecast can give away whose it is. So households are put into groups of at least k similar ones, and "
        "what is released is changed until it tells no more of whose a forecast is than ε and δ allow, even with all "
        "forecasts at hand. The lines show by how much that changes the forecast of the median household, the shade "
        "the middle half of households. Noise alone (white noise, published design) buries the forecast. Moving the "
        "forecasts of a group together first (joint design), or giving everybody their mean, costs far less. Compare "
        "with the dotted lines: where a curve crosses the error that the forecast has anyway, hiding makes a typical "
        "forecast about 1.4 times as wrong; above the energy that is used it says little about the household. Only "
        "whose a forecast is gets hidden, not what the group uses or who is in it."
    ),
    alternative=(
        "Curves on logarithmic axes: error of the released forecast in kWh over the size of the groups, one curve "
        "per way of hiding, with dotted lines for a household's energy and the error of its own forecast."
    ),
)
def hide_among(data: pd.DataFrame, yardsticks: pd.DataFrame, output) -> None:
    """Draw the error of released forecasts against the number of households hidden among, on logarithmic axes.

    Curves that lie on one another are drawn as one. Sizes with too few households, and designs that no budget makes
    hide everybody, are named below.
    """
    drawn = data[data[ERROR] > 0]
    notes = _notes(data)
    interval = interval_words(int(yardsticks["interval_minutes"].iloc[0]))
    guarantee = f"ε = {plain(data['epsilon'].max())}, δ = {plain(data['delta'].max())}"
    title = f"What it costs to hide a household among others ({guarantee})"
    with canvas(output, title, (1.8 if drawn.empty else 4.6) + 0.22 * len(notes)) as drawing:
        if notes:
            drawing.supxlabel("\n".join(notes), fontsize=9, x=0.01, ha="left", color=GREY)
        axes = drawing.subplots()
        if drawn.empty:
            axes.set_axis_off()
            axes.text(0.5, 0.5, "there is no error to draw", ha="center", va="center")
            return
        axes.set_yscale("log")
        axes.set_xscale("log")
        curves = _curves(drawn)
        for designs in curves:
            _curve(axes, drawn[drawn["design"] == designs[0]])
        marks = yardsticks[yardsticks["median_kwh"] > 0]
        values = [*drawn[ERROR], *drawn["error_kwh_q25"].dropna(), *drawn["error_kwh_q75"].dropna()]
        values = [value for value in [*values, *marks["median_kwh"]] if value > 0]
        low, high = 0.7 * min(values), 1.4 * max(values)
        axes.set_ylim(low, high)
        plain_log_ticks(axes.yaxis, one_three_ticks(low, high))
        sizes = sorted(drawn["size"].unique())
        axes.set_xlim(sizes[0] / 1.12, sizes[-1] * 1.12)
        plain_log_ticks(axes.xaxis, sizes)
        axes.set_xlabel("k: number of similar households that each is hidden among, at least")
        axes.set_ylabel(f"error of the released forecast\n(kWh per {interval})")
        _label(axes, drawn, curves, marks)


def _curves(data: pd.DataFrame) -> list[list[str]]:
    """Return the designs, those whose curves lie on one another together."""
    curves: list[list[str]] = []
    at = {design: rows.set_index("size")[ERROR] for design, rows in data.groupby("design")}
    for design in in_order(data["design"]):
        for others in curves:
            first, own = at[others[0]], at[design]
            if first.index.equals(own.index) and np.allclose(first, own, rtol=_SAME):
                others.append(design)
                break
        else:
            curves.append([design])
    return curves


def _curve(axes: Axes, rows: pd.DataFrame) -> None:
    rows, style = rows.sort_values("size"), look(rows["design"].iloc[0])
    if rows["design"].iloc[0] == GROUP_MEAN:
        axes.plot(rows["size"], rows[ERROR], color=style.colour, marker=style.marker, linestyle="--", linewidth=1.3)
        return
    axes.plot(rows["size"], rows[ERROR], color=style.colour, marker=style.marker)
    quartiles = rows.dropna(subset=["error_kwh_q25", "error_kwh_q75"])
    between = quartiles["error_kwh_q25"], quartiles["error_kwh_q75"]
    axes.fill_between(quartiles["size"], *between, color=style.colour, alpha=0.12, linewidth=0)


def _label(axes: Axes, data: pd.DataFrame, curves: list[list[str]], marks: pd.DataFrame) -> None:
    """Write the names of curves and yardsticks right of their ends, apart from one another."""
    low, high = np.log(axes.get_ylim())
    labels = []
    for designs in curves:
        last = data[data["design"] == designs[0]].sort_values("size")[ERROR].iloc[-1]
        names = "\nand ".join(look(design).label for design in designs)
        labels.append((last, names, look(designs[0]).colour))
    for mark in marks.itertuples():
        axes.axhline(mark.median_kwh, color=GREY, linestyle=":", linewidth=1.3)
        text = _YARDSTICKS[mark.yardstick].format(significant(mark.median_kwh, 2))
        labels.append((mark.median_kwh, text, GREY))
    labels.sort()
    places = [(np.log(value) - low) / (high - low) for value, _, _ in labels]
    heights = [_LINE * (1 + text.count("\n")) for _, text, _ in labels]
    for place, (_, text, colour) in zip(_apart(places, heights), labels, strict=True):
        axes.text(1.01, place, text, color=colour, va="center", transform=axes.transAxes, fontsize=9.5)


def _apart(places: list[float], heights: list[float]) -> np.ndarray:
    """Return the middles of labels, ascending, moved as little as keeps each from the next and below the panel's top.

    With the gaps taken off, labels that do not touch are numbers that do not fall: isotonic regression.
    """
    from scipy.optimize import isotonic_regression

    below = np.cumsum([0.0, *((lower + upper) / 2 for lower, upper in pairwise(heights))])
    return np.minimum(isotonic_regression(np.array(places) - below).x, 1.0 - below[-1]) + below


def _notes(data: pd.DataFrame) -> list[str]:
    """Say in a line each which sizes are left out and which designs do not serve everybody."""
    notes = []
    for meaning, rows in data[data["meaning"] != ""].groupby("meaning", sort=False):
        sizes = ", ".join(count(size) for size in sorted(rows["size"].unique()))
        served = rows["group_count"] > 0
        who = f"{', '.join(look(d).label for d in in_order(rows['design']))}, " if served.any() else ""
        notes.append(f"{who}k = {sizes}: {meaning}")
    return notes


_MEASURES = {
    ERROR: "median household",
    "error_kwh_mean": "mean household",
    "error_kwh_rms": "all households, RMS",
    "absolute_error_kwh_median": "absolute, median household",
    "absolute_error_kwh_mean": "absolute, mean household",
}


def hiding_sentence(tables: Tables) -> str | None:
    """What hiding among the fewest and the most costs with the cheapest design, beside what a household uses."""
    data, marks = tables.get("hide_among"), tables.get("hide_among_yardsticks")
    if data is None or marks is None:
        return None
    data = data[data["design"] != GROUP_MEAN].dropna(subset=[ERROR])
    if data.empty:
        return None
    cheapest = data.groupby("size")[ERROR].min().sort_index()
    ends = cheapest.iloc[[0]] if len(cheapest) == 1 else cheapest.iloc[[0, -1]]
    costs = " and ".join(f"{significant(error, 2)} kWh among {count(size)}" for size, error in ends.items())
    typical = marks.set_index("yardstick")["median_kwh"]
    return (
        "To hide whose a forecast is among similar households, the cheapest noise design changes that of the median "
        f"household by {costs}, per {interval_words(int(marks['interval_minutes'].iloc[0]))}. The household uses "
        f"{significant(typical['energy'], 2)} kWh in that time, and its own forecast is off by "
        f"{significant(typical['forecast_error'], 2)} kWh."
    )


@printed(HIDE_AMONG)
def hiding_grid(data: pd.DataFrame, tables: Tables) -> Grid | None:
    """What hiding among k costs, a row per size and design."""
    data = data[data["group_count"] > 0]
    if data.empty:
        return None
    rows = []
    for size, designs in data.groupby("size"):
        at = designs.set_index("design")
        for design in in_order(at.index):
            row = at.loc[design]
            quartiles = (significant(row[f"error_kwh_{name}"], 2) for name in ("q25", "q75"))
            share = row["explained_share"]
            rows.append(
                (
                    f"{count(size)} or more",
                    look(design).label,
                    f"{count(row['group_count'])} of {count_range(row[['smallest_group', 'largest_group']])}",
                    *(significant(row[name], 2) for name in _MEASURES),
                    " to ".join(quartiles),
                    "none" if share < 0 else percent(share),
                    count(row["unserved_group_count"]),
                )
            )
    words = ("hidden among", "by", "groups")
    header = (*words, *_MEASURES.values(), "middle half of households", "variance explained", "groups not hidden")
    caption = (
        f"By how much hiding changes forecasts, kWh per interval, at ε = {plain(data['epsilon'].max())}, "
        f"δ = {plain(data['delta'].max())}; {count_range(data['household_count'])} households. Root mean "
        "square over a household’s intervals, except in columns that say absolute. Every group gets the least "
        "noise that is enough for it; its mean needs none"
    )
    return Grid(caption, header, rows, words=len(words))


GRIDS = {"hiding": hiding_grid}
