"""Figures and printed tables of Park et al. from small tables."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from meterdp.core.parquet import write_table
from meterdp_papers.common.scorecard import OPEN, Verdict, rows
from meterdp_papers.common.tables import SCORECARD
from meterdp_papers.park import clusters, factor_faces, marital, tables
from meterdp_papers.park.data import Records
from meterdp_papers.park.likelihoods import compare
from meterdp_papers.park.scorecard import CLAIMS
from meterdp_papers.park.setting import ALSO_SHOWN, EM, OURS, PICTURES
from meterdp_papers.registry import PAPERS
from meterdp_papers.report import build_reproduction_report
from tests.chromium import chromium_or_skip, tables_wider_than_their_panel
from tests.unit.papers.park import made_up

PARK = PAPERS["park"]


def faces() -> pd.DataFrame:
    records = Records(np.random.default_rng(1).uniform(size=(40, 64)), 8.0, made_up.SOURCE)
    return factor_faces.tabulate(records, seed=1)[0]


@pytest.fixture(scope="module")
def paths(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("tables")
    two = pd.concat([made_up.runs(left_out=True), made_up.runs(reading=ALSO_SHOWN.name)])
    three = made_up.runs(figure="fig3")
    with_ours = made_up.AS_CLAIMED | {OURS: made_up.AS_CLAIMED[EM]}
    folds = made_up.folds()
    nicv = clusters.summarise(folds, made_up.SOURCE)
    places = Records(np.random.default_rng(1).uniform(-80, 80, (50, 2)), 200.0, made_up.SOURCE)
    content = {
        "fig1": (tables.PARK_MAP, marital.tabulate(1, seed=1)[0]),
        "fig2": (tables.PARK_CURVE, made_up.curve(two)),
        "fig3": (tables.PARK_CURVE, made_up.curve(three[three["split"] == 0])),  # without standard errors
        "fig4": (tables.PARK_CLUSTERS, clusters.on_the_map(folds, nicv, places)),
        "fig5": (tables.PARK_FACES, faces()),
        "fig2_ours": (tables.PARK_OURS, compare(made_up.runs(with_ours), made_up.SOURCE)),
        "fig3_ours": (tables.PARK_OURS, compare(made_up.runs(with_ours, figure="fig3"), made_up.SOURCE)),
        "nicv": (tables.PARK_NICV, nicv),
        "face_numbers": (tables.PARK_FACE_NUMBERS, made_up.face_numbers()),
    }
    for name, (table, data) in content.items():
        write_table(folder / f"{name}.parquet", table, data)
    return {name: folder / f"{name}.parquet" for name in content}


@pytest.mark.parametrize("name", [figure.name for figure in PARK.figures])
def test_every_figure_is_svg_with_a_caption(paths, name, tmp_path):
    """That the same numbers give the same bytes is tested of the figures of Liu et al.; saving is shared."""
    figure = PARK.named(name)
    figure.draw(paths[name], output=tmp_path / "one.svg")
    assert ElementTree.parse(tmp_path / "one.svg").getroot().tag.endswith("svg")
    assert figure.look_for.endswith(".") and figure.alternative.endswith(".")


def test_printed_tables_have_a_cell_for_every_column(paths):
    for printed in PARK.printed:
        grid = printed.write(paths[printed.name])
        assert grid.rows and all(len(row) == len(grid.header) for row in grid.rows)
    lines = {row[0]: row[1:] for row in PARK.printed[0].write(paths["fig2"]).rows}
    assert lines["EM without noise"][0].startswith("10.0") and "–" not in lines["GGG, zCDP"][0]


def test_no_printed_table_runs_out_of_its_panel(paths, tmp_path):
    chromium_or_skip()
    verdicts = {claim.item: Verdict(OPEN, "Made up.") for claim in CLAIMS}
    sources = {claim.item: ("made-up data", None) for claim in CLAIMS}
    write_table(tmp_path / "card.parquet", SCORECARD, rows(CLAIMS.paper, CLAIMS, verdicts, sources))
    printed = {p.name: paths[p.name] for p in PARK.printed}
    card, page = {"park": tmp_path / "card.parquet"}, tmp_path / "report.html"
    build_reproduction_report(card, {"park": printed}, {"park": {}}, page, simulated=False, trials=2)
    wide = tables_wider_than_their_panel(page)
    assert len(wide) == 1 + len(printed) and not any(wide.values()), wide


def test_cells_right_of_the_words_are_numbers(paths):
    for printed in PARK.printed:
        grid = printed.write(paths[printed.name])
        for row in grid.rows:
            assert not any(re.search("[A-Za-z]", cell) for cell in row[grid.words :]), row
            assert not any(re.fullmatch(r"[−\d.]+", cell) for cell in row[: grid.words]), row


def test_the_picture_of_a_figure_names_data_and_defect(paths, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    seen = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (seen.append(self), save(self, *a, **k))[1])
    PARK.named("fig2").draw(paths["fig2"], output=tmp_path / "a.svg")
    words = " ".join(artist.get_text() for artist in seen[0].findobj(lambda a: hasattr(a, "get_text")))
    assert "Made-up data; stands for nothing" in words.replace("\n", " ") and "defect P4" in words.replace("\n", " ")
    assert len(PICTURES) == 3
