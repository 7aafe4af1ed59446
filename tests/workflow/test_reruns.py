"""Killed runs finish when started again."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
import yaml

from tests.warm import warm_python
from tests.workflow.conftest import ROOT, TINY

SMALL = {**TINY, "shards": 1, "simulate": {"households": 90, "circuits": 3, "days": 16}}


def test_a_killed_run_is_finished_by_the_next(runner, moment="private/profiles/part-000.parquet"):
    """Of runs that end while they read, the next test tells."""
    runner.kill_when(SMALL, runner.folder / "results" / moment, "--until", "gather_profiles")
    runner.run(SMALL, "--unlock")
    done = runner.run(SMALL, "--until", "gather_profiles", "--rerun-incomplete")
    assert done.returncode == 0, done.stdout[-3000:]
    table = pq.read_table(runner.folder / "results/private/profiles.parquet")
    assert table.num_rows == SMALL["simulate"]["households"]
    assert [p.name for p in (runner.folder / "results").rglob("*.part")] == [], "half-written files were left"


def of_session(session):
    """Processes that a run started, the run itself included."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            pass
    return found


FILES = ("Makefile", "Snakefile", "pyproject.toml", "requirements.txt", "setup.py")


@pytest.fixture
def checkout(tmp_path):
    """A copy of the project whose environment is installed."""
    for name in ("src", "workflow", "resources", "config", "profiles", "tools", "requirements"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for path in map(ROOT.joinpath, FILES):
        shutil.copy(path, tmp_path)
    (tmp_path / ".venv").mkdir()
    # The environment the tests run in, whole: Python looks for its packages beside pyvenv.cfg.
    (tmp_path / ".venv/bin").symlink_to(Path(sys.executable).parent)
    for name in ("lib", "pyvenv.cfg"):
        (tmp_path / ".venv" / name).symlink_to(Path(sys.prefix) / name)
    (tmp_path / ".venv/.installed").touch()
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(SMALL))
    return tmp_path


def make_study(checkout):
    environment = os.environ | {"PYTHONPATH": str(checkout / "src")}
    return subprocess.Popen(
        ["make", "study", "CONFIG=small.yaml", "CORES=2 --until gather_profiles"],
        cwd=checkout, env=environment, start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


@pytest.mark.parametrize("whom", ["make", "snakemake"])
def test_sigterm_ends_a_run_and_the_next_one_finishes_it(checkout, whom):
    """By design a run ends in ten seconds (tests/unit/core/test_job.py); a busy machine may take longer here."""
    process = make_study(checkout)
    while not (checkout / "results/private/logs/ingest.log").exists() and process.poll() is None:
        time.sleep(0.05)
    assert process.poll() is None
    if whom == "make":
        process.terminate()
    else:
        next(p for p in of_session(process.pid) if "snakemake" in " ".join(p.cmdline()[:2])).terminate()
    process.communicate(timeout=60)
    deadline = time.monotonic() + 60
    while of_session(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert of_session(process.pid) == [] and process.returncode != 0
    assert [p.name for p in (checkout / "results").rglob("*.part")] == [], "half-written files were left"
    assert not (checkout / "results/private/meters.parquet").exists()
    if whom == "make":
        programs = checkout / ".venv/bin"
        programs.unlink()
        programs.symlink_to(Path(warm_python()).parent)
        again = make_study(checkout)
        output, _ = again.communicate(timeout=600)
        assert again.returncode == 0, output[-3000:]
        assert " of 3 steps" in output and "running: " in output and "steps are done" in output
        assert "Select jobs" not in output
        assert (checkout / "results/private/profiles.parquet").exists()
