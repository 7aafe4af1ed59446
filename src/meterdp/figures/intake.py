"""What became of the export: rows, households and readings, counted by reason.

The bars show what was NOT used or was touched by a rule; what was used is in the titles, because next to millions of
good rows a handful of bad ones would be invisible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meterdp.figures import numbers
from meterdp.figures.entry import INTAKE, Figure
from meterdp.figures.style import BLUE, GREY, VERMILION, canvas, load
from meterdp.ingest.tables import INGEST_REPORT
from meterdp.profiles.tables import QUALITY_SUMMARY

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def intake(ingest_report, quality_summary, output) -> None:
    """Draw how many rows, households and readings each rule took out or touched.

    Parameters
    ----------
    ingest_report : path-like
        Table ``ingest_report``.
    quality_summary : path-like
        Table ``quality_summary``.
    output : path-like
        SVG to write.
    """
    rows = load(ingest_report, INGEST_REPORT).rename(columns={"row_count": "item_count"})
    rules = load(quality_summary, QUALITY_SUMMARY)
    households, readings = (rules[rules["scope"] == scope] for scope in ("households", "readings"))
    parts = [
        (_apart(rows, "used"), "rows of the export", "used", VERMILION),
        (_apart(households, "kept"), "households", "kept", BLUE),
        (_apart(readings, "expected_readings", is_total=True), "slots of the time grid", "in all", GREY),
    ]
    parts = [part for part in parts if part[0] is not None]
    heights = [max(len(bars), 1) + 1.2 for (bars, _, _), *_ in parts]
    with canvas(output, "What came in and what was left out", 0.7 + 0.33 * sum(heights)) as figure:
        grid = figure.subplots(len(parts), 1, squeeze=False, height_ratios=heights).ravel()
        for axes, ((bars, good, total), noun, verb, colour) in zip(grid, parts, strict=True):
            _bars(axes, bars, total, colour)
            of_all = f" of {numbers.count(total)} ({numbers.percent(good / max(total, 1))})"
            axes.set_title(f"{noun.capitalize()}: {numbers.count(good)}{'' if good == total else of_all} {verb}")
            axes.set_xlabel(noun.removesuffix(" of the export").removesuffix(" of the time grid"))


INTAKE_FIGURE = Figure(
    draw=intake,
    tables=(INGEST_REPORT, QUALITY_SUMMARY),
    category=INTAKE,
    look_for=(
        "Rows, households and readings that a rule left out or touched, by reason. Look for a bar that is "
        "longer than you would expect of this export: it usually means a wrong setting or a fault in the "
        "meters, not a property of the households."
    ),
    alternative="Horizontal bars: how many rows, households and readings each rule left out or touched.",
)


def _apart(data: pd.DataFrame, good: str, is_total: bool = False):
    """Split a list of counts into (the others, count of ``good``, total); None without rows."""
    if data.empty:
        return None
    good_count = int(data.loc[data["reason"] == good, "item_count"].sum())
    total = good_count if is_total else int(data["item_count"].sum())
    return data[data["reason"] != good].sort_values("item_count", kind="stable"), good_count, total


def _bars(axes: Axes, bars: pd.DataFrame, total: int, colour: str) -> None:
    values = bars["item_count"].to_numpy()
    place = np.arange(len(bars))
    axes.barh(place, values, color=colour, height=0.62)
    axes.set_yticks(place, [reason.replace("_", " ") for reason in bars["reason"]])
    axes.set_xlim(0, 1.28 * max(values.max(initial=0), 1))
    axes.set_ylim(-0.6, max(len(bars), 1) - 0.4)
    axes.xaxis.get_major_locator().set_params(integer=True, nbins=6)
    axes.xaxis.set_major_formatter(lambda value, _: numbers.count(value))
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    if not len(bars):
        axes.text(0.5, 0, "nothing was left out", ha="center", va="center", transform=axes.get_yaxis_transform())
    for y, value in zip(place, values, strict=True):
        text = f"  {numbers.count(value)} ({numbers.percent(value / max(total, 1))})"
        axes.text(value, y, text, va="center", fontsize=9)
