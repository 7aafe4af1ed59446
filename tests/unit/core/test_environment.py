"""One set of versions: the lock, environment.yml, the rules' environment and what is installed agree."""

import importlib.metadata
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement


def lock_pins(repository):
    text = (repository / "requirements.txt").read_text()
    return {r.strip() for r in re.findall(r"^([^\s#][^\\\n]*==[^\\\n]+)", text, re.MULTILINE)}


def environment_pins(path):
    entries = yaml.safe_load(path.read_text())["dependencies"]
    return next(e["pip"] for e in entries if isinstance(e, dict))


def test_environments_name_the_versions_of_the_lock(repository):
    rules = environment_pins(repository / "workflow/envs/meterdp.yaml")
    everything = environment_pins(repository / "environment.yml")
    assert set(rules) == lock_pins(repository)
    assert everything == [*rules, "--editable=."]


def test_the_lock_is_what_is_installed(repository):
    wrong = []
    for pin in map(Requirement, lock_pins(repository)):
        if pin.marker is None or pin.marker.evaluate():
            installed = importlib.metadata.version(pin.name)
            if installed not in pin.specifier:
                wrong.append(f"{pin.name}: {installed} installed, {pin.specifier} locked")
    assert wrong == []


def test_every_dependency_of_the_package_is_locked(repository):
    import tomllib

    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    names = {Requirement(p).name for p in lock_pins(repository)}
    assert {Requirement(d).name for d in project["dependencies"]} <= names
    assert project["requires-python"] == ">=3.11"


def test_the_lock_is_hashed_and_names_no_index(repository):
    for name in ("requirements.txt", "requirements-uv.txt", "requirements-benchmark.txt"):
        text = (repository / name).read_text()
        assert "://" not in text and "--index" not in text and "--find-links" not in text
        blocks = re.split(r"\n(?=\S)", text.strip())
        assert all("--hash=sha256:" in block for block in blocks if not block.startswith("#"))


def test_the_pins_of_the_environment_resolve(repository, tmp_path):
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        pytest.skip("uv is not beside this Python (make install puts it there)")
    pins = [p for p in environment_pins(repository / "environment.yml") if not p.startswith("-")]
    (tmp_path / "pins.txt").write_text("\n".join(pins))
    command = [uv, "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--no-header"]
    run = subprocess.run(
        [*command, "--no-annotate", str(tmp_path / "pins.txt")], capture_output=True, text=True, timeout=300
    )
    if run.returncode and re.search(r"connect|dns|timed out|network", run.stderr, re.IGNORECASE):
        pytest.skip("no package index can be reached to resolve against")
    assert run.returncode == 0, run.stderr
    assert {line.strip() for line in run.stdout.splitlines() if line.strip()} == set(pins)
