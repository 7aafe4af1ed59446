"""Tables of a report as text, and the words that several of them need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from meterdp.figures.numbers import count, counted

if TYPE_CHECKING:
    import pandas as pd

Tables = Mapping[str, "pd.DataFrame"]


@dataclass(frozen=True)
class Grid:
    """A table of the report: cells are text, ``words`` counts the leading columns that are not right-aligned.

    ``note`` stands below it and says what has no row.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    note: str = ""


def count_range(values: pd.Series) -> str:
    """Write the smallest and the largest of whole numbers."""
    return " to ".join(count(value) for value in sorted({values.min(), values.max()}))


def households(number: int) -> str:
    """Write a number of households."""
    return counted(number, "household")


def customers(number: int) -> str:
    """Write a number of households as the first page calls them."""
    return counted(number, "customer")
