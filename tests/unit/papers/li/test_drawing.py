"""Figures and printed tables of Li et al. from small tables."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from meterdp.core.parquet import write_table
from meterdp_papers.li import consensus, exposure, tables
from meterdp_papers.registry import PAPERS
from tests.unit.papers.li import made_up

LI = PAPERS["li"]


@pytest.fixture(scope="module")
def paths(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("tables")
    costs = consensus.cost_table(1, seed=1)
    with pytest.MonkeyPatch.context() as patch:  # thirty rounds are drawn as hundreds are
        patch.setattr(consensus, "LINES", [(*line[:2], 30) for line in consensus.LINES])
        settling = consensus.consensus_table(seed=1)
    content = {
        "fig1": (tables.LI_NETWORK, exposure.example_table()),
        "fig2": (tables.LI_LIKELIHOODS, made_up.likelihoods()),
        "fig3": (tables.LI_LEAKAGE, made_up.leaks()),
        "fig4": (tables.LI_CONSENSUS, settling),
        "fig5": (tables.LI_COST, costs),
        "read_off": (tables.LI_READ_OFF, made_up.read_off()),
        "masks": (tables.LI_MASKS, exposure.masks_of_finite_size()),
        "recovery": (tables.LI_RECOVERY, made_up.recovery()),
        "exponents": (tables.LI_EXPONENTS, consensus.exponents(costs)),
    }
    for name, (table, data) in content.items():
        write_table(folder / f"{name}.parquet", table, data)
    return {name: folder / f"{name}.parquet" for name in content}


@pytest.mark.parametrize("name", [figure.name for figure in LI.figures])
def test_every_figure_is_svg_with_a_caption(paths, name, tmp_path):
    """That the same numbers give the same bytes is tested of the figures of Liu et al.; saving is shared."""
    figure = LI.named(name)
    figure.draw(paths[name], output=tmp_path / "one.svg")
    assert ElementTree.parse(tmp_path / "one.svg").getroot().tag.endswith("svg")
    assert figure.look_for.endswith(".") and figure.alternative.endswith(".")


def test_printed_tables_have_a_cell_for_every_column(paths):
    for printed in LI.printed:
        grid = printed.write(paths[printed.name])
        assert grid.rows and all(len(row) == len(grid.header) for row in grid.rows)
        assert all(isinstance(cell, str) for row in grid.rows for cell in row)


def test_the_picture_of_fig_3_names_data_and_trials(paths, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    seen = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (seen.append(self), save(self, *a, **k))[1])
    LI.named("fig3").draw(paths["fig3"], output=tmp_path / "a.svg")
    words = " ".join(artist.get_text() for artist in seen[0].findobj(lambda a: hasattr(a, "get_text")))
    assert "Made-up data; 100 trials" in words and "sums of records" in words


def test_few_trials_have_no_interval_and_are_drawn(tmp_path):
    write_table(tmp_path / "a.parquet", tables.LI_LEAKAGE, made_up.leaks(se=np.nan))
    LI.named("fig3").draw(tmp_path / "a.parquet", output=tmp_path / "a.svg")
    assert (tmp_path / "a.svg").stat().st_size > 0
