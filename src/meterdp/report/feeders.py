"""The error of feeder totals by size of the feeder, and what regulators' rules withhold and give away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meterdp.feeders.tables import FEEDER_ERRORS, FEEDER_RULES
from meterdp.pages import numbers
from meterdp.report.hiding import interval_words
from meterdp.report.pages import RELEASES, figure
from meterdp.report.style import (
    BLACK,
    GREY,
    ORANGE,
    PURPLE,
    VERMILION,
    canvas,
    legend_below,
    one_three_ticks,
    plain_log_ticks,
    show_points,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

# Method -> (words, colour, marker, line).
_OTHERS = {
    "laplace": ("Laplace on every total, ε = {}", ORANGE, "s", "--"),
    "gaussian": ("Gaussian on every total, ε = {}", PURPLE, "D", "--"),
    "laplace_one_reading": ("Laplace, hides one reading only, ε = {}", VERMILION, "v", ":"),
    "mean_profile": ("mean profile of all households, no privacy", GREY, "x", ":"),
}
_WINDOWS = {
    "days": "How far off is every {interval}\nof {days}?",
    "average_day": "How far off is the average day\nof {days}?",
}
_SHARE_OF = {"interval": "{rule}, every {interval}", "period": "{rule}, over {days}", "none": "{rule} households"}
# Where their own feeders are drawn, in sizes of the largest random ones.
_OWN_AT = 2.0
# Darkest and lightest green of the lines of the sound totals, from the smallest epsilon to the largest.
_LIGHT, _DARK = np.array([0.62, 0.86, 0.76]), np.array([0.0, 0.32, 0.24])


@figure(
    FEEDER_ERRORS,
    FEEDER_RULES,
    category=RELEASES,
    may_be_empty=True,
    look_for=(
        "Above: a private total is worth having where its green line is below the grey dotted one, for which every "
        "household has the mean profile. Right (“own”): feeders of the list, else circuits. "
        "Below: regulators’ rules for exact totals. 15/15 asks for 15 customers or "
        "more, none of them above 15 %; 4/50 likewise. Most totals that pass give away single readings when a "
        "household moves."
    ),
    alternative=(
        "Two panels of curves on logarithmic axes, error in per cent over households on a feeder, a curve per "
        "epsilon and per simpler way; below them two tables of percentages, a row per rule and a column per size."
    ),
)
def feeder_totals(errors: pd.DataFrame, rules: pd.DataFrame, output) -> None:
    """Draw the relative error of feeder totals over the feeder size, and what rules withhold and give away below.

    Lines are of random feeders; the own ones of a release are right of them.
    """
    drawn = errors[errors["grouping"] == "random"]
    with canvas(output, "How exact can the total of a feeder be?", 1.4 if drawn.empty else 8.6) as drawing:
        if drawn.empty:
            axes = drawing.subplots()
            axes.set_axis_off()
            words = "there are too few households with readings for feeders of these sizes"
            axes.text(0.5, 0.5, words, ha="center", va="center")
            return
        above, below = drawing.subfigures(2, 1, height_ratios=(1.75, 1))
        words = {
            "interval": interval_words(int(drawn["interval_minutes"].iloc[0])),
            "days": numbers.counted(int(drawn["day_count"].max()), "day"),
        }
        panels = above.subplots(1, 2, sharey=True)
        windows = [name for name in _WINDOWS if (drawn["window"] == name).any()]
        for axes, window in zip(panels, windows, strict=True):
            axes.set_title(_WINDOWS[window].format(**words))
            axes.set_xlabel(f"households on the feeder,\nand kWh that a feeder uses in a {words['interval']}")
            _lines(axes, errors[errors["window"] == window])
        panels[0].set_ylabel(f"error of the total of a {words['interval']},\n% of what the feeder uses on average")
        legend_below(above, *panels[0].get_legend_handles_labels(), columns=3)
        _strips(below, rules, words)


def _lines(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw a line over random feeders for every epsilon and way, and its marker for own ones right of them."""
    largest = rows.loc[rows["grouping"] == "random", "feeder_size"].max()
    rows = rows.assign(at=rows["feeder_size"].where(rows["grouping"] == "random", _OWN_AT * largest))
    epsilons = np.sort(rows["epsilon"].dropna().unique())
    for i, epsilon in enumerate(epsilons):
        colour = _LIGHT + (_DARK - _LIGHT) * i / max(len(epsilons) - 1, 1)
        label = f"proven totals, ε = {numbers.plain(epsilon)}"
        _line(axes, rows[(rows["method"] == "sound") & (rows["epsilon"] == epsilon)], label, colour, "^", "-")
    middle = epsilons[len(epsilons) // 2]
    for method, (words, colour, marker, line) in _OTHERS.items():
        drawn = rows[(rows["method"] == method) & ((rows["epsilon"] == middle) | rows["epsilon"].isna())]
        _line(axes, drawn, words.format(numbers.plain(middle)), colour, marker, line)
    axes.axhline(100, color=BLACK, linewidth=0.9)
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain_log_ticks(axes.yaxis, one_three_ticks(*axes.get_ylim()))
    ticks = rows.drop_duplicates("at").sort_values("at")
    plain_log_ticks(axes.xaxis, ticks["at"])
    names = [numbers.plain(row.feeder_size) if row.grouping == "random" else "own" for row in ticks.itertuples()]
    kwh = [numbers.significant(value, 2) for value in ticks["mean_total_kwh"]]
    axes.set_xticklabels([f"{name}\n{energy}" for name, energy in zip(names, kwh, strict=True)])


def _line(axes: Axes, rows: pd.DataFrame, label: str, colour, marker: str, line: str) -> None:
    style = {"color": colour, "marker": marker, "markersize": 4.5}
    of_size = rows["grouping"] == "random"
    for part, how in ((rows[of_size], {"linestyle": line, "label": label}), (rows[~of_size], {"linestyle": ""})):
        part = part.sort_values("at")
        axes.plot(part["at"], 100 * part["relative_rmse"], **style, **how)
    texts = [
        f"{label}: {numbers.percent(row.relative_rmse)} of {numbers.significant(row.mean_total_kwh, 2)} kWh"
        for row in rows.itertuples()
    ]
    show_points(axes, rows["at"], 100 * rows["relative_rmse"], texts)


def _strips(drawing: SubFigure, rules: pd.DataFrame, words: dict[str, str]) -> None:
    rules = rules.copy()
    rules["column"] = [
        f"{numbers.plain(row.feeder_size)}" if row.grouping == "random" else "own" for row in rules.itertuples()
    ]
    rules["row"] = [_SHARE_OF[row.share_of].format(rule=row.rule, **words) for row in rules.itertuples()]
    left, right = drawing.subplots(1, 2, sharey=True)
    left.set_title("% of totals that\na rule withholds")
    right.set_title("% of readings that\na difference gives away")
    _strip(left, rules, "withheld_total_share")
    _strip(right, rules, "exposed_reading_share")


def _strip(axes: Axes, rules: pd.DataFrame, value: str) -> None:
    """Draw shares as a table, the darker the larger."""
    columns, names = list(dict.fromkeys(rules["column"])), list(dict.fromkeys(rules["row"]))
    shares = rules.pivot_table(value, "row", "column").loc[names, columns].to_numpy()
    axes.imshow(shares, cmap="Greys", vmin=0, vmax=2.2, aspect="auto")
    for (i, j), share in np.ndenumerate(shares):
        axes.text(j, i, _percent(share), ha="center", va="center", fontsize=9)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(names)), names)
    axes.grid(False)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _percent(share: float) -> str:
    """Write a share in whole per cent, none and all only where it is that."""
    if share in (0, 1):
        return f"{100 * share:.0f}"
    return "<1" if share < 0.01 else ">99" if share > 0.99 else f"{100 * share:.0f}"
