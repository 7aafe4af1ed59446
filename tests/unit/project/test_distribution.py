"""Wheel and sdist: they hold what they should and nothing else, and the wheel works in an environment of its own."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import meterdp

UV = shutil.which("uv", path=str(Path(sys.executable).parent))
if UV is None:
    pytest.skip("uv is not beside this Python (make install puts it there)", allow_module_level=True)


def run(*words, **options):
    return subprocess.run([*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


@pytest.fixture(scope="module")
def built(repository, tmp_path_factory):
    """Folder with both, made as `make dist` makes them."""
    folder = tmp_path_factory.mktemp("dist")
    words = ("--offline", "--no-build-isolation", "--python", sys.executable, "--out-dir", folder)
    recipe = (repository / "Makefile").read_text()
    assert all(word in recipe for word in words if isinstance(word, str) and word.startswith("--"))
    done = run(UV, "build", "--quiet", *words, repository)
    assert done.returncode == 0, done.stdout
    return folder


def files_below(folder):
    return {p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts}


def test_the_wheel_holds_the_packages_and_the_files_they_read(built, repository):
    """Oracle: the checkout."""
    packages = {
        p.relative_to(repository / "src").as_posix()
        for name in ("meterdp", "meterdp_papers")
        for p in files_below(repository / "src" / name)
    }
    shipped = {
        f"meterdp/shipped/{p.relative_to(repository).as_posix()}"
        for folder in ("workflow/schemas", "resources")
        for p in files_below(repository / folder)
    }
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in names if ".dist-info/" not in name} == packages | shipped
    assert wheel.name.startswith(f"meterdp-{meterdp.__version__}-")
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_no_file_that_lies_in_a_shipped_folder_gets_into_a_wheel(repository, tmp_path):
    """Such as an export that somebody put there; a wheel is not always made of the sdist."""
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(repository / name, tmp_path)
    for folder in ("resources", "workflow/schemas"):
        shutil.copytree(repository / folder, tmp_path / folder)
        (tmp_path / folder / "mine.csv").write_text("meter_id\n")
    (tmp_path / "src/meterdp").mkdir(parents=True)
    (tmp_path / "src/meterdp/__init__.py").write_text('__version__ = "0"\n')
    done = run(sys.executable, "setup.py", "--quiet", "build_py", "--build-lib", tmp_path / "built", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    shipped = tmp_path / "built/meterdp/shipped"
    wanted = {p for folder in ("resources", "workflow/schemas") for p in files_below(repository / folder)}
    assert {p.relative_to(shipped) for p in files_below(shipped)} == {p.relative_to(repository) for p in wanted}


def test_the_sdist_is_the_checkout_and_nothing_that_lies_beside_it(built, repository):
    """Oracle: Git. An export, a list of meters or a ledger in the checkout would be a leak."""
    if shutil.which("git") is None or not (repository / ".git").exists():
        pytest.skip("this is no checkout of Git")
    tracked = set(run("git", "ls-files", cwd=repository).stdout.splitlines())
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {m.name.partition("/")[2] for m in archive.getmembers() if m.isfile()}
    # A link to a folder becomes a folder.
    profiles = {name.removeprefix("workflow/") for name in tracked if name.startswith("workflow/profiles/")}
    generated = {name for name in names if name in ("PKG-INFO", "setup.cfg") or ".egg-info/" in name}
    wanted = tracked - {"profiles"} | profiles
    assert wanted <= names
    more = names - generated - wanted
    assert {Path(name).suffix for name in more} <= {".py", ".md", ".html", ".css"}, (
        "a new file of the project at most"
    )


def hand_on_what_is_compiled(packages):
    """Give an environment what this one compiled of the same files; Python compiles again what differs."""
    here = sysconfig.get_path("purelib")
    for folder, _, _ in os.walk(packages):
        own = Path(here, os.path.relpath(folder, packages), "__pycache__")
        if own.is_dir():
            shutil.copytree(own, Path(folder, "__pycache__"), dirs_exist_ok=True, copy_function=os.link)


def test_the_wheel_works_in_an_empty_environment(built, repository, tmp_path):
    """At the locked versions, with the dependencies it names itself; runs the lines of README, then the command."""
    assert run(UV, "venv", "--quiet", "--python", sys.executable, tmp_path / "venv").returncode == 0
    programs = tmp_path / "venv/bin"
    (wheel,) = built.glob("*.whl")

    def install(what):
        words = (UV, "pip", "install", "--quiet", "--python", programs / "python")
        words = (*words, "--constraint", repository / "requirements.txt", what)
        done = run(*words, "--offline")
        if done.returncode:
            done = run(*words)
        if done.returncode and re.search(r"connect|dns|timed out|network|error sending request", done.stdout, re.I):
            pytest.skip("the packages are not in uv's cache, and no package index can be reached")
        assert done.returncode == 0, done.stdout

    install(wheel)
    with contextlib.suppress(OSError):  # not on one file system
        (packages,) = (tmp_path / "venv/lib").glob("*/site-packages")
        hand_on_what_is_compiled(packages)

    text = (repository / "README.md").read_text()
    lines = re.search(r"^## In Python$.*?^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "lines.py").write_text(lines[1])
    alone = {"cwd": tmp_path, "env": {"PATH": str(programs), "HOME": str(tmp_path)}}
    done = run(programs / "python", "-I", "lines.py", **alone)
    assert done.returncode == 0 and "-differential privacy" in done.stdout, done.stdout

    assert run("meterdp", "--version", **alone).stdout == f"meterdp {meterdp.__version__}\n"
    done = run("meterdp", "check", "e.csv", **alone)
    assert done.returncode == 1 and "pip install 'meterdp[study]'" in done.stdout, done.stdout
    install(f"{wheel}[study]")
    assert "examples:" in run("meterdp", "release", "verify", "--help", **alone).stdout
    # The schema, and what the schema takes from the source.
    (tmp_path / "my.yaml").write_text("export: {path: e.csv, time_zone: UTC}\nmixture: {clases: 3}\n")
    (tmp_path / "e.csv").write_text("meter_id,interval_start,kwh\nm,2025-01-06 00:00,1\n")
    done = run("meterdp", "check", "--config", "my.yaml", **alone)
    assert done.returncode == 1 and "write 'classes' if you meant that key" in done.stdout
    program = (
        "from pathlib import Path\n"
        "from meterdp.core.provenance import shipped\n"
        "from meterdp.mechanisms.proven.prior_mixture import SHIPPED, read_prior_mixture\n"
        "assert shipped('resources/simulator.yaml').is_relative_to(Path(__import__('sys').prefix))\n"
        "from meterdp_papers.registry import PAPERS\n"
        "assert len(PAPERS) == 4\n"
        "print(read_prior_mixture(SHIPPED, 12, 12).classes)"
    )
    done = run(programs / "python", "-I", "-c", program, **alone)
    assert done.returncode == 0 and int(done.stdout) > 1, done.stdout
