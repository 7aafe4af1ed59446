"""Where notebooks are run while the site is built, and in which environments.

Each is run in a folder like a checkout, so that nothing it writes lies among the pages. A notebook of the tools for
power flow is run by their own environment (``make tools``); without it, or with METERDP_NOTEBOOKS=off, its page shows
the code alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Beside the environment that builds the site.
TOOLS_PYTHON = Path(sys.prefix).with_name(f"{Path(sys.prefix).name}-tools") / "bin/python"
TOOLS_KERNEL = "meterdp-tools"
RUN = os.environ.get("METERDP_NOTEBOOKS") != "off"


def not_run() -> list[str]:
    """Prepare the run of notebooks; return the pages of those that cannot be run here."""
    if not RUN:
        return []
    folder = Path(os.environ.get("METERDP_NOTEBOOKS") or tempfile.mkdtemp(prefix="meterdp-notebooks-"))
    for name in ("Snakefile", "workflow", "config", "resources", "src"):
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / name)
    # Kernels get them: commands of the environment that builds the site, compiled code kept, one thread each.
    os.environ["METERDP_NOTEBOOK"] = str(folder)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["JUPYTER_PATH"] = str(folder / "jupyter")
    _write_kernel(folder, "python3", sys.executable)
    if not tools_installed():
        print("docs/notebooks/modeller.md is not run: `make tools` installs what it needs.", file=sys.stderr)
        return ["docs/notebooks/modeller*"]
    _write_kernel(folder, TOOLS_KERNEL, TOOLS_PYTHON)
    return []


def _write_kernel(folder: Path, name: str, python: Path | str) -> None:
    """Say how Jupyter starts an environment, and that it need not warn of a network that is this machine alone."""
    kernel = folder / "jupyter/kernels" / name
    kernel.mkdir(parents=True, exist_ok=True)
    start = [str(python), "-m", "ipykernel_launcher", "--log-level=ERROR", "-f", "{connection_file}"]
    said = {"argv": start, "display_name": name, "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(said))


def tools_installed() -> bool:
    """Whether the environment of the tools can run a notebook of pandapower."""
    code = "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, ('ipykernel', 'pandapower'))))"
    return TOOLS_PYTHON.exists() and not subprocess.run([TOOLS_PYTHON, "-c", code]).returncode
