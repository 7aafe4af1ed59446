"""What the report says about the classes: their sizes, and how Gaussian they are."""

from __future__ import annotations

from meterdp.figures.classes import class_names
from meterdp.figures.numbers import count, percent, significant
from meterdp.figures.report.grid import Grid, Tables
from meterdp.mixture.tables import CLASS_TABLE, NORMALITY


def class_grid(tables: Tables) -> Grid | None:
    """Table I of Liu et al. for this export."""
    data = tables.get("class_table")
    if data is None:
        return None
    named = all(name in tables for name in ("mixture", "profile_hours"))
    names = class_names(tables["mixture"], data, tables["profile_hours"]) if named else {}
    rows = [
        (
            f"Class {r.component}" + (f": {names[r.component]}" if named else ""),
            count(r.household_count),
            percent(r.share),
            significant(r.mean_energy_kwh),
            f"{r.peak_hour_local:02d}:00",
            significant(r.spread_log_kwh),
            "yes" if r.floored else "no",
        )
        for r in data.sort_values("component").itertuples()
    ]
    rows.append(("all", count(int(data["household_count"].sum())), percent(data["share"].sum()), "", "", "", ""))
    header = (
        "class",
        "households",
        "share",
        "mean kWh per hour (arithmetic)",
        "peak hour",
        "spread (log kWh)",
        "variance floored",
    )
    return Grid("Classes of households (Table I of Liu et al. for this export)", header, rows)


def normality_grid(tables: Tables) -> Grid | None:
    """How Gaussian the classes are."""
    data = tables.get("normality")
    if data is None:
        return None
    rows = [
        (
            f"Class {r.component}",
            count(r.household_count),
            significant(r.mardia_skewness),
            significant(r.mardia_kurtosis_z),
            percent(r.share_within_90),
        )
        for r in data.sort_values("component").itertuples()
    ]
    header = ("class", "households", "Mardia skewness", "Mardia kurtosis (z)", "inside the 90 % ellipsoid")
    return Grid("How Gaussian the log profiles of each class are", header, rows)


READS = (CLASS_TABLE, NORMALITY)
GRIDS = {"classes": class_grid, "normality": normality_grid}
