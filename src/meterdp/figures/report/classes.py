"""What the report says about the classes: their sizes, and how Gaussian they are."""

from __future__ import annotations

from collections.abc import Mapping

from meterdp.figures.classes import class_names, mean_profiles_kwh
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
    # Of energy, as in the names; the highest mean of the logarithm may come at another hour.
    peaks = _peak_hours(tables) if named else data.set_index("component")["peak_hour_local"].to_dict()
    rows = [
        (
            f"Class {r.component}" + (f": {names[r.component]}" if named else ""),
            count(r.household_count),
            percent(r.share),
            significant(r.mean_energy_kwh),
            f"{peaks[r.component]:02d}:00",
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


def _peak_hours(tables: Tables) -> Mapping[int, int]:
    """Return the local hour in which the mean profile of each class is highest, by its number."""
    hours = tables["profile_hours"].sort_values("entry")["hour_of_day_local"].to_numpy()
    profiles = mean_profiles_kwh(tables["mixture"], tables["profile_hours"])
    classes = tables["mixture"]["component"].sort_values().to_list()
    return dict(zip(classes, hours[profiles.argmax(axis=1)].tolist(), strict=True))


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
