"""What a page is made of: figures and tables as they are declared, pictures inside the file, template engine, style.

Matplotlib writes coordinates to a millionth of a point, names every group and spends 70 bytes on each letter. Files
on disk stay as it wrote them; what a page holds is rounded to a hundredth of a point and loses what nobody sees.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from meterdp.core.tables import Table
from meterdp.errors import InputError
from meterdp.pages.numbers import count
from meterdp.profiles.tables import QUALITY_SUMMARY
from meterdp.report.style import load

if TYPE_CHECKING:
    import pandas as pd

# Sections of the reports, in order.
CONSUMPTION = "1 Consumption"
RELEASES = "2 What a release is worth"
FORECASTS = "3 Forecasts"
WITHOUT_GUARANTEE = "4 Mechanisms without a guarantee"

Tables = Mapping[str, "pd.DataFrame"]


# --- figures --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """One figure of a study or a paper."""

    plot: Callable[..., None]  # takes the rows of each of ``tables`` and the SVG to write
    tables: tuple[Table, ...]
    category: str  # section of the report
    look_for: str  # the caption, one or two sentences: what is drawn and what to look for
    alternative: str  # what somebody who cannot see the figure should know is drawn
    may_be_empty: bool = False  # whether it can be drawn from tables without rows

    @property
    def name(self) -> str:
        """Name of the figure, that of its drawing function."""
        return self.plot.__name__

    def draw(self, *paths, output) -> None:
        """Draw from the files of ``tables``, in their order, and write ``output``.

        Refused is a file that is no instance of its table, or has no rows where some are needed.
        """
        read = (load(path, table, self.may_be_empty) for path, table in zip(paths, self.tables, strict=True))
        self.plot(*read, output)


def figure(*tables: Table, **declared) -> Callable[[Callable[..., None]], Figure]:
    """Declare the function below a :class:`Figure` of these tables."""
    return lambda plot: Figure(plot, tables, **declared)


# --- tables ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Grid:
    """A table of the report: cells are text, ``words`` counts the leading columns that are not right-aligned.

    ``notes`` stand below it, a paragraph each, and say what has no row.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    notes: Sequence[str] = ()


def grid_of(
    caption: str, data: pd.DataFrame, columns: Mapping[str, Callable], words: int = 1, total: Sequence[str] = ()
) -> Grid:
    """Return a table with a row for every row of ``data``, and one of totals if given.

    ``columns`` make the text of a cell of a row, by header.
    """
    rows = [tuple(cell(row) for cell in columns.values()) for row in data.itertuples()]
    return Grid(caption, tuple(columns), [*rows, total] if total else rows, words=words)


def printed(table: Table) -> Callable:
    """Declare that the function below prints rows of ``table``: of a study without them there is nothing to print.

    It takes these rows and all tables of the study; what is declared takes the tables alone.
    """

    def declare(write):
        @wraps(write)
        def from_tables(tables: Tables, **options) -> Grid | None:
            data = tables.get(table.name)
            return None if data is None or data.empty else write(data, tables, **options)

        from_tables.reads = table
        return from_tables

    return declare


def tables_of(grids: Iterable[Callable]) -> list[Table]:
    """Return the tables that functions declared with :func:`printed` read."""
    return [(write.func if isinstance(write, partial) else write).reads for write in grids]


def count_range(values: pd.Series) -> str:
    """Write the smallest and the largest of whole numbers."""
    return " to ".join(count(value) for value in sorted({values.min(), values.max()}))


# --- pages ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Picture:
    """A figure as it stands in a page: the SVG itself, so that the page loads nothing and shows values."""

    svg: Markup
    figure: Figure


def picture(path: str | os.PathLike, figure: Figure) -> Picture:
    """Embed an SVG file."""
    try:
        svg = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError("does not exist", file=path, hint="draw the figure again") from error
    label = Markup(' role="img" aria-label="{}"').format(figure.alternative)
    return Picture(Markup(compact(svg).replace("<svg", f"<svg{label}", 1)), figure)


# --- pictures -------------------------------------------------------------------------------------------------------

PLACES = 2  # of a point, 1/72 of an inch
# Comments, metadata, the title that a browser would show over the whole figure, and what the style of a page says.
_NOT_SEEN = (
    r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<title>[^<]*</title>\s*(?=<metadata>)|<metadata>.*?</metadata>|"
    r"<defs>\s*<style[^>]*>[^<]*</style>\s*</defs>| xmlns(?::xlink)?=\"[^\"]*\"| version=\"[\d.]*\""
)
_SHORTENED = r' (?:d|x|y|width|height|points|style|transform)="[^"]*"'
_DECIMAL = re.compile(r"-?\d+\.\d+")


def compact(svg: str) -> str:
    """Return an SVG of Matplotlib with short numbers and names, without comments, metadata and needless groups.

    Names begin with some letters that follow from the picture, as no two of a page may be alike.

    Examples
    --------
    >>> compact('<svg><g id="patch_1"><path d="M 0.123456 7.000000 L 15.123456 2"/></g></svg>')
    '<svg><path d="M.1235 7L15.12 2"/></svg>'
    """
    svg = re.sub(_NOT_SEEN, "", svg, flags=re.S)
    svg = re.sub(r"\s+", " ", svg).replace("> <", "><").replace("xlink:href", "href").strip()
    svg = re.sub(r' transform="translate\((-?[\d.]+) (-?[\d.]+)\)"(?=/>)', r' x="\1" y="\2"', svg)
    svg = _with_short_names(svg)
    svg = re.sub(_SHORTENED, lambda match: _shorter(match[0]), svg)
    while (fewer := re.sub(r"<g>((?:<(?:use|path)\b[^>]*/>)*)</g>", r"\1", svg)) != svg:
        svg = fewer
    return svg


def _with_short_names(svg: str) -> str:
    """Number the names that something refers to, in the order of their use, and drop the others."""
    used = dict.fromkeys(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    own = f"i{zlib.crc32(svg.encode()) % 2**20:x}"
    short = {name: f"{own}.{number:x}" for number, name in enumerate(used)}
    svg = re.sub(r' id="([^"]*)"', lambda match: f' id="{short[match[1]]}"' if match[1] in short else "", svg)
    return re.sub(r'(href="|url\()#([^")]+)', lambda match: f"{match[1]}#{short[match[2]]}", svg)


def _shorter(attribute: str) -> str:
    attribute = _DECIMAL.sub(lambda match: _rounded(float(match[0])), attribute)
    attribute = re.sub(r'^ [xy]="0"$', "", attribute)
    if attribute.startswith(' style="'):
        return attribute.replace(": ", ":").replace("; ", ";")
    return re.sub(r" ?([MLQCzZ]) ?", r"\1", attribute) if attribute.startswith(' d="') else attribute


def _rounded(number: float) -> str:
    """Write a coordinate; what is below one may be a scale, which many points are multiplied by."""
    places = PLACES if abs(number) >= 1 else 4 if abs(number) >= 0.1 else 6
    text = f"{number:.{places}f}".rstrip("0").rstrip(".")
    if text == "-0":
        return "0"
    return text[1:] if text.startswith("0.") else f"-{text[2:]}" if text.startswith("-0.") else text


def households_by_rule(tables: Tables) -> pd.Series | None:
    """Return how many households each rule decided about, by reason; None of a study without such rules."""
    quality = tables.get(QUALITY_SUMMARY.name)
    if quality is None:
        return None
    return quality[quality["scope"] == "households"].set_index("reason")["item_count"]
