"""A made-up study and its figures, drawn once for all tests of this room."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.figures import made_up
from tests.unit.figures.drawing import draw_all


@pytest.fixture(scope="session")
def study(tmp_path_factory) -> dict[str, Path]:
    """Paths of a made-up study's tables by name."""
    return made_up.write_all(tmp_path_factory.mktemp("study") / "results", made_up.all_tables())


@pytest.fixture(scope="session")
def drawn(study, tmp_path_factory) -> dict[str, Path]:
    """Figures of the made-up study by name."""
    return draw_all(study, tmp_path_factory.mktemp("figures"))


@pytest.fixture
def write(tmp_path):
    """Write one table and return its path."""
    return lambda name, data: made_up.write_all(tmp_path, {name: data})[name]
