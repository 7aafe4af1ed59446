"""Every way in: from the root, as a module of another workflow, lint, unfinished targets."""

import os
import re
import shutil
import stat
import subprocess
import sys

import pytest

from tests.warm import warm_snakemake
from tests.workflow.conftest import HANGS, ROOT, TINY, Runner, planned_rules


def call(*words):
    return subprocess.run(
        [*warm_snakemake(), *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=HANGS,
    )


def test_lint_has_nothing_to_say():
    done = call("--lint")
    assert done.returncode == 0 and "Congratulations" in done.stdout, done.stdout[-3000:]


def test_an_environment_without_the_packages_is_one_sentence(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['numpy'] = None\n")
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=HANGS,
    )
    assert (
        done.returncode == 1 and "meterdp cannot go on. The environment of Snakemake lacks numpy: run" in done.stderr
    )
    assert "Traceback" not in done.stderr


def snakefile_of_another(folder, snakefile, target):
    """A workflow that uses this one as a module, as docs/module.md says, and prints what never leaves the machine."""
    path = folder / "Snakefile"
    path.write_text(
        f"""
module meterdp:
    snakefile: {snakefile}
    config: config["meterdp"]

use rule * from meterdp as meterdp_*

rule everything:
    default_target: True
    input: {target}

print("local:", *sorted(rule.name for rule in workflow.rules if rule.name in workflow._localrules))
"""
    )
    return str(path)


def test_the_workflow_is_a_module_of_another_under_names_with_a_prefix(tmp_path):
    path = snakefile_of_another(tmp_path, f'"{ROOT}/workflow/Snakefile"', "rules.meterdp_release.input")
    # Whether its own configuration is a template is for the other workflow to say.
    own = {"__use_yte__": True, "meterdp": {**TINY, "results_dir": "homes"}}
    (tmp_path / "homes/study").mkdir(parents=True, mode=0o755)
    words = ("--workflow-profile", "none")
    said = Runner(tmp_path).run(own, *words, "--dry-run", snakefile=path).stdout
    files = Runner(tmp_path).run(own, *words, "--summary", snakefile=path).stdout
    assert "This was a dry-run" in said and "homes/private/release/mixture.published" in files, said[-3000:]
    assert stat.S_IMODE((tmp_path / "homes/study").stat().st_mode) == 0o700, "as an earlier version left it"
    planned = set(planned_rules(said))
    assert planned and all(rule.startswith("meterdp_") for rule in planned - {"everything"})
    # A prefix must not send what opens the ledger to the nodes of a cluster.
    local = set(re.search(r"^local: (.*)$", said, re.MULTILINE)[1].split())
    assert {"meterdp_release_mixture", "meterdp_release_forecasts", "meterdp_ledger_page"} <= planned & local


def test_the_workflow_is_a_module_from_a_git_server_and_runs_the_installed_package(runner, monkeypatch):
    """Git is told that the server is a folder, in which there is no package."""
    if shutil.which("git") is None:
        pytest.skip("git is not on this machine")
    server = runner.folder / "server"
    shutil.copytree(ROOT / "workflow", server / "workflow", ignore=shutil.ignore_patterns("__pycache__"))
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    for words in (("init", "-q", "-b", "main"), ("add", "."), (*who, "commit", "-q", "-m", "Copy"), ("tag", "v1")):
        subprocess.run(["git", *words], cwd=server, check=True)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.file://{server}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://github.com/meterdp/meterdp")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    there = 'github("meterdp/meterdp", path="workflow/Snakefile", tag="v1")'
    path = snakefile_of_another(runner.folder, there, "rules.meterdp_simulate.output")
    done = runner.run({"meterdp": TINY}, snakefile=path)
    assert done.returncode == 0, done.stdout[-3000:]
    assert (runner.folder / "results/private/export/simulated.csv.gz").exists()


def test_the_snakefile_of_the_workflow_lists_its_rules():
    """That of the root runs in test_tutorial.py."""
    done = call("--snakefile", str(ROOT / "workflow/Snakefile"), "--list")
    assert done.returncode == 0 and "study" in done.stdout
