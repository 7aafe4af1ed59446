"""Plans without runs, and a study that looks finished without having computed anything.

Loading Snakemake costs more than a plan, so one process loads it and forks a child per command line. A study looks
finished when its files are there, empty, and ``snakemake --touch`` has recorded them.
"""

from __future__ import annotations

import atexit
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]

_SERVER = """
import json, os, sys
from snakemake.cli import main
for line in sys.stdin:
    words, folder, path = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        with open(path, "w") as file:
            os.dup2(file.fileno(), 1), os.dup2(file.fileno(), 2)
        main(words)
    os.waitpid(child, 0)
    print("done", flush=True)
"""


@cache
def _server() -> subprocess.Popen:
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    atexit.register(server.communicate)
    return server


def snakemake(folder: Path, *words: str) -> str:
    """Run a command line of Snakemake in ``folder`` and return what it printed."""
    printed = folder / "printed.txt"
    _server().stdin.write(json.dumps((words, str(folder), str(printed))) + "\n")
    assert _server().stdout.readline() == "done\n", "the process that plans has ended"
    return printed.read_text()


@dataclass
class Planner:
    """Plans a study in ``folder`` with the workflow of ``checkout``."""

    folder: Path
    checkout: Path = ROOT

    def snakemake(self, config: dict, *words: str) -> str:
        """Run Snakemake on a configuration and return what it printed."""
        path = self.folder / "config.yaml"
        path.write_text(yaml.safe_dump(config, sort_keys=False))
        snakefile = str(self.checkout / "workflow/Snakefile")
        words = ("--snakefile", snakefile, "--workflow-profile", "none", "--cores", "2", *words)
        return snakemake(self.folder, *words, "--configfile", str(path))

    def plan(self, config: dict, *words: str) -> list[str]:
        """Return the rule of every planned job; asserts that there is a plan."""
        text = self.snakemake(config, "--dry-run", *words)
        assert "This was a dry-run" in text or "Nothing to be done" in text, (config, text[-3000:])
        return re.findall(r"^(?:local)?rule (\w+):", text, re.MULTILINE)

    def pretend_finished(self, config: dict, *words: str) -> None:
        """Make every file of a study, empty, and record it as made with this configuration."""
        for line in self.snakemake(config, "--summary", *words).splitlines():
            name, *columns = line.split("\t")
            path = self.folder / name
            if columns and name != "output_file":
                folder = path.parent if path.suffix else path
                folder.mkdir(parents=True, exist_ok=True)
                if path.suffix:
                    path.touch()
        done = self.snakemake(config, "--touch", "--forceall", *words)
        assert "(100%) done" in done, done[-3000:]
