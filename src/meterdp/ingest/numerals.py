"""How numbers are written: the mark before decimals and the one between thousands.

A number that does not fit the setting is never read as another one: thousands must stand in groups of three behind a
digit that is not 0, and a mark that is not set is no part of a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

DECIMALS = (".", ",")
# What stands for a mark: blanks that do not break a line and a typographic apostrophe are the same marks.
_WRITTEN_AS = {",": ",", ".": r"\.", " ": "[ \u00a0\u2009\u202f]", "'": "['\u2019]"}
THOUSANDS = tuple(_WRITTEN_AS)


@dataclass(frozen=True)
class Notation:
    """One way of writing numbers.

    Parameters
    ----------
    decimal : {".", ","}
    thousands : {None, ",", ".", " ", "'"}
    """

    decimal: str = "."
    thousands: str | None = None

    @property
    def pattern(self) -> str:
        """Regular expression of a whole number in this notation."""
        mark, digits = _WRITTEN_AS[self.decimal], r"\d+"
        if self.thousands is not None:
            digits = rf"(?:[1-9]\d{{0,2}}(?:{_WRITTEN_AS[self.thousands]}\d{{3}})+|\d+)"
        number = rf"(?:(?:{digits}(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?"
        return rf"^[+-]?{number}|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|[nN][aA][nN])$"

    def plain(self, texts: pa.Array) -> pa.Array:
        """Return texts that match :attr:`pattern` as pyarrow reads numbers."""
        if self.thousands is not None:
            texts = pc.replace_substring_regex(texts, _WRITTEN_AS[self.thousands], "")
        return texts if self.decimal == "." else pc.replace_substring(texts, self.decimal, ".")


PLAIN = Notation()


NOTATIONS = tuple(Notation(d, t) for t in (None, *THOUSANDS) for d in DECIMALS if d != t)


def notations_that_fit(texts: Iterable[str]) -> list[Notation]:
    """Return the notations in which every text is a number, those without a thousands separator first.

    "1,234" is a number with a decimal comma and one with a comma between thousands: both are returned.
    """
    texts = [text.strip() for text in texts]
    together, fitting = "".join(texts), []
    for notation in NOTATIONS:
        # Without its mark between thousands anywhere, a notation is the one without such a mark.
        bare = Notation(notation.decimal)
        if notation != bare and not re.search(_WRITTEN_AS[notation.thousands], together):
            fits = bare in fitting
        else:
            pattern = re.compile(notation.pattern, re.ASCII)
            fits = all(pattern.search(text) for text in texts)
        if fits:
            fitting.append(notation)
    return fitting


def settings_that_fit(text: str, current: Notation = PLAIN) -> str:
    """Return words that name the fewest changes of ``current`` under which ``text`` is a number, empty if none do."""

    def fits(decimal, thousands):
        return re.search(Notation(decimal, thousands).pattern, text.strip(), re.ASCII) is not None

    fitting = []
    for decimal in DECIMALS:
        for thousands in (None, *THOUSANDS):
            if thousands == decimal or not fits(decimal, thousands):
                continue
            if thousands not in (None, current.thousands) and fits(decimal, None):
                continue  # a mark the text does not have
            changes = [f'export.decimal to "{decimal}"'] if decimal != current.decimal else []
            if thousands != current.thousands:
                changes.append("export.thousands to " + ("null" if thousands is None else f'"{thousands}"'))
            fitting.append(changes)
    fewest = min(map(len, fitting), default=0)
    return " or ".join(" and ".join(changes) for changes in fitting if len(changes) == fewest > 0)
