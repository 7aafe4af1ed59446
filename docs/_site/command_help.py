"""What ``meterdp --help`` says, of every command and of theirs, as the site shows it."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
from unittest.mock import patch

from meterdp.__main__ import main

_COLUMNS = "88"


def command_help() -> str:
    """Return Markdown with a heading and the help of every command."""
    parts, waiting = [], [()]
    while waiting:
        words = waiting.pop(0)
        text, names = _help(words)
        parts.append(f"{'#' * min(2 + len(words[1:]), 4)} {' '.join(('meterdp', *words))}\n\n```text\n{text}```\n")
        waiting = [*((*words, name) for name in names), *waiting]
    return "\n".join(parts)


def _help(words: tuple[str, ...]) -> tuple[str, list[str]]:
    """Return what ``meterdp WORDS --help`` prints, and the names of the commands below it."""
    below = []
    add_parser = argparse._SubParsersAction.add_parser

    def noted(action, name, **options):
        if action._prog_prefix.split()[1:] == list(words):
            below.append(name)
        return add_parser(action, name, **options)

    shown = io.StringIO()
    with (
        patch.object(argparse._SubParsersAction, "add_parser", noted),
        patch.dict(os.environ, {"COLUMNS": _COLUMNS, "NO_COLOR": "1"}),
        contextlib.redirect_stdout(shown),
        contextlib.suppress(SystemExit),
    ):
        main([*words, "--help"])
    return shown.getvalue(), below
