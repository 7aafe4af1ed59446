"""The names in a registry, read from its source without importing it.

A setting that chooses from a registry says so in the schema (``enum_of``), so the registry is the only list.
Importing it would cost every plan of Snakemake seconds, and ``core`` imports no other package. So a registry is
written out: a dictionary with texts as keys, or a list of texts.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def names_in(registry: str, without: str | None = None) -> list[str]:
    """Return the names in a registry such as ``ingest.readers.interface.READERS``, in its order.

    Entries made by a call with ``<without>=True`` are left out. ValueError if the names are not written out.
    """
    module, _, variable = registry.rpartition(".")
    value = _assigned(ROOT.joinpath(*module.split(".")).with_suffix(".py")).get(variable)
    match value:
        case ast.Dict(keys=keys, values=values):
            entries = list(zip(keys, values, strict=True))
        case ast.Tuple(elts=keys) | ast.List(elts=keys) | ast.Subscript(slice=ast.Tuple(elts=keys)):
            entries = [(key, None) for key in keys]
        case _:
            entries = [(None, None)]
    names = [key.value for key, value in entries if isinstance(key, ast.Constant) and not _flagged(value, without)]
    if not all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key, _ in entries):
        raise ValueError(f"meterdp.{registry} is not a registry whose names are written out")
    return names


@cache
def _assigned(path: Path) -> dict[str, ast.expr | None]:
    """Return what the top level of a file assigns to each variable."""
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        found.update({target.id: node.value for target in targets if isinstance(target, ast.Name)})
    return found


def _flagged(value: ast.expr | None, flag: str | None) -> bool:
    """Whether an entry is a call with ``flag=True``."""
    return isinstance(value, ast.Call) and any(
        word.arg == flag and isinstance(word.value, ast.Constant) and word.value.value is True
        for word in value.keywords
    )
