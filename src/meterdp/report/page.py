"""The study's report: one HTML file that loads nothing from elsewhere.

Every number comes from a Parquet table through the modules beside this file; the template ``page.html`` holds text
only. Ids and seeds cannot get in: tables with ids are refused, and only settings that the text names are shown.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from meterdp.core.config import shown_epsilon
from meterdp.core.parquet import read_table
from meterdp.pages.html import write_page
from meterdp.pages.numbers import count, counted
from meterdp.report import classes, consumption, cost, forecasts, hiding, intake, weeks, worth
from meterdp.report.pages import Tables, households_by_rule, picture
from meterdp.report.registry import GRIDS, TABLES, figure_of

if TYPE_CHECKING:
    from meterdp.release.plan import Plan

TEMPLATE = Path(__file__).with_name("page.html")


def build_report(
    inputs: Mapping[str, os.PathLike | str],
    figures: Mapping[str, os.PathLike | str],
    output,
    *,
    title: str,
    synthetic: bool,
    settings: Mapping,
    plans: Sequence[Plan] = (),
) -> None:
    """Write the report of a study as one self-contained HTML file.

    ``inputs`` are any of :data:`meterdp.report.registry.TABLES` by name; a part of the study that is missing is left
    out. ``figures`` are SVG files by name, ``settings`` the whole configuration, ``plans`` what releases are expected
    to be worth.

    A ValueError names a table that the report does not read, a KeyError a figure that is not in the registry.
    """
    if unknown := set(inputs) - set(TABLES):
        raise ValueError(f"the report does not read {', '.join(sorted(unknown))}")
    tables = {name: read_table(path, TABLES[name]).to_pandas() for name, path in inputs.items()}
    tables = {name: data for name, data in tables.items() if not data.empty}
    in_weeks, period = weeks.weeks_of(tables), worth.export_period(tables, settings)
    write_page(
        TEMPLATE,
        output,
        weeks.scripts() if in_weeks else (),
        title=title,
        synthetic=synthetic,
        facts=facts(tables, settings),
        gaps=intake.missing_months(tables.get("quality_summary")),
        answers=consumption.answers(tables),
        clipping=consumption.clipping_sentence(settings, tables),
        cards=classes.cards(tables),
        cards_note=_cards_note(tables, settings),
        caution=classes.caution(tables),
        weeks=in_weeks and Markup(in_weeks),
        weeks_style=Markup(weeks.style()),
        releasable=worth.releasable(tables, settings, synthetic, plans),
        plans=worth.plan_grids(plans, settings, period, synthetic),
        usable=plans and worth.usable_sentence(tables),
        measured=worth.measured_grids(tables, settings),
        attack=worth.attack_sentence(tables),
        has_homes="household_scores" in tables,
        forecast_sentences=[
            words
            for words in (forecasts.forecast_sentence(tables), forecasts.group_sentence(tables, settings))
            if words
        ],
        hiding=hiding.hiding_sentence(tables),
        grids={name: write(tables) for name, write in GRIDS.items()}
        | {
            "forecasters": forecasts.forecasters_grid(tables, settings, period),
            "group": forecasts.group_grid(tables, settings),
            "cost": cost.cost_grid(tables, _epsilon(settings), period),
        },
        pictures={name: picture(path, figure_of(name)) for name, path in figures.items()},
    )


def _epsilon(settings: Mapping) -> float | None:
    return shown_epsilon(settings) if {"mechanisms", "release"} <= settings.keys() else None


def facts(tables: Tables, settings: Mapping) -> list[tuple[str, str]]:
    """Return numbers and what they count: households, days, intervals."""
    counts, load = households_by_rule(tables), tables.get("total_load")
    export, found = settings.get("export", {}), []
    if counts is not None:
        found.append((count(counts.get("kept", 0)), f"of {counted(counts.sum(), 'household')} studied"))
    first, last = (export.get(key) for key in ("first_day", "last_day"))
    if load is not None:
        first, last = first or load["day_local"].min(), last or load["day_local"].max()
    if first and last:
        days = (date.fromisoformat(last) - date.fromisoformat(first)).days + 1
        found.append((count(days), f"{'day' if days == 1 else 'days'}, {consumption.spoken_period(first, last)}"))
    if "interval_minutes" in export:
        found.append((count(export["interval_minutes"]), "minutes per interval"))
    return found


def _cards_note(tables: Tables, settings: Mapping) -> str:
    """Say which hours of which days the patterns are from, and when a pattern has few households."""
    hours = tables.get("profile_hours")
    if hours is None or "profiles" not in settings or "class_table" not in tables:
        return ""
    counts, left = households_by_rule(tables), 0
    if counts is not None:
        left = int(counts.get("kept", 0)) - int(tables["class_table"]["household_count"].sum())
    they = f"{counted(left, 'household')} {'is' if left == 1 else 'are'} in no pattern"
    gaps = f" {they}, with few readings or many zeros then." if left > 0 else ""
    return (
        f"Mean profiles of each pattern, from {intake.profile_days(settings)} of each household, "
        f"{intake.span_text(hours)}. Each has its own scale.{gaps}{classes.few_households(tables)}"
    )
