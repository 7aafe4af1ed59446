"""docs/measured: every defect has its test, variants say what tables hold; the errata are in each paper's folder."""

from __future__ import annotations

import ast
import csv
import re
from dataclasses import replace

import numpy as np
import pytest

from meterdp.core.parquet import write_table
from meterdp_papers import errata
from meterdp_papers.errata import PAPERS, measure
from meterdp_papers.liu.tables import LIU_CURVE
from tests.unit.papers.synthetic import curve


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


def test_defects_are_measured_in_order_and_every_one_is_committed(monkeypatch, repository):
    none = {paper: tuple(replace(d, compute=lambda _: ()) for d in defects) for paper, defects in PAPERS.items()}
    monkeypatch.setattr(errata, "PAPERS", none)
    last = {"L": 13, "R": 13, "P": 7, "D": 8}
    names = [f"{paper}{n}" for paper in last for n in range(1, last[paper] + 1)]
    _, *rows = csv.reader((repository / "docs/measured/errata.csv").read_text().splitlines())
    assert list(measure(lambda _: None)) == names == list(dict.fromkeys(row[0] for row in rows))


def test_the_page_of_the_errata_shows_every_defect_with_its_committed_numbers(tool, repository, tmp_path):
    """A git host shows the page as it is, so what the site and other pages link to must be in the file."""
    committed = (repository / "docs/errata.md").read_text()
    page = tmp_path / "errata.md"
    page.write_text(re.sub(r"(errata -->\n).*(<!-- end)", r"\1\2", committed, flags=re.DOTALL))
    tool["write_on_page"](page)
    assert page.read_text() == committed
    _, *rows = csv.reader((repository / "docs/measured/errata.csv").read_text().splitlines())
    assert all(f"\n### {row[0]}\n" in committed and f" | {row[4]} | " in committed for row in rows)


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
