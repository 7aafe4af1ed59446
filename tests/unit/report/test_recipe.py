"""The recipe of docs/extending.md for a figure: one new file and its place in the registry, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys

FIGURE = """
from meterdp.evaluation.tables import COST
from meterdp.report.pages import RELEASES, figure
from meterdp.report.style import canvas, in_order, look


@figure(
    COST,
    category=RELEASES,
    look_for="Bars of what each mechanism costs. Look for the shortest.",
    alternative="One bar per mechanism, whose height is the median divergence.",
)
def gap_bars(data, output) -> None:
    with canvas(output, "A new figure", 3.0) as drawing:
        axes = drawing.subplots()
        for name in in_order(data["mechanism"]):
            axes.bar(look(name).label, data.loc[data["mechanism"] == name, "kl_median"].median())
"""
USE = """
import sys
from meterdp.report.registry import FIGURES, figure_of
from meterdp.report.page import build_report

cost, folder = sys.argv[1:]
assert "gap_bars" in [figure.name for figure in FIGURES]
figure = figure_of("gap_bars")
figure.draw(cost, output=f"{folder}/gap_bars.svg")
build_report({}, {"gap_bars": f"{folder}/gap_bars.svg"}, f"{folder}/r.html", title="t", synthetic=False, settings={})
assert figure.look_for in open(f"{folder}/r.html").read()
"""


def test_a_figure_is_one_file_and_its_place_in_the_registry(repository, study, tmp_path):
    copy = tmp_path / "src"
    shutil.copytree(repository / "src", copy, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    registry = copy / "meterdp/report/registry.py"
    text, first = registry.read_text(), "    cost.kl_curve,\n"
    changed = text.replace("    classes,\n", "    classes,\n    gap_bars,\n", 1)
    registry.write_text(changed.replace(first, f"{first}    gap_bars.gap_bars,\n"))
    assert len(registry.read_text().splitlines()) == len(text.splitlines()) + 2
    (copy / "meterdp/report/gap_bars.py").write_text(FIGURE)
    done = subprocess.run(
        [sys.executable, "-c", USE, str(study["cost"]), str(tmp_path)],
        env={"PYTHONPATH": str(copy), "PATH": ""},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "gap_bars.svg").stat().st_size > 0
