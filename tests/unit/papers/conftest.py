"""The findings of all defects, each computed when a test of this folder first asks for it; text of figures."""

from __future__ import annotations

import csv
import itertools
import runpy

import pytest

from meterdp.core.parquet import read_table, write_table
from meterdp_papers.common.tables import ERRATA, Finding
from meterdp_papers.errata import PAPERS, as_columns


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
def same_as_committed(findings, tool, repository, tmp_path):
    """A function that compares the findings of a paper with those of docs/measured, to the digits shown there."""

    def check(paper: str) -> None:
        _, *rows = csv.reader((repository / "docs/measured/errata.csv").read_text().splitlines())
        rows = [row for row in rows if row[0][0] == paper]
        found = {name: findings[name] for name in dict.fromkeys(row[0] for row in rows)}
        assert tool["errata"](found)[1:] == rows
        assert all(f.id == name for name, every in found.items() for f in every)
        columns = as_columns(itertools.chain.from_iterable(found.values()))
        write_table(tmp_path / "errata.parquet", ERRATA, columns)
        assert read_table(tmp_path / "errata.parquet", ERRATA).to_pydict() == columns

    return check


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
