"""The page of reproduced papers: scorecard, tables and figures in one HTML file that loads nothing from outside.

Every number comes from a Parquet artefact; the template ``report.html`` holds words only and shares the style of
the study's report.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from meterdp.pages import numbers
from meterdp.pages.html import write_page
from meterdp.report.pages import picture
from meterdp.report.style import load
from meterdp_papers.common.scorecard import EVERY, FAILS, HOLDS, NONE, OPEN, SOME, summed_up
from meterdp_papers.common.tables import SCORECARD
from meterdp_papers.registry import PAPERS

if TYPE_CHECKING:
    import pandas as pd

NAMED = 3
TEMPLATE = Path(__file__).with_name("report.html")
_MARKS = {EVERY: "holds", SOME: "some", NONE: "fails", OPEN: "open"}


def build_reproduction_report(
    scorecards: Mapping, tables: Mapping, figures: Mapping, output, *, simulated: bool, trials: int
) -> None:
    """Write the page from files by paper.

    These are the table ``scorecard`` of each, its printed tables by name, such as ``{"liu": {"table1": path}}``, and
    its SVG files likewise.
    """
    papers = []
    for key, scorecard in scorecards.items():
        card = load(scorecard, SCORECARD).astype(object)
        card = card.where(card.notna(), None)
        papers.append(
            {
                "key": key,
                "name": card["paper"].iloc[0],
                "claims": (claims := _claims(card)),
                "tally": _tally(claims),
                "tables": [p.write(tables[key][p.name]) for p in PAPERS[key].printed if p.name in tables[key]],
                "pictures": {
                    f.name: picture(figures[key][f.name], f) for f in PAPERS[key].figures if f.name in figures[key]
                },
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


def _claims(card: pd.DataFrame) -> list[dict]:
    """Return one entry per claim: its verdict over all variants, in a word and in a phrase, and its rows."""
    found = []
    for item, rows in card.groupby("item", sort=False):
        own = rows[rows["substitute"].isna()]  # what stands for a paper's data decides nothing
        holds = dict(zip(own["reading"], own["holds"], strict=True))
        verdict = summed_up(holds)
        yes = [variant for variant, value in holds.items() if value == HOLDS]
        no = sum(value == FAILS for value in holds.values())
        # The list of all variants with their verdicts follows on the page.
        named = f": {'; or '.join(yes)}" if len(yes) <= NAMED else ""
        phrase = {
            EVERY: "holds" if len(holds) == 1 else f"holds under each of {len(holds)} variants",
            SOME: f"holds under {len(yes)} of {len(holds)} variants{named}",
            NONE: "does not hold" if len(holds) == 1 else f"holds under none of {len(holds)} variants",
            OPEN: OPEN if holds else f"{OPEN} here, as the paper's data are not there",
        }[verdict]
        if no and verdict != NONE:
            phrase += f", does not hold under {no}" + (f" of {len(holds)}" if verdict == OPEN else "")
        if defect := rows["defect"].iloc[0]:
            phrase += f", but see defect {defect}"
        entry = {"item": item, "verdict": verdict, "fails": no > 0, "phrase": phrase}
        entry |= {name: rows[name].iloc[0] for name in ("claim", "rule")}
        rows = rows.assign(more=[n and numbers.counted(int(n), "trial") for n in rows["deciding_trials"]])
        found.append(
            {
                "item": item,
                "verdict": verdict,
                "fails": no > 0,
                "phrase": phrase,
                "rows": rows.to_dict("records"),
                **entry,
            }
        )
    return found


def _tally(claims: list[dict]) -> str:
    verdicts = [claim["verdict"] for claim in claims]
    parts = [f"{verdicts.count(v)} {words}" for v, words in _TALLY.items() if v in verdicts]
    false = sum(claim["fails"] for claim in claims if claim["verdict"] != NONE)
    also = f" Among those that are not the same under all, a variant contradicts {false}." if false else ""
    return f"Of {numbers.counted(len(verdicts), 'claim')}, {', '.join(parts)}.{also}"


# Verdict -> what is said of the claims it is given.
_TALLY = {
    EVERY: "true under every variant of the text on the data at hand",
    SOME: "true under some variants",
    NONE: "true under none",
    OPEN: "not to be judged",
}
