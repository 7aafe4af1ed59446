"""The documentation site, built once, and what can be imported from beside its settings."""

import os
import subprocess
import sys
from importlib import import_module

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meterdp.report.registry import FIGURES
from meterdp_papers.registry import PAPERS
from tests.warm import warm_python

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><title>A title &amp; *stars*</title></svg>'


def results_with_every_figure(folder, synthetic="yes"):
    """Write a results folder with a picture for every registered figure and tables that say what their homes are."""
    names = {"study": [f"figures/{figure.name}" for figure in FIGURES]}
    names |= {f"reproduce/{paper}": [figure.name for figure in PAPERS[paper].figures] for paper in PAPERS}
    for part, pictures in names.items():
        for picture in pictures:
            (folder / part / picture).parent.mkdir(parents=True, exist_ok=True)
            (folder / part / f"{picture}.svg").write_text(SVG)
        table = pa.table({"n": [1]}).replace_schema_metadata({"meterdp.synthetic": synthetic})
        pq.write_table(table, folder / part / "a_table.parquet")
    return folder


@pytest.fixture(scope="session")
def site(repository, tmp_path_factory):
    """The built site, with figures of simulated homes; test_notebooks.py runs what is left out here."""
    folder = tmp_path_factory.mktemp("site")
    results = results_with_every_figure(folder / "results")
    words = ("--quiet", "--fail-on-warning", "--keep-going", "--conf-dir", "docs", "--doctree-dir")
    done = subprocess.run(
        [warm_python(), "-m", "sphinx", *words, str(folder / "doctrees"), ".", str(folder / "html")],
        cwd=repository,
        env=os.environ | {"METERDP_RESULTS": str(results), "METERDP_NOTEBOOKS": "off"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr[-5000:]
    return folder / "html"


@pytest.fixture(scope="session")
def written(repository):
    """Import one of the modules that write parts of the site."""

    def module(name):
        sys.path.insert(0, str(repository / "docs"))
        try:
            return import_module(f"_site.{name}")
        finally:
            sys.path.pop(0)

    return module
