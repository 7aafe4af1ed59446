"""Profiles of clusters fit the workflow, and nothing that draws noise for a release runs twice or elsewhere.

What needs a Slurm is in tests/slurm.
"""

import json
import re
import subprocess

import pytest
import yaml

from meterdp.core.provenance import modules_behind
from tests.warm import warm_snakemake
from tests.workflow.conftest import ROOT, TINY, Planner, planned_rules

WORKFLOW = {str(p): p.read_text() for p in [ROOT / "workflow/Snakefile", *ROOT.glob("workflow/rules/**/*.smk")]}
PROFILES = {p.parent.name: yaml.safe_load(p.read_text()) for p in ROOT.glob("workflow/profiles/*/config.yaml")}
SLURM = PROFILES["slurm"]
# Rule -> the text that defines it.
RULES = {
    re.match(r"rule (\w+)", block)[1]: block
    for text in WORKFLOW.values()
    for block in re.split(r"^(?=rule )", text, flags=re.MULTILINE)
    if block.startswith("rule ")
}
# Said in the rule itself, as a list of names would not know those that a module's prefix makes of them.
LOCAL = {rule for rule, text in RULES.items() if "\n    localrule: True\n" in text}


def modules(rule):
    script = re.search(r'"(?:\.\./)+scripts/([\w/]+\.py)"', RULES[rule])
    return modules_behind(ROOT / "workflow/scripts" / script[1]) if script else ()


def test_the_profile_names_rules_that_exist_and_run_elsewhere():
    for setting in ("set-resources", "set-threads", "groups"):
        assert SLURM[setting] and set(SLURM[setting]) <= set(RULES) - LOCAL, setting
    assert set(SLURM["group-components"]) <= set(SLURM["groups"].values())


def test_every_rule_over_shards_is_in_a_group_of_several():
    over_shards = {rule for rule, text in RULES.items() if re.search(r"logs/\w+/\{shard\}\.log", text)}
    assert over_shards >= {"profile_shard", "forecast"}
    for rule in over_shards:
        assert SLURM["group-components"][SLURM["groups"][rule]] > 1, rule
        # A processor a member: a group of eight jobs of eight threads would ask for a node that few have.
        assert "threads:" not in RULES[rule] or SLURM["set-threads"][rule] == 1, rule


def test_nothing_is_retried_or_started_anew():
    for name, profile in PROFILES.items():
        assert not {"retries", "restart-times", "slurm-requeue"} & set(profile), name
    assert SLURM["slurm-no-requeue"] is True
    for name, text in WORKFLOW.items():
        assert not re.search(r"\bretries\b", text), name


@pytest.mark.parametrize("module", ["meterdp.privacy.ledger", "meterdp.privacy.release"])
def test_what_opens_the_ledger_or_draws_for_a_release_runs_where_snakemake_runs(module):
    using = {rule for rule in RULES if module in modules(rule)}
    assert {"release_mixture", "release_forecasts"} <= using
    # An audit draws as a release does, on households of its own and without a ledger.
    assert using - {"audit_part"} <= LOCAL
    assert not any(re.search(r"^localrules:", text, re.MULTILINE) for text in WORKFLOW.values())


def test_more_than_a_thousand_shards_can_be_planned(tmp_path):
    planned = Planner(tmp_path).plan({"shards": 1001}, "results/private/quality/part-1000.parquet")
    assert planned.count("profile_shard") == 1


def test_the_job_of_kubernetes_runs_once_beside_its_ledger_and_plans_a_release(tmp_path):
    """A dry run of what its container runs, as the Containerfile begins it; the study's folder is another."""
    volume, job = yaml.safe_load_all((ROOT / "workflow/profiles/kubernetes/job.yaml").read_text())
    assert volume["spec"]["accessModes"] == ["ReadWriteOncePod"]
    assert job["spec"]["backoffLimit"] == 0 and "parallelism" not in job["spec"]
    pod = job["spec"]["template"]["spec"]
    (container,), (mounted,) = pod["containers"], pod["volumes"]
    assert pod["restartPolicy"] == "Never"
    assert mounted["persistentVolumeClaim"]["claimName"] == volume["metadata"]["name"]
    (mount,) = container["volumeMounts"]
    assert mount == {"name": mounted["name"], "mountPath": "/study"}
    assert container["args"][0] == container["resources"]["requests"]["cpu"]
    entry = re.search(r"^ENTRYPOINT (.*)$", (ROOT / "Containerfile").read_text(), re.MULTILINE)[1]
    words = [
        word.replace("/study", str(tmp_path), 1).replace("/opt/meterdp", str(ROOT), 1)
        for word in [*json.loads(entry)[1:], *container["args"]]
    ]
    (tmp_path / "my.yaml").write_text(yaml.safe_dump(TINY))
    done = subprocess.run(
        [*warm_snakemake(), "--dry-run", *words], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert {"release_mixture", "report"} <= set(planned_rules(done.stdout + done.stderr)), done.stderr
