"""tools/tabulate_readings.py writes the numbers of the tables, and says which table is not there."""

import runpy

import numpy as np
import pytest

from meterdp.core.parquet import write_table
from meterdp_papers.liu.tables import LIU_CURVE
from tests.unit.papers.made_up import curve


@pytest.fixture
def tool(repository):
    return runpy.run_path(str(repository / "tools/tabulate_readings.py"))


def test_growth_and_its_standard_error_are_those_of_a_ratio(tool, tmp_path):
    """Oracle: simulation of the ratio of two normal means."""
    (tmp_path / "liu").mkdir()
    table = curve({"iid_laplace": [4.0, 10.0, 80.0], "kl_published": [1.0, 2.0, 6.0]}, (2, 5, 20), se=0.05)
    write_table(tmp_path / "liu/fig3.parquet", LIU_CURVE, table)
    rows = {line.split(" | ")[1]: line.split(" | ")[2] for line in tool["growths"](tmp_path).splitlines()[2:]}
    assert rows["iid_laplace"].startswith("20 ± ") and rows["kl_published"].startswith("6 ± ")
    draws = np.random.default_rng(2).normal(size=(2, 100_000))
    ratio = (6 + 0.05 * draws[0]) / (1 + 0.05 * draws[1])
    assert float(rows["kl_published"].split("± ")[1]) == pytest.approx(ratio.std(), rel=0.2)  # written with one digit


def test_what_is_missing_is_named(tool, tmp_path, capsys):
    tool["main"](tmp_path)
    said = capsys.readouterr().out
    assert said.count("Not there: ") == len(tool["PARTS"]) and "Not there: scorecard.parquet." in said
