"""Synthetic homes over a whole period beside real ones: a picture, a short table and a few sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from meterdp.publish.kinds import KINDS
from meterdp.report.hiding import interval_words
from meterdp.report.numbers import MISSING, count, counted, plain, significant
from meterdp.report.pages import PERIODS, Grid, Tables, figure, printed
from meterdp.report.style import BLACK, GREY, canvas, legend_below, plain_log_ticks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

# Darkest and lightest green of what was released, from the largest epsilon to the smallest.
_LIGHT, _DARK = np.array([0.35, 0.72, 0.56]), np.array([0.0, 0.32, 0.24])
_DAY_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DASHED = "--"
_MOST_TICKS, _APART = 5, 1.6
# The highest load of so many homes together is put into a sentence.
MANY_HOMES = 50
_NONE = "there are no homes over eight weeks to compare"


@figure(
    HOUSEHOLD_WEEKS,
    HOUSEHOLD_CURVES,
    HOUSEHOLD_SCORES,
    category=PERIODS,
    may_be_empty=True,
    look_for=(
        "Above: one week of ten real homes and of ten synthetic homes of a release, from those who use least to "
        "those who use most; both homes of a row have one axis, and neither is made of the other. Below: what a "
        "planner draws of homes. Left, the peak of one and of many together, for each home; in the middle, the mean "
        "load of all, sorted by size; right, what they use over the year. Look for green lines that follow the black "
        "one of the real homes: the lighter the green, the smaller ε, the stronger the protection. The broken line "
        "is what the method does without any."
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
        with canvas(output, "Synthetic homes beside real ones", 1.4) as drawing:
            axes = drawing.subplots()
            axes.set_axis_off()
            axes.text(0.5, 0.5, _NONE, ha="center", va="center")
        return
    with canvas(output, f"Synthetic homes beside real ones, here of {_period(scores)}", 9.4) as drawing:
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
    """Draw a row for every home, real left and synthetic right, on one axis."""
    drawing.suptitle("Do synthetic homes live like real ones?", x=0.01, ha="left", fontsize=10.5, fontweight="normal")
    epsilon = plain(weeks["epsilon"].dropna().iloc[0])
    sources = {REAL_HOMES: "ten real homes", RELEASED: f"ten synthetic homes, ε = {epsilon}"}
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
    found = [(rows[rows["source"] == REAL_HOMES], {"color": BLACK, "label": "real homes", "zorder": 4})]
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
    axes.set_xscale("log")
    sizes = sorted(rows["home_count"].unique())
    # There is no room for two labels of about the same number.
    plain_log_ticks(axes.xaxis, [n for n, more in pairwise([*sizes, np.inf]) if more > _APART * n])
    axes.set_ylim(bottom=0)
    axes.set_title("How high do many homes\npeak together?")
    axes.set_xlabel("homes")
    axes.set_ylabel("kW a home")


def _duration(axes: Axes, rows: pd.DataFrame) -> None:
    for curve, style in _styles(rows):
        axes.plot(100 * curve["time_share"], curve["power_kw"], **style)
    axes.set_ylim(bottom=min(0.0, rows["power_kw"].min()))
    axes.set_xlim(0, 100)
    axes.set_title("How much of the time\nis the load so high?")
    axes.set_xlabel("% of the time")
    axes.set_ylabel("kW a home")


def _energy(axes: Axes, rows: pd.DataFrame) -> None:
    days = [date.fromisoformat(day) for day in sorted(rows["first_day"].unique())]
    place = {day.isoformat(): number for number, day in enumerate(days)}
    for curve, style in _styles(rows):
        axes.plot(curve["first_day"].map(place), 24 * curve["power_kw"], marker="o", markersize=3, **style)
    axes.set_ylim(bottom=min(0.0, 24 * rows["power_kw"].min()))
    monthly = len(days) > 1 and (days[-1] - days[-2]).days > 7
    step = -(-len(days) // _MOST_TICKS)
    shown = range(0, len(days), step)
    axes.set_xticks(list(shown), [f"{days[n]:%b}" if monthly else f"{days[n].day} {days[n]:%b}" for n in shown])
    axes.set_title(f"How much do homes use\nin every {'month' if monthly else 'week'}?")
    axes.set_ylabel("kWh a home and day")


# --- table ----------------------------------------------------------------------------------------------------------

# Rows of the short table: a statistic of the scorecard, the words for it, and the details that are left out.
_SHOWN = {
    "energy, quantiles of homes": ("energy, quantile of homes", ()),
    "peak, quantiles of homes": ("largest reading, quantile of homes", ()),
    "diversified peak, homes": ("highest load of homes together", ("1", "all")),
    "autocorrelation": ("autocorrelation after", ("2 intervals",)),
    "monthly energy": ("mean load of the months", ()),
    "profile of working days": ("mean profile of working days", ()),
    "forecast a day ahead, trained on them": ("error of a forecast a day ahead, trained on them", ()),
    "distance to the closest real home": ("distance to the closest real home", ()),
}


@printed(HOUSEHOLD_SCORES)
def household_grid(data: pd.DataFrame, tables: Tables) -> Grid:
    """How far synthetic homes are off, for the numbers a planner asks for first."""
    epsilons = sorted(data["epsilon"].dropna().unique(), reverse=True)
    own, *released = (
        rows.set_index(["statistic", "detail"])
        for rows in (data[data["source"] == OWN], *(data[data["epsilon"] == epsilon] for epsilon in epsilons))
    )
    rows = []
    for (statistic, detail), row in own.iterrows():
        words, left_out = _SHOWN.get(statistic, ("", ()))
        # Halves of the homes have no group of as many as all of them.
        if words and detail not in left_out and np.isfinite(row["floor"]):
            errors = (one.loc[(statistic, detail), "absolute_error"] for one in (own, *released))
            real = f"{significant(row['real'])} {row['unit'].removesuffix('1')}".strip()
            off = (_error(error, row["error_unit"]) for error in (*errors, row["floor"]))
            rows.append((words, _detail(detail), real, *off))
    order = [words for words, _ in _SHOWN.values()]
    return Grid(
        f"By how much synthetic homes are off: {_period(data)}",
        ("", "", "real homes", "no privacy", *(f"ε = {plain(e)}" for e in epsilons), "real against real"),
        sorted(rows, key=lambda row: order.index(row[0])),
        words=2,
        note=(
            "Mean absolute errors of some draws; of months and profiles root mean squares. KS is the distance of "
            "Kolmogorov and Smirnov between the distributions over homes, from 0 (the same) to 1. ‘Real against "
            "real’ is one random half of the real homes against the other: what is no worse may be chance. "
            "household_scores.parquet has more rows."
        ),
    )


def _detail(detail: str) -> str:
    """Write a quantile as a percentage and a number of homes with its noun."""
    if detail.startswith("0."):
        return f"{100 * float(detail):.0f} %"
    return counted(int(detail), "home") if detail.isdigit() else detail


def _error(value: float, unit: str) -> str:
    return f"{_size(value, unit)} {unit.removesuffix(' rms')}"


def _size(value: float, unit: str) -> str:
    if value is None or not np.isfinite(value):
        return MISSING
    if unit == "KS":
        return f"{value:.2f}"
    return "<0.1" if 0 < value < 0.1 else significant(value, 2)


# --- sentences ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    """What the section says: sentences, or why there is nothing to say; and what a release makes."""

    sentences: tuple[str, ...]
    absent: str
    release: str | None


def said(tables: Tables, settings: Mapping, asked: bool) -> Said:
    """Return what the report says; ``asked`` is whether the stage was run, even if it had too little to compare."""
    data = tables.get(HOUSEHOLD_SCORES.name)
    absent = "Not part of this study."
    if asked:
        absent = (
            "Synthetic homes over a whole period need eight weeks of readings, of twenty homes or more; this export "
            "has fewer."
        )
    sentences = () if data is None or data.empty else (_what(data), _worth(data), _attack(data))
    return Said(sentences, absent, _release(settings))


def _what(data: pd.DataFrame) -> str:
    row = data.iloc[0]
    homes, sample = count(row["household_count"]), count(row["sample_count"])
    every = f"a reading every {interval_words(int(row['interval_minutes']))}"
    if row["period"] == SIMULATED_YEAR:
        whence = (
            f"There is no export of eight weeks or more, so a year of {homes} homes was simulated for this section "
            f"({every}): what is called real here is simulated, too."
        )
    else:
        whence = f"The {count(row['day_count'])} days of the export have {homes} homes ({every})."
    return (
        f"{whence} A release says with noise what homes are like over the whole period, and any number of synthetic "
        f"homes is drawn from it. Here {sample} of them are set against {sample} real ones."
    )


def _worth(data: pd.DataFrame) -> str:
    """Say how far the peak of many homes together and the median energy are off, at every epsilon and without."""
    size, peak = together(data)
    energy = data[(data["statistic"] == "energy, quantiles of homes") & (data["detail"] == "0.5")]
    what = {f"The highest load of {counted(size, 'home')} together": peak, "The energy of the median home": energy}
    return " ".join(_off(rows, words) for words, rows in what.items() if not rows.empty)


def _attack(data: pd.DataFrame) -> str:
    rows = data[data["statistic"] == "membership attack"].set_index("epsilon")["synthetic"]
    own = rows[rows.index.isna()].iloc[0]
    released = rows[rows.index.notna()].sort_index(ascending=False)
    at = " and ".join(f"{odds:.1f} at ε = {plain(epsilon)}" for epsilon, odds in released.items())
    return (
        "An attacker who has a home's vector and asks whether the home was among those that were used is right with "
        f"odds of {own:.1f} to 1 without privacy, {at}; a guess has 1 to 1."
    ).replace("ε = ", "ε\u00a0=\u00a0")


def together(data: pd.DataFrame) -> tuple[int, pd.DataFrame]:
    """Return the rows of the peak of some homes together, and of how many: fifty, or as many below as there are."""
    rows = data[(data["statistic"] == "diversified peak, homes") & data["floor"].notna() & (data["detail"] != "all")]
    size = max((int(detail) for detail in rows["detail"] if int(detail) <= MANY_HOMES), default=1)
    return size, rows[rows["detail"] == str(size)]


def errors_of(rows: pd.DataFrame) -> tuple[str, dict[float, str], str]:
    """Return by how much one statistic is off: without privacy, at every epsilon, and real homes among themselves."""
    own = rows[rows["source"] == OWN]["absolute_error"].iloc[0]
    released = rows[rows["epsilon"].notna()].sort_values("epsilon", ascending=False)
    at = {row.epsilon: _error(row.absolute_error, "%") for row in released.itertuples()}
    return _error(own, "%"), at, _error(rows["floor"].iloc[0], "%")


def _off(rows: pd.DataFrame, what: str) -> str:
    own, at, floor = errors_of(rows)
    protected = " and ".join(f"{error} at ε = {plain(epsilon)}" for epsilon, error in at.items())
    words = f"{what} is off by {own} without privacy, {protected}; two halves of the real homes differ by {floor}."
    # No line break between a number and its percent sign.
    return words.replace(" %", "\u00a0%").replace("ε = ", "ε\u00a0=\u00a0")


def _release(settings: Mapping) -> str | None:
    """Say which of mixture and households these settings release, and with which epsilon each."""
    release = settings.get("release")
    if not release:
        return None
    made = {}
    for what, kind in KINDS.items():
        name = "" if what == kind.holds else f"{what}, "
        made[what] = f"{kind.holds} ({name}ε = {plain(release[kind.epsilon])})"
    own = " and ".join(made[what] for what in release["what"])
    words = f"With these settings a release makes {own}; meterdp plan says what that is expected to be worth."
    if "households" not in release["what"]:
        words += f" It would make {made['households']} if release.what named households."
    if "mixture" not in release["what"]:
        words += f" It would make {made['mixture']} if release.what named mixture."
    return words


GRIDS = {"household_scores": household_grid}
