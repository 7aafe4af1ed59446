"""A script run by the Python of an environment beside the project's, with a limit of processor time.

The script imports nothing of this project: it reads arrays of one file and writes those of another. What it could not
do is a sentence, no error: a user may do without such an environment.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

UNFINISHED = "did not finish"


def run_apart(environment: str, script: Path, limit_s: int, *words: str, **given) -> dict[str, np.ndarray] | str:
    """Run ``script WORDS GIVEN.npz WRITTEN.npz`` with arrays ``given``; return those written, or why none were."""
    python = Path(sys.prefix).with_name(f"{Path(sys.prefix).name}-{environment}") / "bin/python"
    if not python.exists():
        how = "neural" if environment == "opensynth" else "benchmark"
        return f"not run: its environment is not installed (make {how} installs it)"
    with tempfile.TemporaryDirectory() as folder:
        file, written = Path(folder) / "given.npz", Path(folder) / "written.npz"
        np.savez(file, **given)
        done = subprocess.run(
            [python, script.resolve(), *words, file, written],
            cwd=folder,
            capture_output=True,
            text=True,
            # Of processor time, on one core: a limit that other work on the machine does not move.
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s)),
        )
        if done.returncode < 0:
            return f"{UNFINISHED} in {limit_s} s"
        if done.returncode:
            return f"failed: {(done.stderr.strip().splitlines() or [done.returncode])[-1]}"
        with np.load(written) as arrays:
            return dict(arrays)
