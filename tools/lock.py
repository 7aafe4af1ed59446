"""Write the locks and the conda environment from the lists of pyproject.toml (``make lock``).

Locked versions stay while they fit; ``python tools/lock.py --upgrade`` takes the newest, and other options for uv do
what they say. tests/unit/core/test_environment.py keeps lists, locks and environment in step.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIN = re.compile(r"^([A-Za-z0-9_.\[\]-]+==[^\s\\]+)((?:\s*;\s*[^\\]+)?)", re.MULTILINE)
# Extras of a study, in requirements.txt. What others add to it is in requirements/<name>.txt, of the same resolution.
STUDY = ("study", "federated")
ADDED = {"dev": ("dev", "docs"), "slurm": ("slurm",)}
# Separate environments, for packages that need other versions than the project or each other: a dependency group
# each -> what they do without. SmartNoise's neural synthesizers need 5 GB of packages that its MST never imports,
# and OpenSynth's Faraday needs none of what its other model, its figures and its download of data do.
APART = {
    "uv": (),
    "benchmark": ("opacus", "torch"),
    "opendp": (),
    "dpmm": (),
    "opensynth": ("einops", "ema-pytorch", "matplotlib", "seaborn", "wget", "zstd"),
    "tools": (),
}


def compile_lock(target: Path, *options: str) -> None:
    """Resolve into a hash-locked ``target`` without index addresses; versions in it stay while they fit."""
    command = [
        *(str(Path(sys.executable).parent / "uv"), "pip", "compile", "--quiet", "--universal"),
        *("--python-version", "3.11", "--generate-hashes", "--no-emit-index-url", "--no-strip-extras"),
        *("--no-annotate", "--no-header", "--output-file", str(target), *options),
    ]
    subprocess.run(command, cwd=ROOT, check=True)


def pins(lock: Path) -> list[str]:
    """Return the pins of a lock file with their markers, without hashes."""
    return [f"{name}{marker.rstrip()}" for name, marker in PIN.findall(lock.read_text())]


def blocks(lock: Path) -> list[str]:
    """Return the pins of a lock file with their hashes."""
    return re.split(r"\n(?=\S)", lock.read_text().strip()) if lock.exists() else []


def environment(lock: Path) -> str:
    """Return a conda environment of the pins of ``lock``."""
    lines = [
        "# Written by tools/lock.py from requirements.txt: the same versions.",
        *("name: meterdp", "channels:", "  - conda-forge", "  - nodefaults"),
        *("dependencies:", "  - python=3.11", "  - pip", "  - make", "  - pip:"),
        *(f'      - "{pin}"' for pin in pins(lock)),
    ]
    return "\n".join(lines) + "\n"


def main(options: list[str]) -> None:
    """Resolve and write all files."""
    lock = ROOT / "requirements.txt"
    added = {name: ROOT / f"requirements/{name}.txt" for name in ADDED}
    with tempfile.TemporaryDirectory() as folder:
        build, together, part = (Path(folder, name) for name in ("build.txt", "together.txt", "part.txt"))
        # What builds the project is installed with it, so that nothing is looked up while it is built.
        build.write_text("\n".join(tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]))
        project = ("pyproject.toml", str(build))
        together.write_text("\n".join(block for file in (lock, *added.values()) for block in blocks(file)))
        extras = (*STUDY, *(extra for more in ADDED.values() for extra in more))
        compile_lock(together, *project, *(f"--extra={extra}" for extra in extras), *options)
        fixed = ("--constraint", str(together))
        compile_lock(lock, *project, *(f"--extra={extra}" for extra in STUDY), *fixed)
        for name, file in added.items():
            part.unlink(missing_ok=True)
            compile_lock(part, *project, *(f"--extra={extra}" for extra in (*STUDY, *ADDED[name])), *fixed)
            own = blocks(lock)
            file.write_text("".join(f"{block}\n" for block in blocks(part) if block not in own))
        without = Path(folder, "without.txt")
        for name, unneeded in APART.items():
            without.write_text("".join(f'{package}; sys_platform == "never"\n' for package in unneeded))
            target = ROOT / f"requirements/{name}.txt"
            compile_lock(target, "--group", name, "--override", str(without), *options)
    # Rules import the package from src/ (workflow/rules/common.smk), so their environment needs no install of it.
    # environment.yml is a link to this file.
    (ROOT / "workflow/envs/meterdp.yaml").write_text(environment(lock))


if __name__ == "__main__":
    main(sys.argv[1:])
