"""The tutorial is run as it is printed: every block in its order, and what it says is printed is printed."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.warm import warm_python
from tests.workflow.conftest import HANGS, ROOT

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory):
    """A checkout in which all blocks ran, the output of each, and the lines that were promised but not printed."""
    folder, blocks = tmp_path_factory.mktemp("tutorial"), tmp_path_factory.mktemp("blocks")
    for name in ("Snakefile", "workflow", "config", "resources", "src"):
        (folder / name).symlink_to(ROOT / name)
    environment = os.environ | {
        "PATH": f"{Path(warm_python()).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    outputs, missing = [], []
    for kind, text in BLOCK.findall((ROOT / "docs/tutorial.md").read_text()):
        if kind == "text":
            missing += [line for line in text.splitlines() if line not in outputs[-1].splitlines()]
            continue
        block = blocks / "block"
        block.write_text(text)
        done = subprocess.run(
            [*({"bash": ("bash", "-e"), "python": (warm_python(),)}[kind]), str(block)],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=HANGS,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout[-3000:]}"
        outputs.append(done.stdout)
    return folder, outputs, missing


def test_every_block_runs_and_prints_what_the_page_says(tutorial):
    """The first run is that of the Snakefile in the root of the checkout."""
    folder, outputs, missing = tutorial
    assert missing == [] and len(outputs) == 10
    said = ("Reading the export", "Fitting the mixture", "Forecasting, shard 000", "Writing the report")
    assert all(re.search(rf"^Job \d+: {message}$", outputs[3], re.MULTILINE) for message in said), outputs[3]
    assert "\nThe report is at results/study/report.html\n" in outputs[3]
    assert (folder / "results/study/report.html").stat().st_size > 100_000
    assert (folder / "for-pypsa/release_manifest.json").is_file()


def test_the_synthetic_homes_use_about_what_the_real_ones_do(tutorial):
    """Mean energy of every hour, within the noise of so few homes: the page calls them alike."""
    _, outputs, _ = tutorial
    lines = re.findall(r"synthetic ([\d.]+) kWh  real ([\d.]+)", "".join(outputs))
    pairs = [tuple(map(float, line)) for line in lines]
    assert len(pairs) == 24
    assert all(1 / 3 < made_up / real < 3 for made_up, real in pairs), pairs
