"""One HTML file from a template: it loads nothing, and a browser runs no script but those that were put into it.

Templates may import ``parts.html`` beside this file, which holds what pages share.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

import meterdp
from meterdp.core.parquet import atomic_path

STYLE = Path(__file__).with_name("pages.css")


def write_page(template: Path, output: str | os.PathLike, scripts: Sequence[str] = (), **values) -> None:
    """Fill a template as :func:`render` does and write the page atomically."""
    text = render(template, scripts, **values)
    with atomic_path(output) as temporary:
        temporary.write_text(text, encoding="utf-8")


def render(template: Path, scripts: Sequence[str] = (), **values) -> str:
    """Return the page of a template, which has ``version`` and ``head``, for its macro, beside the values.

    No script runs in it but these.
    """
    head = {
        "style": Markup(STYLE.read_text(encoding="utf-8")),
        "scripts": [Markup(script) for script in scripts],
        "policy": policy(scripts),
    }
    page = _environment().from_string(template.read_text(encoding="utf-8"))
    return page.render(head=head, version=meterdp.__version__, **values)


def policy(scripts: Sequence[str] = ()) -> str:
    """Return the content security policy of a page that loads nothing and runs these scripts alone."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = "".join(f" 'sha256-{digest}'" for digest in hashes)
    return "default-src 'none'; img-src data:; style-src 'unsafe-inline'" + (allowed and f"; script-src{allowed}")


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FileSystemLoader(STYLE.parent),
        finalize=_unbroken,
    )


def _unbroken(value):
    """Keep numbers and per cent signs on one line; Markup is left as it is."""
    return value.replace(" %", "\u00a0%") if type(value) is str else value
