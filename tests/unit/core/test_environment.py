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


def lock_pins(repository, name="requirements.txt"):
    text = (repository / name).read_text()
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
    locks = sorted(repository.glob("requirements*.txt"))
    assert len(locks) > 2
    for lock in locks:
        text = lock.read_text()
        assert "://" not in text and "--index" not in text and "--find-links" not in text
        blocks = re.split(r"\n(?=\S)", text.strip())
        assert all("--hash=sha256:" in block for block in blocks if not block.startswith("#"))


def test_every_environment_beside_the_projects_is_locked_and_installed_by_make(repository):
    sys.path.insert(0, str(repository / "tools"))
    try:
        from lock import ADDED, APART
    finally:
        sys.path.pop(0)
    asked = {p.name.removeprefix("requirements-").removesuffix(".in") for p in repository.glob("requirements-*.in")}
    assert asked == {*APART, *ADDED, "uv"}
    makefile = (repository / "Makefile").read_text()
    peers = re.search(r"^PEERS := \$\(addprefix \$\(VENV\)-,([^)]*)\)$", makefile, re.MULTILINE)[1].split()
    assert {*peers, *re.findall(r"^TOOLS := \$\(VENV\)-(\w+)$", makefile, re.MULTILINE)} == {*APART}
    for name, unneeded in APART.items():
        locked = {(pin := Requirement(p)).name: pin for p in lock_pins(repository, f"requirements-{name}.txt")}
        for line in (repository / f"requirements-{name}.in").read_text().splitlines():
            wanted = Requirement(line)
            assert wanted.name in locked
            assert not wanted.specifier or locked[wanted.name].specifier == wanted.specifier
        assert all(not locked[package].marker.evaluate() for package in unneeded)


def test_what_is_added_to_the_environment_has_its_versions(repository):
    own = lock_pins(repository)
    added = lock_pins(repository, "requirements-slurm.txt") - own
    assert {Requirement(pin).name for pin in added} == {
        "snakemake-executor-plugin-slurm",
        "snakemake-executor-plugin-slurm-jobstep",
    }
    assert not {Requirement(pin).name for pin in added} & {Requirement(pin).name for pin in own}
    assert (repository / "requirements-slurm.in").read_text().strip() in added


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
