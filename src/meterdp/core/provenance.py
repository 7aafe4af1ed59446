"""What a result depends on in the source: a hash per script, so that a change of code reruns what used it.

Snakemake's triggers do not see an imported package. Every rule therefore carries as a parameter the hash of all that
its script imports from meterdp, found by reading import statements: nothing may be imported in another way.
"""

from __future__ import annotations

import ast
import hashlib
import os
from functools import cache
from pathlib import Path

import meterdp

ROOT = Path(meterdp.__file__).parent


def share_source() -> None:
    """Let the Python processes this one starts import the same source, whatever is installed for them."""
    paths = [str(ROOT.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, paths)))


def _file(module: str) -> Path | None:
    base = ROOT.joinpath(*module.split(".")[1:])
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.exists():
            return candidate
    return None


@cache
def _imports(path: Path) -> frozenset[str]:
    """Modules of meterdp that a file imports directly, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        found.update(name for name in names if name.split(".")[0] == "meterdp" and _file(name))
    return frozenset(found)


def modules_behind(script: str | os.PathLike) -> list[str]:
    """Return every module of meterdp that a script imports, directly or not, with its packages, sorted."""
    todo, seen = list(_imports(Path(script))), set()
    while todo:
        module = todo.pop()
        if module in seen:
            continue
        seen.add(module)
        parents = module.split(".")
        todo += _imports(_file(module))
        todo += (".".join(parents[:i]) for i in range(1, len(parents)))
    return sorted(seen)


def source_hash(script: str | os.PathLike) -> str:
    """Return a short hash of the source of meterdp behind a script; Snakemake itself watches the script.

    Templates and style sheets that lie beside an imported package's modules count as its source.
    """
    digest = hashlib.sha256()
    for module in modules_behind(script):
        path = _file(module)
        digest.update(module.encode() + b"\0" + path.read_bytes() + b"\0")
        if path.name == "__init__.py":
            for data in sorted(p for p in path.parent.iterdir() if p.suffix in (".html", ".css")):
                digest.update(data.name.encode() + b"\0" + data.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
