"""docs/measured: the errata say what the code computes, every defect has its test, variants say what tables hold."""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np
import pytest

from meterdp.core.parquet import read_table, write_table
from meterdp_papers import errata
from meterdp_papers.common.tables import ERRATA
from meterdp_papers.errata import PAPERS, as_columns, measure
from meterdp_papers.liu.tables import LIU_CURVE
from tests.unit.papers.synthetic import curve


@pytest.fixture
def every(findings, tool, monkeypatch):
    """What ``measure`` returns, from findings that other tests may have asked for before."""
    known = {
        paper: tuple(replace(d, compute=lambda _, name=d.id: findings[name]) for d in defects)
        for paper, defects in PAPERS.items()
    }
    monkeypatch.setattr(errata, "PAPERS", known)
    return measure(tool["stream"])


def test_the_committed_table_is_what_the_findings_say(repository, tool, every, tmp_path):
    tool["write"]("errata", tool["errata"](every), tmp_path)
    assert (repository / "docs/measured/errata.csv").read_text() == (tmp_path / "errata.csv").read_text()


def test_every_defect_has_a_test_of_its_name(repository):
    tests = [
        node.name
        for path in (repository / "tests/unit/papers").rglob("test_defects.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    ]
    for defects in PAPERS.values():
        for defect in defects:
            assert any(name.startswith(defect.test) for name in tests), defect.id


def test_findings_belong_to_their_defect_and_fit_the_table(every, tmp_path):
    assert list(every) == [
        f"{paper}{n}" for paper, last in (("L", 13), ("R", 13), ("P", 7), ("D", 8)) for n in range(1, last + 1)
    ]
    assert all(f.id == defect for defect, found in every.items() for f in found)
    columns = as_columns(f for found in every.values() for f in found)
    write_table(tmp_path / "errata.parquet", ERRATA, columns)
    assert read_table(tmp_path / "errata.parquet", ERRATA).to_pydict() == columns


def test_growth_and_its_standard_error_are_those_of_a_ratio(tool, tmp_path):
    """Oracle: simulation of the ratio of two normal means."""
    (tmp_path / "liu").mkdir()
    table = curve({"iid_laplace": [4.0, 10.0, 80.0], "kl_published": [1.0, 2.0, 6.0]}, (2, 5, 20), se=0.05)
    write_table(tmp_path / "liu/fig3.parquet", LIU_CURVE, table)
    growth = {mechanism: factor for _, mechanism, factor, _ in tool["growths"](tmp_path)[1:]}
    assert growth["iid_laplace"].startswith("20 ± ") and growth["kl_published"].startswith("6 ± ")
    draws = np.random.default_rng(2).normal(size=(2, 100_000))
    ratio = (6 + 0.05 * draws[0]) / (1 + 0.05 * draws[1])
    assert float(growth["kl_published"].split("± ")[1]) == pytest.approx(
        ratio.std(), rel=0.2
    )  # written with one digit


def test_numbers_without_new_results_stay_and_are_named(tool, tmp_path):
    said = list(tool["tabulate"](tmp_path / "results", tmp_path))
    assert (
        len(said) == len(tool["VARIANTS"]) and said[0] == "verdicts stays as it is, as there is no scorecard.parquet."
    )
    assert list(tmp_path.iterdir()) == []
