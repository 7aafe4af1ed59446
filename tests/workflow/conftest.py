"""Run the workflow on tiny data, in a folder of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
# Seconds after which something hangs; no busy machine is that slow.
HANGS = 3600

TINY = {
    "trials": 2,
    "shards": 2,
    "simulate": {"households": 90, "circuits": 3, "days": 19},
    "mixture": {"classes": 3},
    # One of each kind; all of them run in the study that CI makes first and in the reproduction.
    "mechanisms": {"variants": ["kl_published", "sound"], "epsilons": [1, 4], "figure_epsilon": 4, "draws": 20},
    # The comparison of noise designs descends from many starts for each household and step.
    "forecast": {"households": 6, "ar_order": 2, "ma_order": 1, "origins": 20, "horizon_steps": 2},
    "neighbourhoods": {"clusters": 2},
    "class_noise": {"rhos": [0.45], "epsilons": [0.5, 1.0]},
    "group_forecast": {"draws": 2},
}


@dataclass
class Runner:
    """Runs snakemake in ``folder`` on a configuration."""

    folder: Path

    def command(self, config: dict, *arguments: str, cores: int = 2, snakefile: Path = ROOT / "workflow/Snakefile"):
        """Command line and environment of a run."""
        (self.folder / "config.yaml").write_text(yaml.safe_dump(config))
        environment = os.environ | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }
        words = ["snakemake", "--configfile", str(self.folder / "config.yaml"), "--directory", str(self.folder)]
        return [*words, "--snakefile", str(snakefile), "--cores", str(cores), *arguments], environment

    def run(self, config: dict, *arguments: str, **options) -> subprocess.CompletedProcess:
        """Run to the end; standard output and error together in ``stdout``."""
        command, environment = self.command(config, *arguments, **options)
        return subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANGS
        )

    def kill_when(self, config: dict, appears: Path, *arguments: str) -> None:
        """Start a run and kill it with everything it started as soon as ``appears`` exists."""
        command, environment = self.command(config, *arguments)
        process = subprocess.Popen(
            command, env=environment, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + HANGS
        while not appears.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert process.poll() is None, f"the run ended before {appears} appeared"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def runner(tmp_path) -> Runner:
    """A runner in a fresh folder."""
    return Runner(tmp_path)


@pytest.fixture(scope="session")
def tiny_study(tmp_path_factory) -> Runner:
    """The tiny study, run once."""
    runner = Runner(tmp_path_factory.mktemp("study"))
    done = runner.run(TINY)
    assert done.returncode == 0, done.stdout[-6000:]
    return runner


@pytest.fixture
def small_export(tmp_path):
    """Write a clean long CSV of hourly readings; returns (path, frame, settings) for a test to spoil."""
    generator = np.random.default_rng(11)
    stamps = pd.date_range("2025-01-06", periods=24 * 17, freq="h").strftime("%Y-%m-%d %H:%M")
    frame = pd.DataFrame(
        {
            "meter_id": np.repeat([f"m{i:02d}" for i in range(12)], len(stamps)),
            "interval_start": np.tile(stamps, 12),
            "kwh": generator.gamma(2.0, 0.3, 12 * len(stamps)).round(3),
        }
    ).astype({"kwh": object})
    settings = {**TINY, "export": {"path": "export.csv", "time_zone": "UTC", "interval_minutes": 60}}
    return tmp_path / "export.csv", frame, settings
