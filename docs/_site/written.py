"""The parts of pages that are written when the site is built, each in the place of a comment no git host shows."""

from __future__ import annotations

import re

from _site import measured
from _site.command_help import command_help
from _site.gallery import gallery
from _site.planned import planned
from _site.public_api import public_api, skipped

MARK = re.compile(r"^<!-- written by the site: (\w+)(?: (\w+))? -->$", re.MULTILINE)
WRITERS = {
    "command_help": lambda config, _: command_help(),
    "gallery": lambda config, _: gallery(config.gallery_results, config.gallery_shows_real_exports),
    "plan": lambda config, _: planned(),
    "public_api": lambda config, _: public_api(),
    "tables": lambda config, _: measured.declared_tables(),
    "variants": lambda config, name: measured.variants(name),
}


def _fill(app, docname: str, source: list[str]) -> None:
    source[0] = MARK.sub(lambda found: WRITERS[found[1]](app.config, found[2]), source[0])


def setup(app) -> dict[str, bool]:
    """Register what fills the marked places (called by Sphinx)."""
    app.add_config_value("gallery_results", "results", "env", str)
    app.add_config_value("gallery_shows_real_exports", False, "env", bool)
    app.connect("source-read", _fill)
    app.connect("autodoc-skip-member", skipped)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
