"""The figure of benchmarks/peers.py: a panel a measure, the sources as rows, real homes as the yardstick."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from meterdp.report import style
from meterdp.report.style import Look

from .measures import Measure

_LOOKS = {
    "sound": style.look("sound"),
    "sound, add or remove": Look("sound, add or remove", style.GREEN, "D"),
    "sound, mixture alone": Look("sound, mixture alone", style.SKY, "v"),
    "OpenDP MST": Look("OpenDP MST", style.BLUE, "o"),
    "SmartNoise MST": Look("SmartNoise MST", style.ORANGE, "s"),
    "real homes": Look("real homes", style.GREY, "x"),
}
_COLUMNS, _GAP = 4, 1.6


def draw(table: pd.DataFrame, measures: Sequence[Measure], output: Path) -> None:
    """Draw every measure of every source; a source that was not run has an empty row.

    Parameters
    ----------
    table : DataFrame
        Columns ``data``, ``source`` and, for each measure, its mean and ``_sd`` over samples.
    measures : sequence of Measure
    output : path
        SVG to write.
    """
    data, sources = list(dict.fromkeys(table["data"])), list(dict.fromkeys(table["source"]))
    place = {(d, s): i * (len(sources) + _GAP) + j + 1 for i, d in enumerate(data) for j, s in enumerate(sources)}
    height = len(data) * (len(sources) + _GAP)
    panel_rows = -(-len(measures) // _COLUMNS)
    title = "Synthetic profiles at ε = 2, δ = 1e-5 beside real homes (grey lines)"
    with style.canvas(output, title, 0.6 + panel_rows * height / 4.6) as figure:
        axes = style.panels(figure, len(measures), _COLUMNS, sharey=True)
        for axis, measure in zip(axes, measures, strict=True):
            _panel(axis, table, measure, place)
        for axis in axes[::_COLUMNS]:
            _name_rows(axis, data, place)
        axes[0].set_ylim(height - _GAP / 2, -0.6)


def _panel(axis, table: pd.DataFrame, measure: Measure, place: dict) -> None:
    """One measure: means as markers, standard deviations as bars, real homes as a line through the other rows."""
    for row in table.itertuples():
        mean, deviation = getattr(row, measure.column), getattr(row, f"{measure.column}_sd")
        if not np.isfinite(mean):
            continue
        look, y = _LOOKS[row.source], place[row.data, row.source]
        spread = deviation if np.isfinite(deviation) else 0.0
        axis.errorbar(mean, y, xerr=spread, color=look.colour, marker=look.marker, linestyle="")
        if row.source == "real homes":
            rows = [where for (data, _), where in place.items() if data == row.data]
            axis.plot([mean, mean], [min(rows) - 0.4, max(rows)], color=style.GREY, linewidth=1, zorder=1)
    axis.set_title(measure.words)
    axis.set_xlabel(f"{measure.unit}\n{measure.best}" if measure.unit != "1" else measure.best)
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0)
    axis.margins(x=0.12)
    if measure.best == "lower is better":
        axis.set_xlim(left=0)


def _name_rows(axis, data: list[str], place: dict) -> None:
    """Write the data sets, and under each its sources, beside the rows."""
    names = [(where, source) for (_, source), where in place.items()]
    heads = [(min(w for (d, _), w in place.items() if d == name) - 1, name) for name in data]
    ticks = sorted([*names, *heads])
    axis.set_yticks([where for where, _ in ticks], [name for _, name in ticks])
    for label, (_, name) in zip(axis.get_yticklabels(), ticks, strict=True):
        label.set_fontweight("bold" if name in data else "normal")
