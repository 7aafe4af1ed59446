"""What a result depends on in the source: a hash per room, so that a change of code reruns what used it.

Snakemake's triggers do not see an imported package. Every rule therefore carries the hash of the modules it calls
and of all they import from meterdp as a parameter.
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
def _imports(module: str) -> frozenset[str]:
    """Modules of meterdp that ``module`` imports directly, with their packages."""
    path = _file(module)
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            if name.split(".")[0] == "meterdp" and _file(name):
                found.add(name)
    return frozenset(found)


def modules_behind(*modules: str) -> list[str]:
    """Return ``modules`` and everything of meterdp they import, directly or not, sorted."""
    todo, seen = list(modules), set()
    while todo:
        module = todo.pop()
        if module in seen:
            continue
        if _file(module) is None:
            raise ValueError(f"no module {module}")
        seen.add(module)
        parents = module.split(".")
        todo.extend(_imports(module))
        todo.extend(".".join(parents[:i]) for i in range(2, len(parents)))
    return sorted(seen)


def source_hash(*modules: str) -> str:
    """Return a short hash of the source behind ``modules``.

    Examples
    --------
    >>> len(source_hash("meterdp.core.errors"))
    16
    """
    digest = hashlib.sha256()
    for module in modules_behind(*modules):
        path = _file(module)
        digest.update(module.encode() + b"\0" + path.read_bytes() + b"\0")
        if path.name == "__init__.py":  # templates and other files that ship inside a package
            for data in sorted(path.parent.glob("*.html")) + sorted(path.parent.glob("*.css")):
                digest.update(data.name.encode() + b"\0" + data.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
