"""The audit as a table, a figure and a page."""

import re

import pytest

from meterdp.audit import CANARIES, study
from meterdp.audit.tables import AUDIT
from meterdp.core.config import complete, load_schema
from meterdp.core.parquet import write_table
from meterdp.report.audit import audit_bounds, build_audit_report
from meterdp.simulate.parameters import SimulationParameters
from tests.conftest import ROOT

SMALL = {"epsilons": [2], "trials": 1000}


@pytest.fixture(scope="module")
def config():
    return complete({}, load_schema(ROOT / "workflow/schemas/config.schema.yaml")) | {"audit": SMALL}


@pytest.fixture(scope="module")
def table(config, tmp_path_factory):
    path = tmp_path_factory.mktemp("audit") / "audit.parquet"
    parts = [study.audit_part(part, config, None) for part in ("primitives", "published")]
    write_table(path, AUDIT, {name: parts[0][name] + parts[1][name] for name in parts[0]})
    return path, parts


def test_canaries_are_rows_of_their_own_that_say_they_differ_from_run_to_run(config, tmp_path):
    settings = config | {"audit": config["audit"] | {"canaries": 60}}
    parameters = SimulationParameters.from_yaml(ROOT / "resources/simulator.yaml")
    columns = study.audit_part(CANARIES, settings, parameters)
    write_table(tmp_path / "canaries.parquet", AUDIT, columns)
    assert columns["seen"] == ["output", "transcript", "transcript"] and not any(columns["seeded"])
    assert [h + o for h, o in zip(columns["hits"], columns["other_hits"], strict=True)] == [30, 30, 30]
    assert columns["expected"] == ["holds", "holds", "caught"] and columns["epsilon_lower"][2] > 0.5


def test_a_seeded_part_is_the_same_again_and_says_so(config, table):
    assert study.audit_part("primitives", config, None) == table[1][0]
    assert all(table[1][0]["seeded"])


def test_the_allowed_error_is_shared_by_all_rows(config, table):
    rows = study.rows_in_all([2])
    assert rows == sum(len(c.views) for make in study.PARTS.values() for c in make([2])) + 3
    assert table[1][0]["confidence"][0] == pytest.approx(1 - (1 - study.STUDIED["confidence"]) / rows)


def test_the_page_shows_every_row_and_counts_what_was_caught(table, tmp_path):
    path, parts = table
    audit_bounds.draw(path, output=tmp_path / "audit_bounds.svg")
    build_audit_report(path, tmp_path / "audit_bounds.svg", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count("<tr") == sum(len(part["mechanism"]) for part in parts) + 3, "three headings"
    caught = sum(parts[0]["as_expected"][i] for i, mutant in enumerate(parts[0]["mutant"]) if mutant)
    assert f"Mutants: {caught} of 2 mutants caught" in re.sub(r"\s+", " ", page)
    assert "0 of 1 bound exceed the claim" in page and "7 of 7 attacks refute the claim" in page
    assert not re.search(r'(?:src|href)="http', page)
