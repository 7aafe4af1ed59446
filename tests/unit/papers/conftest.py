"""The findings of all defects, computed once for the tests of this folder."""

from __future__ import annotations

import runpy

import pytest

from meterdp.papers.errata import measure


@pytest.fixture(scope="session")
def page(repository):
    """The module that writes docs/errata.md."""
    return runpy.run_path(str(repository / "tools/document_errata.py"))


@pytest.fixture(scope="session")
def findings(page):
    """Findings by defect, from the streams of the documentation."""
    return measure(page["stream"])
