"""Figures and printed tables of Li et al. and Park et al. from small tables; for Liu et al. see test_figures."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from meterdp.core.parquet import write_table
from meterdp_papers.common.scorecard import OPEN, Source, Verdict, rows
from meterdp_papers.common.tables import SCORECARD
from meterdp_papers.li import exposure, likelihoods
from meterdp_papers.li import tables as li
from meterdp_papers.park import clusters, marital
from meterdp_papers.park import tables as park
from meterdp_papers.park.data import Records
from meterdp_papers.park.likelihoods import compare, summarise
from meterdp_papers.park.scorecard import CLAIMS
from meterdp_papers.park.tables import ALSO_SHOWN, EM, OURS, PICTURES
from meterdp_papers.registry import PAPERS
from meterdp_papers.report import build_reproduction_report
from tests.chromium import chromium_or_skip, tables_wider_than_their_panel
from tests.unit.papers.li import synthetic as li_synthetic
from tests.unit.papers.park import synthetic
from tests.unit.papers.synthetic import SOURCE

FIGURES = [(paper, figure.name) for paper in ("li", "park") for figure in PAPERS[paper].figures]


def of_li() -> dict:
    costs = likelihoods.cost_table(1, seed=1)
    with pytest.MonkeyPatch.context() as patch:  # thirty rounds are drawn as hundreds are
        patch.setattr(likelihoods, "LINES", [(*line[:2], 30) for line in likelihoods.LINES])
        settling = likelihoods.consensus_table(seed=1)
    return {
        "fig1": (li.LI_NETWORK, exposure.example_table()),
        "fig2": (li.LI_LIKELIHOODS, li_synthetic.likelihoods()),
        "fig3": (li.LI_LEAKAGE, li_synthetic.leaks()),
        "fig4": (li.LI_CONSENSUS, settling),
        "fig5": (li.LI_COST, costs),
        "read_off": (li.LI_READ_OFF, li_synthetic.read_off()),
        "masks": (li.LI_MASKS, exposure.masks_of_finite_size()),
        "recovery": (li.LI_RECOVERY, li_synthetic.recovery()),
        "exponents": (li.LI_EXPONENTS, likelihoods.exponents(costs)),
    }


def of_park() -> dict:
    two = pd.concat([synthetic.runs(left_out=True), synthetic.runs(variant=ALSO_SHOWN.name)])
    three = synthetic.runs(figure="fig3")
    with_ours = synthetic.AS_CLAIMED | {OURS: synthetic.AS_CLAIMED[EM]}
    folds = synthetic.folds()
    nicv = clusters.summarise(folds, SOURCE)
    places = Records(np.random.default_rng(1).uniform(-80, 80, (50, 2)), 200.0, SOURCE)
    pictures = Records(np.random.default_rng(1).uniform(size=(40, 64)), 8.0, SOURCE)
    return {
        "fig1": (park.PARK_MAP, marital.tabulate(1, seed=1)[0]),
        "fig2": (park.PARK_CURVE, summarise(two, SOURCE)),
        "fig3": (park.PARK_CURVE, summarise(three[three["split"] == 0], SOURCE)),  # without standard errors
        "fig4": (park.PARK_CLUSTERS, clusters.on_the_map(folds, nicv, places)),
        "fig5": (park.PARK_FACES, clusters.tabulate(pictures, seed=1)[0]),
        "fig2_ours": (park.PARK_OURS, compare(synthetic.runs(with_ours), SOURCE)),
        "fig3_ours": (park.PARK_OURS, compare(synthetic.runs(with_ours, figure="fig3"), SOURCE)),
        "nicv": (park.PARK_NICV, nicv),
        "face_numbers": (park.PARK_FACE_NUMBERS, synthetic.face_numbers()),
    }


@pytest.fixture(scope="module")
def paths(tmp_path_factory) -> dict[str, dict[str, Path]]:
    folder = tmp_path_factory.mktemp("tables")
    content = {"li": of_li(), "park": of_park()}
    for paper, tables in content.items():
        for name, (table, data) in tables.items():
            write_table(folder / paper / f"{name}.parquet", table, data)
    return {paper: {name: folder / paper / f"{name}.parquet" for name in tables} for paper, tables in content.items()}


@pytest.mark.parametrize(("paper", "name"), FIGURES)
def test_every_figure_is_svg_with_a_caption(paths, paper, name, tmp_path):
    """That the same numbers give the same bytes is tested of the figures of Liu et al.; saving is shared."""
    figure = PAPERS[paper].named(name)
    figure.draw(paths[paper][name], output=tmp_path / "one.svg")
    assert ElementTree.parse(tmp_path / "one.svg").getroot().tag.endswith("svg")
    assert figure.look_for.endswith(".") and figure.alternative.endswith(".")


@pytest.mark.parametrize("paper", ["li", "park"])
def test_printed_tables_have_a_cell_for_every_column(paths, paper):
    for printed in PAPERS[paper].printed:
        grid = printed.write(paths[paper][printed.name])
        assert grid.rows and all(len(row) == len(grid.header) for row in grid.rows)
        assert all(isinstance(cell, str) for row in grid.rows for cell in row)


def test_likelihoods_of_park_are_printed_by_line(paths):
    lines = {row[0]: row[1:] for row in PAPERS["park"].printed[0].write(paths["park"]["fig2"]).rows}
    assert lines["EM without noise"][0].startswith("10.0") and "–" not in lines["GGG, zCDP"][0]


def test_no_printed_table_runs_out_of_its_panel(paths, tmp_path):
    chromium_or_skip()
    verdicts = {claim.item: Verdict(OPEN, "Synthetic.") for claim in CLAIMS}
    card = rows(CLAIMS, verdicts, lambda *_: Source("synthetic data"))
    write_table(tmp_path / "card.parquet", SCORECARD, card)
    printed = {p.name: paths["park"][p.name] for p in PAPERS["park"].printed}
    card, page = {"park": tmp_path / "card.parquet"}, tmp_path / "report.html"
    build_reproduction_report(card, {"park": printed}, {"park": {}}, page, simulated=False, trials=2)
    wide = tables_wider_than_their_panel(page)
    assert len(wide) == 1 + len(printed) and not any(wide.values()), wide


def test_cells_right_of_the_words_are_numbers(paths):
    for printed in PAPERS["park"].printed:
        grid = printed.write(paths["park"][printed.name])
        for row in grid.rows:
            assert not any(re.search("[A-Za-z]", cell) for cell in row[grid.words :]), row
            assert not any(re.fullmatch(r"[−\d.]+", cell) for cell in row[: grid.words]), row


@pytest.mark.parametrize(
    ("paper", "name", "said"),
    [
        ("li", "fig3", ["Synthetic data; 100 trials", "sums of records"]),
        ("park", "fig2", ["Synthetic data; stands for nothing", "defect P4"]),
    ],
)
def test_the_picture_of_a_figure_names_data_and_what_to_know(paths, words_in, paper, name, said):
    shown = words_in(PAPERS[paper].named(name), paths[paper][name])
    assert all(phrase in shown for phrase in said) and len(PICTURES) == 3


def test_few_trials_have_no_interval_and_are_drawn(tmp_path):
    write_table(tmp_path / "a.parquet", li.LI_LEAKAGE, li_synthetic.leaks(se=np.nan))
    PAPERS["li"].named("fig3").draw(tmp_path / "a.parquet", output=tmp_path / "a.svg")
    assert (tmp_path / "a.svg").stat().st_size > 0
