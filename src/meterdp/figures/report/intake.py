"""What the report says about the export: rows and readings by reason, the period, and the profile of a household."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING

from meterdp.core.log_scale import LOG
from meterdp.figures.numbers import count, percent, significant
from meterdp.figures.report.grid import Grid, Tables
from meterdp.ingest.tables import INGEST_REPORT
from meterdp.profiles.tables import PROFILE_HOURS, QUALITY_SUMMARY
from meterdp.profiles.vector import scale_of

if TYPE_CHECKING:
    import pandas as pd


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
