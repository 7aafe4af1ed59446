"""Table I of Liu et al. as the page of the paper prints it."""

from __future__ import annotations

from meterdp.figures import numbers
from meterdp.figures.report.grid import Grid
from meterdp.figures.style import load
from meterdp_papers.common.printed import Printed
from meterdp_papers.liu.tables import LIU_TABLE1


def table1(path) -> Grid:
    """Return Table I of the study beside the printed one."""
    table, rows = load(path, LIU_TABLE1), []
    for row in table.sort_values("rank").itertuples():
        ours = [_whole(row.component), _whole(row.household_count), numbers.percent(row.share)]
        theirs = [_whole(row.paper_class), _whole(row.paper_household_count), numbers.percent(row.paper_share)]
        rows.append([numbers.count(row.rank), *ours, *theirs])
    first = table.iloc[0]
    caption = f"Table I: households per class, from the largest class ({first['data']}) beside the paper's"
    header = ("rank", "class", "households", "share", "paper's class", "paper's households", "share")
    return Grid(caption, header, rows, words=0)


def _whole(value) -> str:
    return numbers.MISSING if value is None or value != value else numbers.count(value)


PRINTED = (Printed("table1", LIU_TABLE1, table1),)
