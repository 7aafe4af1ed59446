"""The page of reproduced papers: scorecard, tables and figures in one HTML file that loads nothing from outside.

Every number comes from a Parquet artefact; the template ``report.html`` holds words only and shares the style of
the study's report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from meterdp.figures import numbers
from meterdp.figures.entry import Figure
from meterdp.figures.pages import Picture, picture, write_page
from meterdp.figures.style import load
from meterdp.papers.common.tables import SCORECARD
from meterdp.papers.registry import PAPERS

if TYPE_CHECKING:
    import pandas as pd

TEMPLATE = Path(__file__).with_name("report.html")
_MARKS = {"holds": "holds", "does not hold": "fails", "cannot be judged": "open"}


def build_reproduction_report(
    scorecards: Mapping, tables: Mapping, figures: Mapping, output, *, simulated: bool, trials: int
) -> None:
    """Write the page.

    Parameters
    ----------
    scorecards : mapping of paper to path-like
        The paper's table ``scorecard``.
    tables : mapping of paper to mapping of table name to path
        Tables printed with it, such as ``{"liu": {"table1": ...}}``.
    figures : mapping of paper to mapping of figure name to path
        SVG files, such as ``{"liu": {"fig1": ...}}``.
    output : path-like
        HTML file to write.
    simulated : bool
        Whether the study's export is simulated.
    trials : int
        Configuration key ``trials``.
    """
    papers = []
    for key, scorecard in scorecards.items():
        card = load(scorecard, SCORECARD).astype(object)
        card = card.where(card.notna(), None)
        papers.append(
            {
                "key": key,
                "name": card["paper"].iloc[0],
                "rows": card.to_dict("records"),
                "tally": _tally(card["holds"]),
                "tables": [p.write(tables[key][p.name]) for p in PAPERS[key].printed if p.name in tables[key]],
                "pictures": _pictures(figures[key], PAPERS[key].figures),
            }
        )
    write_page(
        TEMPLATE,
        output,
        papers=papers,
        marks=_MARKS,
        simulated=simulated,
        trials=numbers.counted(trials, "trial"),
    )


def _pictures(paths: Mapping, figures: Iterable[Figure]) -> dict[str, Picture]:
    """Embed the SVG files of one paper, in the order of its figures."""
    return {figure.name: picture(paths[figure.name], figure) for figure in figures if figure.name in paths}


def _tally(verdicts: pd.Series) -> str:
    counts = verdicts.value_counts()
    parts = [f"{counts[key]} {words[0 if counts[key] == 1 else 1]}" for key, words in _TALLY.items() if key in counts]
    return f"Of {numbers.counted(len(verdicts), 'claim')}, {', '.join(parts)}."


# Verdict -> what is said of one claim and of several.
_TALLY = {
    "holds": ("holds on the data at hand", "hold on the data at hand"),
    "does not hold": ("does not hold", "do not hold"),
    "cannot be judged": ("cannot be judged",) * 2,
}
