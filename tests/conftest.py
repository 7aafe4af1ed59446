"""Fixtures every test may use, and one thread for linear algebra on the small matrices of tests."""

from __future__ import annotations

import os
from pathlib import Path

# Read when NumPy is imported, which no plugin does before. On small matrices more threads only wait for each other.
os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def repository() -> Path:
    """Root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Development data beside the checkout; tests that need it are skipped where it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the development data in ../shared is not on this machine")
    return folder
