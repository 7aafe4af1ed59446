"""Plans without runs: many dry runs in one process, and a run that looks finished without having computed anything.

Starting Snakemake costs more than a plan, so :func:`snakemake` loads it once and forks a child per command line. A
study looks finished when its files are there, empty, and ``snakemake --touch`` has recorded them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]

_MANY = """
import json, os, sys
from snakemake.cli import main
for words, path in json.load(sys.stdin):
    child = os.fork()
    if child == 0:
        with open(path, "w") as file:
            os.dup2(file.fileno(), 1), os.dup2(file.fileno(), 2)
        main(words)
    os.waitpid(child, 0)
"""


def snakemake(folder: Path, commands: list[list[str]]) -> list[str]:
    """Run command lines of Snakemake in ``folder``, one after the other; returns what each printed."""
    outputs = [folder / f"printed-{number}.txt" for number in range(len(commands))]
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    work = json.dumps([(words, str(path)) for words, path in zip(commands, outputs, strict=True)])
    subprocess.run([sys.executable, "-c", _MANY], cwd=folder, env=environment, input=work, text=True, check=True)
    return [path.read_text() for path in outputs]


@dataclass
class Planner:
    """Plans a study in ``folder`` with the workflow of ``checkout``."""

    folder: Path
    checkout: Path = ROOT

    def command(self, config: dict | str, *words: str) -> list[str]:
        """Command line for a configuration, given as keys or as the text of its file."""
        text = config if isinstance(config, str) else yaml.safe_dump(config, sort_keys=False)
        path = self.folder / f"config-{len(list(self.folder.glob('config-*')))}.yaml"
        path.write_text(text)
        snakefile = self.checkout / "workflow/Snakefile"
        words = ["--snakefile", str(snakefile), "--workflow-profile", "none", "--cores", "2", *words]
        return [*words, "--configfile", str(path)]

    def plans(self, configs: list, *words: str) -> list[list[str]]:
        """Return the rules of every planned job, one list per configuration; asserts that each can be planned."""
        printed = snakemake(self.folder, [self.command(config, "--dry-run", *words) for config in configs])
        for text, config in zip(printed, configs, strict=True):
            assert "This was a dry-run" in text or "Nothing to be done" in text, (config, text[-3000:])
        return [re.findall(r"^(?:local)?rule (\w+):", text, re.MULTILINE) for text in printed]

    def pretend_finished(self, config, *words: str) -> None:
        """Make every file of a study and record it as made with this configuration."""
        (summary,) = snakemake(self.folder, [self.command(config, "--summary", *words)])
        for line in summary.splitlines():
            name, *columns = line.split("\t")
            path = self.folder / name
            if columns and name != "output_file":
                (path if path.suffix else path / "x").parent.mkdir(parents=True, exist_ok=True)
                if path.suffix:
                    path.touch()
        (done,) = snakemake(self.folder, [self.command(config, "--touch", "--forceall", *words)])
        assert "(100%) done" in done, done[-3000:]
