"""What became of the export: rows, households and readings, counted by reason.

The bars show what was NOT used or was touched by a rule; what was used is in the titles, because next to millions of
good rows a handful of bad ones would be invisible.

What the report says about the export: rows and readings by reason, the period, and the profile of a household.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meterdp.ingest.tables import INGEST_REPORT
from meterdp.profiles.tables import QUALITY_SUMMARY
from meterdp.report import numbers
from meterdp.report.pages import INTAKE, Figure
from meterdp.report.style import BLUE, GREY, VERMILION, canvas, load

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
from collections.abc import Mapping
from datetime import date, timedelta
from functools import partial

from meterdp.core.log_scale import LOG
from meterdp.profiles.tables import PROFILE_HOURS
from meterdp.profiles.vector import scale_of
from meterdp.report.numbers import count, percent, significant
from meterdp.report.pages import Grid, Tables

if TYPE_CHECKING:
    import pandas as pd


def intake(ingest_report, quality_summary, output) -> None:
    """Draw how many rows, households and readings each rule took out or touched.

    Parameters
    ----------
    ingest_report : path-like
        Table ``ingest_report``.
    quality_summary : path-like
        Table ``quality_summary``.
    output : path-like
        SVG to write.
    """
    rows = load(ingest_report, INGEST_REPORT).rename(columns={"row_count": "item_count"})
    rules = load(quality_summary, QUALITY_SUMMARY)
    households, readings = (rules[rules["scope"] == scope] for scope in ("households", "readings"))
    parts = [
        (_apart(rows, "used"), "rows of the export", "used", VERMILION),
        (_apart(households, "kept"), "households", "kept", BLUE),
        (_apart(readings, "expected_readings", is_total=True), "slots of the time grid", "in all", GREY),
    ]
    parts = [part for part in parts if part[0] is not None]
    heights = [max(len(bars), 1) + 1.2 for (bars, _, _), *_ in parts]
    with canvas(output, "What came in and what was left out", 0.7 + 0.33 * sum(heights)) as figure:
        grid = figure.subplots(len(parts), 1, squeeze=False, height_ratios=heights).ravel()
        for axes, ((bars, good, total), noun, verb, colour) in zip(grid, parts, strict=True):
            _bars(axes, bars, total, colour)
            of_all = f" of {numbers.count(total)} ({numbers.percent(good / max(total, 1))})"
            axes.set_title(f"{noun.capitalize()}: {numbers.count(good)}{'' if good == total else of_all} {verb}")
            axes.set_xlabel(noun.removesuffix(" of the export").removesuffix(" of the time grid"))


INTAKE_FIGURE = Figure(
    draw=intake,
    tables=(INGEST_REPORT, QUALITY_SUMMARY),
    category=INTAKE,
    look_for=(
        "Rows, households and readings that a rule left out or touched, by reason. Look for a bar that is "
        "longer than you would expect of this export: it usually means a wrong setting or a fault in the "
        "meters, not a property of the households."
    ),
    alternative="Horizontal bars: how many rows, households and readings each rule left out or touched.",
)


def _apart(data: pd.DataFrame, good: str, is_total: bool = False):
    """Split a list of counts into (the others, count of ``good``, total); None without rows."""
    if data.empty:
        return None
    good_count = int(data.loc[data["reason"] == good, "item_count"].sum())
    total = good_count if is_total else int(data["item_count"].sum())
    return data[data["reason"] != good].sort_values("item_count", kind="stable"), good_count, total


def _bars(axes: Axes, bars: pd.DataFrame, total: int, colour: str) -> None:
    values = bars["item_count"].to_numpy()
    place = np.arange(len(bars))
    axes.barh(place, values, color=colour, height=0.62)
    axes.set_yticks(place, [reason.replace("_", " ") for reason in bars["reason"]])
    axes.set_xlim(0, 1.28 * max(values.max(initial=0), 1))
    axes.set_ylim(-0.6, max(len(bars), 1) - 0.4)
    axes.xaxis.get_major_locator().set_params(integer=True, nbins=6)
    axes.xaxis.set_major_formatter(lambda value, _: numbers.count(value))
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    if not len(bars):
        axes.text(0.5, 0, "nothing was left out", ha="center", va="center", transform=axes.get_yaxis_transform())
    for y, value in zip(place, values, strict=True):
        text = f"  {numbers.count(value)} ({numbers.percent(value / max(total, 1))})"
        axes.text(value, y, text, va="center", fontsize=9)


def ingest_grid(tables: Tables) -> Grid | None:
    """Rows of the export by reason."""
    data = tables.get("ingest_report")
    if data is None:
        return None
    total = max(int(data["row_count"].sum()), 1)
    rows = [
        (r.reason.replace("_", " "), r.meaning, count(r.row_count), percent(r.row_count / total))
        for r in data.itertuples()
    ]
    rows.append(("all rows", "", count(int(data["row_count"].sum())), ""))
    return Grid("Rows of the export", ("reason", "in words", "rows", "share"), rows, words=2)


def quality_grid(tables: Tables, scope: str) -> Grid | None:
    """Households or readings by quality rule."""
    data = tables.get("quality_summary")
    data = None if data is None else data[data["scope"] == scope]
    if data is None or data.empty:
        return None
    expected = data.loc[data["reason"] == "expected_readings", "item_count"]
    total = max(int(expected.iloc[0] if len(expected) else data["item_count"].sum()), 1)
    rows = [
        (r.reason.replace("_", " "), r.meaning, count(r.item_count), percent(r.item_count / total))
        for r in data.itertuples()
    ]
    return Grid(f"{scope.capitalize()} by rule", ("rule", "in words", scope, "share"), rows, words=2)


def period_sentence(settings: Mapping) -> str | None:
    """Which days the study covers and which of them the profiles are from, as the configuration says."""
    export, profiles = settings.get("export", {}), settings.get("profiles", {})
    if not profiles:
        return None
    first, last, minutes = (export.get(key) for key in ("first_day", "last_day", "interval_minutes"))
    period = f"from {first} to {last}" if first and last else "from the first to the last stamp of the export"
    when = {"mean": "the mean over all days", "half_day": f"one stretch of hours on {profile_day(settings)}"}
    when = when[profiles["vector"]]
    return f"The study covers readings every {minutes} minutes {period}; a profile is {when}."


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


def hours_text(tables: Tables, settings: Mapping) -> str:
    """Say which hours of which days a profile is of, nothing where tables or settings do not tell."""
    hours, profiles = tables.get("profile_hours"), settings.get("profiles", {})
    if hours is None or not profiles:
        return ""
    days = ", mean of all days" if profiles["vector"] == "mean" else f" of one day, {profile_day(settings)}"
    return f"from {span_text(hours)}{days}"


def span_text(hours: pd.DataFrame) -> str:
    """Say from when to when a profile lasts; the parameter is the table ``profile_hours``."""
    ends = hours.sort_values("entry")["label"]
    return f"{ends.iloc[0][:5]} to {ends.iloc[-1][-5:].replace('00:00', '24:00')}"


def hours_sentence(tables: Tables) -> str | None:
    """What the profile vector is and the public bounds it is clipped to."""
    data = tables.get("profile_hours")
    if data is None:
        return None
    data = data.sort_values("entry")
    scale, ends = scale_of(data), (data["low_log_kwh"].min(), data["high_log_kwh"].max())
    low, high = (significant(scale.kwh(value), 2) for value in ends)
    model = "its logarithm is taken" if scale.kind == LOG else f"its log kWh, {scale.formula} of x kWh, are taken"
    first, last = data["label"].iloc[[0, -1]]
    noun = "hour" if len(data) == 1 else "hours"
    span = f"{first}" if len(data) == 1 else f"{first} to {last}"
    return (
        f"A profile has {count(len(data))} {noun}, {span} local time; the energy of each is clipped to the public "
        f"bounds {low} and {high} kWh before {model}."
    )


READS = (INGEST_REPORT, QUALITY_SUMMARY, PROFILE_HOURS)
GRIDS = {
    "ingest": ingest_grid,
    "households": partial(quality_grid, scope="households"),
    "readings": partial(quality_grid, scope="readings"),
}
