"""Synthetic households over a whole period beside real ones, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from meterdp.households.tables import (
    HOUSEHOLD_CURVES,
    HOUSEHOLD_SCORES,
    HOUSEHOLD_WEEKS,
    OWN,
    REAL_HOMES,
    RELEASED,
    SIMULATED_YEAR,
)
from meterdp.pages.numbers import count, counted, percent, plain, significant
from meterdp.report.pages import RELEASES, figure
from meterdp.report.style import BLACK, GREY, canvas, legend_below, plain_log_ticks, show_points, show_strips

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

# Darkest and lightest green of what was released, from the largest epsilon to the smallest.
_LIGHT, _DARK = np.array([0.35, 0.72, 0.56]), np.array([0.0, 0.32, 0.24])
_DAY_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DASHED = "--"
_MOST_TICKS, _APART = 5, 1.6
_NONE = "there are no eight weeks of readings from twenty households or more to compare"


@figure(
    HOUSEHOLD_WEEKS,
    HOUSEHOLD_CURVES,
    HOUSEHOLD_SCORES,
    category=RELEASES,
    may_be_empty=True,
    look_for=(
        "Above: a week of ten real and ten synthetic households on the same axes, from low to high use; no row is a "
        "pair. Below: the nearer the green lines are to the black one, the better; light green is the smallest ε."
    ),
    alternative=(
        "Twenty small curves of power over a week in two columns, ten real and ten synthetic homes; below them three "
        "panels with curves of real and synthetic homes: peak over the number of homes, load duration, and use over "
        "the months or weeks."
    ),
)
def synthetic_homes(weeks: pd.DataFrame, curves: pd.DataFrame, scores: pd.DataFrame, output) -> None:
    """Draw weeks of real beside synthetic homes, diversified peaks, load duration and use over the period."""
    if scores.empty:
        with canvas(output, "Do synthetic households live like real ones?", 1.4) as drawing:
            axes = drawing.subplots()
            axes.set_axis_off()
            axes.text(0.5, 0.5, _NONE, ha="center", va="center")
        return
    with canvas(output, f"Do synthetic households live like real ones over {_period(scores)}?", 8.6) as drawing:
        above, below = drawing.subfigures(2, 1, height_ratios=(1.6, 1))
        _weeks(above, weeks)
        left, middle, right = below.subplots(1, 3)
        _diversity(left, curves[curves["curve"] == "diversity"])
        _duration(middle, curves[curves["curve"] == "duration"])
        _energy(right, curves[curves["curve"] == "energy"])
        legend_below(below, *left.get_legend_handles_labels(), columns=4)


def _period(scores: pd.DataFrame) -> str:
    """Return how the period is called: ``a simulated year``, ``364 days of the export``."""
    row = scores.iloc[0]
    return "a simulated year" if row["period"] == SIMULATED_YEAR else f"{count(row['day_count'])} days of the export"


def _weeks(drawing: SubFigure, weeks: pd.DataFrame) -> None:
    """Draw a row for every home, a real one left and a synthetic one right, on one axis."""
    epsilon = plain(weeks["epsilon"].dropna().iloc[0])
    sources = {
        REAL_HOMES: "A week of ten real households",
        RELEASED: f"A week of ten synthetic households (ε = {epsilon})",
    }
    homes = sorted(weeks["home"].unique())
    grid = drawing.subplots(len(homes), 2, sharex=True, sharey="row", squeeze=False)
    for row, home in zip(grid, homes, strict=True):
        for axes, (source, words) in zip(row, sources.items(), strict=True):
            week = weeks[(weeks["home"] == home) & (weeks["source"] == source)]
            colour = BLACK if source == REAL_HOMES else _green(0)
            axes.plot(week["hours_from_monday"], week["power_kw"], color=colour, linewidth=0.8)
            axes.grid(False, axis="y")
            axes.spines["left"].set_visible(False)
            axes.tick_params(axis="both", which="both", length=0)
            if home == homes[0]:
                axes.set_title(words, fontsize=10)
        _from_zero(row)
    for axes in grid[-1]:
        axes.set_xlim(0, 168)
        axes.set_xticks(np.arange(0, 168, 24), [])
        axes.set_xticks(np.arange(12, 168, 24), _DAY_NAMES, minor=True)
        axes.tick_params(axis="x", which="minor", labelsize=9)
    drawing.supylabel("kW", fontsize=10)


def _from_zero(row: Sequence[Axes]) -> None:
    """Let both panels of a row stand on zero, or have a line there where energy is fed in; label a round number."""
    low, high = row[0].get_ylim()
    fed_in = low < -0.1 * high
    row[0].set_ylim(low if fed_in else 0.0, high)
    for axes in row if fed_in else ():
        axes.spines["bottom"].set_visible(False)
        axes.axhline(0, color=BLACK, linewidth=0.8)
    steps = np.outer(10.0 ** np.arange(-3, 5), (1, 2, 5))
    top = steps[steps < high].max(initial=1e-3)
    row[0].set_yticks([0, top], ["", plain(top)])


def _green(position: float):
    """Return the colour of a release, 0 for the smallest epsilon, 1 for the largest."""
    return _LIGHT + (_DARK - _LIGHT) * position


def _styles(rows: pd.DataFrame) -> list[tuple[pd.DataFrame, dict]]:
    """Return the rows of every source with how they are drawn, the real homes last so that they lie on top."""
    epsilons = sorted(rows["epsilon"].dropna().unique(), reverse=True)
    found = [(rows[rows["source"] == REAL_HOMES], {"color": BLACK, "label": "real households", "zorder": 4})]
    own = rows[rows["source"] == OWN]
    found.append((own, {"color": GREY, "label": "synthetic, no privacy", "linestyle": _DASHED, "zorder": 5}))
    for number, epsilon in enumerate(epsilons):
        position = 1 - number / max(len(epsilons) - 1, 1)
        style = {"color": _green(position), "label": f"synthetic, ε = {plain(epsilon)}", "zorder": 3}
        found.append((rows[rows["epsilon"] == epsilon], style))
    return found


def _diversity(axes: Axes, rows: pd.DataFrame) -> None:
    for curve, style in _styles(rows):
        axes.plot(curve["home_count"], curve["power_kw"], marker="o", markersize=4, **style)
        texts = [
            f"{style['label']}: {counted(row.home_count, 'household')} peak at {significant(row.power_kw)} kW each"
            for row in curve.itertuples()
        ]
        show_points(axes, curve["home_count"], curve["power_kw"], texts)
    axes.set_xscale("log")
    sizes = sorted(rows["home_count"].unique())
    # There is no room for two labels of about the same number.
    plain_log_ticks(axes.xaxis, [n for n, more in pairwise([*sizes, np.inf]) if more > _APART * n])
    axes.set_ylim(bottom=0)
    axes.set_title("How high do many\nhouseholds peak together?")
    axes.set_xlabel("households")
    axes.set_ylabel("kW per household")


def _duration(axes: Axes, rows: pd.DataFrame) -> None:
    said = []
    for curve, style in _styles(rows):
        axes.plot(100 * curve["time_share"], curve["power_kw"], **style)
        said.append((style["label"], curve["power_kw"].to_numpy()))
    axes.set_ylim(bottom=min(0.0, rows["power_kw"].min()))
    axes.set_xlim(0, 100)
    shares = np.sort(rows["time_share"].unique())
    texts = [
        f"{percent(share)} of the time at least: " + "; ".join(f"{name} {significant(kw[n])} kW" for name, kw in said)
        for n, share in enumerate(shares[1:], start=1)
    ]
    show_strips(axes, 100 * shares, texts)
    axes.set_title("How much of the time\nis load that high?")
    axes.set_xlabel("% of the time")
    axes.set_ylabel("kW per household")


def _energy(axes: Axes, rows: pd.DataFrame) -> None:
    days = [date.fromisoformat(day) for day in sorted(rows["first_day"].unique())]
    place = {day.isoformat(): number for number, day in enumerate(days)}
    for curve, style in _styles(rows):
        axes.plot(curve["first_day"].map(place), 24 * curve["power_kw"], marker="o", markersize=3, **style)
        texts = [
            f"{style['label']}, from {row.first_day} on: {significant(24 * row.power_kw)} kWh a day"
            for row in curve.itertuples()
        ]
        show_points(axes, curve["first_day"].map(place), 24 * curve["power_kw"], texts)
    axes.set_ylim(bottom=min(0.0, 24 * rows["power_kw"].min()))
    monthly = len(days) > 1 and (days[-1] - days[-2]).days > 7
    step = -(-len(days) // _MOST_TICKS)
    shown = range(0, len(days), step)
    axes.set_xticks(list(shown), [f"{days[n]:%b}" if monthly else f"{days[n].day} {days[n]:%b}" for n in shown])
    axes.set_title(f"How much do they use\nin each {'month' if monthly else 'week'}?")
    axes.set_ylabel("kWh per household and day")
