"""The first page of the report, for a reader in a hurry: how many customers, which patterns, the price, what leaves.

Every number is from a table of the study. Words are chosen by the numbers: what lies within its uncertainty is said
to be no difference, and what an export is too small for is said first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from meterdp.figures.numbers import count, counted
from meterdp.figures.report import energy, leaving, patterns
from meterdp.figures.report.grid import Tables, customers
from meterdp.profiles.tables import QUALITY_SUMMARY

READS = (*patterns.READS, *energy.READS, QUALITY_SUMMARY)


@dataclass(frozen=True)
class FirstPage:
    """What the first page shows.

    Parameters
    ----------
    facts : sequence of (number, words)
    customers : sequence of str
        Who was studied and who was left out, as sentences.
    cards : sequence of Card
    whence : str or None
        Days and hours of the patterns.
    caution : str or None
        That there are too many classes for the export.
    few : str or None
        Which number of customers is few.
    prices : sequence of Price
    leaving : Leaving or None
    """

    facts: Sequence[tuple[str, str]]
    customers: Sequence[str]
    cards: Sequence[patterns.Card]
    whence: str | None
    caution: str | None
    few: str | None
    prices: Sequence[energy.Price]
    leaving: leaving.Leaving | None


def first_page(tables: Tables, settings: Mapping, simulated: bool) -> FirstPage:
    """Return the first page of a study, as much of it as was run."""
    return FirstPage(
        _facts(tables, settings),
        _customers(tables),
        patterns.cards(tables),
        patterns.whence(tables, settings),
        patterns.caution(tables),
        patterns.few_customers(tables),
        energy.prices(tables, settings),
        leaving.leaving(tables, settings, simulated),
    )


def _counts(tables: Tables) -> Mapping[str, int] | None:
    """Households by the rule that decided about them."""
    quality = tables.get("quality_summary")
    if quality is None:
        return None
    return quality[quality["scope"] == "households"].set_index("reason")["item_count"].to_dict()


def _facts(tables: Tables, settings: Mapping) -> list[tuple[str, str]]:
    counts, classes, export = _counts(tables), tables.get("class_table"), settings.get("export", {})
    facts = []
    if counts is not None:
        kept, total = counts.get("kept", 0), sum(counts.values())
        facts.append((count(kept), f"of {customers(total)} studied"))
    if export.get("first_day") and export.get("last_day"):
        first, last = (date.fromisoformat(export[key]) for key in ("first_day", "last_day"))
        days = (last - first).days + 1
        facts.append((count(days), f"{'day' if days == 1 else 'days'}, {_spoken(first)} to {_spoken(last)}"))
    if classes is not None:
        noun = "pattern of use" if len(classes) == 1 else "patterns of use"
        facts.append((count(len(classes)), noun))
    return facts


def _spoken(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def _customers(tables: Tables) -> list[str]:
    counts, classes = _counts(tables), tables.get("class_table")
    if counts is None:
        return []
    kept = counts.get("kept", 0)
    quality = tables["quality_summary"]
    meanings = quality[quality["scope"] == "households"].set_index("reason")["meaning"]
    out = {reason: number for reason, number in counts.items() if reason != "kept" and number}
    why = "; ".join(
        f"{count(n)}: {meanings[r].removeprefix('left out: ')}" for r, n in sorted(out.items(), key=_most)
    )
    said = [f"{counted(sum(out.values()), 'customer')} left out ({why})." if out else "No customer was left out."]
    without = kept - (kept if classes is None else int(classes["household_count"].sum()))
    if without:
        said.append(f"{count(without)} more had too few readings in the hours the patterns are from.")
    return said


def _most(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]
