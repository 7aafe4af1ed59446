"""The recipes of docs/extending.md: a reader, a mechanism and a noise design cost two files each, then they can be
chosen, planned and run. Each is added to a copy of the project, as a copy of one that is there."""

import re
import shutil
import subprocess

import pytest

from tests.warm import warm_python
from tests.workflow.conftest import ROOT, Planner

PACKAGE = "src/meterdp"


def also(text, old, new):
    """Repeat every line that has the word ``old``, with ``new`` for it."""
    lines = []
    for line in text.splitlines(keepends=True):
        lines.append(line)
        if old in line:
            lines.append(line.replace(old, new))
    return "".join(lines)


def add_reader(source):
    text = (source / "ingest/readers/long_csv.py").read_text()
    (source / "ingest/readers/mine_csv.py").write_text(text)
    registry = source / "ingest/readers/interface.py"
    text = registry.read_text().replace(" long_csv,", " long_csv, mine_csv,", 1)
    (entry,) = re.findall(r'^    "long_csv": Format\(.*\n', text, re.MULTILINE)
    registry.write_text(text.replace(entry, entry + entry.replace("long_csv", "mine_csv")))


def add_mechanism(source):
    text = (source / "mechanisms/reference/baseline.py").read_text()
    mine = text.replace("IidLaplace", "Mine").replace('"iid_laplace"', '"mine2"')
    (source / "mechanisms/reference/mine.py").write_text(mine)
    registry = source / "mechanisms/registry.py"
    text = registry.read_text().replace(
        "\nMECHANISMS", "from meterdp.mechanisms.reference.mine import Mine\n\nMECHANISMS", 1
    )
    registry.write_text(also(text, '"iid_laplace": IidLaplace', '"mine2": Mine'))


def add_design(source):
    text = (source / "class_noise/designs/simple.py").read_text()
    (source / "class_noise/designs/mine.py").write_text(text.replace("white_noise", "my_noise"))
    registry = source / "class_noise/designs/registry.py"
    text = registry.read_text()
    (entry,) = re.findall(r'^ *"white": .*\n', text, re.MULTILINE)
    text = text.replace(entry, entry + entry.replace("white", "mine", 1).replace("white_noise", "my_noise"))
    (imported,) = re.findall(r"^from meterdp.class_noise.designs.simple import .*\n", text, re.MULTILINE)
    registry.write_text(text.replace(imported, f"{imported}from meterdp.class_noise.designs.mine import my_noise\n"))


RECIPES = {
    "reader": (
        add_reader,
        {"export": {"path": "export.csv", "time_zone": "UTC", "format": "mine_csv"}},
        """
from meterdp.ingest.readers.interface import reader
from meterdp.ingest.settings import ExportSettings
(batch,) = reader("mine_csv")("export.csv", ExportSettings(format="mine_csv"))
assert batch.energy.tolist() == [0.5]
""",
    ),
    "mechanism": (
        add_mechanism,
        {"mechanisms": {"variants": ["mine2", "sound"]}},
        """
from meterdp.mechanisms.interface import PublicSettings
from meterdp.mechanisms.registry import mechanism
assert mechanism("mine2").calibrate(PublicSettings(1.0, 1e-5, 2, 3, 50, -4.0, 4.0)).name == "mine2"
""",
    ),
    "noise design": (
        add_design,
        {"class_noise": {"designs": ["mine", "none"], "file_design": "mine"}},
        """
import numpy as np
from meterdp.class_noise.query_models import Budget, ClassQueries
from meterdp.class_noise.designs.registry import noise_design, runnable
queries = ClassQueries(np.zeros((2, 3)), np.zeros((2, 3, 3)), np.array([[0, 1], [1, 0]]))
assert np.trace(noise_design("mine")(queries, Budget(0.6)).covariance[0]).round(9) == 0.6
settings = {"query_models": ["deterministic"], "designs": ["mine"]}
assert runnable(settings) == [("mine", "deterministic")]
""",
    ),
}


@pytest.mark.parametrize("kind", RECIPES)
def test_a_recipe_touches_two_files_and_gives_a_choice_that_works(kind, tmp_path):
    add, config, use = RECIPES[kind]
    checkout = tmp_path / "checkout"
    for name in ("src", "workflow", "resources"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    before = {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
    add(checkout / PACKAGE)
    after = {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
    touched = [path for path in after if before.get(path) != after[path]]
    assert len(touched) == 2 and sum(path in before for path in touched) == 1

    (tmp_path / "export.csv").write_text("meter_id,interval_start,kwh\nm1,2025-01-01 00:00,0.5\n")
    plan = Planner(tmp_path, checkout).plan({"shards": 1, **config})
    assert {"ingest", "vary_mixture", "design_noise", "forecast_files"} <= set(plan)
    program = f"import sys; sys.path.insert(0, {str(checkout / 'src')!r})\n{use}"
    done = subprocess.run([warm_python(), "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
