"""A made-up study and its figures, drawn once for all tests of this room."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from tests.unit.report import made_up
from tests.unit.report.drawing import draw_all


@pytest.fixture(scope="session")
def study(tmp_path_factory) -> dict[str, Path]:
    """Paths of a made-up study's tables by name."""
    return made_up.write_all(tmp_path_factory.mktemp("study") / "results", made_up.all_tables())


@pytest.fixture(scope="session")
def drawings(study, tmp_path_factory) -> tuple[dict[str, Path], dict[str, Figure]]:
    """Figures of the made-up study by name: the files, and what matplotlib made them of."""
    seen: list[Figure] = []
    save = Figure.savefig
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", lambda self, *a, **k: (seen.append(self), save(self, *a, **k))[1])
        files = draw_all(study, tmp_path_factory.mktemp("figures"))
    return files, dict(zip(files, seen, strict=True))


@pytest.fixture(scope="session")
def drawn(drawings) -> dict[str, Path]:
    """Figures of the made-up study by name."""
    return drawings[0]


@pytest.fixture(scope="session")
def shown(drawings) -> dict[str, Figure]:
    """The same to look into, and not to change."""
    return drawings[1]


@pytest.fixture
def write(tmp_path):
    """Write one table and return its path."""
    return lambda name, data: made_up.write_all(tmp_path, {name: data})[name]
