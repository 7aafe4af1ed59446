"""What a result depends on in the source: a hash per script, so that a change of code reruns what used it.

Snakemake's triggers do not see an imported package. Every rule therefore carries as a parameter the hash of all that
its script imports from meterdp and from the packages beside it whose names begin with ``meterdp_``, found by reading
import statements: nothing may be imported in another way. What was read is kept for the life of the process, which is
one plan. Beside this, where the files of the project lie.
"""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache
from pathlib import Path

import meterdp

# The folder of the packages.
ROOT = Path(meterdp.__file__).resolve().parents[1]


def shipped(name: str) -> Path:
    """Return where a file or folder of the project is, such as ``workflow/schemas`` or ``resources/simulator.yaml``.

    It lies beside the packages in a checkout, and inside meterdp once that is installed from a wheel (setup.py).
    """
    inside = ROOT / "meterdp/shipped" / name
    return inside if inside.exists() else ROOT.parent / name


def share_source() -> None:
    """Let the Python processes this one starts import the same source, whatever is installed for them."""
    paths = [str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, paths)))


# A regular expression because every plan looks at all of src/ first, and parsing it takes a second.
_IMPORT = re.compile(
    r"^[ \t]*(?:from (?P<package>meterdp[.\w]*) import (?P<names>\([^)]*\)|[^\n]+)"
    r"|import (?P<modules>meterdp[^\n]*))",
    re.MULTILINE,
)
_NAME = re.compile(r"([.\w]+)(?: as \w+)?")


@cache
def _file(module: str) -> Path | None:
    base = ROOT.joinpath(*module.split("."))
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.exists():
            return candidate
    return None


@cache
def _imports(path: Path) -> frozenset[str]:
    """Modules of the packages that a file imports directly, wherever in it."""
    found: set[str] = set()
    for statement in _IMPORT.finditer(path.read_text(encoding="utf-8")):
        package = statement["package"]
        names = _NAME.findall(re.sub(r"#[^\n]*", "", statement["names"] or statement["modules"]))
        found.update([package, *(f"{package}.{name}" for name in names)] if package else names)
    return frozenset(name for name in found if re.match(r"meterdp(_\w+)?(\.|$)", name) and _file(name))


@cache
def _digest(module: str) -> bytes:
    """Digest of a module; templates and style sheets that lie beside a package's modules count as its source."""
    path = _file(module)
    digest = hashlib.sha256(module.encode() + b"\0" + path.read_bytes())
    if path.name == "__init__.py":
        for data in sorted(p for p in path.parent.iterdir() if p.suffix in (".html", ".css")):
            digest.update(b"\0" + data.name.encode() + b"\0" + data.read_bytes())
    return digest.digest()


@cache
def modules_behind(script: str | os.PathLike) -> tuple[str, ...]:
    """Return every module of the packages that a script imports, directly or not, with its parents, sorted."""
    todo, seen = list(_imports(Path(script))), set()
    while todo:
        module = todo.pop()
        if module in seen:
            continue
        seen.add(module)
        parents = module.split(".")
        todo += _imports(_file(module))
        todo += (".".join(parents[:i]) for i in range(1, len(parents)))
    return tuple(sorted(seen))


def source_hash(script: str | os.PathLike) -> str:
    """Return a short hash of the source behind a script; Snakemake itself watches the script."""
    return hashlib.sha256(b"".join(map(_digest, modules_behind(script)))).hexdigest()[:16]
