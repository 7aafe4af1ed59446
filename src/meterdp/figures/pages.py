"""What the pages share that show figures and tables: pictures inside the file, the template engine, the style."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

import meterdp
from meterdp.core.parquet import atomic_path
from meterdp.errors import InputError
from meterdp.figures.entry import Figure
from meterdp.figures.svg import compact, data_address

STYLE = Path(__file__).with_name("pages.css")


@dataclass(frozen=True)
class Picture:
    """A figure as it stands in a page: its source is a data address, so the page loads nothing."""

    source: str
    figure: Figure
    folded: bool = False


def picture(path: str | os.PathLike, figure: Figure, folded: bool = False) -> Picture:
    """Embed an SVG file.

    Raises
    ------
    InputError
        If there is no such file.
    """
    try:
        svg = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError("does not exist", file=path, hint="draw the figure again") from error
    return Picture(Markup(data_address(compact(svg))), figure, folded)


def write_page(template: Path, output: str | os.PathLike, **values) -> None:
    """Fill a template, which may use ``style`` and ``version`` too, and write the page atomically."""
    text = _compiled(template).render(style=STYLE.read_text(encoding="utf-8"), version=meterdp.__version__, **values)
    with atomic_path(output) as temporary:
        temporary.write_text(text, encoding="utf-8")


@cache
def _compiled(template: Path) -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(template.read_text(encoding="utf-8"))
