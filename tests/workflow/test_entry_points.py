"""Every way in: from the root, as a module of another workflow, lint, unfinished targets."""

import subprocess
import sys
from pathlib import Path

from tests.workflow.conftest import HANGS, ROOT, TINY
from tests.workflow.warm import warm_snakemake

SNAKEMAKE = str(Path(sys.executable).parent / "snakemake")


def call(*words, program=(SNAKEMAKE,)):
    return subprocess.run(
        [*program, *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANGS
    )


def test_the_root_snakefile_plans_the_whole_study(tmp_path):
    done = call("--cores", "2", "--dry-run", "--config", f"results_dir={tmp_path}/r", "--workflow-profile", "none")
    assert done.returncode == 0, done.stdout[-3000:]
    for rule in ("simulate", "ingest", "profile_shard", "fit_mixture", "vary_mixture", "forecast", "report"):
        assert f"\n{rule} " in done.stdout or f"\nmeterdp_{rule} " in done.stdout, rule


def test_lint_has_nothing_to_say():
    done = call("--lint", program=warm_snakemake())
    assert done.returncode == 0 and "Congratulations" in done.stdout, done.stdout[-3000:]


def test_the_workflow_is_a_module_of_another(runner):
    (runner.folder / "Snakefile").write_text(
        f"""
module households:
    snakefile: "{ROOT}/workflow/Snakefile"
    config: config

use rule * from households as households_*

rule everything:
    default_target: True
    input: rules.households_gather_profiles.output
"""
    )
    done = runner.run({**TINY, "shards": 1}, snakefile=runner.folder / "Snakefile")
    assert done.returncode == 0, done.stdout[-3000:]
    assert (runner.folder / "results/study/quality_summary.parquet").exists()


def test_the_snakefile_of_the_workflow_lists_its_rules():
    """That of the root is planned above."""
    done = call("--snakefile", str(ROOT / "workflow/Snakefile"), "--list", program=warm_snakemake())
    assert done.returncode == 0 and "study" in done.stdout
