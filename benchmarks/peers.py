"""Synthetic profiles beside those of OpenDP, SmartNoise and dpmm: how good they are, how long they take.

``make benchmark`` writes results/benchmarks/peers.parquet, a row per cell and source, and peers.svg. A cell is a data
set, d hours, N records and an epsilon, delta 1e-5 (``peers_parts.grid``); in each, everybody gets the same records,
split by household (``peers_parts.records``), and is judged alike by real records of other households
(``peers_parts.measures``). Each library runs as its documentation says in an environment of its own, with
300 s of processor time a release; a row says so where one did not finish or is not installed.

Releases and measures are kept in ``--cache``: a run goes on where the last one ended, and our own releases are made
again after a change of the mechanism. ``--whole`` takes every cell, ``--ours`` makes no new release of a library, and
``--docs`` writes the numbers of docs/peers.md and its picture. Real data are read from ../shared, as developers have
it; cells without their data are left out and named.

The constants of ours were chosen on the simulator with other seeds and parameters and on the Swiss homes; the
Australian ones chose nothing. A library's noise has no seed: its rows vary.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from peers_parts.figure import draw
from peers_parts.grid import BOUNDS_KWH, PART, START_HOUR, Cell, in_order, whole
from peers_parts.measures import MEASURES, judge
from peers_parts.records import available, pool
from peers_parts.sources import LIBRARIES, OURS, REAL, SOURCES, Outcome
from peers_parts.store import Store
from peers_parts.verdict import markdown, verdicts
from table import ROOT, write_on_page

from meterdp.core.parquet import atomic_path

COLUMNS = [m.column for m in MEASURES]


def records_of(cell: Cell, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training and held-out records of a cell."""
    start = START_HOUR[cell.d]
    both = pool(cell.data, -(-cell.d // 24), *BOUNDS_KWH).split(split, cell.n)
    train, held_out = (x[:, start : start + cell.d] for x in both)
    return train, held_out


def run(store: Store, cells: tuple[Cell, ...], sources: Iterable[str], splits: int, release: bool = True) -> None:
    """Make and measure what is not there, split after split; without ``release`` measure alone."""
    begin, low_high = time.perf_counter(), np.log(BOUNDS_KWH)
    for split, cell, source in product(range(splits), cells, sources):
        outcome = store.outcome(cell, source, split)
        if outcome is None and release and store.hopeless(cell, source, cells) is None:
            outcome = SOURCES[source](cell, records_of(cell, split)[0], split)
            store.keep(cell, source, split, outcome)
            words = outcome if isinstance(outcome, str) else f"{outcome.seconds:.0f} s"
            print(f"{time.perf_counter() - begin:.0f} s", cell.name, source, split, words, sep="; ", flush=True)
        if isinstance(outcome, Outcome) and store.measured(cell, source, split) is None:
            numbers = judge(records_of(cell, split)[1], outcome.samples, *low_high)
            store.keep_measured(cell, source, split, numbers)


def measured(store: Store, cells: tuple[Cell, ...], splits: int) -> pd.DataFrame:
    """Return what was measured: a row per release."""
    rows = [
        {"case": cell.name, "source": source, "split": split, **numbers}
        for cell in in_order(cells)
        for source in SOURCES
        for split in range(splits)
        if (numbers := store.measured(cell, source, split)) is not None
    ]
    return pd.DataFrame(rows, columns=["case", "source", "split", *COLUMNS])


def row(store: Store, cell: Cell, source: str, cells: tuple[Cell, ...], found: pd.DataFrame, splits: int) -> dict:
    """Return one row of the table; measures are NaN where the source did not run."""
    outcomes = {name: [store.outcome(cell, name, split) for split in range(splits)] for name in (source, *OURS)}
    seconds = {
        name: np.median([o.seconds for o in tried if isinstance(o, Outcome)] or [np.nan])
        for name, tried in outcomes.items()
    }
    ours_s, other = seconds[next(iter(OURS))], "none" if source in OURS else source
    other_s = np.nan if source in OURS else seconds[source]
    table = found[(found["case"] == cell.name) & (found["source"] == source)][COLUMNS]
    mean, deviation = table.mean(), table.std(ddof=1)
    quality = store.hopeless(cell, source, cells) or "not tried"
    for outcome in outcomes[source]:
        quality = outcome if isinstance(outcome, str) else outcome.settings if outcome else quality
    return {
        "case": cell.name,
        "ours_s": seconds[source] if source in OURS else ours_s,
        "other": other,
        "other_s": other_s,
        "ratio": other_s / ours_s,
        "quality": quality,
        "load": os.getloadavg()[0],
        **vars(cell),
        "source": source,
        "samples": len(table),
        **mean,
        **{f"{name}_sd": value for name, value in deviation.items()},
    }


def main() -> None:
    """Run what is missing and write table, figure and, if asked for, what docs/peers.md shows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=ROOT / "results/private/peers")
    parser.add_argument("--whole", action="store_true", help="every cell, not the part that make benchmark runs")
    parser.add_argument("--splits", type=int, default=3, help="splits by household, with a release of each source")
    parser.add_argument("--ours", action="store_true", help="no new release of a library")
    parser.add_argument("--docs", action="store_true", help="write the numbers of docs/peers.md and its picture")
    asked = parser.parse_args()
    store, wanted = Store(asked.cache), whole() if asked.whole else PART
    cells = tuple(cell for cell in wanted if available(cell.data))
    for data in dict.fromkeys(cell.data for cell in wanted if cell not in cells):
        print(f"{data}: not run, the data are not here")
    run(store, cells, [*OURS, REAL], asked.splits)
    run(store, cells, LIBRARIES, asked.splits, release=not asked.ours)
    found = measured(store, cells, asked.splits)
    pairs = product(in_order(cells), SOURCES)
    table = pd.DataFrame([row(store, cell, source, cells, found, asked.splits) for cell, source in pairs])
    with atomic_path(ROOT / "results/benchmarks/peers.parquet") as temporary:
        table.to_parquet(temporary)
    judged = {name: verdicts(found, name) for name in OURS}
    first = judged[next(iter(OURS))]
    draw(first, ROOT / "results/benchmarks/peers.svg")
    if asked.docs:
        draw(first, ROOT / "docs/pictures/peers.svg")
        write_on_page("peers.md", "peers.py", markdown(table, judged))


if __name__ == "__main__":
    main()
