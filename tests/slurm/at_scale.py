"""The export of a benchmark, through Slurm and without it: are the tables the same bytes?

``python benchmarks/scale.py 1e5 --days 56 --folder FOLDER --targets`` makes the export, ``make slurm`` installs the
executor, and ``python -m tests.slurm.at_scale FOLDER [TARGETS]`` takes it through both, as root; what FOLDER holds
already is not computed again. Released files have fresh noise, and their random names are in the private crosswalk.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import yaml

from tests.slurm.one_node import one_node
from tests.slurm.test_slurm import HERE, ON_SLURM, SALT, differences, tables
from tests.workflow.conftest import Runner

RELEASED = "release/"


def side(folder: Path, name: str) -> tuple[Runner, dict]:
    """Return a run of the export in a folder of its own, with a ledger of its own."""
    config = yaml.safe_load((folder / "config.yaml").read_text())
    del config["results_dir"]
    config["release"]["ledger"] = str(folder / f"{name}.sqlite")
    (folder / name / SALT).parent.mkdir(parents=True, exist_ok=True)
    (folder / name / SALT).write_text("00" * 32)  # what it hides here are homes of a simulator
    return Runner(folder / name), config


def main() -> None:
    folder, targets = Path(sys.argv[1]).resolve(), sys.argv[2:] or ["study", "release"]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    runs = {}
    with one_node():
        for name, options, more in (("local", {}, ()), ("slurm", ON_SLURM, HERE)):
            runs[name], config = side(folder, name)
            command, _ = runs[name].command(config, *more, "--", *targets, **options)
            begin = time.perf_counter()
            with (folder / f"{name}.log").open("w") as log:
                subprocess.run(command, env=environment, stdout=log, stderr=log, check=True)
            print(f"{name}: {time.perf_counter() - begin:.0f} s, {len(tables(runs[name]))} tables", flush=True)
    different = [line for line in differences(runs["local"], runs["slurm"]) if not line.startswith(RELEASED)]
    print("\n".join(["tables beside released files that are not the same bytes:", *(different or ["none"])]))


if __name__ == "__main__":
    main()
