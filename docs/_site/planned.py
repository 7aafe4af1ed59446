"""What ``meterdp plan`` prints and draws, as the site shows it."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path

from meterdp.__main__ import main

# A small list, the homes of Liu et al., and a large utility.
WORDS = ("plan", "98", "1409", "50000")


def planned() -> str:
    """Return Markdown with the command, what it prints, and its figure."""
    with tempfile.TemporaryDirectory() as folder:
        shown, file = io.StringIO(), Path(folder) / "plan.svg"
        with contextlib.redirect_stdout(shown):
            main([*WORDS, "--figure", str(file)])
        drawn = file.read_text(encoding="utf-8")
    drawn = drawn[drawn.index("<svg") :].replace("<svg", '<svg role="img" aria-label="Error against meters"', 1)
    return f"```text\n$ meterdp {' '.join(WORDS)}\n{shown.getvalue()}```\n\n```{{raw}} html\n{drawn}\n```\n"
