"""What the command ``meterdp`` does: a module per command or group of commands, found by :mod:`meterdp.__main__`.

A module has ``COMMANDS`` by name. Only the module of the command being run is imported; slow imports are in ``run``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from meterdp.errors import InputError


@dataclass(frozen=True)
class Command:
    """Examples for the help of a command, what adds its arguments to a parser, and what returns its exit code."""

    examples: tuple[str, ...]
    add_arguments: Callable[[argparse.ArgumentParser], object]
    run: Callable[[argparse.Namespace], int]


def take_configurations(parser: argparse.ArgumentParser, words: str, **more) -> None:
    parser.add_argument("--config", type=Path, action="append", metavar="FILE", help=words, **more)


def refuse_configuration(argument: str) -> None:
    """Refuse a configuration given where an export or a list is meant."""
    if argument.endswith((".yaml", ".yml")):
        hint = "write --config before each, as in --config my.yaml --config more.yaml"
        raise InputError("looks like a configuration, which is passed with --config", file=argument, hint=hint)


def configurations(files: Sequence[Path], export: str | None = None) -> tuple[dict, dict]:
    """Return what configurations of a study say, later ones on top and an export that is named at last; and its
    schema.
    """
    from meterdp.core.config import load_schema, read_files, with_texts
    from meterdp.core.provenance import shipped

    schema = load_schema(shipped("workflow/schemas/config.schema.yaml"))
    given = with_texts(read_files([str(file) for file in files]), schema)
    if export is not None:
        refuse_configuration(export)
        given["export"] = {**(given.get("export") or {}), "path": export}
    return given, schema
