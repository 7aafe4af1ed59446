"""What became of the export, counted by reason: rows, households and readings; the period and the profile vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from meterdp.core.log_scale import LOG
from meterdp.ingest.tables import INGEST_REPORT
from meterdp.profiles.tables import QUALITY_SUMMARY
from meterdp.profiles.vector import scale_of
from meterdp.report.numbers import count, counted, percent, significant
from meterdp.report.pages import INTAKE, Grid, Tables, figure, grid_of, printed
from meterdp.report.style import BLUE, GREY, VERMILION, canvas

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@figure(
    INGEST_REPORT,
    QUALITY_SUMMARY,
    category=INTAKE,
    look_for=(
        "Rows, households and readings that a rule left out or touched, by reason. Look for a bar that is "
        "longer than you would expect of this export: it usually means a wrong setting or a fault in the "
        "meters, not a property of the households."
    ),
    alternative="Horizontal bars: how many rows, households and readings each rule left out or touched.",
)
def intake(rows: pd.DataFrame, rules: pd.DataFrame, output) -> None:
    """Draw how many rows, households and readings each rule took out or touched.

    What was used is in the titles: next to millions of good rows a handful of bad ones would be invisible.
    """
    rows = rows.rename(columns={"row_count": "item_count"})
    households, readings = (rules[rules["scope"] == scope] for scope in ("households", "readings"))
    parts = [
        (_split(rows, "used"), "rows of the export", "used", VERMILION),
        (_split(households, "kept"), "households", "kept", BLUE),
        (_split(readings, "expected_readings", is_total=True), "slots of the time grid", "in all", GREY),
    ]
    parts = [part for part in parts if part[0] is not None]
    heights = [max(len(bars), 1) + 1.2 for (bars, _, _), *_ in parts]
    with canvas(output, "Input of the study and what was excluded", 0.7 + 0.33 * sum(heights)) as drawing:
        grid = drawing.subplots(len(parts), 1, squeeze=False, height_ratios=heights).ravel()
        for axes, ((bars, good, total), noun, verb, colour) in zip(grid, parts, strict=True):
            _bars(axes, bars, total, colour)
            of_all = f" of {count(total)} ({percent(good / max(total, 1))})"
            axes.set_title(f"{noun.capitalize()}: {count(good)}{'' if good == total else of_all} {verb}")
            axes.set_xlabel(noun.removesuffix(" of the export").removesuffix(" of the time grid"))


def _split(data: pd.DataFrame, good: str, is_total: bool = False):
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
    axes.xaxis.set_major_formatter(lambda value, _: count(value))
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    if not len(bars):
        axes.text(0.5, 0, "nothing was left out", ha="center", va="center", transform=axes.get_yaxis_transform())
    for y, value in zip(place, values, strict=True):
        axes.text(value, y, f"  {count(value)} ({percent(value / max(total, 1))})", va="center", fontsize=9)


def columns_by(reason: str, number: str, total: int, *headings: str) -> dict[str, Callable]:
    """Return the columns of a printed table of numbers by reason: these two columns of it, meaning, share of a total.

    The ``headings`` are of the reason and of the number.
    """
    return {
        headings[0]: lambda row: getattr(row, reason).replace("_", " "),
        "meaning": lambda row: row.meaning,
        headings[1]: lambda row: count(getattr(row, number)),
        "share": lambda row: percent(getattr(row, number) / max(total, 1)),
    }


@printed(INGEST_REPORT)
def ingest_grid(data: pd.DataFrame, tables: Tables) -> Grid:
    """Rows of the export by reason."""
    total = int(data["row_count"].sum())
    columns = columns_by("reason", "row_count", total, "reason", "rows")
    return grid_of("Rows of the export", data, columns, words=2, total=("all rows", "", count(total), ""))


@printed(QUALITY_SUMMARY)
def quality_grid(data: pd.DataFrame, tables: Tables, scope: str) -> Grid | None:
    """Households or readings by quality rule."""
    data = data[data["scope"] == scope]
    if data.empty:
        return None
    expected = data.loc[data["reason"] == "expected_readings", "item_count"]
    total = int(expected.iloc[0] if len(expected) else data["item_count"].sum())
    columns = columns_by("reason", "item_count", total, "rule", scope)
    return grid_of(f"{scope.capitalize()} by rule", data, columns, words=2)


GRIDS = {
    "ingest": ingest_grid,
    "households": partial(quality_grid, scope="households"),
    "readings": partial(quality_grid, scope="readings"),
}


def households_by_rule(tables: Tables) -> pd.Series | None:
    """Return how many households each rule decided about, by reason; None of a study without such rules."""
    quality = tables.get("quality_summary")
    if quality is None:
        return None
    return quality[quality["scope"] == "households"].set_index("reason")["item_count"]


def intake_sentence(tables: Tables) -> str | None:
    """How many households were kept, and how many classes those with a usable profile form."""
    counts, classes = households_by_rule(tables), tables.get("class_table")
    parts = []
    if counts is not None:
        kept, total = int(counts.get("kept", 0)), int(counts.sum())
        share = percent(kept / max(total, 1))
        parts.append(f"{count(kept)} of {counted(total, 'household')} ({share}) passed the quality rules")
    if classes is not None:
        sizes = classes["household_count"]
        span = counted(sizes.max(), "household")
        span = span if len(sizes) == 1 else f"{count(sizes.min())} to {span}"
        noun = "class" if len(sizes) == 1 else "classes"
        parts.append(f"{count(sizes.sum())} with a usable profile form {count(len(sizes))} {noun} of {span}")
    return "; ".join(parts) + "." if parts else None


def period_sentence(settings: Mapping) -> str | None:
    """Which days the study covers and which of them the profiles are from, as the configuration says."""
    export, profiles = settings.get("export", {}), settings.get("profiles", {})
    if not profiles:
        return None
    first, last, minutes = (export.get(key) for key in ("first_day", "last_day", "interval_minutes"))
    period = f"from {first} to {last}" if first and last else "from the first to the last stamp of the export"
    when = {
        "typical_day": "one working day of a household, the one whose energy is nearest to the mean of its working "
        "days; weekends are not among them, public holidays may be",
        "mean": "the mean over all days",
        "half_day": f"one stretch of hours on {profile_day(settings)}",
    }[profiles["vector"]]
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
    days = {
        "typical_day": " of a typical working day of each household",
        "mean": ", mean of all days",
        "half_day": f" of one day, {profile_day(settings)}",
    }[profiles["vector"]]
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
    span = first if len(data) == 1 else f"{first} to {last}"
    return (
        f"A profile has {counted(len(data), 'hour')}, {span} local time; the energy of each is clipped to the public "
        f"bounds {low} and {high} kWh before {model}."
    )
