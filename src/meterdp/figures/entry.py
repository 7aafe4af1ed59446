"""What the registry lists of a figure: its drawing function, the tables it reads and the words that go with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from meterdp.core.tables import Table

# Sections of the reports, in order.
INTAKE = "1 What came in"
HOUSEHOLDS = "2 Who the households are"
COSTS = "3 What each mechanism costs"
FORECASTS = "4 Forecasts"


@dataclass(frozen=True)
class Figure:
    """One figure of a study or a paper, called as its drawing function is.

    Parameters
    ----------
    draw : callable
        Takes a path for each of ``tables`` by the table's name, ``output`` and its own options, and returns nothing.
        That of a paper takes the path of its one table as ``table``.
    tables : tuple of Table
        What it reads.
    category : str
        Section of the report it belongs to.
    look_for : str
        The caption, one or two sentences: what is drawn and what to look for.
    alternative : str
        What somebody who cannot see the figure should know is drawn.
    variants : callable (configuration) -> mapping of suffix to options, optional
        For a figure drawn more than once: the end of each name, such as a mechanism, and the options of each.
    """

    draw: Callable[..., None]
    tables: tuple[Table, ...]
    category: str
    look_for: str
    alternative: str
    variants: Callable[[Mapping], Mapping[str, Mapping]] | None = None

    @property
    def name(self) -> str:
        """Name of the figure, that of its drawing function."""
        return self.draw.__name__

    def drawings(self, settings: Mapping) -> dict[str, Mapping]:
        """Return the names it is drawn under in a study of this configuration, with the options of each."""
        if self.variants is None:
            return {self.name: {}}
        return {f"{self.name}_{suffix}": options for suffix, options in self.variants(settings).items()}
