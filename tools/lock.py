"""Write requirements.txt, environment.yml and workflow/envs/meterdp.yaml from requirements.in (``make lock``).

All three name the same versions; tests/unit/core/test_environment.py keeps them in step. The other locks are
environments of their own, of packages that need other versions than the project or each other.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIN = re.compile(r"^([A-Za-z0-9_.\[\]-]+==[^\s\\]+)((?:\s*;\s*[^\\]+)?)", re.MULTILINE)
# Environments beside the project's own -> what they do without: SmartNoise's neural synthesizers need 5 GB of
# packages that its MST never imports.
APART = {"benchmark": (), "opendp": (), "smartnoise": ("opacus", "torch"), "tools": ()}
# What some add to the project's environment, at the versions that the rest of it has.
ADDED = ("slurm",)


def compile_lock(source: str, target: str, *options: str) -> None:
    """Resolve ``source`` into a hash-locked ``target`` without index addresses."""
    command = [
        *(str(Path(sys.executable).parent / "uv"), "pip", "compile", "--quiet", "--universal"),
        *("--python-version", "3.11", "--generate-hashes", "--no-emit-index-url", "--no-strip-extras"),
        *("--no-annotate", "--no-header", source, "--output-file", target, *options),
    ]
    subprocess.run(command, cwd=ROOT, check=True)


def pins(lock: Path) -> list[str]:
    """Return the pins of a lock file with their markers, without hashes."""
    return [f"{name}{marker.rstrip()}" for name, marker in PIN.findall(lock.read_text())]


def environment(lock: Path, *extra: str) -> str:
    """Return a conda environment of the pins of ``lock``."""
    lines = [
        "# Written by tools/lock.py from requirements.txt: the same versions.",
        *("name: meterdp", "channels:", "  - conda-forge", "  - nodefaults"),
        *("dependencies:", "  - python=3.11", "  - pip", "  - make", "  - pip:"),
        *(f'      - "{pin}"' for pin in [*pins(lock), *extra]),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Resolve and write all files."""
    (ROOT / "requirements-uv.txt").unlink(missing_ok=True)
    compile_lock("requirements-uv.in", "requirements-uv.txt")
    compile_lock("requirements.in", "requirements.txt", *sys.argv[1:])
    for name, unneeded in APART.items():
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as without:
            without.writelines(f'{package}; sys_platform == "never"\n' for package in unneeded)
            without.flush()
            source, target = (f"requirements-{name}.{suffix}" for suffix in ("in", "txt"))
            compile_lock(source, target, "--override", without.name, *sys.argv[1:])
    for name in ADDED:
        source, target = (f"requirements-{name}.{suffix}" for suffix in ("in", "txt"))
        compile_lock(source, target, "--constraint", "requirements.txt", *sys.argv[1:])
    lock = ROOT / "requirements.txt"
    # Rules import the package from src/ (workflow/rules/common.smk), so their environment needs no install of it.
    (ROOT / "workflow/envs/meterdp.yaml").write_text(environment(lock))
    (ROOT / "environment.yml").write_text(environment(lock, "--editable=."))


if __name__ == "__main__":
    main()
