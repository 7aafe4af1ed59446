"""Plans without runs, and a study that looks finished without having computed anything.

A study looks finished when its files are there, empty, and ``snakemake --touch`` has recorded them.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.warm import warm_snakemake

ROOT = Path(__file__).resolve().parents[2]


def snakemake(folder: Path, *words: str) -> str:
    """Run a command line of Snakemake in ``folder`` and return what it printed."""
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    command = [*warm_snakemake(), *words]
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return done.stdout


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
