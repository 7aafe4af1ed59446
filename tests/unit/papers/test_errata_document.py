"""docs/errata.md says what the code computes, and every defect has its test and its row."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from meterdp.core.parquet import read_table, write_table
from meterdp_papers import errata
from meterdp_papers.common.tables import ERRATA
from meterdp_papers.errata import PAPERS, as_columns, measure


@pytest.fixture
def every(findings, page, monkeypatch):
    """What ``measure`` returns, from findings that other tests may have asked for before."""
    known = {
        paper: tuple(replace(d, compute=lambda _, name=d.id: findings[name]) for d in defects)
        for paper, defects in PAPERS.items()
    }
    monkeypatch.setattr(errata, "PAPERS", known)
    return measure(page["stream"])


def test_the_page_is_what_the_findings_say(repository, page, every):
    assert (repository / "docs/errata.md").read_text() == page["as_markdown"](every)


def test_every_defect_has_one_test_of_its_name(repository):
    tests = [
        node.name
        for path in (repository / "tests/unit/papers").rglob("test_defects.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    ]
    for defects in PAPERS.values():
        for defect in defects:
            assert sum(name.startswith(defect.test) for name in tests) == 1, defect.id


def test_findings_belong_to_their_defect_and_fit_the_table(every, tmp_path):
    assert list(every) == [
        f"{paper}{n}" for paper, last in (("L", 13), ("R", 13), ("P", 7), ("D", 8)) for n in range(1, last + 1)
    ]
    assert all(f.id == defect for defect, found in every.items() for f in found)
    columns = as_columns(f for found in every.values() for f in found)
    write_table(tmp_path / "errata.parquet", ERRATA, columns)
    assert read_table(tmp_path / "errata.parquet", ERRATA).to_pydict() == columns
