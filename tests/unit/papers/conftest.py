"""The findings of all defects, each computed when a test of this folder first asks for it; text of figures."""

from __future__ import annotations

import itertools
import runpy

import pytest

from meterdp_papers.common.tables import Finding
from meterdp_papers.errata import PAPERS


class Findings(dict[str, tuple[Finding, ...]]):
    """Findings by defect; a process that tests one paper measures the defects of no other."""

    def __init__(self, stream):
        self._stream = stream

    def __missing__(self, name: str) -> tuple[Finding, ...]:
        defect = next(d for d in itertools.chain.from_iterable(PAPERS.values()) if d.id == name)
        return self.setdefault(name, defect.measure(self._stream(name)))


@pytest.fixture(scope="session")
def tool(repository):
    """The module that writes docs/measured."""
    return runpy.run_path(str(repository / "tools/tabulate_papers.py"))


@pytest.fixture(scope="session")
def findings(tool):
    """Findings by defect, from the streams of the committed table."""
    return Findings(tool["stream"])


@pytest.fixture
def words_in(tmp_path, monkeypatch):
    """A function that draws a figure and returns all text in it, in one line."""
    from matplotlib.figure import Figure

    def draw(figure, path) -> str:
        seen, save = [], Figure.savefig
        monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (seen.append(self), save(self, *a, **k))[1])
        figure.draw(path, output=tmp_path / "a.svg")
        words = " ".join(artist.get_text() for artist in seen[0].findobj(lambda a: hasattr(a, "get_text")))
        return words.replace("\n", " ")

    return draw
