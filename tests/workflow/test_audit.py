"""The audit as a target: what it plans, one part for real, and that nothing else plans it."""

from meterdp.audit.study import PARTS
from meterdp.audit.tables import AUDIT
from meterdp.core.parquet import metadata_of, read_table
from tests.workflow.conftest import TINY, Planner, Runner

CONFIG = TINY | {"audit": {"epsilons": [2], "trials": 1000}}


def test_the_audit_needs_no_export_and_no_study(tmp_path):
    planned = Planner(tmp_path).plan(CONFIG, "audit")
    assert sorted(planned) == sorted(["audit", "gather_audit", "audit_report", *["audit_part"] * (len(PARTS) + 1)])


def test_neither_a_study_nor_a_release_plans_it(tmp_path):
    planner = Planner(tmp_path)
    assert not [rule for rule in planner.plan(CONFIG, "study", "release") if "audit" in rule]


def test_a_part_is_written_as_declared_and_marked(tmp_path):
    part = "results/audit/parts/published.parquet"
    done = Runner(tmp_path).run(CONFIG, part)
    assert done.returncode == 0, done.stdout[-4000:]
    table = read_table(tmp_path / part, AUDIT)
    assert set(table["part"].to_pylist()) == {"published"} and all(table["as_expected"].to_pylist())
    facts = metadata_of(tmp_path / part)
    assert facts["release"] == "not for release" and "seed" not in facts
