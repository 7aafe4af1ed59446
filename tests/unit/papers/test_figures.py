"""Figures and page of the reproduction, from synthetic tables."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from meterdp.core.parquet import write_table
from meterdp_papers.common.scorecard import FAILS, HOLDS, OPEN, Source, Verdict, rows
from meterdp_papers.common.tables import SCORECARD
from meterdp_papers.liu import data as liu_data
from meterdp_papers.liu.scorecard import CLAIMS
from meterdp_papers.liu.tables import LIU_ACCURACY, LIU_CURVE, LIU_DENSITIES, LIU_TABLE1
from meterdp_papers.registry import PAPERS
from meterdp_papers.report import build_reproduction_report
from tests.chromium import chromium_or_skip, inspect_page
from tests.unit.papers.synthetic import FAMILY, PUBLISHED, accuracy, curve, densities

NAMES = [figure.name for figure in PAPERS["liu"].figures]
MEANS = {name: [1e3 / (i + 1), 50.0, 0.2] for i, name in enumerate((*PUBLISHED, "kl_exact"))}
# One figure of each way of drawing; the others differ in title and table.
WAYS = ("fig1", "fig2", "fig6", "fig10")
SHARES = {name: [0.3, 0.5, 0.7] for name in (*PUBLISHED, *FAMILY)}


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("tables")
    axes = {"fig2": "records", "fig3": "classes", "fig4": "dimension"}
    paths = {}
    for figure in NAMES:
        table, data = LIU_CURVE, curve(MEANS, (2, 5, 20), figure=figure, x_name=axes.get(figure, "epsilon"))
        if figure in ("fig6", "fig8"):
            table, data = LIU_DENSITIES, densities()
        elif figure == "fig10":
            table, data = LIU_ACCURACY, accuracy(SHARES)
        paths[figure] = folder / f"{figure}.parquet"
        write_table(paths[figure], table, data)
    return paths


@pytest.fixture(scope="module")
def drawn(tables, tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("figures")
    for name in WAYS:
        PAPERS["liu"].named(name).draw(tables[name], output=folder / f"{name}.svg")
    return {name: folder / f"{name}.svg" for name in WAYS}


def test_every_way_of_drawing_is_svg_and_gives_the_same_bytes_twice(tables, drawn, tmp_path):
    assert NAMES == [f"fig{n}" for n in range(1, 11)]
    for path in drawn.values():
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
        assert "<text" not in path.read_text() and "dc:date" not in path.read_text()
    for figure in WAYS:
        PAPERS["liu"].named(figure).draw(tables[figure], output=tmp_path / "again.svg")
        assert (tmp_path / "again.svg").read_bytes() == drawn[figure].read_bytes()


def test_a_divergence_figure_names_its_data_and_every_mechanism(tables, words_in):
    shown = words_in(PAPERS["liu"].named("fig3"), tables["fig3"])
    assert "Synthetic data; stands for nothing; 1,000 trials per point" in shown
    assert "7 at 2, 7 at 5, 7 at 20" in shown
    for label in ("Laplace", "KL-minimising, published", "KL-minimising, exact", "coloured Gaussian, l1 bound"):
        assert label in shown


def test_a_single_trial_can_be_drawn(tmp_path):
    data = curve(MEANS).assign(kl_se=None, trials=1)
    write_table(tmp_path / "a.parquet", LIU_CURVE, data)
    PAPERS["liu"].named("fig1").draw(tmp_path / "a.parquet", output=tmp_path / "a.svg")
    assert (tmp_path / "a.svg").stat().st_size > 0


@pytest.fixture
def page(drawn, tmp_path) -> Path:
    """The page with one claim of each verdict."""
    words = (HOLDS, FAILS, OPEN)
    verdicts = {c.item: Verdict(words[i % 3], f"Measured {i} < {i + 1}.") for i, c in enumerate(CLAIMS)}
    verdicts["liu-1"] = {"one": verdicts["liu-1"], "other": Verdict(FAILS, "Measured otherwise.")}

    def source(claim, on) -> Source:
        return Source("synthetic data", "stands for <private>" if claim.item == "liu-8" else None)

    write_table(tmp_path / "card.parquet", SCORECARD, rows(CLAIMS, verdicts, source))
    source = {"data": "synthetic data", "substitute": None}
    write_table(tmp_path / "table1.parquet", LIU_TABLE1, liu_data.table_1([9, 4, 7], source))
    build_reproduction_report(
        {"liu": tmp_path / "card.parquet"},
        {"liu": {"table1": tmp_path / "table1.parquet"}},
        {"liu": {name: drawn.get(name, drawn["fig1"]) for name in NAMES}},
        tmp_path / "report.html",
        simulated=True,
        trials=1000,
    )
    return tmp_path / "report.html"


def test_the_page_shows_every_claim_with_its_rule_and_verdict(page):
    text = page.read_text()
    for claim in CLAIMS:
        assert f'<section id="{claim.item}"' in text
    words = "Of 13 claims, 4 true under every variant of the text on the data at hand, 1 true under some variants, "
    contradicted = "Among those that are not the same under all, a variant contradicts 1."
    assert f"{words}3 true under none, 5 not to be judged. {contradicted}" in text
    assert "cannot be judged here, as the paper's data are not there".replace("'", "&#39;") in text
    assert "the rule gives &#39;does not hold&#39;. Measured 7" in text
    assert "holds under 1 of 2 variants: one, does not hold under 1" in text and "Measured otherwise." in text
    assert "Measured 0 &lt; 1." in text and "stands for &lt;private&gt;" in text and "None" not in text
    assert "STUDY – NOT FOR RELEASE" in text and "simulated export" in text
    assert text.count('<svg role="img"') == 10 and "687" in text


def test_the_page_asks_for_nothing_outside_itself(page):
    chromium_or_skip()
    facts = inspect_page(page)
    assert facts.errors == [] and all(width > 0 for width in facts.image_widths) and len(facts.image_widths) == 10
    assert {request.split(":")[0] for request in facts.requests} <= {"file", "data"}
