"""The first page of the report, for a reader in a hurry: customers, patterns of use, the price, what can be released.

Every number is from a table of the study. The text depends on the numbers: what lies within its uncertainty is called
no difference, and what an export is too small for is said first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from meterdp.errors import InputError
from meterdp.mixture.patterns import fewest_households, most_classes, too_many_classes
from meterdp.mixture.tables import CLASS_TABLE, MIXTURE
from meterdp.privacy.guarantee import UNIT_OF, Guarantee, Limit
from meterdp.privacy.policy import check_release
from meterdp.profiles.tables import PROFILE_HOURS, QUALITY_SUMMARY
from meterdp.publish.kinds import KINDS
from meterdp.release.settings import SIMULATED, refusals_of
from meterdp.report.classes import class_names, mean_profiles_kwh
from meterdp.report.intake import households_by_rule, profile_day, span_text
from meterdp.report.numbers import count, counted, percent, significant
from meterdp.report.pages import Tables
from meterdp.report.prices import READS as READ_FOR_PRICES
from meterdp.report.prices import Price, prices

_PATTERNS = (CLASS_TABLE, MIXTURE, PROFILE_HOURS)
READS = (*_PATTERNS, *READ_FOR_PRICES, QUALITY_SUMMARY)
WIDTH, HEIGHT = 300, 84  # of the drawing of a card, in its own units


@dataclass(frozen=True)
class FirstPage:
    """What the first page shows, as much of it as the study has."""

    facts: Sequence[tuple[str, str]]  # numbers and what they count
    customers: Sequence[str]  # sentences: who was studied and who was left out
    cards: Sequence[Card]
    whence: str | None  # days and hours of the patterns
    caution: str | None  # that there are too many classes for the export
    few: str | None  # which number of customers is few
    prices: Sequence[Price]
    leaving: Leaving | None


def first_page(tables: Tables, settings: Mapping, simulated: bool) -> FirstPage:
    """Return the first page of a study, as much of it as was run."""
    return FirstPage(
        _facts(tables, settings),
        _customers(tables),
        _cards(tables),
        _whence(tables, settings),
        _caution(tables),
        _few_customers(tables),
        prices(tables, settings),
        _leaving(tables, settings, simulated),
    )


def _facts(tables: Tables, settings: Mapping) -> list[tuple[str, str]]:
    counts, classes, export = households_by_rule(tables), tables.get("class_table"), settings.get("export", {})
    facts = []
    if counts is not None:
        facts.append((count(counts.get("kept", 0)), f"of {counted(counts.sum(), 'customer')} studied"))
    if export.get("first_day") and export.get("last_day"):
        first, last = (date.fromisoformat(export[key]) for key in ("first_day", "last_day"))
        days = (last - first).days + 1
        spoken = " to ".join(f"{day.day} {day:%B %Y}" for day in (first, last))
        facts.append((count(days), f"{'day' if days == 1 else 'days'}, {spoken}"))
    if classes is not None:
        facts.append((count(len(classes)), "pattern of use" if len(classes) == 1 else "patterns of use"))
    return facts


def _customers(tables: Tables) -> list[str]:
    counts, classes = households_by_rule(tables), tables.get("class_table")
    if counts is None:
        return []
    kept, quality = counts.get("kept", 0), tables["quality_summary"]
    meanings = quality[quality["scope"] == "households"].set_index("reason")["meaning"]
    out = {reason: number for reason, number in counts.items() if reason != "kept" and number}
    why = "; ".join(
        f"{count(number)}: {meanings[reason].removeprefix('left out: ')}"
        for reason, number in sorted(out.items(), key=lambda item: (-item[1], item[0]))
    )
    said = [f"{counted(sum(out.values()), 'customer')} left out ({why})." if out else "No customer was left out."]
    without = kept - (kept if classes is None else int(classes["household_count"].sum()))
    if without:
        said.append(f"{count(without)} more had too few readings in the hours the patterns are from.")
    return said


# --- patterns of use ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Card:
    """One pattern of use: a class with its name, how many customers, and its mean profile."""

    component: int
    name: str  # level and peak hour; starts with a capital
    size: str  # how many customers
    energy: str  # how much they use
    line: str  # points of its mean profile over the hours, from zero up
    area: str  # and of the area below
    top: str  # energy at the upper edge
    ticks: Sequence[tuple[float, str]]  # places and labels of hours along the lower edge


def _cards(tables: Tables) -> list[Card]:
    """Return a card per class, the largest class first; none without the tables they are from."""
    if any(table.name not in tables for table in _PATTERNS):
        return []
    classes, hours = tables["class_table"].sort_values("component"), tables["profile_hours"].sort_values("entry")
    names = class_names(tables["mixture"], classes, hours)
    profiles = mean_profiles_kwh(tables["mixture"], hours)
    few = fewest_households(len(hours))
    cards = []
    for row, profile in zip(classes.itertuples(), profiles, strict=True):
        name = names[row.component]
        only = f" (only {count(row.household_count)})" if row.household_count < few else ""
        cards.append(
            Card(
                int(row.component),
                name[0].upper() + name[1:],
                f"{percent(row.share)} of customers{only}",
                f"{significant(row.mean_energy_kwh, 2)} kWh an hour",
                *_drawing(profile),
                _ticks(hours["hour_of_day_local"].to_list()),
            )
        )
    return cards


def _whence(tables: Tables, settings: Mapping) -> str | None:
    """Say which hours of which days the patterns are from, and how to take more of them."""
    hours, profiles = tables.get("profile_hours"), settings.get("profiles", {})
    if hours is None or not profiles:
        return None
    span = span_text(hours)
    if profiles["vector"] == "typical_day":
        return (
            f"Hours from {span} local time of one working day of each customer: the one whose energy is nearest to "
            "the mean of its own working days. Weekends and other seasons can look different."
        )
    if profiles["vector"] == "mean":
        return f"Hours from {span} local time, each the mean over all days of the study."
    day = profile_day(settings)
    return (
        f"These patterns are from the hours {span} of one single day, {day}: other days and seasons can look "
        "different. For a typical day of each customer set profiles.vector to typical_day."
    )


def _support(tables: Tables) -> tuple[np.ndarray, int, int] | None:
    """Return sizes of the classes, how many are small, and the hours of a profile; None of a study without them."""
    if "class_table" not in tables or "profile_hours" not in tables:
        return None
    sizes, hours = tables["class_table"]["household_count"].to_numpy(), len(tables["profile_hours"])
    return sizes, int(np.count_nonzero(sizes < fewest_households(hours))), hours


def _caution(tables: Tables) -> str | None:
    """Say that there are more classes than the customers carry, where there are, and what to do about it."""
    support = _support(tables)
    if support is None or not too_many_classes(support[0], support[2]):
        return None
    sizes, small, hours = support
    total, floored = int(sizes.sum()), int(tables["class_table"]["floored"].sum())
    spread = f", and the spread of {count(floored)} had to be raised to a public floor" if floored else ""
    return (
        f"{count(len(sizes))} classes were fitted to {counted(total, 'customer')}. A class should have at least "
        f"{fewest_households(hours)} of them, five for each of the {count(hours)} hours; {count(small)} of "
        f"{count(len(sizes))} have fewer{spread}. Such classes follow single customers, and what is compared with "
        f"them means little. Set mixture.classes to {count(most_classes(total, hours))}, or take fewer hours "
        "(profiles.hours)."
    )


def _few_customers(tables: Tables) -> str | None:
    """Say which number of customers is called few, where a class has so few."""
    support = _support(tables)
    if support is None or not support[1]:
        return None
    hours = support[2]
    few = f"{fewest_households(hours)} customers, five for each of the {count(hours)} hours"
    return f"“Only” marks a class of fewer than {few}; read its profile with care."


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


# --- release --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Leaving:
    """What the first page says about a release."""

    folders: Sequence[tuple[str, str]]  # paths below the results folder, and what they hold
    missing: Sequence[tuple[str, str]]  # settings that the policy refuses, and why; empty where a release can be made
    sentences: Sequence[str]  # to be published with the files


def _leaving(tables: Tables, settings: Mapping, simulated: bool) -> Leaving | None:
    """Return what could be released under these settings; nothing without the section ``release``."""
    release = settings.get("release")
    if not release:
        return None
    kinds = {what: KINDS[what] for what in release["what"]}
    return Leaving(
        [(f"release/{what}/", kind.holds + kind.more) for what, kind in kinds.items()],
        [(error.field, f"{error.problem}; {error.hint}.") for error in _refusals(tables, settings, simulated)],
        _sentences({what: release[kind.epsilon] for what, kind in kinds.items()}, settings, simulated),
    )


def _refusals(tables: Tables, settings: Mapping, simulated: bool) -> list[InputError]:
    """What the policy says of the settings and, as far as the study knows it, of the number of households."""
    refused = list(refusals_of(settings, simulated))
    release, quality = settings["release"], tables.get("quality_summary")
    if quality is not None:
        households = int(quality.loc[quality["scope"] == "households", "item_count"].sum())
        stated = Guarantee("", "replace_one", release["epsilon"], release["delta"], "", "", "sound")
        try:
            check_release(stated, households, Limit(release["cap_epsilon"], release["cap_delta"]))
        except InputError as error:
            refused.append(error)
    return refused


def _sentences(epsilons: Mapping[str, float], settings: Mapping, simulated: bool) -> list[str]:
    """Return one sentence for all folders of the same guarantee."""
    from meterdp.release.settings import plain_sentence  # not for a plan, which reads the report's modules too

    release, export = settings["release"], settings["export"]
    who = release["population"] or (SIMULATED if simulated else "[population]")
    when = "from {} to {}".format(*(export.get(key) or "[day]" for key in ("first_day", "last_day")))
    same: dict[float, list[str]] = {}
    for what, epsilon in epsilons.items():
        if what != "forecasts" or release["forecast_protects"] == "readings":
            same.setdefault(epsilon, []).append(what)
    said = [
        f"{' and '.join(KINDS[what].holds for what in folders).capitalize()} of {who}, made from readings {when}. "
        f"{plain_sentence(epsilon, release['delta'], ', each' if len(folders) > 1 else '')} "
        "Releases about the same households add up."
        for epsilon, folders in same.items()
    ]
    if "forecasts" in epsilons and release["forecast_protects"] == "label":
        said.append(
            f"Forecasts of {who}, made from readings {when}: they hide {UNIT_OF['class_label']}, and no reading."
        )
    return said
