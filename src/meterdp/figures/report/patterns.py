"""The patterns of use on the first page: a card per class with its name, how many customers, and its mean profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from meterdp.figures.classes import class_names, mean_profiles_kwh
from meterdp.figures.numbers import count, percent, significant
from meterdp.figures.report.grid import Tables, customers
from meterdp.figures.report.intake import profile_day, span_text
from meterdp.mixture.support import fewest_households, most_classes, too_many_classes
from meterdp.mixture.tables import CLASS_TABLE, MIXTURE
from meterdp.profiles.tables import PROFILE_HOURS

WIDTH, HEIGHT = 300, 84  # of the drawing of a card, in its own units
READS = (CLASS_TABLE, MIXTURE, PROFILE_HOURS)


@dataclass(frozen=True)
class Card:
    """One pattern of use.

    Parameters
    ----------
    component : int
    name : str
        Level and peak hour; starts with a capital.
    size, energy : str
        How many customers, and how much they use, in words.
    line, area : str
        Points of its mean profile over the hours, from zero up, and of the area below.
    top : str
        Energy at the upper edge.
    ticks : sequence of (place, label)
        Hours along the lower edge.
    """

    component: int
    name: str
    size: str
    energy: str
    line: str
    area: str
    top: str
    ticks: Sequence[tuple[float, str]]


def cards(tables: Tables) -> list[Card]:
    """Return a card per class, the largest class first; none without the tables they are from."""
    if any(table.name not in tables for table in READS):
        return []
    classes, hours = tables["class_table"].sort_values("component"), tables["profile_hours"].sort_values("entry")
    few = fewest_households(len(hours))
    names = class_names(tables["mixture"], classes, hours)
    profiles = mean_profiles_kwh(tables["mixture"], hours)
    return [
        Card(
            int(row.component),
            names[row.component][0].upper() + names[row.component][1:],
            f"{percent(row.share)} of customers"
            + (f" (only {count(row.household_count)})" if row.household_count < few else ""),
            f"{significant(row.mean_energy_kwh, 2)} kWh an hour",
            *_drawing(profile),
            _ticks(hours["hour_of_day_local"].to_list()),
        )
        for row, profile in zip(classes.itertuples(), profiles, strict=True)
    ]


def whence(tables: Tables, settings: Mapping) -> str | None:
    """Say which hours of which days the patterns are from, and how to take more of them."""
    hours, profiles = tables.get("profile_hours"), settings.get("profiles", {})
    if hours is None or not profiles:
        return None
    span = span_text(hours)
    if profiles["vector"] == "mean":
        return f"Hours from {span} local time, each the mean over all days of the study."
    day = profile_day(settings)
    return (
        f"These patterns are from the hours {span} of one single day, {day}: other days and seasons can look "
        "different. For the mean over all days set profiles.vector to mean, for the whole day profiles.hours to 24."
    )


def caution(tables: Tables) -> str | None:
    """Say that there are more classes than the customers carry, where there are, and what to do about it."""
    if "class_table" not in tables or "profile_hours" not in tables:
        return None
    sizes, hours = tables["class_table"]["household_count"].to_numpy(), len(tables["profile_hours"])
    if not too_many_classes(sizes, hours):
        return None
    few, total, small = fewest_households(hours), int(sizes.sum()), _small(sizes, hours)
    floored = int(tables["class_table"]["floored"].sum())
    made_up = f", and the spread of {count(floored)} had to be made up by a public floor" if floored else ""
    return (
        f"{count(len(sizes))} classes were fitted to {customers(total)}. A class should have at least {few} of them, "
        f"five for each of the {count(hours)} hours; {count(small)} of {count(len(sizes))} have fewer{made_up}. Such "
        "classes follow single customers, and what is compared with them means little. Set mixture.classes to "
        f"{count(most_classes(total, hours))}, or take fewer hours (profiles.hours)."
    )


def few_customers(tables: Tables) -> str | None:
    """Say which number of customers is called few, where a class has so few."""
    if "class_table" not in tables or "profile_hours" not in tables:
        return None
    hours = len(tables["profile_hours"])
    if not _small(tables["class_table"]["household_count"].to_numpy(), hours):
        return None
    few = f"{fewest_households(hours)} customers, five for each of the {count(hours)} hours"
    return f"“Only” marks a class of fewer than {few}; read its profile with care."


def _small(sizes: np.ndarray, hours: int) -> int:
    return int(np.count_nonzero(sizes < fewest_households(hours)))


def _drawing(profile: np.ndarray) -> tuple[str, str, str]:
    """Return the line and the area of a profile, drawn from zero, and the energy at the upper edge."""
    low, high = min(profile.min(), 0.0), max(profile.max(), 0.0)
    y = HEIGHT * (1 - (profile - low) / ((high - low) or 1.0))
    x = WIDTH * (np.arange(len(profile)) + 0.5) / len(profile)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    zero = HEIGHT * (1 + low / ((high - low) or 1.0))
    return line, f"{x[0]:.1f},{zero:.1f} {line} {x[-1]:.1f},{zero:.1f}", f"{significant(high, 2)} kWh"


def _ticks(hours: Sequence[int]) -> list[tuple[float, str]]:
    """Return the edges of every third hour or, of a long profile, of every sixth."""
    step = 3 if len(hours) <= 12 else 6
    label = [*hours, hours[-1] + 1]
    return [(WIDTH * at / len(hours), f"{label[at]:02d}") for at in range(0, len(hours) + 1, step)]
