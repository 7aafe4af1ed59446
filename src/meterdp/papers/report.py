"""The page of reproduced papers: scorecard, tables and figures in one HTML file that loads nothing from outside.

Every number comes from a Parquet artefact; the template ``report.html`` holds words only and shares the style of
the study's report.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from meterdp.core.parquet import metadata_of
from meterdp.figures import numbers
from meterdp.figures.captions import Caption
from meterdp.figures.pages import Picture, picture, write_page
from meterdp.figures.report.grid import Grid
from meterdp.figures.report.noise_contents import comparison_grid
from meterdp.figures.style import load, look
from meterdp.papers.captions import REPRODUCTION_CAPTIONS

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
    tables : mapping of paper to sequence of path-like
        Tables printed with it, any of :data:`PRINTED_TABLES`.
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
        card = load(scorecard, "scorecard").astype(object)
        card = card.where(card.notna(), None)
        papers.append(
            {
                "key": key,
                "name": card["paper"].iloc[0],
                "rows": card.to_dict("records"),
                "tally": _tally(card["holds"]),
                "tables": [PRINTED_TABLES[metadata_of(path)["table"]](path) for path in tables[key]],
                "pictures": _pictures(figures[key], REPRODUCTION_CAPTIONS[key]),
            }
        )
    write_page(
        TEMPLATE,
        output,
        papers=papers,
        marks=_MARKS,
        simulated=simulated,
        trials=numbers.count(trials),
    )


def _pictures(paths: Mapping, captions: Mapping[str, Caption]) -> dict[str, Picture]:
    """Embed the SVG files of one paper, in the order of its captions."""
    return {name: picture(paths[name], caption) for name, caption in captions.items() if name in paths}


def _tally(verdicts: pd.Series) -> str:
    counts = verdicts.value_counts()
    parts = [f"{counts[verdict]} {words}" for verdict, words in _TALLY.items() if verdict in counts]
    return f"Of {len(verdicts)} claims {', '.join(parts)}."


_TALLY = {
    "holds": "hold on the data at hand",
    "does not hold": "do not hold",
    "cannot be judged": "cannot be judged",
}


def _table_1(path) -> Grid:
    """Return Table I of the study beside the printed one."""
    table, rows = load(path, "liu_table1"), []
    for row in table.sort_values("rank").itertuples():
        ours = [_whole(row.component), _whole(row.household_count), numbers.percent(row.share)]
        theirs = [_whole(row.paper_class), _whole(row.paper_household_count), numbers.percent(row.paper_share)]
        rows.append([numbers.count(row.rank), *ours, *theirs])
    first = table.iloc[0]
    caption = f"Table I: households per class, from the largest class ({first['data']}) beside the paper's"
    header = ("rank", "class", "households", "share", "paper's class", "paper's households", "share")
    return Grid(caption, header, rows)


def _printed_numbers(path) -> Grid:
    """Return every printed delta beside ours, two-sided, under every reading of query and rho."""
    table = load(path, "ramakrishna_numbers")
    table = table[table["sides"].isna() | (table["sides"] == "two")]
    readings = table[["query_model", "accuracy_convention"]].dropna().drop_duplicates().itertuples(index=False)
    readings = list(readings)
    rows = []
    for key, at in table.groupby(["design", "rho", "epsilon", "delta_printed"], sort=False):
        design, rho, epsilon, printed = key
        ours = at.set_index(["query_model", "accuracy_convention"])["delta"]
        found = [numbers.probability(ours[tuple(reading)]) for reading in readings]
        design = look(design).label
        rows.append([design, numbers.plain(rho), numbers.plain(epsilon), numbers.plain(printed), *found])
    header = ["design", "ρ", "ε", "printed δ"]
    header += [f"{model}, {convention.replace('_', ' ')}" for model, convention in readings]
    caption = "Printed δ beside ours: exact, two-sided, worst pair, under every reading of query and ρ"
    return Grid(caption, header, rows)


def _whole(value) -> str:
    return numbers.MISSING if pd.isna(value) else numbers.count(value)


def _comparison(path) -> Grid:
    """Return our designs beside the published one at equal budgets."""
    return comparison_grid({"design_comparison": load(path, "design_comparison", may_be_empty=True)})


PRINTED_TABLES = {
    "liu_table1": _table_1,
    "ramakrishna_numbers": _printed_numbers,
    "design_comparison": _comparison,
}
