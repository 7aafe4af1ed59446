"""A synthetic study and its figures, drawn once for all tests of the report, and a way to draw one more."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meterdp.core.parquet import as_arrow
from meterdp.report.registry import FIGURES
from tests.unit.report import made_up


def draw_all(paths: dict[str, Path], folder: Path) -> dict[str, Path]:
    """Draw every figure of the registry from the tables at ``paths``; return the figures by name."""
    drawn = {}
    for figure in FIGURES:
        drawn[figure.name] = folder / f"{figure.name}.svg"
        figure.draw(*(paths[table.name] for table in figure.tables), output=drawn[figure.name])
    return drawn


def axes_of(figure: Figure) -> list[Axes]:
    """Return the visible axes of a figure and its subfigures."""
    parts = [figure, *figure.subfigs, *(inner for outer in figure.subfigs for inner in outer.subfigs)]
    return [axes for part in parts for axes in part._localaxes if axes.get_visible()]


def texts_of(figure: Figure) -> str:
    """Return all text on a figure, a line each."""
    return "\n".join(artist.get_text() for artist in figure.findobj(lambda artist: hasattr(artist, "get_text")))


def is_svg(path) -> bool:
    """Whether a file is an SVG that shows something."""
    svg = "{http://www.w3.org/2000/svg}"
    root = ElementTree.parse(path).getroot()
    return root.tag == f"{svg}svg" and len(list(root.iter(f"{svg}path"))) > 5


@pytest.fixture(scope="session")
def study(tmp_path_factory) -> dict[str, Path]:
    """Paths of a synthetic study's tables by name."""
    return made_up.write_all(tmp_path_factory.mktemp("study") / "results", made_up.all_tables())


@pytest.fixture(scope="session")
def drawings(study, tmp_path_factory) -> tuple[dict[str, Path], dict[str, Figure]]:
    """Figures of the synthetic study by name: the files, and what matplotlib made of them."""
    seen: list[Figure] = []
    save = Figure.savefig
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", lambda self, *a, **k: (seen.append(self), save(self, *a, **k))[1])
        files = draw_all(study, tmp_path_factory.mktemp("figures"))
    return files, dict(zip(files, seen, strict=True))


@pytest.fixture(scope="session")
def drawn(drawings) -> dict[str, Path]:
    """Figures of the synthetic study by name."""
    return drawings[0]


@pytest.fixture(scope="session")
def shown(drawings) -> dict[str, Figure]:
    """The same to look into, and not to change."""
    return drawings[1]


@pytest.fixture
def write(tmp_path):
    """Write one table and return its path."""
    return lambda name, data: made_up.write_all(tmp_path, {name: data})[name]


@pytest.fixture(scope="session")
def draw(tmp_path_factory) -> Callable[..., Figure]:
    """Draw a figure of the registry from rows; return what matplotlib made of it.

    ``saved`` also has it written, which takes as long again, and read as SVG.
    """
    save = Figure.savefig

    def go(figure, *data, saved: bool = False) -> Figure:
        seen, output = [], tmp_path_factory.mktemp("drawn") / "a.svg"

        def look(self, file, **more):
            seen.append(self)
            save(self, file, **more) if saved else Path(file).touch()

        read = [
            as_arrow(table, made_up.as_columns(table, rows)).to_pandas()
            for table, rows in zip(figure.tables, data, strict=True)
        ]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Figure, "savefig", look)
            figure.plot(*read, output)
        assert not saved or is_svg(output)
        return seen[0]

    return go
