"""What it costs to hide a household among k others: a picture and a sentence."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from meterdp.evaluation.tables import GROUP_MEAN, HIDE_AMONG, HIDE_AMONG_YARDSTICKS
from meterdp.pages.numbers import count, plain, significant
from meterdp.report.pages import FORECASTS, Tables, figure
from meterdp.report.style import GREY, canvas, in_order, look, plain_log_ticks, show_points

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

READS = (HIDE_AMONG, HIDE_AMONG_YARDSTICKS)
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
        "Forecasts of at least k similar households are changed until they hardly reveal which household each "
        "belongs to. Below the lower dotted line this adds less than the error that the forecast has anyway; above "
        "the upper one the forecast says little. What the group uses, and who is in it, stays visible."
    ),
    alternative=(
        "Curves of the error of the released forecast in kWh over the size of the groups, one curve per way of "
        "hiding, with dotted lines for a household's energy and the error of its own forecast."
    ),
)
def hide_among(data: pd.DataFrame, yardsticks: pd.DataFrame, output) -> None:
    """Draw the error of released forecasts against the number of households hidden among.

    The axis ends where a forecast says nothing any more; designs that are worse throughout are named above it, as are
    below it sizes with too few households and designs that no budget makes hide everybody. Curves that lie on one
    another are drawn as one.
    """
    drawn = data[data[ERROR] > 0]
    interval = interval_words(int(yardsticks["interval_minutes"].iloc[0]))
    guarantee = f"ε = {plain(data['epsilon'].max())}, δ = {plain(data['delta'].max())}"
    title = f"What does it cost to hide whose forecast it is? ({guarantee})"
    top = _top(drawn, yardsticks)
    least = drawn.groupby("design")[ERROR].min()
    curves = [designs for designs in _curves(drawn) if least[designs[0]] < top]
    beyond = [designs for designs in _curves(drawn) if least[designs[0]] >= top]
    notes = [_beyond(drawn, designs, interval) for designs in beyond] + _notes(data)
    with canvas(output, title, (1.8 if drawn.empty else 3.9) + 0.22 * len(notes)) as drawing:
        if notes:
            drawing.supxlabel("\n".join(notes), fontsize=9, x=0.01, ha="left", color=GREY)
        axes = drawing.subplots()
        if drawn.empty:
            axes.set_axis_off()
            axes.text(0.5, 0.5, "there is no error to draw", ha="center", va="center")
            return
        axes.set_xscale("log")
        for designs in curves:
            _curve(axes, drawn[drawn["design"] == designs[0]])
        axes.set_ylim(0, top)
        sizes = sorted(drawn["size"].unique())
        axes.set_xlim(sizes[0] / 1.12, sizes[-1] * 1.12)
        plain_log_ticks(axes.xaxis, sizes)
        axes.set_xlabel("k: smallest number of similar households among which each is hidden")
        axes.set_ylabel(f"change of the median forecast\n(kWh per {interval})")
        _label(axes, drawn, curves, yardsticks[yardsticks["median_kwh"] > 0])


def _top(drawn: pd.DataFrame, yardsticks: pd.DataFrame) -> float:
    """Return the upper end of the axis: twice what a household uses, or all if the cheapest design is above it."""
    useful = 2 * yardsticks["median_kwh"].max()
    cheapest = drawn.groupby("design")[ERROR].max().min() if len(drawn) else 0.0
    return float(max(useful, 1.3 * cheapest))


def _beyond(drawn: pd.DataFrame, designs: list[str], interval: str) -> str:
    errors = drawn.loc[drawn["design"] == designs[0], ERROR]
    low, high = (significant(error, 2) for error in (errors.min(), errors.max()))
    names = " and ".join(look(design).label for design in designs)
    return f"Off the axis: {names}, {low} to {high} kWh per {interval}"


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
    texts = [
        f"{style.label}, k = {count(size)}: {significant(error, 2)} kWh"
        for size, error in zip(rows["size"], rows[ERROR], strict=True)
    ]
    show_points(axes, rows["size"], rows[ERROR], texts)
    if rows["design"].iloc[0] == GROUP_MEAN:
        axes.plot(rows["size"], rows[ERROR], color=style.colour, marker=style.marker, linestyle="--", linewidth=1.3)
        return
    axes.plot(rows["size"], rows[ERROR], color=style.colour, marker=style.marker)
    quartiles = rows.dropna(subset=["error_kwh_q25", "error_kwh_q75"])
    between = quartiles["error_kwh_q25"], quartiles["error_kwh_q75"]
    axes.fill_between(quartiles["size"], *between, color=style.colour, alpha=0.12, linewidth=0)


def _label(axes: Axes, data: pd.DataFrame, curves: list[list[str]], marks: pd.DataFrame) -> None:
    """Write the names of curves and yardsticks right of their ends, apart from one another."""
    top, labels = axes.get_ylim()[1], []
    for designs in curves:
        last = data[data["design"] == designs[0]].sort_values("size")[ERROR].iloc[-1]
        names = "\nand ".join(look(design).label for design in designs)
        labels.append((last, names, look(designs[0]).colour))
    for mark in marks.itertuples():
        axes.axhline(mark.median_kwh, color=GREY, linestyle=":", linewidth=1.3)
        text = _YARDSTICKS[mark.yardstick].format(significant(mark.median_kwh, 2))
        labels.append((mark.median_kwh, text, GREY))
    labels.sort()
    places = [min(value / top, 1.0) for value, _, _ in labels]
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
        "A forecast can be hidden among those of similar households. The cheapest noise design then changes the "
        f"forecast of the median household by {costs}, per "
        f"{interval_words(int(marks['interval_minutes'].iloc[0]))}. That household uses "
        f"{significant(typical['energy'], 2)} kWh in that time, and its own forecast is off by "
        f"{significant(typical['forecast_error'], 2)} kWh."
    )
