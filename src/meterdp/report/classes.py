"""Mean profiles and names of the classes of a study, the same on its first page and in its figures.

What the report says about the classes: their sizes, and how Gaussian they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from meterdp.core.log_scale import LogScale
from meterdp.mixture.patterns import pattern_names
from meterdp.profiles.vector import scale_of

if TYPE_CHECKING:
    import pandas as pd
from collections.abc import Mapping

from meterdp.mixture.tables import CLASS_TABLE, NORMALITY
from meterdp.report.numbers import count, percent, significant
from meterdp.report.pages import Grid, Tables


def mean_profiles_kwh(mixture: pd.DataFrame, profile_hours: pd.DataFrame) -> np.ndarray:
    """Return the mean energy of every class and hour, (K, d) float64, kWh; classes and hours in their order.

    Parameters
    ----------
    mixture, profile_hours : pandas.DataFrame
        Tables of these names.
    """
    from meterdp.forecasting.energy import censored_moment  # not for a plan, which reads the report's modules too

    classes = mixture.sort_values("component")
    mean = np.stack(classes["mean_log_kwh"].to_list())
    covariance = np.stack(classes["covariance"].to_list()).reshape(*mean.shape, -1)
    deviation = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    return censored_moment(mean, deviation, _bounded(profile_hours), 1)


def class_names(mixture: pd.DataFrame, class_table: pd.DataFrame, profile_hours: pd.DataFrame) -> dict[int, str]:
    """Return the name of every class by its number; parameters are the tables of these names."""
    classes = class_table.sort_values("component")
    hours = profile_hours.sort_values("entry")["hour_of_day_local"].to_list()
    energy, share = classes["mean_energy_kwh"].to_numpy(), classes["share"].to_numpy()
    names = pattern_names(energy, share, mean_profiles_kwh(mixture, profile_hours), hours)
    return dict(zip(classes["component"].to_list(), names, strict=True))


def _bounded(hours: pd.DataFrame) -> LogScale:
    scale = scale_of(hours)
    low, high = (float(scale.kwh(end)) for end in (hours["low_log_kwh"].min(), hours["high_log_kwh"].max()))
    return replace(scale, low_kwh=low, high_kwh=high)


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
