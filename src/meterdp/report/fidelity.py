"""How close synthetic households come to real ones: one panel a measure, one row a source of profiles.

Measures of the three examples of Liu et al., section II-B. The grey area is where other real households lie, so that
a reader sees at a glance what is as good as real; numbers stand beside the points because scales are logarithmic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meterdp.evaluation.tables import FIDELITY
from meterdp.pages import numbers
from meterdp.report.pages import RELEASES, figure
from meterdp.report.style import (
    BLACK,
    GREY,
    LIGHT_GREY,
    VERMILION,
    Look,
    area_key,
    canvas,
    in_order,
    legend_below,
    line_key,
    look,
    one_three_ticks,
    panels,
    plain_log_ticks,
    show_points,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

# Measure, title of its panel, label of its axis. Distances have a logarithmic axis.
_DISTANCES = (
    ("ks_mean", "Are single hours right?", "largest gap of distributions"),
    ("sliced_wasserstein", "Are all hours jointly right?", "distance of distributions (log kWh)"),
    ("peak_hour_tv", "Is the peak hour right?", "share of homes with another one"),
    ("peak_wasserstein", "Is the peak’s size right?", "distance of distributions (kWh)"),
    ("energy_wasserstein", "Is the energy right?", "distance of distributions (kWh)"),
)
# This one has a linear axis: below 0 for an R^2 worse than the mean.
_SHARES = (("prediction_r2", "Can later hours be predicted?", "R² on real households"),)
_LARGER_IS_BETTER = ("prediction_r2",)
_COMPANION = {"prediction_r2": "augmented_r2"}
_PROVEN = "sound"
_OURS = {"real": Look("real households", BLACK, "o"), "fit": Look("fit without privacy", VERMILION, "x")}
_FLOOR = -0.5  # an R^2 below this is drawn at the edge with an arrow
_ROOM = 0.1  # below zero, that the labels of quarters of a share leave
_MOST_TICKS = 5
_BAND = 2  # standard deviations of the yardstick that still count as real
_OFFSET = 0.2  # rows the companion of a measure stands below it


@figure(
    FIDELITY,
    category=RELEASES,
    look_for=(
        "Lower is better; for R², higher. In the grey area synthetic profiles are as near as a random half of the "
        "real households. The mixtures were fitted to the households that they are judged on."
    ),
    alternative=(
        "A grid of dot plots, one panel a measure and one row a source: real households, the fit and the proven "
        "release, with a grey area where other real households lie."
    ),
)
def fidelity(data: pd.DataFrame, output) -> None:
    """Draw how close the synthetic profiles of every source come to real ones."""
    data = data[data["entry"].isna() & (data["source"].isin(_OURS) | (data["family"] == _PROVEN))]
    sources = [s for s in _OURS if s in set(data["source"])] + in_order(set(data["source"]) - set(_OURS))
    shown = set(data["measure"])
    drawn = [panel for panel in (*_DISTANCES, *_SHARES) if panel[0] in shown]
    columns = 3
    rows = -(-len(drawn) // columns)
    with canvas(output, _title(data), 1.1 + rows * (0.95 + 0.22 * len(sources))) as drawing:
        # The layout does not count all of the longest names; a power of two keeps it reproducible to the last bit.
        body = drawing.subfigures()
        drawing.get_layout_engine().set(rect=(1 / 32, 0, 31 / 32, 1))
        grid = panels(body, len(drawn), columns)
        for number, (axes, (measure, title, label)) in enumerate(zip(grid, drawn, strict=True)):
            cells = data[data["measure"] == measure].set_index("source")
            companions = data[data["measure"] == _COMPANION.get(measure)].set_index("source")
            values = np.concatenate([cells["value"], companions["value"]])
            linear = (measure, title, label) in _SHARES
            (_share_scale if linear else _distance_scale)(axes, values[np.isfinite(values)])
            _yardstick(axes, cells, measure in _LARGER_IS_BETTER)
            for place, source in enumerate(sources):
                _point(axes, place, _style(source), cells, companions, source)
            axes.set_title(title)
            axes.set_xlabel(label, fontsize=9)
            names = [_style(s).label for s in sources] if number % columns == 0 else [""] * len(sources)
            axes.set_yticks(range(len(sources)), names)
            axes.tick_params(axis="y", length=0)
            axes.set_ylim(len(sources) - 0.5, -0.6)
            axes.grid(False, axis="y")
        _key(drawing, drawn)


def _title(data: pd.DataFrame) -> str:
    epsilon = sorted(data["epsilon"].dropna().unique())
    at = f" (ε = {', '.join(numbers.plain(e) for e in epsilon)})" if epsilon else ""
    return f"Are synthetic profiles as good as other real ones?{at}"


def _style(source: str) -> Look:
    return _OURS.get(source) or look(source)


def _distance_scale(axes: Axes, values: np.ndarray) -> None:
    """Logarithmic axis that holds every positive value; zero is drawn at its left end with an arrow."""
    values = values[values > 0]
    low, high = (values.min(), values.max()) if values.size else (0.1, 1.0)
    low, high = low / 2.5, max(high, 3 * low) * 1.6
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    ticks = one_three_ticks(low, high)
    plain_log_ticks(axes.xaxis, ticks if len(ticks) <= _MOST_TICKS else [t for t in ticks if np.log10(t) % 1 == 0])


def _share_scale(axes: Axes, values: np.ndarray) -> None:
    axes.set_xlim(max(values.min(initial=0.0) - 0.03, _FLOOR), 1.02)
    # Where the axis goes on below zero there is room for fewer labels.
    ticks = [0.0, 0.5, 1.0] if axes.get_xlim()[0] < -_ROOM else [0.0, 0.25, 0.5, 0.75, 1.0]
    axes.set_xticks(ticks, [numbers.plain(tick) for tick in ticks])


def _yardstick(axes: Axes, cells: pd.DataFrame, larger_is_better: bool) -> None:
    """Shade what is no worse than other real households."""
    if "real" not in cells.index:
        return
    mean, spread = cells.loc["real", "value"], np.nan_to_num(cells.loc["real", "se"])
    low, high = axes.get_xlim()
    ends = (mean - _BAND * spread, high) if larger_is_better else (low, mean + _BAND * spread)
    axes.axvspan(*np.clip(ends, low, high), color=LIGHT_GREY, alpha=0.5, linewidth=0)


def _point(axes: Axes, place: int, style: Look, cells: pd.DataFrame, companions: pd.DataFrame, source: str) -> None:
    """Draw one source's value, its spread, its companion and its number."""
    across = axes.get_yaxis_transform()
    if source not in cells.index or not np.isfinite(cells.loc[source, "value"]):
        axes.text(1.035, place, numbers.MISSING, transform=across, va="center", fontsize=8, color=GREY)
        return
    value, spread = cells.loc[source, "value"], np.nan_to_num(cells.loc[source, "se"])
    low, high = axes.get_xlim()
    hidden = value <= low
    x = low if hidden else value
    reach = np.clip([x - spread, x + spread], low, high)
    axes.plot(reach, [place, place], color=style.colour, linewidth=1.4, solid_capstyle="butt")
    marker = "<" if hidden else style.marker
    axes.plot(x, place, color=style.colour, marker=marker, linestyle="", clip_on=False, zorder=3)
    if source in companions.index and np.isfinite(companions.loc[source, "value"]):
        beside = np.clip(companions.loc[source, "value"], low, high)
        hollow = {"marker": "d", "markerfacecolor": "white", "markersize": 4.5, "markeredgecolor": style.colour}
        axes.plot(beside, place + _OFFSET, linestyle="", clip_on=False, zorder=2, **hollow)
    axes.text(1.035, place, numbers.significant(value, 2), transform=across, va="center", fontsize=8)
    show_points(
        axes, [x], [place], [f"{style.label}: {numbers.significant(value)} ± {numbers.significant(spread, 2)}"]
    )


def _key(drawing: Drawing, drawn: list) -> None:
    """Explain marks below the panels."""
    handles = [area_key(color=LIGHT_GREY, alpha=0.5), line_key(color=GREY, marker="o")]
    labels = ["as near as other real households", "value ± deviation over halves"]
    if "prediction_r2" in {panel[0] for panel in drawn}:
        handles.append(line_key(color=GREY, marker="d", markerfacecolor="white", markersize=4.5, linestyle=""))
        labels.append("trained on real and synthetic households")
    legend_below(drawing, handles, labels, columns=3)
