"""The recipe of docs/architecture.md for a figure: one new file and its place in the registry, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys

FIGURE = """
from meterdp.evaluation.tables import COST
from meterdp.report.pages import COSTS, Figure
from meterdp.report.style import canvas, in_order, load, look


def gap_bars(cost, output) -> None:
    data = load(cost, COST)
    with canvas(output, "A new figure", 3.0) as figure:
        axes = figure.subplots()
        for name in in_order(data["mechanism"]):
            axes.bar(look(name).label, data.loc[data["mechanism"] == name, "kl_median"].median())


GAP_BARS_FIGURE = Figure(
    draw=gap_bars,
    tables=(COST,),
    category=COSTS,
    look_for="Bars of what each mechanism costs. Look for the shortest.",
    alternative="One bar per mechanism, whose height is the median divergence.",
)
"""
USE = """
import sys
from meterdp.report.registry import drawings, figure_of
from meterdp.report.page import build_report

cost, folder = sys.argv[1:]
assert "gap_bars" in drawings({"mechanisms": {"variants": [], "figure_epsilon": 1.0}})
figure = figure_of("gap_bars")
figure.draw(cost=cost, output=f"{folder}/gap_bars.svg")
build_report({}, {"gap_bars": f"{folder}/gap_bars.svg"}, f"{folder}/r.html", title="t", synthetic=False, settings={})
assert figure.look_for in open(f"{folder}/r.html").read()
"""


def test_a_figure_is_one_file_and_its_place_in_the_registry(repository, study, tmp_path):
    copy = tmp_path / "src"
    shutil.copytree(repository / "src", copy, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    registry = copy / "meterdp/report/registry.py"
    text = registry.read_text()
    imported, listed = "from meterdp.report.gap_bars import GAP_BARS_FIGURE\n", "    GAP_BARS_FIGURE,\n"
    changed = text.replace("from meterdp.report.intake", f"{imported}from meterdp.report.intake")
    changed = changed.replace("    INTAKE_FIGURE,\n", f"    INTAKE_FIGURE,\n{listed}")
    assert len(changed.splitlines()) == len(text.splitlines()) + 2
    registry.write_text(changed)
    (copy / "meterdp/report/gap_bars.py").write_text(FIGURE)
    done = subprocess.run(
        [sys.executable, "-c", USE, str(study["cost"]), str(tmp_path)],
        env={"PYTHONPATH": str(copy), "PATH": ""},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "gap_bars.svg").stat().st_size > 0
