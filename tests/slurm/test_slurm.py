"""The Slurm profile on a real cluster of one node: what it computes, also after kills (make test-slurm)."""

import hashlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.slurm.one_node import jobs, one_node, said, why_not
from tests.warm import warm_python
from tests.workflow.conftest import HANGS, TINY, Runner

PROFILE = Path(__file__).resolve().parents[2] / "workflow/profiles/slurm"
# No accounting here, and no network file system to wait for.
HERE = (
    *("--workflow-profile", str(PROFILE), "--latency-wait", "5"),
    *("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "1"),
)
ASKING_SOON = str(Path(__file__).with_name("asking_soon.py"))
CONFIG = TINY | {
    "shards": 2,
    "mechanisms": TINY["mechanisms"] | {"variants": ["sound"], "epsilons": [4]},
    "forecast": TINY["forecast"] | {"compare": ["rolling_mean"]},
}
SALT = "results/private/release_id_salt.txt"
# What the kills are tried on: shards in groups, then a table of all households.
SHORT = "results/study/arma_summary.parquet"

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


@pytest.fixture(scope="module", autouse=True)
def cluster():
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip("snakemake-executor-plugin-slurm is not installed (make test-slurm does it)")
    with one_node() as logs:
        yield logs


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """A local run of the same configuration."""
    runner = Runner(tmp_path_factory.mktemp("local"))
    done = runner.run(CONFIG)
    assert done.returncode == 0, done.stdout[-6000:]
    return runner


@pytest.fixture(scope="module")
def remote(tmp_path_factory, local):
    """A folder for runs through Slurm, one after another; the random ids of its files are those of the local run."""
    runner = Runner(tmp_path_factory.mktemp("remote"))
    salt = runner.folder / SALT
    salt.parent.mkdir(parents=True)
    salt.write_bytes((local.folder / SALT).read_bytes())
    return runner


def tables(runner):
    """File -> digest of every table of a run, private ones and released files included."""
    results = runner.folder / "results"
    return {
        str(path.relative_to(results)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(results.rglob("*.parquet"))
    }


def differences(one, other):
    """Which columns of which tables of one run differ from those of another, for the message of a test."""
    out, (a, b) = [], (tables(one), tables(other))
    for name in a:
        if a[name] == b.get(name):
            continue
        if name not in b:
            out.append(f"{name} is not there")
            continue
        left, right = (pq.read_table(run.folder / "results" / name, partitioning=None) for run in (one, other))
        columns = [c for c in left.column_names if c not in right.column_names or not left[c].equals(right[c])]
        out.append(f"{name}: {columns or 'only how it is written'}")
    return out


def finish(runner, *targets, python=sys.executable):
    done = runner.run(CONFIG, *HERE, "--", *targets, cores=None, program=(python, ASKING_SOON))
    assert done.returncode == 0, done.stdout[-6000:]
    assert jobs() == []
    return done.stdout


def running(comment):
    """Ids of running Slurm jobs whose comment, which names rule or group, contains a word."""
    lines = said("squeue", "--noheader", "--states=running", "--format=%i %k").splitlines()
    return [line.split()[0] for line in lines if comment in line]


def wait_for(what, process):
    end = time.monotonic() + HANGS
    while not (found := what()) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    assert found and process.poll() is None, "the run ended too early"
    return found


def until_over():
    end = time.monotonic() + HANGS
    while jobs() and time.monotonic() < end:
        time.sleep(0.1)
    assert jobs() == []


def start(runner, *targets):
    words = {"cores": None, "program": (sys.executable, ASKING_SOON)}
    command, environment = runner.command(CONFIG, *HERE, "--", *targets, **words)
    log = (runner.folder / "killed.txt").open("w")
    return subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)


def test_after_a_cancelled_job_and_a_killed_snakemake_the_next_run_computes_the_same(local, remote):
    process = start(remote, SHORT)
    job = wait_for(lambda: running("profiles"), process)[0]
    said("scancel", job)
    assert process.wait(HANGS) != 0, "a cancelled job ends the run; nothing starts it again"
    printed = (remote.folder / "killed.txt").read_text()
    assert "Error in group" in printed
    assert not (remote.folder / "results/private/profiles.parquet").exists()

    process = start(remote, SHORT)
    wait_for(lambda: running("forecasts"), process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert jobs(), "its Slurm jobs go on without it"
    # As docs/cluster.md says.
    said("scancel", "--user=root")
    until_over()
    remote.run(CONFIG, *HERE, "--unlock", cores=None)

    finish(remote, SHORT)
    there = tables(remote)
    assert {"study/arma_summary.parquet", "private/forecasts.parquet"} <= set(there)
    assert not differences(remote, local)


def test_slurm_and_this_machine_compute_the_same_tables_byte_for_byte(local, remote):
    """After the kills the study goes on where they left it: every step but those of SHORT is computed here.

    Those of SHORT were started as users do; these are forked (tests/warm.py).
    """
    benchmarks = remote.folder / "results/private/benchmarks"
    before = len(list(benchmarks.rglob("*.tsv")))
    printed = finish(remote, python=warm_python())
    submitted = printed.count("has been submitted with SLURM jobid")
    steps = len(list(benchmarks.rglob("*.tsv"))) - before
    assert 0 < submitted < 0.6 * steps, "shards and short jobs are grouped"
    here, there = tables(local), tables(remote)
    assert len(here) > 50 and set(there) == set(here)
    assert not differences(local, remote)
