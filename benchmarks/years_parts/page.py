"""The tables of docs/households.md, from the rows of results/benchmarks/years.parquet."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

# Rows of a table: words, the statistic of the scorecard, its details, and the unit that is written.
ROWS = (
    ("energy of homes, quantiles 10 / 50 / 90 %", "energy, quantiles of homes", ("0.1", "0.5", "0.9"), " %"),
    ("largest readings, the same", "peak, quantiles of homes", ("0.1", "0.5", "0.9"), " %"),
    ("highest load of 10, 50 and, if there are, 100 homes", "diversified peak, homes", ("10", "50", "100"), " %"),
    (
        "autocorrelation after 1, 2 intervals, a day, a week (KS)",
        "autocorrelation",
        ("1 interval", "2 intervals", "1 day", "1 week"),
        "",
    ),
    ("monthly energy", "monthly energy", ("",), " %"),
    ("hour of the peak of the mean profile", "peak hour of the mean profile", ("",), " min"),
    ("days away", "share of days away", ("",), " %"),
    ("days almost without use", "share of days almost without use", ("",), " %"),
    ("zeros (KS)", "share of zeros", ("",), ""),
    ("error of a forecast trained on them", "forecast a day ahead, trained on them", ("rms error",), " %"),
    ("distance to the closest real home, 5 / 50 %", "distance to the closest real home", ("0.05", "0.5"), " %"),
)
TITLES = {
    "australian": "Australian homes, off by",
    "simulated": "simulated homes, off by",
    "resort": "simulated homes, a quarter of them empty most of the year, off by",
}
NAMES = {
    "error": "own vectors, no privacy",
    "one_gaussian": "one Gaussian, no privacy",
    "independent_days": "independent days, no privacy",
    "smartnoise_mst_1409": "SmartNoise MST, 1,409",
    "smartnoise_mst_5000": "SmartNoise MST, 5,000",
    "opendp_mst_1409": "OpenDP MST, 1,409",
    "opendp_mst_5000": "OpenDP MST, 5,000",
    "dpmm_mst_1409": "dpmm MST, 1,409",
    "dpmm_mst_5000": "dpmm MST, 5,000",
    "opensynth_faraday": "OpenSynth Faraday, no privacy",
    "floor": "two halves of the real homes",
}


def number(value: float, unit: str) -> str:
    """Write two digits; distances of distributions, which have no unit, have two decimals."""
    if not np.isfinite(value):
        return "–"
    value = abs(value)
    if not unit:
        return f"{value:.2f}".removeprefix("0")
    return f"{value:.0f}" if value >= 9.95 or unit == " min" else f"{value:.1f}"


def table(rows: pd.DataFrame, title: str, columns: list[str]) -> Iterator[str]:
    """Yield the lines of one table of errors, without details that there are none of."""
    names = [NAMES.get(column) or f"released, {int(column.split('_')[1]):,}" for column in columns]
    yield f"| {title} | " + " | ".join(names) + " |"
    yield "| --- |" + " --- |" * len(columns)
    of = rows.set_index(["statistic", "detail"])
    for words, statistic, details, unit in ROWS:
        there = [detail for detail in details if (statistic, detail) in of.index]
        cells = [
            " / ".join(number(of.loc[(statistic, detail), column], unit) for detail in there) + unit
            for column in columns
        ]
        yield f"| {words} | " + " | ".join(cells) + " |"


def markdown(found: pd.DataFrame) -> str:
    """Return a table for each set of homes, and one of what others would try instead."""
    parts = []
    for name, title in TITLES.items():
        if name not in set(found["data"]):
            continue
        rows = found[(found["data"] == name) & found["error"].notna()]
        there = [column for column in rows if rows[column].notna().any()]
        released = [column for column in there if column.startswith("released_")]
        parts.append("\n".join(table(rows, title, ["error", *released, "floor"])))
        rivals = [column for column in NAMES if column in there and column not in ("error", "floor")]
        if rivals:
            title = title.replace(", off by", " made otherwise, off by")
            parts.append("\n".join(table(rows, title, [*released[-1:], *rivals])))
    missing = found[found["statistic"].str.startswith("not made")]
    if len(missing):
        said = (f"{NAMES[row.detail]} ({row.data} homes): {row.unit}" for row in missing.itertuples())
        parts.append("Not made, or fewer releases: " + "; ".join(said) + ".")
    return "\n\n".join(parts)
