"""Tables of a report as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

Tables = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Grid:
    """A table of the report: cells are text, ``words`` counts the leading columns that are not right-aligned."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
