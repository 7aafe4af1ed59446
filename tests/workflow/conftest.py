"""Run the workflow on tiny data, in a folder of its own."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from meterdp.audit.forms import CIRCUIT, COUNT, DIGEST, METER, READING, RELEASE_ID, SALT, SEED, TEXT, Secret
from meterdp.audit.leaks import BYTES, Piece, Scanner
from meterdp.ingest.meter_list import digest_of_meters
from tests.warm import warm_snakemake

ROOT = Path(__file__).resolve().parents[2]
# Seconds after which something hangs; no busy machine is that slow.
HANGS = 3600

TINY = yaml.safe_load((ROOT / ".test/config/config.yaml").read_text())


@dataclass
class Runner:
    """Runs snakemake in ``folder`` on a configuration."""

    folder: Path

    def command(
        self,
        config: dict,
        *arguments: str,
        cores: int | None = 2,
        snakefile: Path = ROOT / "workflow/Snakefile",
        program: tuple[str, ...] = ("snakemake",),
    ):
        """Command line and environment of a run; without a number of cores on a cluster."""
        (self.folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
        environment = os.environ | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }
        words = [*program, "--configfile", str(self.folder / "config.yaml"), "--directory", str(self.folder)]
        limit = [] if cores is None else ["--cores", str(cores)]
        return [*words, "--snakefile", str(snakefile), *limit, *arguments], environment

    def run(self, config: dict, *arguments: str, **options) -> subprocess.CompletedProcess:
        """Run to the end; standard output and error together in ``stdout``. Processes are forked (``warm.py``)."""
        command, environment = self.command(config, *arguments, **{"program": warm_snakemake(), **options})
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


def planned_rules(said: str) -> list[str]:
    """Return the rule of every job, from the table that Snakemake prints before it begins; jobs say messages."""
    table = re.search(r"^job +count\n-+ +-+\n(.*?)^total ", said, re.MULTILINE | re.DOTALL)
    rows = [line.split() for line in table[1].splitlines()] if table else []
    return [rule for rule, count in rows for _ in range(int(count))]


@dataclass
class Planner:
    """Plans a study in ``folder`` with the workflow of ``checkout``."""

    folder: Path
    checkout: Path = ROOT

    def snakemake(self, config: dict, *words: str) -> str:
        """Run Snakemake on a configuration and return what it printed."""
        words = ("--workflow-profile", "none", *words)
        return Runner(self.folder).run(config, *words, snakefile=self.checkout / "workflow/Snakefile").stdout

    def plan(self, config: dict, *words: str) -> list[str]:
        """Return the rule of every planned job; asserts that there is a plan."""
        text = self.snakemake(config, "--dry-run", *words)
        assert "This was a dry-run" in text or "Nothing to be done" in text, (config, text[-3000:])
        return planned_rules(text)

    def pretend_finished(self, config: dict, *words: str) -> None:
        """Make a study look finished: all its files, empty, recorded as made with this configuration."""
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


def clean_readings() -> pd.DataFrame:
    """Seventeen days of hourly readings of twelve meters."""
    generator = np.random.default_rng(11)
    stamps = pd.date_range("2025-01-06", periods=24 * 17, freq="h").strftime("%Y-%m-%d %H:%M")
    return pd.DataFrame(
        {
            "meter_id": np.repeat([f"m{i:02d}" for i in range(12)], len(stamps)),
            "interval_start": np.tile(stamps, 12),
            "kwh": generator.gamma(2.0, 0.3, 12 * len(stamps)).round(3),
        }
    ).astype({"kwh": object})


SMALL_EXPORT = {"path": "export.csv", "time_zone": "UTC", "interval_minutes": 60}


@pytest.fixture
def small_export(tmp_path):
    """Write a clean long CSV of hourly readings; returns (path, frame, settings) for a test to spoil."""
    return tmp_path / "export.csv", clean_readings(), {**TINY, "export": SMALL_EXPORT}


@dataclass
class Planted(Runner):
    """A study of an export with secrets in it, run from a checkout of its own.

    Parameters
    ----------
    checkout : Path
    secrets : list of meterdp.audit.forms.Secret
    printed : str
        What its runs said.
    """

    checkout: Path
    secrets: list
    printed: str = ""

    def run(self, config: dict, *arguments: str, **options) -> subprocess.CompletedProcess:
        done = super().run(config, *arguments, snakefile=self.checkout / "workflow/Snakefile", **options)
        self.printed += done.stdout
        return done


PLANTED_METERS = [f"NMI-6407{i:02d}-QX" for i in range(12)]
# Other choices than those of the tiny study, as far as there are any.
PLANTED = {
    **TINY,
    "export": {**SMALL_EXPORT, "circuit_column": "feeder"},
    "shards": 1,
    "profiles": {"vector": "mean", "hours": 6, "start_hour": 20},
    "mixture": {"classes": 2},
    "mechanisms": {"variants": ["sound"], "epsilons": [3]},
    "class_noise": {
        **TINY["class_noise"],
        "designs": ["white"],
        "query_models": ["stochastic"],
        "file_design": "white",
    },
}
# With a list and a period, bad rows count as missing, and listed meters need no rows.
PLANTED_RELEASE = PLANTED | {
    "export": {**PLANTED["export"], "meters": "list.csv", "first_day": "2025-01-06", "last_day": "2025-01-22"},
    "release": {
        "population": "tiny town",
        "budget_period": "2025",
        "synthetic_profiles": 200,
        "ledger": "books/ledger.sqlite",
        "allow": ["poor"],
    },
}


PLANTED_SECRETS = (
    *(Secret(f"meter {number}", METER, meter) for number, meter in enumerate(PLANTED_METERS)),
    Secret("the customer", TEXT, "Wilhelmina Quackenbush"),
    Secret("the circuit", CIRCUIT, "Gallows Lane 7 kV"),
    Secret("the reading", READING, "7.318264519"),
    Secret("the seed", SEED, "20251102"),
)


def secrets_in(text: str, secrets) -> list[str]:
    """The names of the secrets in a text, such as what a run printed."""
    return sorted({secret.name for secret in Scanner(secrets).found_in(Piece(BYTES, "text", text.encode()))})


def planted_readings() -> pd.DataFrame:
    """Readings with secrets: ids, a name in an unused column, circuits, and one energy nobody else has."""
    frame = clean_readings()
    frame["meter_id"] = np.repeat(PLANTED_METERS, len(frame) // 12)
    frame["customer"] = "Wilhelmina Quackenbush"
    frame["feeder"] = "Gallows Lane 7 kV"
    frame.loc[100, "kwh"] = "7.318264519"
    return frame


@pytest.fixture(scope="session")
def planted_study(tmp_path_factory) -> Planted:
    """The study of an export with planted secrets, run once; :func:`planted_release` goes on in its folder."""
    folder = tmp_path_factory.mktemp("planted")
    checkout = tmp_path_factory.mktemp("checkout")
    for name in ("src", "workflow", "resources", "config"):
        shutil.copytree(ROOT / name, checkout / name)
    planted_readings().to_csv(folder / "export.csv", index=False)
    secrets = list(PLANTED_SECRETS)
    study = Planted(folder, checkout, secrets)
    done = study.run(PLANTED)
    assert done.returncode == 0, done.stdout[-3000:]
    salt = (folder / "results/private/release_id_salt.txt").read_text().strip()
    ids = pq.read_table(folder / "results/private/crosswalk.parquet")["release_id"].to_pylist()
    secrets.append(Secret("the salt", SALT, salt))
    secrets += [Secret(f"release id {number}", RELEASE_ID, value) for number, value in enumerate(ids)]
    return study


@pytest.fixture(scope="session")
def planted_release(planted_study) -> Planted:
    """The same folder after a release of the same meters with bad rows among theirs."""
    frame = planted_readings()
    frame.loc[500, "kwh"] = "twelvish"
    frame.loc[900, "interval_start"] = "2025-13-45 99:99"
    frame.loc[1300, "meter_id"] = "NMI-UNLISTED-13"
    frame.to_csv(planted_study.folder / "export.csv", index=False)
    meters = [*PLANTED_METERS, *(f"NMI-9900{i:02d}-QX" for i in range(48))]
    (planted_study.folder / "list.csv").write_text("meter_id\n" + "".join(f"{meter}\n" for meter in meters))
    done = planted_study.run(PLANTED_RELEASE, "release")
    assert done.returncode == 0, done.stdout[-3000:]
    listed = (planted_study.folder / "list.csv").read_bytes()
    used = pq.read_table(planted_study.folder / "results/private/ingest_report.parquet").to_pylist()
    count = next(str(row["row_count"]) for row in used if row["reason"] == "used")
    planted_study.secrets += [
        Secret("a bad value", TEXT, "twelvish"),
        Secret("a bad stamp", TEXT, "2025-13-45 99:99"),
        Secret("an unlisted meter", METER, "NMI-UNLISTED-13"),
        *(Secret(f"silent meter {number}", METER, meter) for number, meter in enumerate(meters[12:])),
        Secret("the digest of the list", DIGEST, hashlib.sha256(listed).hexdigest()),
        Secret("the digest of who is on it", DIGEST, digest_of_meters(listed)),
        Secret("the number of readings", COUNT, count),
    ]
    return planted_study
