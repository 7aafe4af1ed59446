"""docs/errata.md says what the code computes, and every defect has its test and its row."""

from __future__ import annotations

import ast

from meterdp.core.parquet import read_table, write_table
from meterdp.papers.common.tables import ERRATA
from meterdp.papers.errata import PAPERS, as_columns


def test_the_page_is_what_the_findings_say(repository, page, findings):
    assert (repository / "docs/errata.md").read_text() == page["as_markdown"](findings)


def test_every_defect_has_a_test_of_its_name(repository):
    tests = {
        node.name
        for path in (repository / "tests/unit/papers").rglob("test_defects.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    for defects in PAPERS.values():
        for defect in defects:
            assert defect.test in tests and defect.test.startswith(f"test_{defect.id}_")


def test_findings_belong_to_their_defect_and_fit_the_table(findings, tmp_path):
    assert list(findings) == [
        f"{paper}{n}" for paper, last in (("L", 13), ("R", 13), ("P", 7), ("D", 8)) for n in range(1, last + 1)
    ]
    assert all(f.id == defect for defect, found in findings.items() for f in found)
    columns = as_columns(f for found in findings.values() for f in found)
    write_table(tmp_path / "errata.parquet", ERRATA, columns)
    assert read_table(tmp_path / "errata.parquet", ERRATA).to_pydict() == columns
