"""The figure of benchmarks/peers.py: a tile for each cell and measure, coloured by who is better."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from meterdp.report import style

from .measures import MEASURES
from .verdict import BETTER, LEVEL, WORSE, number, shares

_COLOURS = {BETTER: style.SKY, LEVEL: style.LIGHT_GREY, WORSE: style.ORANGE}
_WORDS = {
    BETTER: "ours is better",
    LEVEL: "the library is better, by less than two standard errors",
    WORSE: "the library is better",
}


def draw(table: pd.DataFrame, output: Path) -> None:
    """Draw the verdicts of ``peers_parts.verdict.verdicts``: ours above, the best library of the tile below."""
    cases, columns = list(dict.fromkeys(table["case"])), [m.column for m in MEASURES]
    count, better, fine = shares(table)
    title = (
        f"Ours and the best library, the same promise: better in {better} of {count} tiles, "
        f"better or level in {100 * fine / max(count, 1):.0f} %"
    )
    with style.canvas(output, title, 1.5 + 0.5 * len(cases), 11.5) as figure:
        (axis,) = style.panels(figure, 1, 1)
        for row in table.itertuples():
            x, y = columns.index(row.measure), cases.index(row.case)
            axis.barh(y, 0.96, 0.92, left=x - 0.48, color=_COLOURS[row.verdict])
            axis.text(x, y - 0.2, number(row.ours), ha="center", va="center", fontweight="bold", fontsize=9)
            axis.text(x, y + 0.2, f"{number(row.best)} {_short(row.library)}", ha="center", va="center", fontsize=7)
        axis.set_xlim(-0.5, len(columns) - 0.5)
        axis.set_ylim(len(cases) - 0.5, -0.5)
        axis.set_xticks(range(len(columns)), [_heading(m.words, m.unit) for m in MEASURES], fontsize=8)
        axis.xaxis.tick_top()
        axis.set_yticks(range(len(cases)), cases, fontsize=8.5)
        axis.tick_params(length=0)
        axis.grid(visible=False)
        for side in axis.spines.values():
            side.set_visible(False)
        present = [v for v in _WORDS if v in set(table["verdict"])]
        style.legend_below(
            figure, [style.area_key(color=_COLOURS[v]) for v in present], [_WORDS[v] for v in present], 3
        )


def _heading(words: str, unit: str) -> str:
    broken = words.replace(", ", ",\n").replace("? ", "?\n").replace(" of the", "\nof the").replace(": ", ":\n")
    return broken if unit == "1" else f"{broken}\n({unit})"


def _short(library: str) -> str:
    return library.replace("SmartNoise", "SN").replace("OpenDP", "OD").replace("PrivBayes", "PB")
