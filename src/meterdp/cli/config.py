"""``meterdp config``: bring the configuration of an earlier version up to date."""

from __future__ import annotations

import argparse
from pathlib import Path

from meterdp.cli import Command, configurations
from meterdp.errors import REFUSAL, InputError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "config", type=Path, metavar="FILE", help="configuration file; its old content is kept as FILE.old"
    )


def _upgrade(arguments: argparse.Namespace) -> int:
    """Rewrite the file, say what was changed, and return 1 if a study would still refuse it."""
    from meterdp.core.config import looked_through
    from meterdp.core.parquet import atomic_path
    from meterdp.core.upgrade import upgraded

    path = arguments.config
    try:
        before = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError("cannot be read", file=path, hint="give the path of a configuration file") from None
    after, said = upgraded(before, str(path))
    if said:
        old = Path(f"{path}.old")
        if old.exists():
            raise InputError("already exists", file=old, hint=f"move it away, so that {path.name} can be kept there")
        old.write_text(before, encoding="utf-8")
        with atomic_path(path) as to:
            to.write_text(after, encoding="utf-8")
    for sentence in said:
        print(f"Changed: {sentence}.")
    _, problems = looked_through(*configurations([path]), str(path))
    for problem in problems:
        print(f"{REFUSAL} {problem}")
    if problems:
        return 1
    print(f"{path} is up to date{f'; its old content is in {path}.old' if said else ''}.")
    return 0


COMMANDS = {"upgrade": Command(("meterdp config upgrade my.yaml",), _add_arguments, _upgrade)}
