"""Patterns of use: names and mean profiles of the classes of a study, as cards; and whether there are too many.

Profiles are means of energy, taken back from log energy to kWh.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from meterdp.consumption.tables import CLASS_LOAD
from meterdp.mixture.patterns import (
    fewest_households,
    in_small_classes,
    most_classes,
    pattern_names,
    too_many_classes,
)
from meterdp.mixture.tables import CLASS_TABLE, MIXTURE
from meterdp.pages.cards import Card, card
from meterdp.pages.numbers import count, percent, significant
from meterdp.profiles.tables import PROFILE_HOURS
from meterdp.profiles.vector import scale_of
from meterdp.report.pages import Tables

if TYPE_CHECKING:
    import pandas as pd

READS = (CLASS_TABLE, MIXTURE, PROFILE_HOURS)
# Weekends are named on a card if use is so much higher or lower on them.
_OTHER_WEEKENDS = 0.2


def mean_profiles_kwh(mixture: pd.DataFrame, profile_hours: pd.DataFrame) -> np.ndarray:
    """Return the mean energy of every class and hour, (K, d) float64, kWh; classes and hours in their order.

    Parameters are the tables of these names.
    """
    from meterdp.forecasting.energy import censored_moment  # not for a plan, which reads the report's modules too

    scale = scale_of(profile_hours)
    ends = profile_hours["low_log_kwh"].min(), profile_hours["high_log_kwh"].max()
    low, high = (float(scale.kwh(end)) for end in ends)
    return censored_moment(*_moments(mixture), replace(scale, low_kwh=low, high_kwh=high), 1)


def _moments(mixture: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard deviations of log energy by class and hour, (K, d) each."""
    classes = mixture.sort_values("component")
    mean = np.stack(classes["mean_log_kwh"].to_list())
    covariance = np.stack(classes["covariance"].to_list()).reshape(*mean.shape, -1)
    return mean, np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))


def class_names(mixture: pd.DataFrame, class_table: pd.DataFrame, profile_hours: pd.DataFrame) -> dict[int, str]:
    """Return the name of every class by its number; parameters are the tables of these names."""
    classes = class_table.sort_values("component")
    hours = profile_hours.sort_values("entry")["hour_of_day_local"].to_list()
    energy, share = classes["mean_energy_kwh"].to_numpy(), classes["share"].to_numpy()
    names = pattern_names(energy, share, mean_profiles_kwh(mixture, profile_hours), hours)
    return dict(zip(classes["component"].to_list(), names, strict=True))


def cards(tables: Tables) -> list[Card]:
    """Return a card per class, the largest class first; none without the tables they are from."""
    if any(table.name not in tables for table in READS):
        return []
    classes, hours = tables["class_table"].sort_values("component"), tables["profile_hours"].sort_values("entry")
    names = class_names(tables["mixture"], classes, hours)
    profiles = mean_profiles_kwh(tables["mixture"], hours)
    few, found, weekends = fewest_households(len(hours)), [], _weekends(tables)
    for row, profile in zip(classes.itertuples(), profiles, strict=True):
        only = f" (only {count(row.household_count)})" if row.household_count < few else ""
        words = f"{percent(row.share)} of households{only}, {significant(row.mean_energy_kwh, 2)} kWh per hour"
        words += weekends.get(row.component, "")
        found.append(card(names[row.component], words, profile, hours["hour_of_day_local"].to_list()))
    return found


def _weekends(tables: Tables) -> dict[int, str]:
    """Say of the classes that use much more or less at weekends by how much, over the whole period."""
    if CLASS_LOAD.name not in tables:
        return {}
    change = tables[CLASS_LOAD.name].set_index("component")["weekend_ratio"].dropna() - 1
    much = change[change.abs() >= _OTHER_WEEKENDS]
    return {k: f", {100 * abs(by):.0f} % {'more' if by > 0 else 'less'} at weekends" for k, by in much.items()}


def caution(tables: Tables) -> str | None:
    """Say that most households are in classes too small for a covariance, if so, and what that means."""
    if "class_table" not in tables or "profile_hours" not in tables:
        return None
    sizes, hours = tables["class_table"]["household_count"].to_list(), len(tables["profile_hours"])
    if not too_many_classes(sizes, hours):
        return None
    total, (small, inside) = sum(sizes), in_small_classes(sizes, hours)
    fewer = min(most_classes(total, hours), len(sizes) - 1)
    return (
        f"{count(small)} of {count(len(sizes))} classes have fewer than {fewest_households(hours)} households (five "
        f"for each of the {count(hours)} hours); {percent(inside / total)} of all {count(total)} are in these. Their "
        "mean profiles are those of small groups, which may be real ones, such as homes with solar panels. Their "
        "covariances follow single households, and so do comparisons with this mixture. It is steadier with "
        f"{count(fewer)} class{'' if fewer == 1 else 'es'} (mixture.classes) or fewer hours (profiles.hours)."
    )


def few_households(tables: Tables) -> str:
    """Explain the mark of classes with few households, if there are any."""
    sizes, few = tables["class_table"]["household_count"], fewest_households(len(tables["profile_hours"]))
    return f" “Only” marks fewer than {few} households." if (sizes < few).any() else ""
