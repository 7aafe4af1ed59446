"""Who is better: ours against the best library, cell by cell and measure by measure, from the rows of the table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .measures import MEASURES, Measure
from .sources import LIBRARIES

BETTER, LEVEL, WORSE = "better", "level", "worse"
ERRORS = 2.0  # standard errors within which two are level


def verdicts(found: pd.DataFrame, ours: str) -> pd.DataFrame:
    """Return a row per cell and measure: ``ours``, the best library on the splits that both have, and the verdict.

    ``found`` has a row per release: ``case``, ``source``, ``split`` and the measures. A library with one release is
    given the deviation of ours, as it has none of its own.
    """
    rows = []
    for case, cell in found.groupby("case", sort=False):
        own = cell[cell["source"] == ours].set_index("split")
        for measure in MEASURES:
            sides = [
                (name, *_compare(own[measure.column], theirs.set_index("split")[measure.column], measure))
                for name, theirs in cell[cell["source"].isin(list(LIBRARIES))].groupby("source")
            ]
            sides = [side for side in sides if np.isfinite(side[2])]
            if not sides:
                continue
            name, mine, best, gain, error = max(
                sides, key=lambda side: side[2] * (1 if measure.more_is_better else -1)
            )
            verdict = BETTER if gain > 0 else LEVEL if gain >= -ERRORS * error else WORSE
            rows.append((case, measure.column, mine, name, best, gain, error, verdict))
    columns = ["case", "measure", "ours", "library", "best", "gain", "error", "verdict"]
    return pd.DataFrame(rows, columns=columns)


def _compare(ours: pd.Series, theirs: pd.Series, measure: Measure) -> tuple[float, float, float, float]:
    """Return both means over common splits, by how much ours is better, and the standard error of that."""
    both = ours.index.intersection(theirs.dropna().index)
    spread, n = ours.std(ddof=1), len(both)
    if not n:
        return np.nan, np.nan, np.nan, np.nan
    mine, best = ours[both].mean(), theirs[both].mean()
    other = theirs[both].std(ddof=1) if n > 1 else spread
    error = float(np.hypot(spread, other) / np.sqrt(n))
    return mine, best, (mine - best) * (1 if measure.more_is_better else -1), error


def shares(table: pd.DataFrame) -> tuple[int, int, int]:
    """Return how many verdicts there are, how many are better, and how many better or level."""
    return len(table), int((table["verdict"] == BETTER).sum()), int((table["verdict"] != WORSE).sum())


def _share(table: pd.DataFrame) -> str:
    count, better, fine = shares(table)
    return f"{better} of {count} better, {fine} ({100 * fine / max(count, 1):.0f} %) better or level"


def number(value: float) -> str:
    """Return a number with three digits, or one decimal from ten on."""
    if not np.isfinite(value):
        return "–"
    return (f"{value:.3g}" if abs(value) < 10 else f"{value:.1f}").replace("-", "−")


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def markdown(table: pd.DataFrame, judged: dict[str, pd.DataFrame]) -> str:
    """Return what docs/peers.md shows: shares, every lost cell, and what did not run.

    ``table`` is the one of the benchmark; ``judged`` holds the verdicts of each of our releases.
    """
    names = {m.column: m.words for m in MEASURES}
    lines = ["Cells times measures, each of our releases against the best library:", ""]
    lines += _rows(
        ["ours", "all", *names.values()],
        [
            [name, _share(one), *(_fraction(one[one["measure"] == column]) for column in names)]
            for name, one in judged.items()
        ],
    )
    first = next(iter(judged))
    lost = judged[first][judged[first]["verdict"] != BETTER]
    lines += ["", f"Every tile in which a library is better than `{first}`, on the splits that both have:", ""]
    head = ["cell", "measure", "ours", "best library", "ours better by", "standard error", "verdict"]
    body = []
    for r in lost.itertuples():
        theirs = f"{number(r.best)}, {r.library}"
        body.append([r.case, names[r.measure], number(r.ours), theirs, number(r.gain), number(r.error), r.verdict])
    lines += _rows(head, body) if body else ["Nowhere."]
    lines += ["", "What did not run, in how many of the cells:", ""]
    none = table[(table["samples"] == 0) & table["other"].ne("none")]
    cells = table["case"].nunique()
    for (source, why), rows in none.groupby(["source", "quality"], sort=False):
        lines.append(f"- {source}: {why} ({len(rows)} of {cells} cells)")
    return "\n".join(lines) + "\n"


def _fraction(table: pd.DataFrame) -> str:
    count, _, fine = shares(table)
    return f"{fine}/{count}"
