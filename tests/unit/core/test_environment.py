"""One set of versions: the lists of pyproject.toml, the locks, the conda environment and what is installed agree."""

import importlib.metadata
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


@pytest.fixture(scope="module")
def project(repository):
    return tomllib.loads((repository / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def tool(repository):
    """The module tools/lock.py."""
    sys.path.insert(0, str(repository / "tools"))
    try:
        import lock
    finally:
        sys.path.pop(0)
    return lock


def lock_pins(repository, name=None):
    text = (repository / f"requirements{f'/{name}' if name else ''}.txt").read_text()
    return {r.strip() for r in re.findall(r"^([^\s#][^\\\n]*==[^\\\n]+)", text, re.MULTILINE)}


def versions(pins):
    """Name -> locked versions; there are several where markers tell them apart."""
    found = {}
    for pin in map(Requirement, pins):
        found.setdefault(canonicalize_name(pin.name), set()).add(str(pin.specifier).removeprefix("=="))
    return found


def here(pins):
    """Names of the pins for this Python and system."""
    asked = map(Requirement, pins)
    return {canonicalize_name(pin.name) for pin in asked if pin.marker is None or pin.marker.evaluate()}


def needed(lines):
    """Names of packages of some requirements and of all that these need in turn, as what is installed says."""
    found, left = set(), [Requirement(line) for line in lines]
    while left:
        wanted = left.pop()
        for extra in ("", *wanted.extras):
            key = (canonicalize_name(wanted.name), extra)
            if key not in found:
                found.add(key)
                more = map(Requirement, importlib.metadata.requires(wanted.name) or ())
                left += [r for r in more if r.marker is None or r.marker.evaluate({"extra": extra})]
    return {name for name, _ in found}


def lists(project, *extras):
    own = project["project"]
    return [*own["dependencies"], *(r for extra in extras for r in own["optional-dependencies"][extra])]


def test_the_conda_environment_of_users_and_of_rules_is_the_lock_of_a_study(repository):
    (pins,) = (
        entry["pip"]
        for entry in yaml.safe_load((repository / "environment.yml").read_text())["dependencies"]
        if isinstance(entry, dict)
    )
    assert set(pins) == lock_pins(repository)
    rules = repository / "workflow/envs/meterdp.yaml"
    assert (repository / "environment.yml").read_text() == rules.read_text()


def test_the_locks_are_what_is_installed(repository):
    wrong = []
    for pin in map(Requirement, lock_pins(repository) | lock_pins(repository, "dev")):
        if pin.marker is None or pin.marker.evaluate():
            installed = importlib.metadata.version(pin.name)
            if installed not in pin.specifier:
                wrong.append(f"{pin.name}: {installed} installed, {pin.specifier} locked")
    assert wrong == []


def test_every_list_is_locked_and_a_study_has_what_it_needs_and_no_more(repository, project, tool):
    """Oracle: what installed packages say that they need."""
    extras = project["project"]["optional-dependencies"]
    added = [extra for more in tool.ADDED.values() for extra in more]
    assert sorted([*tool.STUDY, *added]) == sorted(extras)
    assert project["project"]["requires-python"] == ">=3.11"
    study = lists(project, *tool.STUDY)
    assert here(lock_pins(repository)) == needed([*study, *project["build-system"]["requires"]])
    developers = {canonicalize_name(Requirement(line).name) for extra in added for line in extras[extra]}
    assert developers and not developers & set(versions(lock_pins(repository)))
    for name, more in tool.ADDED.items():
        pins = lock_pins(repository, name)
        assert not pins & lock_pins(repository)
        locked = versions(lock_pins(repository) | pins)
        for line in map(Requirement, lists(project, *more)):
            assert all(v in line.specifier for v in locked[canonicalize_name(line.name)]), line
    assert here(lock_pins(repository, "dev")) == needed(lists(project, *tool.ADDED["dev"])) - here(
        lock_pins(repository)
    )


def test_what_is_added_to_the_environment_has_its_versions(repository, tool):
    own = versions(lock_pins(repository))
    for name in tool.ADDED:
        more = versions(lock_pins(repository, name))
        assert all(own[package] == more[package] for package in own.keys() & more.keys())
    assert set(versions(lock_pins(repository, "slurm"))) == {
        "snakemake-executor-plugin-slurm",
        "snakemake-executor-plugin-slurm-jobstep",
    }


def test_the_locks_are_hashed_and_name_no_index(repository, tool):
    locks = [repository / "requirements.txt", *sorted(repository.glob("requirements/*"))]
    assert {lock.name for lock in locks[1:]} == {f"{name}.txt" for name in (*tool.ADDED, *tool.APART)}
    for lock in locks:
        text = lock.read_text()
        assert "://" not in text and "--index" not in text and "--find-links" not in text
        blocks = re.split(r"\n(?=\S)", text.strip())
        assert all("--hash=sha256:" in block for block in blocks if not block.startswith("#"))


def test_every_environment_beside_the_projects_is_locked_and_installed_by_make(repository, project, tool):
    groups = project["dependency-groups"]
    assert set(groups) == set(tool.APART)
    makefile = (repository / "Makefile").read_text()
    peers = re.search(r"^PEERS := \$\(addprefix \$\(VENV\)-,([^)]*)\)$", makefile, re.MULTILINE)[1].split()
    tools = re.findall(r"^(?:NEURAL|TOOLS) := \$\(VENV\)-(\w+)$", makefile, re.MULTILINE)
    assert {"uv", *peers, *tools} == set(groups)
    for name, unneeded in tool.APART.items():
        locked = {canonicalize_name((pin := Requirement(p)).name): pin for p in lock_pins(repository, name)}
        wanted = map(Requirement, groups[name])
        assert all(str(locked[r.name].specifier).removeprefix("==") in r.specifier for r in wanted)
        assert all(not locked[package].marker.evaluate() for package in unneeded)


def test_the_pins_of_the_environment_resolve(repository, tmp_path):
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        pytest.skip("uv is not beside this Python (make install puts it there)")
    pins = lock_pins(repository)
    (tmp_path / "pins.txt").write_text("\n".join(pins))
    command = [uv, "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--no-header"]
    run = subprocess.run(
        [*command, "--no-annotate", str(tmp_path / "pins.txt")], capture_output=True, text=True, timeout=300
    )
    if run.returncode and re.search(r"connect|dns|timed out|network", run.stderr, re.IGNORECASE):
        pytest.skip("no package index can be reached to resolve against")
    assert run.returncode == 0, run.stderr
    assert {line.strip() for line in run.stdout.splitlines() if line.strip()} == pins
