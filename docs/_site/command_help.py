"""What ``meterdp --help`` says, of every command and of those below it, as the site shows it."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from unittest.mock import patch

from meterdp.__main__ import COMMANDS, main

_WIDE = {"COLUMNS": "88", "NO_COLOR": "1"}


def command_help() -> str:
    """Return Markdown with a heading and the help of every command."""
    return "\n".join(
        f"{'##' if len(words) < 2 else '###'} {' '.join(('meterdp', *words))}\n\n```text\n{_help(words)}```\n"
        for words in commands()
    )


def commands() -> Iterator[tuple[str, ...]]:
    """Yield the names of every command: none for ``meterdp`` itself, a group before what is in it."""
    yield ()
    for name, entry in COMMANDS.items():
        yield (name,)
        if not isinstance(entry, str):
            yield from ((name, below) for below in entry if below)


def _help(words: tuple[str, ...]) -> str:
    shown = io.StringIO()
    with patch.dict(os.environ, _WIDE), contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
        main([*words, "--help"])
    return shown.getvalue()
