"""Rows, households and readings by what became of them; and which hours of which days a profile covers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING

from meterdp.consumption.tables import TOTAL_LOAD
from meterdp.ingest.tables import INGEST_REPORT
from meterdp.pages.numbers import count, counted, percent
from meterdp.profiles.tables import QUALITY_SUMMARY
from meterdp.report.consumption import period_of
from meterdp.report.pages import Grid, Tables, printed

if TYPE_CHECKING:
    import pandas as pd

# Of reasons that count what was used, and of rules that count what was kept.
_ALL = {"households": "kept", "readings": "expected_readings"}
# By how much more of a month's readings are missing than of the best one where a file may be, and the part of a month
# that tells; so many are named.
_NOTICEABLE, _PART, _MOST_MONTHS = 0.05, 0.25, 4


@printed(QUALITY_SUMMARY)
def intake_grid(data: pd.DataFrame, tables: Tables) -> Grid:
    """Rows, households and readings by reason; reasons that nothing was dropped for are left out."""
    rows, export = [], tables.get(INGEST_REPORT.name)
    if export is not None:
        rows += _part("rows", export.rename(columns={"row_count": "item_count"}), "used")
    for scope, good in _ALL.items():
        rows += _part(scope, data[data["scope"] == scope], good)
    load = tables.get(TOTAL_LOAD.name)
    period = "" if load is None else f", {period_of(load, short=True)}"
    return Grid(
        f"What became of every row, household and reading{period}",
        ("", "what became of them", "number", "share"),
        rows,
        words=2,
    )


def missing_months(data: pd.DataFrame | None) -> str:
    """Say which months lack many more readings than the others, by the table ``quality_summary``; nothing if none."""
    if data is None:
        return ""
    expected, missing = (
        data[data["scope"] == f"{which} in a month"].set_index("reason")["item_count"]
        for which in ("expected", "missing")
    )
    share = (missing / expected)[expected > _PART * expected.max()]  # the period may have a day of its last month
    odd = share[share > share.min() + _NOTICEABLE]
    if odd.empty:
        return ""
    said = [f"{percent(of)} of {date.fromisoformat(f'{month}-01'):%B %Y}" for month, of in odd.items()]
    if (more := len(said) - _MOST_MONTHS) > 0:
        said[_MOST_MONTHS:] = [f"and many of {counted(more, 'other month')}"]
    most = percent(share.drop(odd.index).max())
    return (
        f"Readings are missing: {', '.join(said)}; at most {most} of any other month. Perhaps a file has not come "
        "yet. Households that lack too many readings are left out."
    )


def _part(what: str, data: pd.DataFrame, good: str) -> list[tuple[str, str, str, str]]:
    """Return what was used first, then the others, the most frequent first."""
    by = data.set_index("reason")
    used = int(by["item_count"].get(good, 0))
    total = max(used if good == "expected_readings" else int(by["item_count"].sum()), 1)
    names = {"used": "Used", "kept": "Studied", "expected_readings": "Intervals of the period, for the listed meters"}
    others = by[(by.index != good) & (by["item_count"] > 0)].sort_values("item_count", ascending=False, kind="stable")
    found = [(names[good], used), *zip(others["meaning"].str.rstrip("."), others["item_count"], strict=True)]
    return [(what, words[0].upper() + words[1:], count(number), percent(number / total)) for words, number in found]


GRIDS = {"intake": intake_grid}
READS = (INGEST_REPORT,)


def profile_day(settings: Mapping) -> str:
    """Return the day the profiles of one half-day are from."""
    export, day = settings.get("export", {}), settings["profiles"]["date"]
    if day != "auto":
        return day
    first, last = (export.get(key) for key in ("first_day", "last_day"))
    if not (first and last):
        return "the middle day"
    begin, end = date.fromisoformat(first), date.fromisoformat(last)
    return (begin + ((end - begin + timedelta(days=1)) // 2).days * timedelta(days=1)).isoformat()


def span_text(hours: pd.DataFrame) -> str:
    """Say from when to when a profile lasts; the parameter is the table ``profile_hours``."""
    ends = hours.sort_values("entry")["label"]
    return f"{ends.iloc[0][:5]} to {ends.iloc[-1][-5:].replace('00:00', '24:00')}"


def profile_days(settings: Mapping) -> str:
    """Say which days a profile is of."""
    return {
        "typical_day": "a typical weekday",
        "mean": "the mean day",
        "half_day": f"one day, {profile_day(settings)}",
    }[settings["profiles"]["vector"]]
