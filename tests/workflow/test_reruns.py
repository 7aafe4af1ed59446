"""Killed runs finish when started again; a change of source reruns what depends on it."""

import shutil

import pyarrow.parquet as pq
import pytest

from tests.workflow.conftest import ROOT, TINY

SMALL = {**TINY, "simulate": {"households": 90, "circuits": 3, "days": 16}}


@pytest.mark.parametrize(
    "moment", ["private/logs/simulate.log", "private/logs/ingest.log", "private/profiles/part-000.parquet"]
)
def test_a_killed_run_is_finished_by_the_next(runner, moment):
    runner.kill_when(SMALL, runner.folder / "results" / moment, "--until", "gather_profiles")
    runner.run(SMALL, "--unlock")
    done = runner.run(SMALL, "--until", "gather_profiles", "--rerun-incomplete")
    assert done.returncode == 0, done.stdout[-3000:]
    table = pq.read_table(runner.folder / "results/private/profiles.parquet")
    assert table.num_rows == SMALL["simulate"]["households"]
    assert [p.name for p in (runner.folder / "results").rglob("*.part")] == [], "half-written files were left"


def test_a_change_in_src_reruns_what_depends_on_it_and_nothing_else(runner):
    copy = runner.folder / "checkout"
    for name in ("src", "workflow", "resources"):
        shutil.copytree(ROOT / name, copy / name)
    snakefile = copy / "workflow/Snakefile"
    first = runner.run(SMALL, "--until", "gather_profiles", snakefile=snakefile)
    assert first.returncode == 0, first.stdout[-3000:]
    module = copy / "src/meterdp/profiles/quality.py"
    module.write_text(module.read_text() + "\n# changed\n")
    words = (
        "--until",
        "gather_profiles",
        "--dry-run",
        "--workflow-profile",
        "none",
    )  # the profile is quiet about rules
    plan = runner.run(SMALL, *words, snakefile=snakefile)
    assert plan.returncode == 0
    planned = {
        line.split()[1].rstrip(":") for line in plan.stdout.splitlines() if line.startswith(("rule ", "localrule "))
    }
    assert planned == {"profile_shard", "gather_profiles"}
