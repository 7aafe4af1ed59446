"""Fixtures every test may use, and one thread for linear algebra on the small matrices of tests."""

from __future__ import annotations

import gc
import os
from pathlib import Path

# Read when NumPy is imported, which no plugin does before. On small matrices more threads only wait for each other.
os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
# As jobs do (workflow/rules/common.smk), for the processes that pytest starts: keep big arrays, fault them in once.
os.environ.update(MALLOC_TRIM_THRESHOLD_=str(2**28), MALLOC_MMAP_THRESHOLD_=str(2**25))

import pytest
from xdist.scheduler import LoadFileScheduling

ROOT = Path(__file__).resolve().parents[1]
gc.disable()
# Releases and the reproduction run in the folder of the tiny study, after its tests; leaks are looked for in it, too.
WHOLE_RUNS = tuple(
    f"workflow/test_{name}.py" for name in ("study", "release", "leaks", "plan", "release_again", "reproduce")
)


def config_of(written=None) -> dict:
    """The complete configuration of a study: what is written, and the defaults."""
    from meterdp.core.config import complete, load_schema

    return complete(written or {}, load_schema(ROOT / "workflow/schemas/config.schema.yaml"))


def pytest_collection_modifyitems(items):
    """Put whole runs first, in their order, then other long files: none must be what a worker starts last."""

    def place(item):
        path = str(item.path)
        name = "/".join(item.path.parts[-2:])
        whole = WHOLE_RUNS.index(name) if name in WHOLE_RUNS else len(WHOLE_RUNS)
        # The report is one scope (below), and by its name it would be the last.
        return (whole, "/unit/" in path and "/unit/report/" not in path)

    items.sort(key=place)


def pytest_collection_finish(session):
    """Look no more for garbage in what is collected and imported; it stays, and looking takes a tenth of the time."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(50_000)


class ByFile(LoadFileScheduling):
    """One process for the tests of a file, and one for those that share what takes long to make."""

    def _split_scope(self, nodeid):
        file = super()._split_scope(nodeid)
        if file.endswith(WHOLE_RUNS):
            return "the tiny study"
        if "errata" in file:
            return "the findings of all defects"
        return "the figures of a made-up study" if file.startswith("tests/unit/report/") else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config, specs):
    """Start one server of warm processes for all, while they collect."""
    from tests.warm import SHARED, warm_python

    os.environ[SHARED] = warm_python()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByFile(config, log)


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
